// SPDX-License-Identifier: MIT
/* What gpunetio_forward does: a kernel that sends each message back, and for comparison a CPU that does. */
#include <endian.h>
#include <errno.h>
#include <sched.h>

#include "common/error.h"
#include "common/json.h"
#include "common/stats.h"
#include "net/cpu.h"
#include "net/forward.h"
#include "net/kernel.h"
#include "net/say.h"
#include "net/wire.h"

#define LOOKS  4096 /* turns without a message between two looks at the peer */
#define YIELDS 64

#define WARP	  32U
#define MAX_BLOCK 1024U

const struct net_program net_forward_program = {
	.name = "gpunetio_forward",
	.id = NET_FORWARD_ID,
	.takes = NET_TAKES_ECHO,
	.about = "A kernel that stays and sends every message back to gpunetio_forward_peer.",
	.min_size = 16,
	.max_size = NET_PAGE,
	.largest = NET_PAGE,
	.role = 's',
	.uc = 1,
	.iters = 1000,
};

static int send_region(struct net_bed *bed, const struct ibv_mr *mr, const void *pages)
{
	struct net_region region = { .addr = (uintptr_t)pages, .len = NET_SLOTS * NET_PAGE, .key = mr->rkey };

	return net_send(bed->sock, NET_REGION, &region, sizeof(region), bed->options->timeout_s);
}

/* A warp for each worker, as far as that goes; of one alone, threads beside it would only begin and end. */
static unsigned int block_of(unsigned int workers)
{
	if (workers == 1)
		return 1;
	return workers * WARP < MAX_BLOCK ? workers * WARP : MAX_BLOCK;
}

/* The kernels one after the other: the second one stays until the peer says that it is done. */
static int forward_by_gpu(struct net_bed *bed, const struct net_hello *hello, const struct net_buffer *pages)
{
	struct bl_net_forward run = {
		.qp = bed->qp_devs[0],
		.pages = (uintptr_t)pages->gpu,
		.key = htobe32(pages->mr->lkey),
		.imm = hello->imm != 0,
		.page_size = NET_PAGE,
		.slots = NET_SLOTS,
		.workers = bed->options->workers,
		.limit_ns = bed->options->timeout_s * 1000000000ULL,
		.state = bed->state_gpu,
	};
	CUfunction prepare, forward;
	int ret = net_bed_kernel(bed, &net_forward_ptx, "bl_forward_prepare", &prepare);

	if (!ret)
		ret = net_bed_kernel(bed, &net_forward_ptx, "bl_forward", &forward);
	if (!ret)
		ret = net_run(bed, prepare, 1, 1, &run);
	if (!ret)
		ret = send_region(bed, pages->mr, pages->mr->addr);
	if (!ret)
		ret = net_barrier(bed->sock, bed->options->timeout_s);
	bed->until_end = true;
	return ret ? ret : net_run(bed, forward, 1, block_of(bed->options->workers), &run);
}

/* The last send is out of its page. */
static int await_sent(struct net_bed *bed)
{
	uint64_t deadline = tool_now_ns() + bed->options->timeout_s * 1000000000ULL;
	uint32_t turns = 0;
	int ret;

	while (!(ret = net_cpu_sent(bed->cpu))) {
		/* the NIC's thread may need this CPU */
		if (!(++turns % YIELDS))
			sched_yield();
		if (net_signal())
			return net_interrupted();
		if (tool_now_ns() >= deadline)
			return tool_fail(ETIMEDOUT, "a send does not end");
	}
	return ret < 0 ? ret : 0;
}

static int echo(struct net_bed *bed, bool imm, uint64_t index, uint32_t len, uint32_t page)
{
	struct net_cpu *cpu = bed->cpu;
	int ret;

	net_cpu_post(cpu, net_cpu_recv_page(cpu, imm ? page : index), len, NULL, 0);
	ret = await_sent(bed);
	if (!ret)
		net_cpu_post_recv(cpu, imm);
	return ret;
}

/* Until the peer says that it is done. @done_p: messages that went back. */
static int echo_all(struct net_bed *bed, bool imm, uint64_t *done_p)
{
	uint64_t deadline = tool_now_ns() + bed->options->timeout_s * 1000000000ULL;
	uint32_t len, page, idle = 0;
	int ret;

	for (;;) {
		ret = net_cpu_received(bed->cpu, &len, &page);
		if (ret < 0)
			return ret;
		if (ret) {
			ret = echo(bed, imm, *done_p, len, page);
			if (ret)
				return ret;
			++*done_p;
			idle = 0;
			continue;
		}
		/* the other side may need this CPU */
		if (!(++idle % YIELDS))
			sched_yield();
		if (idle % LOOKS)
			continue;
		if (idle == LOOKS)
			deadline = tool_now_ns() + bed->options->timeout_s * 1000000000ULL;
		ret = net_peer_check(bed->sock);
		if (ret || net_peek(bed->sock) == NET_END)
			return ret;
		if (net_signal())
			return net_interrupted();
		if (tool_now_ns() >= deadline)
			return tool_fail(ETIMEDOUT, "no message within %u s", bed->options->timeout_s);
	}
}

static int echo_by_cpu(struct net_bed *bed, const struct net_hello *hello, uint64_t *done_p)
{
	int ret;

	for (unsigned int i = 0; i < NET_SLOTS; i++)
		net_cpu_post_recv(bed->cpu, hello->imm);
	ret = send_region(bed, bed->cpu->mr, net_cpu_recv_page(bed->cpu, 0));
	if (!ret)
		ret = net_barrier(bed->sock, bed->options->timeout_s);
	return ret ? ret : echo_all(bed, hello->imm, done_p);
}

static int finish_json(struct net_bed *bed, uint64_t done)
{
	struct json_object *object = net_json(bed, "server");

	tool_json_string(object, "echo", tool_value_name(bed->options->echo, net_echoes));
	tool_json_int(object, "workers", bed->cpu ? 1 : bed->options->workers);
	tool_json_int(object, "forwarded", (int64_t)done);
	return tool_json_write(object, bed->options->json) ? NET_FAILED : NET_OK;
}

int net_forward_run(struct net_bed *bed, struct net_hello *hello)
{
	struct net_buffer pages = { 0 };
	uint64_t done = 0;
	int ret;

	net_say_path(bed);
	if (bed->cpu) {
		ret = echo_by_cpu(bed, hello, &done);
	} else {
		ret = net_buffer_alloc(bed, DOCA_GPU_MEM_TYPE_GPU, NET_SLOTS * NET_PAGE, &pages);
		if (!ret)
			ret = forward_by_gpu(bed, hello, &pages);
		done = bed->state->done;
	}
	if (!ret)
		ret = net_session_end(bed);
	net_session_leave(bed, ret);
	if (!ret)
		fprintf(bed->options->out, "Forwarded %llu messages.\n", (unsigned long long)done);
	net_buffer_free(bed, &pages);
	if (!ret && bed->options->json)
		ret = finish_json(bed, done);
	return ret;
}
