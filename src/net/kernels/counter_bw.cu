// SPDX-License-Identifier: MIT
/*
 * The kernel of gpunetio_verbs_put_counter_bw: each thread of a block puts, and the block goes on when a counter, which the
 * NIC raises for each put that is done, says so. Nobody looks at completions, but for slots that are to be used again.
 */
#include "state.cuh"

#define BLOCK DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA

struct bl_net_count {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_qp *companion;
	uint64_t counter;
};

static __device__ inline int put(const struct bl_net_counter &run, const struct bl_net_count &count, uint32_t thread)
{
	const struct doca_gpu_dev_verbs_addr to = {run.bw.to + thread * run.bw.size, run.bw.to_key};
	const struct doca_gpu_dev_verbs_addr from = {run.bw.from + thread * run.bw.size, run.bw.from_key};
	const struct doca_gpu_dev_verbs_addr counter = {count.counter, run.key}, old = {count.counter + 8, run.key};

	return doca_gpu_dev_verbs_put_counter<BLOCK>(count.qp, to, from, run.bw.size, count.companion, counter, old, 1);
}

/* Of a queue pair that failed no completion comes, and nothing is counted: what was posted last tells. */
static __device__ inline int failure_of(struct doca_gpu_dev_verbs_qp *qp)
{
	int ret = doca_gpu_dev_verbs_poll_one_cq_at<BLOCK>(&qp->cq_sq, qp->sq_rsvd_index - 1);

	return ret < 0 ? ret : 0;
}

static __device__ inline int await(const struct bl_net_counter &run, const struct bl_net_count &count, uint64_t puts)
{
	const uint64_t *word = (const uint64_t *)(uintptr_t)count.counter;
	uint64_t deadline = doca_gpu_dev_verbs_query_globaltimer() + run.limit_ns;
	int ret = 0;

	/* the count before what the thread does with memory that it put, or has got */
	for (uint32_t turn = 1; bl_op_load_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(word) < puts && !ret; turn++) {
		bl_op_pause();
		/* memory of the CPU is far away, and what comes meanwhile waits: it is asked now and then */
		if (turn % 1024)
			continue;
		ret = failure_of(count.qp);
		if (!ret)
			ret = failure_of(count.companion);
		if (!ret && bl_net_stopped(run.bw.state))
			ret = DOCA_GPUNETIO_VERBS_WAIT_STOPPED;
		if (!ret && doca_gpu_dev_verbs_query_globaltimer() >= deadline)
			ret = DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT;
	}
	return ret;
}

extern "C" __global__ void bl_put_counter_bw(struct bl_net_counter run)
{
	BL_SHARED(int, failed, );
	const struct bl_net_count count = {run.bw.qps[blockIdx.x], run.companions[blockIdx.x], run.counters + blockIdx.x * 16};
	struct bl_net_span *spans = run.bw.spans + blockIdx.x * run.bw.rounds;
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t begin = *(const volatile uint64_t *)(uintptr_t)count.counter;
	bool first = threadIdx.x == 0;

	if (first)
		failed = 0;
	/* begin was read by all, and nothing has failed for all, before anybody goes on */
	__syncthreads();
	for (uint64_t round = 0; round < run.bw.rounds; round++) {
		int ret;

		if (first)
			spans[round].start_ns = doca_gpu_dev_verbs_query_globaltimer();
		ret = put(run, count, thread);
		if (ret) {
			bl_net_failed(run.bw.state, ret, thread, round);
			atomicExch(&failed, 1);
		}
		/* all puts of the round are posted, or one has failed, before they are waited for */
		__syncthreads();
		if (failed)
			return;
		if (first) {
			ret = await(run, count, begin + (round + 1) * blockDim.x);
			if (ret) {
				bl_net_failed(run.bw.state, ret, thread, round);
				failed = 1;
			}
			spans[round].end_ns = doca_gpu_dev_verbs_query_globaltimer();
		}
		/* the count before anybody uses the memory again */
		__syncthreads();
		if (failed)
			return;
	}
}

#undef BLOCK

BL_CUDA_KERNEL(bl_put_counter_bw);
