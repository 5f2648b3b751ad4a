/* SPDX-License-Identifier: MIT */
/*
 * bl_gpunetio_dev_srq.cuh - receives that several queue pairs take, posted by threads of a GPU
 *
 * Of this library, not the original's; doca_gpunetio_device.h does not bring it. A loop of a server:
 *
 *	doca_gpu_dev_verbs_poll_cq_at<..., DOCA_GPUNETIO_VERBS_QP_RQ>(qp, n), n counting the completions of the queue
 *	cqe = doca_gpu_dev_verbs_cq_get_cqe_ptr(&qp->cq_rq, n)
 *	bl_dev_cqe_get_qpn(cqe) says who received it, bl_dev_cqe_get_wqe(cqe) in which WQE
 *	bl_dev_srq_free(srq, wqe), when the bytes have been looked at
 *	bl_dev_srq_post(srq, addr, size, &wqe)
 *
 * Queue pairs of one shared receive queue may have one completion queue. Then completions are counted in, and waited for
 * with, the object of one of these queue pairs, and an error of any ends the waits of all.
 *
 * A completion is read before its queue has come round. Where threads poll side by side, and nobody tells the NIC how far all of
 * them are, what completes while one of them stands still has to fit into the queue.
 */
#ifndef BL_GPUNETIO_DEV_SRQ_CUH
#define BL_GPUNETIO_DEV_SRQ_CUH

#include "../common/bl_gpunetio_srq.h"
#include "doca_gpunetio_dev_verbs_cqe.cuh"

/** bl_dev_cqe_get_wqe() - Number of the WQE that a message was received in */
BL_DEVICE uint16_t bl_dev_cqe_get_wqe(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return bl_op_bswap16((uint16_t)(bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 60) & 0xffff));
}

/** bl_dev_cqe_get_qpn() - Number of the queue pair that has received it */
BL_DEVICE uint32_t bl_dev_cqe_get_qpn(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return bl_op_bswap32(bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 56)) & 0xffffffU;
}

/** bl_dev_cqe_get_srqn() - Number of the shared receive queue */
BL_DEVICE uint32_t bl_dev_cqe_get_srqn(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return bl_op_bswap32(bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 32)) & 0xffffffU;
}

/* Bytes of a segment. */
#define BL_DEV_SRQ_SEG 16U

/* A WQE begins with the number of the next one, 16 bits at offset 2. */
BL_DEVICE uint32_t *bl_dev_srq_link(const struct bl_dev_srq *srq, uint16_t index)
{
	return (uint32_t *)(void *)(srq->wqe_daddr + ((uint64_t)index << srq->wqe_shift));
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_srq_begin(struct bl_dev_srq *srq, uint64_t deadline_ns, const uint32_t *stop_flag)
{
	if (RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE)
		return 0;
	return doca_gpu_dev_verbs_lock_until<RS>(&srq->lock, deadline_ns, stop_flag);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> BL_DEVICE void bl_dev_srq_end(struct bl_dev_srq *srq)
{
	if (RS != DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE)
		doca_gpu_dev_verbs_unlock<RS>(&srq->lock);
}

/* One data segment, and the end of the list where there is room for more. The lock is held. */
BL_DEVICE void bl_dev_srq_fill(const struct bl_dev_srq *srq, uint16_t index, struct doca_gpu_dev_verbs_addr laddr, uint32_t size)
{
	uint8_t *at = srq->wqe_daddr + ((uint64_t)index << srq->wqe_shift) + BL_DEV_SRQ_SEG;
	const uint64_t data[2] = {(uint64_t)laddr.key << 32 | bl_op_bswap32(size), bl_op_bswap64(laddr.addr)};
	const uint64_t end[2] = {(uint64_t)bl_op_bswap32(DOCA_GPUNETIO_IB_MLX5_INVALID_LKEY) << 32, 0};

	bl_op_store_seg(at, data);
	if (srq->sges > 1)
		bl_op_store_seg(at + BL_DEV_SRQ_SEG, end);
}

/**
 * bl_dev_srq_post() - Post a receive of one piece
 * @srq:	 queue
 * @laddr:	 where to; its key is of the protection domain of the queue
 * @size:	 bytes, at most 1 GiB
 * @index_p:	 receives the number of the WQE, as the completion will have it; may be NULL
 * @deadline_ns: longest wait for other threads, of doca_gpu_dev_verbs_query_globaltimer(); UINT64_MAX: none
 * @stop_flag:	 word that ends the wait when it is not 0; may be NULL
 *
 * EXCLUSIVE: no other thread posts or frees. The host must not post once threads do.
 * Return: 0, -EAGAIN (all are posted, or taken and not freed), -EINVAL (the size), DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT,
 * _STOPPED.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>
BL_DEVICE int bl_dev_srq_post(struct bl_dev_srq *srq, struct doca_gpu_dev_verbs_addr laddr, uint32_t size, uint16_t *index_p,
			      uint64_t deadline_ns = UINT64_MAX, const uint32_t *stop_flag = nullptr)
{
	constexpr auto S = bl_dev_scope<resource_sharing_mode>::value;
	uint16_t index;
	int ret;

	if (size > DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE)
		return -EINVAL;
	ret = bl_dev_srq_begin<resource_sharing_mode>(srq, deadline_ns, stop_flag);
	if (ret)
		return ret;
	index = srq->head;
	if (index == srq->tail) {
		bl_dev_srq_end<resource_sharing_mode>(srq);
		return -EAGAIN;
	}
	srq->head = (uint16_t)bl_op_bswap32(bl_op_load<S>(bl_dev_srq_link(srq, index)));
	bl_dev_srq_fill(srq, index, laddr, size);
	srq->posted++;
	/* the WQE, and links that other threads have made, before the record: a CPU may poll it */
	bl_op_fence_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
	bl_op_store<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(srq->dbrec, bl_op_bswap32((uint32_t)srq->posted & 0xffffU));
	bl_dev_srq_end<resource_sharing_mode>(srq);
	if (index_p)
		*index_p = index;
	return 0;
}

/**
 * bl_dev_srq_free() - Give a WQE that has completed back, to be posted again
 * @srq:	 queue
 * @index:	 bl_dev_cqe_get_wqe() of its completion; once for each
 * @deadline_ns: as for bl_dev_srq_post()
 * @stop_flag:	 the same
 *
 * Return: 0, -EINVAL (there is no such WQE), DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT, _STOPPED.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>
BL_DEVICE int bl_dev_srq_free(struct bl_dev_srq *srq, uint16_t index, uint64_t deadline_ns = UINT64_MAX,
			      const uint32_t *stop_flag = nullptr)
{
	constexpr auto S = bl_dev_scope<resource_sharing_mode>::value;
	int ret;

	if (index >= srq->wqe_num)
		return -EINVAL;
	ret = bl_dev_srq_begin<resource_sharing_mode>(srq, deadline_ns, stop_flag);
	if (ret)
		return ret;
	bl_op_store<S>(bl_dev_srq_link(srq, srq->tail), bl_op_bswap32(index));
	srq->tail = index;
	bl_dev_srq_end<resource_sharing_mode>(srq);
	return 0;
}

#endif
