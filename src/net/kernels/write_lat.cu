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

template <bool inlined>
static __device__ inline void write_wqe(const struct bl_net_lat &run, uint64_t index, struct doca_gpu_dev_verbs_wqe *wqe)
{
	if (inlined) {
		doca_gpu_dev_verbs_wqe_prepare_write_inl(run.qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE,
							 run.to, run.to_key, run.from, (uint32_t)run.size);
		return;
	}
	doca_gpu_dev_verbs_wqe_prepare_write(run.qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
					     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, run.to, run.to_key, run.from,
					     run.from_key, (uint32_t)run.size);
}

/* Whether the message can travel in the request although it is not inline: this thread reads it where the NIC would. */
static __device__ inline bool is_brought(const struct bl_net_lat &run)
{
	return run.qp->sq_express && bl_gpu_dev_verbs_can_bring(run.qp, run.from, run.from_key, (uint32_t)run.size);
}

/* Whether a CPU looks at each slot: marking it ready tells of it. */
static __device__ inline bool is_by_slot(const struct bl_net_lat &run)
{
	return run.qp->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW;
}

/*
 * The next message: its request, and whether that will bring it along; of one that is inline where it is given whole, or NULL, and
 * the words to be stored there.
 */
struct next {
	struct doca_gpu_dev_verbs_wqe wqe;
	bool brings;
	uint64_t *line;
	struct bl_dev_whole whole;
};

/* Words of an inline request, made now and not when they are stored. */
static __device__ inline void make_whole(const struct bl_net_lat &run, uint64_t index, struct next &next)
{
	next.line = run.qp->sq_express;
	next.whole = bl_dev_whole_of(&next.wqe, index + 1);
	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i++)
		bl_op_keep(next.whole.words[i]);
}

/*
 * What can be done before it is known that there is to be one: the request, in its slot, where BlueFlame takes it from, and in
 * registers.
 */
template <bool inlined>
static __device__ inline void prepare(const struct bl_net_lat &run, uint64_t index, uint64_t message,
				      struct doca_gpu_dev_verbs_wqe *staged, struct next &next)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;

	/* of one that is not inline the NIC reads the message, which may be the one before yet */
	if (inlined)
		set_message(run, message);
	write_wqe<inlined>(run, index, staged);
	for (unsigned int i = 0; i < sizeof(next.wqe); i += sizeof(uint64_t))
		*(uint64_t *)(void *)(next.wqe.inl_data + i) = bl_op_word(staged->inl_data + i);
	next.brings = !inlined && is_brought(run);
	if (inlined)
		make_whole(run, index, next);
	write_wqe<inlined>(run, index, doca_gpu_dev_verbs_get_wqe_ptr(run.qp, (uint16_t)index));
	/* nobody else uses the queue */
	if (!is_by_slot(run))
		doca_gpu_dev_verbs_mark_wqes_ready<mine>(run.qp, index, index);
}

/* The request that was prepared. */
template <bool blueflame, bool inlined>
static __device__ inline int send(const struct bl_net_lat &run, uint64_t index, uint64_t message,
				  struct doca_gpu_dev_verbs_wqe *staged, struct next &next)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	constexpr auto all = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS;

	/* a message that lies in the request tells of nothing but itself */
	if (inlined && next.line) {
		bl_dev_give_words(next.line, next.whole);
		return doca_gpu_dev_verbs_submit<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(run.qp, index + 1);
	}
	if (!inlined)
		set_message(run, message);
	if (next.brings)
		bl_gpu_dev_verbs_wqe_bring(&next.wqe, run.from, (uint32_t)run.size);
	/* nor does one that it brings along */
	if (run.qp->sq_express && next.brings)
		return bl_gpu_dev_verbs_submit_express<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(run.qp, index + 1,
												    &next.wqe);
	if (run.qp->sq_express)
		return bl_gpu_dev_verbs_submit_express<mine, all>(run.qp, index + 1, &next.wqe);
	/* where a CPU looks at slots it is told here */
	if (is_by_slot(run))
		doca_gpu_dev_verbs_mark_wqes_ready<mine>(run.qp, index, index);
	if (blueflame)
		return doca_gpu_dev_verbs_submit_bf<mine, all>(run.qp, index + 1, staged);
	return doca_gpu_dev_verbs_submit<mine, all>(run.qp, index + 1);
}

/* A round trip is from one message to the next: the clock is read when one has been sent, and nobody waits for that. */
static __device__ inline void note(const struct bl_net_lat &run, uint64_t round, uint64_t &start)
{
	uint64_t now = doca_gpu_dev_verbs_query_globaltimer();

	if (run.spans && round)
		run.spans[round - 1] = {start, now};
	start = now;
}

template <bool blueflame, bool inlined>
static __device__ inline int play(const struct bl_net_lat &run, uint64_t index, uint64_t round, uint64_t &start,
				  struct doca_gpu_dev_verbs_wqe *staged, struct next &next)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	int ret = run.first ? 0 : await(run, round + 1);

	if (!ret)
		ret = send<blueflame, inlined>(run, index, round + 1, staged, next);
	note(run, round, start);
	/* for the next one, while this one is on its way */
	if (!ret)
		ret = doca_gpu_dev_verbs_wait_until_slot_available<mine>(run.qp, index + 1);
	if (!ret && round + 1 < run.rounds)
		prepare<inlined>(run, index + 1, round + 2, staged, next);
	return ret || !run.first ? ret : await(run, round + 1);
}

template <bool blueflame, bool inlined>
static __device__ inline void play_all(const struct bl_net_lat &run, struct doca_gpu_dev_verbs_wqe *staged)
{
	uint64_t begin = run.qp->sq_wqe_pi, start = 0;
	struct next next;
	int ret;

	prepare<inlined>(run, begin, 1, staged, next);
	for (uint64_t round = 0; round < run.rounds; round++) {
		ret = play<blueflame, inlined>(run, begin + round, round, start, staged, next);
		if (ret) {
			bl_net_failed(run.state, ret, 0, round);
			return;
		}
	}
	note(run, run.rounds, start);
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
	if (is_inline(run))
		play_all<blueflame, true>(run, staged);
	else
		play_all<blueflame, false>(run, staged);
	bl_net_give(qp, run.qp);
}

extern "C" __global__ void bl_write_lat_db(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_wqe, staged, );
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );

	play_alone<false>(run, &place, &staged);
}

extern "C" __global__ void bl_write_lat_bf(struct bl_net_lat run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_wqe, staged, );
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );

	play_alone<true>(run, &place, &staged);
}

BL_CUDA_KERNEL(bl_write_lat_db);
BL_CUDA_KERNEL(bl_write_lat_bf);
