// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_get_bw: every thread gets, and waits for its own get. */
#include "state.cuh"

#define GPU  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define AUTO DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO

template <enum doca_gpu_dev_verbs_exec_scope scope>
static __device__ inline int get_once(const struct bl_net_bw &run, struct doca_gpu_dev_verbs_qp *qp, uint64_t round,
				      uint32_t thread)
{
	struct bl_net_span *span = &run.spans[round * gridDim.x * blockDim.x + thread];
	const struct doca_gpu_dev_verbs_addr remote = {run.to + thread * run.size, run.to_key};
	const struct doca_gpu_dev_verbs_addr local = {run.from + thread * run.size, run.from_key};
	doca_gpu_dev_verbs_ticket_t ticket = 0;
	int ret;

	span->start_ns = doca_gpu_dev_verbs_query_globaltimer();
	ret = doca_gpu_dev_verbs_get<GPU, AUTO, scope>(qp, remote, local, run.size, local, &ticket);
	if (!ret)
		ret = doca_gpu_dev_verbs_get_wait<GPU, AUTO>(qp, local, ticket);
	if (!ret)
		span->end_ns = doca_gpu_dev_verbs_query_globaltimer();
	return ret;
}

/* At warp scope lanes leave together: a get of a warp needs them all. */
template <enum doca_gpu_dev_verbs_exec_scope scope> static __device__ inline void get_all(const struct bl_net_bw &run)
{
	constexpr bool together = scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	struct doca_gpu_dev_verbs_qp *qp = run.qps[thread / DOCA_GPUNETIO_VERBS_WARP_SIZE % run.nr_qps];

	for (uint64_t round = 0; round < run.rounds; round++) {
		int ret = get_once<scope>(run, qp, round, thread);

		if (ret)
			bl_net_failed(run.state, ret, thread, round);
		if (together ? __any_sync(0xffffffffU, ret != 0) : ret != 0)
			return;
	}
}

extern "C" __global__ void bl_get_bw_thread(struct bl_net_bw run)
{
	get_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(run);
}

extern "C" __global__ void bl_get_bw_warp(struct bl_net_bw run)
{
	get_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(run);
}

#undef GPU
#undef AUTO

BL_CUDA_KERNEL(bl_get_bw_thread);
BL_CUDA_KERNEL(bl_get_bw_warp);
