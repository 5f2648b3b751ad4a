// SPDX-License-Identifier: MIT
/* Kernels of gpunetio_forward: messages go back where they came from, without the CPU. */
#include "state.cuh"

#define RQ    DOCA_GPUNETIO_VERBS_QP_RQ
#define BLOCK DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA

#define PAGE_BITS 0xfffU

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
static __device__ inline int repost(const struct bl_net_forward &run, uint64_t ticket)
{
	uint64_t index = ticket + run.slots;
	int ret = doca_gpu_dev_verbs_mark_wqes_ready_until<BLOCK, RQ>(run.qp, index, index, deadline_of(run), &run.state->stop);

	if (ret)
		return ret;
	return doca_gpu_dev_verbs_submit<BLOCK, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, RQ>(
		run.qp, index + 1);
}

static __device__ inline int forward_one(const struct bl_net_forward &run, uint64_t ticket)
{
	struct doca_gpu_dev_verbs_addr message = {0, run.key};
	doca_gpu_dev_verbs_ticket_t sent = 0;
	uint32_t bytes;
	int ret = doca_gpu_dev_verbs_poll_cq_at_until<BLOCK, RQ>(&run.qp->cq_rq, ticket, deadline_of(run), &run.state->stop);

	if (ret)
		return ret;
	bytes = message_of(run, ticket, &message.addr);
	ret = doca_gpu_dev_verbs_send<BLOCK>(run.qp, message, bytes, &sent);
	if (!ret)
		ret = doca_gpu_dev_verbs_wait_until<BLOCK>(run.qp, sent, deadline_of(run), &run.state->stop);
	return ret ? ret : repost(run, ticket);
}

/* One block, a part of the slots for each thread. */
extern "C" __global__ void bl_forward(struct bl_net_forward run)
{
	unsigned long long done = 0;

	for (uint64_t ticket = threadIdx.x;; ticket += blockDim.x) {
		int ret = forward_one(run, ticket);

		if (ret) {
			if (ret != DOCA_GPUNETIO_VERBS_WAIT_STOPPED)
				bl_net_failed(run.state, ret, threadIdx.x, ticket);
			/* the word is the CPU's memory, far away: once */
			atomicAdd((unsigned long long *)(void *)&run.state->done, done);
			return;
		}
		done++;
	}
}

#undef RQ
#undef BLOCK

BL_CUDA_KERNEL(bl_forward_prepare);
BL_CUDA_KERNEL(bl_forward);
