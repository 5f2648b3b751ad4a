// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_verbs_write_lat: one thread answers each message of the peer's with one of its own. */
#include "state.cuh"

/* Waits for the byte that says which message it is: the last one, which is written last. */
static __device__ inline int await(const struct bl_net_lat &run, uint64_t message)
{
	uint8_t *byte = (uint8_t *)(uintptr_t)(run.seen + run.size - 1);
	uint64_t deadline = 0;

	/* the last byte before the others, and before the answer */
	for (uint32_t turn = 1; bl_op_load_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(byte) != (uint8_t)message; turn++) {
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
	return 0;
}

static __device__ inline bool is_inline(const struct bl_net_lat &run)
{
	return run.inlined && run.size <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE;
}

static __device__ inline void set_message(const struct bl_net_lat &run, uint64_t message)
{
	*(volatile uint8_t *)(uintptr_t)(run.from + run.size - 1) = (uint8_t)message;
}

static __device__ inline void write_wqe(const struct bl_net_lat &run, uint64_t index, struct doca_gpu_dev_verbs_wqe *wqe)
{
	if (is_inline(run)) {
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
	int ret;

	if (!is_inline(run))
		set_message(run, message);
	write_wqe(run, index, doca_gpu_dev_verbs_get_wqe_ptr(run.qp, (uint16_t)index));
	/* nobody else uses the queue; where a CPU looks at slots it is told here */
	doca_gpu_dev_verbs_mark_wqes_ready<mine>(run.qp, index, index);
	if (blueflame) {
		write_wqe(run, index, staged);
		ret = doca_gpu_dev_verbs_submit_bf<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(run.qp, index + 1, staged);
	} else {
		ret = doca_gpu_dev_verbs_submit<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(run.qp, index + 1);
	}
	/* what can be done for the next one, while this one is on its way; the NIC reads one that is not inline */
	if (is_inline(run))
		set_message(run, message + 1);
	return ret ? ret : doca_gpu_dev_verbs_wait_until_slot_available<mine>(run.qp, index + 1);
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

	set_message(run, 1);
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

template <bool blueflame>
static __device__ inline void play_alone(struct bl_net_lat run, struct doca_gpu_dev_verbs_qp *place,
					 struct doca_gpu_dev_verbs_wqe *staged)
{
	struct doca_gpu_dev_verbs_qp *qp = run.qp;

	run.qp = bl_net_take(place, qp);
	play_all<blueflame>(run, staged);
	bl_net_give(qp, run.qp);
}

extern "C" __global__ void bl_write_lat_db(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );

	play_alone<false>(run, &place, nullptr);
}

extern "C" __global__ void bl_write_lat_bf(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_wqe, staged, );
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );

	play_alone<true>(run, &place, &staged);
}

BL_CUDA_KERNEL(bl_write_lat_db);
BL_CUDA_KERNEL(bl_write_lat_bf);
