// SPDX-License-Identifier: MIT
/* The kernel of gpunetio_verbs_put_signal_lat: one thread answers each message of the peer's with one of its own. */
#include "state.cuh"

/* Waits for the count of messages, which is raised after the message was written. */
static __device__ inline int await(const struct bl_net_lat &run, uint64_t message)
{
	const uint64_t *signal = (const uint64_t *)(uintptr_t)run.signal;
	uint64_t deadline = 0;

	/* the count before the message, and before the answer */
	for (uint32_t turn = 1; bl_op_load_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(signal) < message; turn++) {
		/* memory of the CPU is far away, and what comes meanwhile waits: it is asked now and then */
		if (turn % 1024)
			continue;
		if (bl_net_stopped(run.state))
			return DOCA_GPUNETIO_VERBS_WAIT_STOPPED;
		if (!deadline)
			deadline = doca_gpu_dev_verbs_query_globaltimer() + run.limit_ns;
		else if (doca_gpu_dev_verbs_query_globaltimer() >= deadline)
			return DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT;
		__nanosleep(0);
	}
	/* who sees the count sees the message */
	return *(const volatile uint8_t *)(uintptr_t)(run.seen + run.size - 1) == (uint8_t)message ? 0 : -EBADMSG;
}

static __device__ inline int send(const struct bl_net_lat &run, uint64_t message)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	const struct doca_gpu_dev_verbs_addr to = {run.to, run.to_key}, signal = {run.to_signal, run.to_key};
	const struct doca_gpu_dev_verbs_addr from = {run.from, run.from_key}, old = {run.old, run.from_key};
	doca_gpu_dev_verbs_ticket_t ticket;

	/* the peer has answered the message before, so the NIC has read it */
	*(volatile uint8_t *)(uintptr_t)(run.from + run.size - 1) = (uint8_t)message;
	return doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, mine>(run.qp, to, from, run.size, signal, old, 1,
										     &ticket);
}

static __device__ inline int play(const struct bl_net_lat &run, uint64_t message)
{
	int ret;

	if (run.first) {
		ret = send(run, message);
		return ret ? ret : await(run, message);
	}
	ret = await(run, message);
	return ret ? ret : send(run, message);
}

static __device__ inline void play_all(const struct bl_net_lat &run)
{
	int ret;

	for (uint64_t round = 0; round < run.rounds; round++) {
		uint64_t start = doca_gpu_dev_verbs_query_globaltimer();

		ret = play(run, round + 1);
		if (ret) {
			bl_net_failed(run.state, ret, 0, round);
			return;
		}
		if (run.spans)
			run.spans[round] = {start, doca_gpu_dev_verbs_query_globaltimer()};
	}
	ret = doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(run.qp);
	if (ret)
		bl_net_failed(run.state, ret, 0, run.rounds);
}

extern "C" __global__ void bl_put_signal_lat(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );
	struct doca_gpu_dev_verbs_qp *qp = run.qp;

	run.qp = bl_net_take(&place, qp);
	play_all(run);
	bl_net_give(qp, run.qp);
}

BL_CUDA_KERNEL(bl_put_signal_lat);
