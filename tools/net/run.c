// SPDX-License-Identifier: MIT
/* A kernel runs, and the CPU looks after it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "net/bed.h"
#include "net/say.h"
#include "net/wire.h"

#define ENDED	  1
#define LOOK_NS	  200000UL
#define STAYS_NS  5000000UL /* the same of a kernel that stays: each look may take a CPU from it, or from the NIC */
#define ALIVE_NS  1000000000UL
#define LAST_NS	  10000000000UL /* a kernel that was told to stop has so long */

/**
 * struct watch - what is looked at now and then
 * @alive_ns: when it was last
 * @failed:   a queue pair had failed by then
 */
struct watch {
	uint64_t alive_ns;
	bool failed;
};

/* A kernel that waits for bytes of the peer does not see that a queue pair has failed. Others end by themselves meanwhile. */
static int look_at_qps(struct net_bed *bed, struct watch *watch)
{
	struct bl_net_qp_error error;
	bool failed = net_bed_error(bed, &error), again = failed && watch->failed;

	watch->failed = failed;
	return again ? tool_fail(EIO, "a queue pair has failed") : 0;
}

/* Whether the kernel should end: 0, ENDED: there is nothing more to do, or -errno with tool_why(). */
static int look(struct net_bed *bed, struct watch *watch)
{
	int ret;

	if (net_signal())
		return net_interrupted();
	ret = net_peer_check(bed->sock);
	if (!ret && bed->until_end && net_peek(bed->sock) == NET_END)
		return ENDED;
	if (ret || tool_now_ns() - watch->alive_ns < ALIVE_NS)
		return ret;
	watch->alive_ns = tool_now_ns();
	ret = look_at_qps(bed, watch);
	return ret ? ret : net_send(bed->sock, NET_ALIVE, NULL, 0, bed->options->timeout_s);
}

/* What the kernel says; @ret is why it was stopped, with tool_why(). */
static int explain(struct net_bed *bed, int ret)
{
	const struct bl_net_state *state = bed->state;
	struct bl_net_qp_error error;
	char first[256] = "";

	if (!ret && state->error)
		ret = net_interrupted();
	if (ret)
		snprintf(first, sizeof(first), "%s; ", tool_why());
	net_bed_error(bed, &error);
	if (!state->error)
		return ret < 0 && error.has_error ? tool_fail(-ret, "%s%s", first, error.text) : ret;
	if (state->error == ETIMEDOUT && !error.text[0])
		snprintf(error.text, sizeof(error.text), "no request of this side waits for an answer. Does the peer send?");
	return tool_fail((int)state->error, "%s%skernel, thread %u, round %llu: %s%s%s", first,
			 error.has_error ? "Error CQE! " : "", state->thread, (unsigned long long)state->round, strerror((int)state->error),
			 error.text[0] ? ": " : "", error.text);
}

static int await(struct net_bed *bed)
{
	struct watch watch = { .alive_ns = tool_now_ns() };
	uint64_t stopped_ns = 0;
	const struct timespec pause = { .tv_nsec = bed->until_end ? STAYS_NS : LOOK_NS };
	CUresult res;
	int ret = 0;

	while ((res = bed->device.cu->cuStreamQuery(bed->stream)) == CUDA_ERROR_NOT_READY) {
		if (!ret) {
			ret = look(bed, &watch);
			if (ret) {
				net_bed_stop(bed);
				stopped_ns = tool_now_ns();
			}
		} else if (tool_now_ns() - stopped_ns > LAST_NS) {
			fprintf(stderr, "%s: %s; the kernel does not end\n", bed->options->program->name, tool_why());
			_exit(1);
		}
		nanosleep(&pause, NULL);
	}
	if (res && ret >= 0)
		ret = tool_cuda(res, "kernel");
	return explain(bed, ret == ENDED ? 0 : ret);
}

int net_run(struct net_bed *bed, CUfunction fn, unsigned int blocks, unsigned int threads, void *arg)
{
	void *args[] = { arg };
	int ret;

	memset(bed->state, 0, sizeof(*bed->state));
	net_say(bed->options, "Launching %s kernel with %u CUDA Blocks, %u CUDA threads", bed->options->program->name, blocks,
		threads);
	ret = tool_cuda(bed->device.cu->cuLaunchKernel(fn, blocks, 1, 1, threads, 1, 1, 0, bed->stream, args, NULL),
			"cuLaunchKernel");
	return ret ? ret : await(bed);
}
