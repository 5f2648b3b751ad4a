// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_put_bw: every thread puts, and waits for its own put. */
#include "state.cuh"

#define GPU  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define AUTO DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO

static __device__ inline struct bl_net_span *span_of(const struct bl_net_bw &run, uint64_t round, uint32_t thread)
{
	return &run.spans[round * gridDim.x * blockDim.x + thread];
}

template <typename T, enum doca_gpu_dev_verbs_exec_scope scope>
static __device__ inline int put_value(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr to, uint64_t from,
				       doca_gpu_dev_verbs_ticket_t *ticket)
{
	return doca_gpu_dev_verbs_p<T, GPU, AUTO, scope>(qp, to, *(const T *)(uintptr_t)from, ticket);
}

/* A value travels in the request itself. */
template <enum doca_gpu_dev_verbs_exec_scope scope, bool inlined>
static __device__ inline int put(const struct bl_net_bw &run, struct doca_gpu_dev_verbs_qp *qp, uint32_t thread,
				 doca_gpu_dev_verbs_ticket_t *ticket)
{
	const struct doca_gpu_dev_verbs_addr to = {run.to + thread * run.size, run.to_key};
	const struct doca_gpu_dev_verbs_addr from = {run.from + thread * run.size, run.from_key};

	if (!inlined)
		return doca_gpu_dev_verbs_put<GPU, AUTO, scope>(qp, to, from, run.size, ticket);
	if (run.size == 8)
		return put_value<uint64_t, scope>(qp, to, from.addr, ticket);
	if (run.size == 4)
		return put_value<uint32_t, scope>(qp, to, from.addr, ticket);
	return run.size == 2 ? put_value<uint16_t, scope>(qp, to, from.addr, ticket) :
			       put_value<uint8_t, scope>(qp, to, from.addr, ticket);
}

template <enum doca_gpu_dev_verbs_exec_scope scope, bool inlined>
static __device__ inline int put_once(const struct bl_net_bw &run, struct doca_gpu_dev_verbs_qp *qp, uint64_t round,
				      uint32_t thread)
{
	struct bl_net_span *span = span_of(run, round, thread);
	doca_gpu_dev_verbs_ticket_t ticket = 0;
	int ret;

	span->start_ns = doca_gpu_dev_verbs_query_globaltimer();
	ret = put<scope, inlined>(run, qp, thread, &ticket);
	if (!ret)
		ret = doca_gpu_dev_verbs_wait(qp, ticket);
	if (!ret)
		span->end_ns = doca_gpu_dev_verbs_query_globaltimer();
	return ret;
}

/* At warp scope lanes leave together: a put of a warp needs them all. */
template <enum doca_gpu_dev_verbs_exec_scope scope, bool inlined> static __device__ inline void put_all(const struct bl_net_bw &run)
{
	constexpr bool together = scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	struct doca_gpu_dev_verbs_qp *qp = run.qps[thread / DOCA_GPUNETIO_VERBS_WARP_SIZE % run.nr_qps];

	for (uint64_t round = 0; round < run.rounds; round++) {
		int ret = put_once<scope, inlined>(run, qp, round, thread);

		if (ret)
			bl_net_failed(run.state, ret, thread, round);
		if (together ? __any_sync(0xffffffffU, ret != 0) : ret != 0)
			return;
	}
}

extern "C" __global__ void bl_put_bw_thread(struct bl_net_bw run)
{
	put_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD, false>(run);
}

extern "C" __global__ void bl_put_bw_warp(struct bl_net_bw run)
{
	put_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP, false>(run);
}

extern "C" __global__ void bl_put_bw_inline_thread(struct bl_net_bw run)
{
	put_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD, true>(run);
}

extern "C" __global__ void bl_put_bw_inline_warp(struct bl_net_bw run)
{
	put_all<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP, true>(run);
}

#undef GPU
#undef AUTO

BL_CUDA_KERNEL(bl_put_bw_thread);
BL_CUDA_KERNEL(bl_put_bw_warp);
BL_CUDA_KERNEL(bl_put_bw_inline_thread);
BL_CUDA_KERNEL(bl_put_bw_inline_warp);
