/* SPDX-License-Identifier: MIT */
/* bw.h - a client whose kernel writes the server's memory, as fast as it can */
#ifndef TOOLS_NET_BW_H
#define TOOLS_NET_BW_H

#include "net/session.h"

/**
 * struct net_bw_kind - one of the two programs
 * @program:	its names and options
 * @ptx:	its kernels
 * @kernels:	by -e
 * @max_block:	threads of a block at most
 * @by_round:	the kernel takes the time of each round of all threads, not of each write
 */
struct net_bw_kind {
	struct net_program program;
	const char *const *ptx;
	const char *kernels[2];
	unsigned int max_block;
	bool by_round;
};

/* main() of both. */
int net_bw_main(int argc, char **argv, const struct net_bw_kind *kind);

/* The server's part: shows its memory, and looks at it after each size. As net_session_main() wants it. */
int net_bw_serve(struct net_bed *bed, const struct net_hello *hello);

/* What the server says of one size: @bad 0, or 1 and where, and what is there. */
struct net_verdict {
	uint64_t off;
	uint32_t bad;
	uint32_t seen;
};

/* What every byte of a size is. */
static inline unsigned char net_bw_value(unsigned int size_index)
{
	return (unsigned char)(size_index + 1);
}

#endif
