/* SPDX-License-Identifier: MIT */
/* session.h - one client and one server, from the first word to the last */
#ifndef TOOLS_NET_SESSION_H
#define TOOLS_NET_SESSION_H

#include <sys/types.h>

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
 * @imm:      1: messages are RDMA writes with an immediate
 */
struct net_hello {
	uint32_t program;
	uint32_t uc;
	uint32_t threads;
	uint32_t nr_sizes;
	uint64_t iters;
	uint64_t sizes[NET_MAX_SIZES];
	uint64_t imm;
};

/**
 * struct net_self - the server of --self
 * @pid: 0: there is none
 * @port: that it listens at
 */
struct net_self {
	pid_t pid;
	uint16_t port;
};

/* Start the server of --self as a process of its own. Return: 0, or -errno with tool_why(). */
int net_self_start(struct net_options *options, struct net_self *self);

/* Wait for it, or end it when it takes too long. Return: the worse of its exit status and @status. */
int net_self_wait(const struct net_options *options, struct net_self *self, int status);

/**
 * net_session_open() - Meet the peer
 * @bed:   open
 * @self:  of --self
 * @hello: a client's is sent; a server receives it
 *
 * Return: 0, or -errno with tool_why().
 */
int net_session_open(struct net_bed *bed, const struct net_self *self, struct net_hello *hello);

/* Both ends are done. */
int net_session_end(struct net_bed *bed);

/**
 * net_session_main() - What is the same for all programs
 * @options: read
 * @kind:    NET_BED_*
 * @run:     the program's own part, with the peer met; returns NET_OK, NET_WRONG or -errno with tool_why()
 *
 * Return: exit status; a failure is told to the user and to the peer.
 */
int net_session_main(struct net_options *options, unsigned int kind, int (*run)(struct net_bed *bed, struct net_hello *hello));

#endif
