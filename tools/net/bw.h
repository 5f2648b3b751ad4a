/* SPDX-License-Identifier: MIT */
/* bw.h - a client whose kernel writes the server's memory, or reads it, as fast as it can */
#ifndef TOOLS_NET_BW_H
#define TOOLS_NET_BW_H

#include "net/session.h"

/**
 * struct net_bw_kind - one of the programs
 * @program:	its names and options
 * @ptx:	its kernels
 * @kernels:	by -e
 * @inlined:	the same, of --inline
 * @by_round:	the kernel takes the time of each round of all threads of a block, not of each write
 * @counts:	the NIC counts what is done, for the kernel to look at
 */
struct net_bw_kind {
	struct net_program program;
	const struct net_ptx *ptx;
	const char *kernels[2];
	const char *inlined[2];
	bool by_round;
	bool counts;
};

/* main() of them. */
int net_bw_main(int argc, char **argv, const struct net_bw_kind *kind);

/* The server's part: shows its memory, and looks at it after each size. As net_session_main() wants it. */
int net_bw_serve(struct net_bed *bed, const struct net_hello *hello);

/**
 * net_bw_validate() - Look at every byte; GPU memory by way of the host
 * @bed:     this end
 * @buffer:  its memory
 * @len:     bytes
 * @want:    what each of them should be
 * @verdict: receives what was seen
 *
 * Return: 0, or -errno with tool_why().
 */
struct net_verdict;
int net_bw_validate(struct net_bed *bed, const struct net_buffer *buffer, size_t len, unsigned char want,
		    struct net_verdict *verdict);

/* What the end that got the bytes says of one size: @bad 0, or 1 and where, and what is there. */
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
