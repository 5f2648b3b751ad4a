// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_put_bw: every thread puts, and waits for its own put. */
#include "state.cuh"

static __device__ inline struct bl_net_span *span_of(const struct bl_net_bw &run, uint64_t round, uint32_t thread)
{
	return &run.spans[round * gridDim.x * blockDim.x + thread];
}

template <enum doca_gpu_dev_verbs_exec_scope scope>
static __device__ inline int put_once(const struct bl_net_bw &run, uint64_t round, uint32_t thread)
{
	const struct doca_gpu_dev_verbs_addr to = {run.to + thread * run.size, run.to_key};
	const struct doca_gpu_dev_verbs_addr from = {run.from + thread * run.size, run.from_key};
	struct bl_net_span *span = span_of(run, round, thread);
	doca_gpu_dev_verbs_ticket_t ticket = 0;
	int ret;

	span->start_ns = doca_gpu_dev_verbs_query_globaltimer();
	ret = doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
				     scope>(run.qp, to, from, run.size, &ticket);
	if (!ret)
		ret = doca_gpu_dev_verbs_wait(run.qp, ticket);
	if (!ret)
		span->end_ns = doca_gpu_dev_verbs_query_globaltimer();
	return ret;
}

extern "C" __global__ void bl_put_bw_thread(struct bl_net_bw run)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint64_t round = 0; round < run.rounds; round++) {
		int ret = put_once<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(run, round, thread);

		if (ret) {
			bl_net_failed(run.state, ret, thread, round);
			return;
		}
	}
}

/* Lanes leave together: a put of a warp needs them all. */
extern "C" __global__ void bl_put_bw_warp(struct bl_net_bw run)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint64_t round = 0; round < run.rounds; round++) {
		int ret = put_once<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(run, round, thread);

		if (ret)
			bl_net_failed(run.state, ret, thread, round);
		if (__any_sync(0xffffffffU, ret != 0))
			return;
	}
}

BL_CUDA_KERNEL(bl_put_bw_thread);
BL_CUDA_KERNEL(bl_put_bw_warp);
