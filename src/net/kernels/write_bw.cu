// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_write_bw: a block fills WQEs of its queue pair, and its last thread submits those of all. */
#include "state.cuh"

template <bool inlined>
static __device__ inline void write_wqe(const struct bl_net_bw &run, struct doca_gpu_dev_verbs_qp *qp, uint64_t index)
{
	constexpr auto flags = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
	struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
	uint64_t off = (blockIdx.x * blockDim.x + threadIdx.x) * run.size;

	if (inlined)
		doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, wqe, (uint16_t)index, flags, run.to + off, run.to_key,
							 run.from + off, (uint32_t)run.size);
	else
		doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags,
						     0, run.to + off, run.to_key, run.from + off, run.from_key,
						     (uint32_t)run.size);
}

/* Alone: of the last thread, for a block. */
static __device__ inline int submit(struct doca_gpu_dev_verbs_qp *qp, uint64_t end)
{
	doca_gpu_dev_verbs_mark_wqes_ready<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, end - blockDim.x, end - 1);
	return doca_gpu_dev_verbs_submit<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE,
					 DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(
		qp, end, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI);
}

/* @failed, @refused: of the block. */
template <bool inlined> static __device__ inline void write_all(const struct bl_net_bw &run, int &failed, int &refused)
{
	struct doca_gpu_dev_verbs_qp *qp = run.qps[blockIdx.x];
	struct bl_net_span *spans = run.spans + blockIdx.x * run.rounds;
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
	bool last = threadIdx.x == blockDim.x - 1;
	uint64_t begin = qp->sq_wqe_pi;
	uint64_t end = begin + run.rounds * blockDim.x;
	int ret;

	if (last)
		failed = refused = 0;
	/* begin was read by all, and nothing has failed for all, before anybody goes on */
	__syncthreads();
	for (uint64_t round = 0; round < run.rounds; round++) {
		uint64_t index = begin + round * blockDim.x + threadIdx.x;

		if (last)
			spans[round].start_ns = doca_gpu_dev_verbs_query_globaltimer();
		ret = doca_gpu_dev_verbs_wait_until_slot_available<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(qp, index);
		if (ret) {
			bl_net_failed(run.state, ret, thread, round);
			atomicExch(&failed, 1);
		} else {
			write_wqe<inlined>(run, qp, index);
		}
		/* all WQEs of the round, and failed, before they are submitted */
		__syncthreads();
		if (failed)
			return;
		if (last) {
			ret = submit(qp, index + 1);
			if (ret) {
				bl_net_failed(run.state, ret, thread, round);
				refused = 1;
			}
			spans[round].end_ns = doca_gpu_dev_verbs_query_globaltimer();
		}
		/* the producer index before slots are asked for again */
		__syncthreads();
		if (refused)
			return;
	}
	if (!last || begin == end)
		return;
	ret = doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(qp, end - 1);
	if (ret)
		bl_net_failed(run.state, ret, thread, run.rounds);
	spans[run.rounds - 1].end_ns = doca_gpu_dev_verbs_query_globaltimer();
}

extern "C" __global__ void bl_write_bw(struct bl_net_bw run)
{
	BL_SHARED(int, failed, );
	BL_SHARED(int, refused, );

	write_all<false>(run, failed, refused);
}

extern "C" __global__ void bl_write_bw_inline(struct bl_net_bw run)
{
	BL_SHARED(int, failed, );
	BL_SHARED(int, refused, );

	write_all<true>(run, failed, refused);
}

BL_CUDA_KERNEL(bl_write_bw);
BL_CUDA_KERNEL(bl_write_bw_inline);
