/* SPDX-License-Identifier: MIT */
/* session.h - one client and one server, from the first word to the last */
#ifndef TOOLS_NET_SESSION_H
#define TOOLS_NET_SESSION_H

#include "net/bed.h"

/* Exit statuses: done and right; could not be done; done and the bytes were wrong. */
enum { NET_OK = 0, NET_FAILED = 1, NET_WRONG = 2 };

/**
 * struct net_hello - what the client is about to do
 * @program:  struct net_program.id
 * @uc:	      its --qp-type
 * @threads:  of its kernel
 * @nr_sizes: of @sizes
 * @iters:    for each size
 * @sizes:    bytes
 * @qps:      queue pairs
 * @imm:      1: messages are RDMA writes with an immediate
 */
struct net_hello {
	uint32_t program;
	uint32_t uc;
	uint32_t threads;
	uint32_t nr_sizes;
	uint64_t iters;
	uint64_t sizes[NET_MAX_SIZES];
	uint32_t qps;
	uint32_t imm;
};

/**
 * struct net_part - what one end is
 * @program: its names and limits
 * @kind:    NET_BED_*
 * @run:     the program's own part, with the peer met; returns NET_OK, NET_WRONG or -errno with tool_why()
 */
struct net_part {
	const struct net_program *program;
	unsigned int kind;
	int (*run)(struct net_bed *bed, struct net_hello *hello);
};

/* Both ends are done. */
int net_session_end(struct net_bed *bed);

/**
 * net_session_leave() - An end runs no kernel any more, and is about to free memory
 * @bed: the end
 * @ret: how it went
 *
 * A failure is told to the user and to the peer. Freeing memory waits for all kernels of a context: where the peer's run
 * in the same one, this waits for it to come here too. Only the first call for an end does anything.
 */
void net_session_leave(struct net_bed *bed, int ret);

/**
 * net_session_play() - One end, from opening the GPU to closing it
 * @options: of this end
 * @part:    what it is
 * @pair:    shared with the other end, in this process; NULL: that is elsewhere
 *
 * Return: exit status.
 */
int net_session_play(const struct net_options *options, const struct net_part *part, struct net_pair *pair);

/**
 * net_session_main() - What is the same for all programs
 * @options: read
 * @part:    what this end is
 * @server:  what the server of --self is, as a thread
 *
 * Return: exit status; a failure is told to the user and to the peer.
 */
int net_session_main(struct net_options *options, const struct net_part *part, const struct net_part *server);

#endif
