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
#define ALIVE_NS  1000000000UL
#define LAST_NS	  10000000000UL /* a kernel that was told to stop has so long */

static void stop(struct net_bed *bed)
{
	__atomic_store_n(&bed->state->stop, 1, __ATOMIC_RELEASE);
	bl_net_qp_stop(bed->qp->qp_gverbs, 1);
}

/* Whether the kernel should end: 0, ENDED: there is nothing more to do, or -errno with tool_why(). */
static int look(struct net_bed *bed, uint64_t *alive_ns)
{
	int ret;

	if (net_signal())
		return tool_fail(ECANCELED, "interrupted by signal %d", net_signal());
	ret = net_peer_check(bed->sock);
	if (!ret && bed->until_end && net_peek(bed->sock) == NET_END)
		return ENDED;
	if (ret || tool_now_ns() - *alive_ns < ALIVE_NS)
		return ret;
	*alive_ns = tool_now_ns();
	return net_send(bed->sock, NET_ALIVE, NULL, 0, bed->options->timeout_s);
}

/* What the kernel says; @ret is why it was stopped, with tool_why(). */
static int explain(struct net_bed *bed, int ret)
{
	const struct bl_net_state *state = bed->state;
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	char first[256] = "";

	if (ret)
		snprintf(first, sizeof(first), "%s; ", tool_why());
	if (bl_net_qp_error(bed->qp->qp_gverbs, &error) || !error.has_error)
		error.text[0] = '\0';
	if (!state->error)
		return ret;
	return tool_fail((int)state->error, "%s%skernel, thread %u, round %llu: %s%s%s", first,
			 error.has_error ? "Error CQE! " : "", state->thread, (unsigned long long)state->round, strerror((int)state->error),
			 error.text[0] ? ": " : "", error.text);
}

static int await(struct net_bed *bed)
{
	uint64_t alive_ns = tool_now_ns(), stopped_ns = 0;
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	CUresult res;
	int ret = 0;

	while ((res = bed->device.cu->cuStreamQuery(bed->stream)) == CUDA_ERROR_NOT_READY) {
		if (!ret) {
			ret = look(bed, &alive_ns);
			if (ret) {
				stop(bed);
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
