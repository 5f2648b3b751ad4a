// SPDX-License-Identifier: MIT
/* Kernel of gpunetio_verbs_write_bw: one block fills WQEs by itself, and its last thread submits those of all. */
#include "state.cuh"

static __device__ inline void write_wqe(const struct bl_net_bw &run, uint64_t index)
{
	doca_gpu_dev_verbs_wqe_prepare_write(run.qp, doca_gpu_dev_verbs_get_wqe_ptr(run.qp, (uint16_t)index), (uint16_t)index,
					     DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0,
					     run.to + threadIdx.x * run.size, run.to_key, run.from + threadIdx.x * run.size,
					     run.from_key, (uint32_t)run.size);
}

/* Alone: of the last thread. */
static __device__ inline int submit(const struct bl_net_bw &run, uint64_t end)
{
	return doca_gpu_dev_verbs_submit<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE,
					 DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(
		run.qp, end, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI);
}

extern "C" __global__ void bl_write_bw(struct bl_net_bw run)
{
	BL_SHARED(int, failed, );
	BL_SHARED(int, refused, );
	bool last = threadIdx.x == blockDim.x - 1;
	uint64_t begin = run.qp->sq_wqe_pi;
	uint64_t end = begin + run.rounds * blockDim.x;
	int ret;

	if (last)
		failed = refused = 0;
	/* begin was read by all, and nothing has failed for all, before anybody goes on */
	__syncthreads();
	for (uint64_t round = 0; round < run.rounds; round++) {
		uint64_t index = begin + round * blockDim.x + threadIdx.x;

		if (last)
			run.spans[round].start_ns = doca_gpu_dev_verbs_query_globaltimer();
		ret = doca_gpu_dev_verbs_wait_until_slot_available<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(run.qp, index);
		if (ret) {
			bl_net_failed(run.state, ret, threadIdx.x, round);
			atomicExch(&failed, 1);
		} else {
			write_wqe(run, index);
		}
		/* all WQEs of the round, and failed, before they are submitted */
		__syncthreads();
		if (failed)
			return;
		if (last) {
			ret = submit(run, index + 1);
			if (ret) {
				bl_net_failed(run.state, ret, threadIdx.x, round);
				refused = 1;
			}
			run.spans[round].end_ns = doca_gpu_dev_verbs_query_globaltimer();
		}
		/* the producer index before slots are asked for again */
		__syncthreads();
		if (refused)
			return;
	}
	if (!last || begin == end)
		return;
	ret = doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(run.qp, end - 1);
	if (ret)
		bl_net_failed(run.state, ret, threadIdx.x, run.rounds);
	run.spans[run.rounds - 1].end_ns = doca_gpu_dev_verbs_query_globaltimer();
}

BL_CUDA_KERNEL(bl_write_bw);
