// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_forward: messages go back where they came from, without the CPU. */
#include "state.cuh"

#define RQ    DOCA_GPUNETIO_VERBS_QP_RQ
#define BLOCK DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA

#define SKIP_CHECK DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK

#define PAGE_BITS 0xfffU

#define NR_WORDS (BL_DEV_SEND_INLINE_MAX / 4)

/* One thread: the whole receive queue. */
extern "C" __global__ void bl_forward_prepare(struct bl_net_forward run)
{
	for (uint64_t slot = 0; slot < run.slots; slot++) {
		struct doca_gpu_dev_verbs_addr page = {run.pages + slot * run.page_size, run.key};
		int ret;

		if (run.imm)
			page = {0, doca_gpu_dev_verbs_bswap32(DOCA_GPUNETIO_IB_MLX5_INVALID_LKEY)};
		ret = doca_gpu_dev_verbs_recv<BLOCK>(run.qp, page, run.imm ? 0 : run.page_size);
		if (ret) {
			bl_net_failed(run.state, ret, 0, slot);
			return;
		}
	}
}

/* Of the wait for the next message: set when the last one has been dealt with, and not while one is under way. */
static __device__ inline uint64_t deadline_of(const struct bl_net_forward &run)
{
	return doca_gpu_dev_verbs_query_globaltimer() + run.limit_ns;
}

/* What completion @ticket says: where the message is, and its length. */
static __device__ inline uint32_t message_of(const struct bl_net_forward &run, uint64_t ticket, uint64_t *addr_p)
{
	struct doca_gpu_dev_verbs_cq *cq = &run.qp->cq_rq;
	const struct doca_gpunetio_ib_mlx5_cqe64 *cqe = (const struct doca_gpunetio_ib_mlx5_cqe64 *)(const void *)(
		cq->cqe_daddr + ((ticket + cq->cqe_rsvd) & cq->cqe_mask) * cq->cqe_size);
	uint64_t page = ticket;

	if (run.imm)
		page = doca_gpu_dev_verbs_bswap32(doca_gpu_dev_verbs_cqe_get_imm(cqe)) & PAGE_BITS;
	*addr_p = run.pages + page % run.slots * run.page_size;
	return doca_gpu_dev_verbs_cqe_get_bytes(cqe);
}

/* The slot is used again when the threads before this one have said so of theirs, and the message is out of the page. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
static __device__ inline int repost(const struct bl_net_forward &run, uint64_t ticket, uint64_t deadline)
{
	uint64_t index = ticket + run.slots;
	int ret = doca_gpu_dev_verbs_mark_wqes_ready_until<RS, RQ>(run.qp, index, index, deadline, &run.state->stop);

	if (ret)
		return ret;
	return doca_gpu_dev_verbs_submit<RS, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, RQ>(run.qp,
															  index + 1);
}

/*
 * Alone, and of a message that fits into the request: the NIC need not read the GPU's memory, and the page is free at once.
 * Slots of the next one are waited for afterwards, while the message is on its way.
 */
static __device__ inline int forward_inline(const struct bl_net_forward &run, uint64_t ticket, uint64_t deadline,
					    const uint32_t (&words)[NR_WORDS], uint32_t bytes)
{
	constexpr auto mine = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	uint32_t nr = bl_dev_send_slots(bytes);
	uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<mine>(run.qp, nr, SKIP_CHECK);
	int ret;

	/* the message is all that it tells of */
	if (run.qp->sq_express)
		bl_dev_give_send_inline(run.qp, index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, words, bytes);
	bl_dev_wqe_send_inline(run.qp, index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, words, bytes);
	doca_gpu_dev_verbs_mark_wqes_ready<mine>(run.qp, index, index + nr - 1);
	ret = doca_gpu_dev_verbs_submit<mine, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(run.qp, index + nr);
	if (!ret)
		ret = repost<mine>(run, ticket, deadline);
	if (!ret)
		ret = doca_gpu_dev_verbs_slot_available_until<mine>(run.qp, index + nr + 1, deadline, &run.state->stop);
	return ret;
}

/* By itself: the message is loaded beside the completion's words, before it is known how long it is. */
static __device__ inline bool is_short(const struct bl_net_forward &run, uint64_t ticket, uint32_t (&words)[NR_WORDS],
				       uint32_t *bytes_p)
{
	uint64_t addr;

	if (run.imm || run.page_size < BL_DEV_SEND_INLINE_MAX)
		return false;
	bl_dev_load_words(words, run.pages + ticket % run.slots * run.page_size, BL_DEV_SEND_INLINE_MAX);
	*bytes_p = message_of(run, ticket, &addr);
	return *bytes_p <= BL_DEV_SEND_INLINE_MAX;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
static __device__ inline int forward_one(const struct bl_net_forward &run, uint64_t ticket, uint64_t deadline)
{
	struct doca_gpu_dev_verbs_addr message = {0, run.key};
	doca_gpu_dev_verbs_ticket_t sent = 0;
	uint32_t bytes, words[NR_WORDS];
	int ret = doca_gpu_dev_verbs_poll_cq_at_until<RS, RQ>(&run.qp->cq_rq, ticket, deadline, &run.state->stop);

	if (ret)
		return ret;
	if (RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE && is_short(run, ticket, words, &bytes))
		return forward_inline(run, ticket, deadline, words, bytes);
	bytes = message_of(run, ticket, &message.addr);
	ret = doca_gpu_dev_verbs_send<RS>(run.qp, message, bytes, &sent);
	if (!ret)
		ret = doca_gpu_dev_verbs_wait_until<RS>(run.qp, sent, deadline, &run.state->stop);
	return ret ? ret : repost<RS>(run, ticket, deadline);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
static __device__ inline void forward_all(const struct bl_net_forward &run, unsigned int worker, unsigned int nr)
{
	unsigned long long done = 0;

	for (uint64_t ticket = worker;; ticket += nr) {
		int ret = forward_one<RS>(run, ticket, deadline_of(run));

		if (ret) {
			if (ret != DOCA_GPUNETIO_VERBS_WAIT_STOPPED)
				bl_net_failed(run.state, ret, worker, ticket);
			/* the word is the CPU's memory, far away: once */
			atomicAdd((unsigned long long *)(void *)&run.state->done, done);
			return;
		}
		done++;
	}
}

static __device__ inline void forward_alone(struct bl_net_forward run, struct doca_gpu_dev_verbs_qp *place)
{
	struct doca_gpu_dev_verbs_qp *qp = run.qp;

	run.qp = bl_net_take(place, qp);
	forward_all<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(run, 0, 1);
	bl_net_give(qp, run.qp);
}

/*
 * One block, a part of the slots for each worker. Workers are threads of different warps, as far as a block has warps: lanes
 * of one wait for each other where they are at different places, so one that polls would hold up one that has a message.
 */
extern "C" __global__ void bl_forward(struct bl_net_forward run)
{
	BL_SHARED(struct doca_gpu_dev_verbs_qp, place, );
	uint32_t nr = (uint32_t)run.workers, step = blockDim.x / nr;

	if (threadIdx.x % step)
		return;
	if (nr == 1)
		forward_alone(run, &place);
	else
		forward_all<BLOCK>(run, threadIdx.x / step, nr);
}

#undef RQ
#undef BLOCK

BL_CUDA_KERNEL(bl_forward_prepare);
BL_CUDA_KERNEL(bl_forward);
