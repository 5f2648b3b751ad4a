// SPDX-License-Identifier: MIT
/* --self by a thread: both ends are in one CUDA context, so that kernels of both are on the GPU at the same time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "net/self.h"

/* Longer than any wait of an end, its kernel's last chance included. */
static struct timespec deadline_of(const struct net_options *options, clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_sec += options->timeout_s + 15;
	return at;
}

static void give_up(const struct net_options *options)
{
	fprintf(stderr, "%s: the other end does not end\n", options->program->name);
	_exit(NET_FAILED);
}

static void pair_init(struct net_pair *pair)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&pair->lock, NULL);
	pthread_cond_init(&pair->cond, &attr);
	pthread_condattr_destroy(&attr);
	pair->left = 0;
}

static void pair_destroy(struct net_pair *pair)
{
	pthread_cond_destroy(&pair->cond);
	pthread_mutex_destroy(&pair->lock);
}

void net_pair_leave(const struct net_options *options, struct net_pair *pair)
{
	struct timespec at = deadline_of(options, CLOCK_MONOTONIC);
	int ret = 0;

	pthread_mutex_lock(&pair->lock);
	pair->left++;
	pthread_cond_broadcast(&pair->cond);
	while (pair->left < 2 && !ret)
		ret = pthread_cond_timedwait(&pair->cond, &pair->lock, &at);
	pthread_mutex_unlock(&pair->lock);
	if (ret)
		give_up(options);
}

static void *serve(void *arg)
{
	struct net_self *self = arg;

	self->status = net_session_play(&self->options, self->part, &self->pair);
	return NULL;
}

/* What a process would be told by its command line. */
static int server_options(const struct net_options *options, const struct net_part *server, int fd,
			  struct net_options *own)
{
	*own = *options;
	own->program = server->program;
	own->self = NET_SELF_NONE;
	own->listen_fd = fd;
	own->json = NULL;
	if (options->server_device)
		own->device = options->server_device;
	if (options->server_gpu)
		own->gpu = options->server_gpu;
	own->out = fopen("/dev/null", "we");
	return own->out ? 0 : tool_fail(errno, "/dev/null: %s", strerror(errno));
}

int net_self_thread_start(const struct net_options *options, const struct net_part *server, int fd, struct net_self *self)
{
	int ret = server_options(options, server, fd, &self->options);

	if (ret)
		goto close_fd;
	self->part = server;
	pair_init(&self->pair);
	ret = pthread_create(&self->thread, NULL, serve, self);
	if (!ret)
		return 0;
	self->thread = 0;
	ret = tool_fail(ret, "thread: %s", strerror(ret));
	pair_destroy(&self->pair);
	fclose(self->options.out);
close_fd:
	close(fd);
	return ret;
}

int net_self_thread_wait(const struct net_options *options, struct net_self *self, int status)
{
	struct timespec at = deadline_of(options, CLOCK_REALTIME);

	if (pthread_timedjoin_np(self->thread, NULL, &at))
		give_up(options);
	pair_destroy(&self->pair);
	fclose(self->options.out);
	return self->status > status ? self->status : status;
}
