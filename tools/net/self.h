/* SPDX-License-Identifier: MIT */
/* self.h - the server of --self: another process, or a thread of this one */
#ifndef TOOLS_NET_SELF_H
#define TOOLS_NET_SELF_H

#include <pthread.h>
#include <sys/types.h>

#include "net/session.h"

/**
 * struct net_pair - two ends of one process
 * @lock: for what follows
 * @cond: @left has changed
 * @left: ends that run no kernel any more
 */
struct net_pair {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int left;
};

/**
 * struct net_self - the server of --self
 * @options: of the thread
 * @part:    what it is
 * @pair:    the thread's and this end's
 * @thread:  0: it is none
 * @status:  exit status of the thread, once it has ended
 * @pid:     of the process; 0: it is none
 */
struct net_self {
	struct net_options options;
	const struct net_part *part;
	struct net_pair pair;
	pthread_t thread;
	int status;
	pid_t pid;
};

/* Whether the server of --self is to be a thread. */
bool net_self_is_thread(const struct net_options *options);

/**
 * net_self_start() - Start the server of --self
 * @options: of the client; the port where the server listens is put there
 * @server:  what the server is
 * @self:    receives it
 *
 * Return: 0, or -errno with tool_why().
 */
int net_self_start(struct net_options *options, const struct net_part *server, struct net_self *self);

/* Wait for it, or end it when it takes too long. Return: the worse of its exit status and @status. */
int net_self_wait(const struct net_options *options, struct net_self *self, int status);

/* The parts of the two above for a thread. A thread that does not end takes the process with it. */
int net_self_thread_start(const struct net_options *options, const struct net_part *server, int fd, struct net_self *self);
int net_self_thread_wait(const struct net_options *options, struct net_self *self, int status);

/* Wait until both ends have come here; one that does not in time takes the process with it. */
void net_pair_leave(const struct net_options *options, struct net_pair *pair);

#endif
