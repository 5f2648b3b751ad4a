// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_write_lat: one thread answers each message of the peer's with one of its own. */
#include "state.cuh"

/* Waits for the byte that says which message it is: the last one, which is written last. */
static __device__ inline int await(const struct bl_net_lat &run, uint64_t message)
{
	uint8_t *byte = (uint8_t *)(uintptr_t)(run.seen + run.size - 1);
	uint64_t deadline = doca_gpu_dev_verbs_query_globaltimer() + run.limit_ns;

	for (uint32_t turn = 1; doca_gpu_dev_verbs_load_relaxed_sys_global(byte) != (uint8_t)message; turn++) {
		/* memory of the CPU is far away: it is asked now and then */
		if (turn % 64)
			continue;
		if (bl_net_stopped(run.state))
			return DOCA_GPUNETIO_VERBS_WAIT_STOPPED;
		if (doca_gpu_dev_verbs_query_globaltimer() >= deadline)
			return DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT;
		__nanosleep(0);
	}
	/* the last byte before the others, and before the answer */
	doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	return 0;
}

static __device__ inline void write_wqe(const struct bl_net_lat &run, uint64_t index, struct doca_gpu_dev_verbs_wqe *wqe)
{
	if (run.inlined && run.size <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE) {
		doca_gpu_dev_verbs_wqe_prepare_write_inl(run.qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE,
							 run.to, run.to_key, run.from, (uint32_t)run.size);
		return;
	}
	doca_gpu_dev_verbs_wqe_prepare_write(run.qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
					     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, run.to, run.to_key, run.from,
					     run.from_key, (uint32_t)run.size);
}

/* BlueFlame takes the WQE from shared memory; the ring has it as well. */
template <bool blueflame>
static __device__ inline int send(const struct bl_net_lat &run, uint64_t index, uint64_t message,
				  struct doca_gpu_dev_verbs_wqe *staged)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	int ret = doca_gpu_dev_verbs_wait_until_slot_available<mine>(run.qp, index);

	if (ret)
		return ret;
	*(volatile uint8_t *)(uintptr_t)(run.from + run.size - 1) = (uint8_t)message;
	write_wqe(run, index, doca_gpu_dev_verbs_get_wqe_ptr(run.qp, (uint16_t)index));
	if (!blueflame)
		return doca_gpu_dev_verbs_submit<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(run.qp, index + 1);
	write_wqe(run, index, staged);
	return doca_gpu_dev_verbs_submit_bf<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(run.qp, index + 1, staged);
}

template <bool blueflame>
static __device__ inline int play(const struct bl_net_lat &run, uint64_t begin, uint64_t round,
				  struct doca_gpu_dev_verbs_wqe *staged)
{
	int ret;

	if (run.first) {
		ret = send<blueflame>(run, begin + round, round + 1, staged);
		return ret ? ret : await(run, round + 1);
	}
	ret = await(run, round + 1);
	return ret ? ret : send<blueflame>(run, begin + round, round + 1, staged);
}

template <bool blueflame>
static __device__ inline void play_all(const struct bl_net_lat &run, struct doca_gpu_dev_verbs_wqe *staged)
{
	uint64_t begin = run.qp->sq_wqe_pi;
	int ret;

	for (uint64_t round = 0; round < run.rounds; round++) {
		uint64_t start = doca_gpu_dev_verbs_query_globaltimer();

		ret = play<blueflame>(run, begin, round, staged);
		if (ret) {
			bl_net_failed(run.state, ret, 0, round);
			return;
		}
		if (run.spans)
			run.spans[round] = {start, doca_gpu_dev_verbs_query_globaltimer()};
	}
	ret = doca_gpu_dev_verbs_poll_cq_collapsed_at<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(
		run.qp, begin + run.rounds - 1);
	if (ret)
		bl_net_failed(run.state, ret, 0, run.rounds);
}

extern "C" __global__ void bl_write_lat_db(struct bl_net_lat run)
{
	play_all<false>(run, nullptr);
}

extern "C" __global__ void bl_write_lat_bf(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_wqe, staged, );

	play_all<true>(run, &staged);
}

BL_CUDA_KERNEL(bl_write_lat_db);
BL_CUDA_KERNEL(bl_write_lat_bf);
