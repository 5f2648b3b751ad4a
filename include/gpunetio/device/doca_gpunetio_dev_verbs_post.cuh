/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_post.cuh - the steps that operations on a queue pair have in common
 *
 * Inside of the device headers. An operation that cannot be posted leaves nothing behind; its ticket holds the reason.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_POST_CUH
#define DOCA_GPUNETIO_DEV_VERBS_POST_CUH

#include "bl_gpunetio_dev_bring.cuh"
#include "doca_gpunetio_dev_verbs_qp.cuh"

#define BL_DEV_ALWAYS_CQE DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE
#define BL_DEV_WARP	  DOCA_GPUNETIO_VERBS_WARP_SIZE

/* Slots that an operation has reserved. */
struct bl_dev_post {
	uint64_t first;
	uint64_t nr;
};

/* Memory of the peer and of this side; one WQE moves 1 GiB of it. */
struct bl_dev_range {
	struct doca_gpu_dev_verbs_addr raddr;
	struct doca_gpu_dev_verbs_addr laddr;
	size_t size;
};

/* What the WQEs of a range are; the last one may differ. */
struct bl_dev_range_op {
	uint32_t opcode;
	uint32_t last_opcode;
	uint32_t imm;
};

/* An error as index or ticket, and back: 0 for others. */
BL_DEVICE uint64_t bl_dev_error_index(int ret)
{
	return (uint64_t)(int64_t)ret;
}

BL_DEVICE int bl_dev_index_error(uint64_t index)
{
	return index >= BL_DEV_FIRST_ERROR ? (int)(int64_t)index : 0;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_mark(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_post *post)
{
	return doca_gpu_dev_verbs_mark_wqes_ready<RS, QT, DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>(qp, post->first,
												  post->first + post->nr - 1);
}

/* Says that the slots are filled, and tells the NIC. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_commit(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_post *post, uint32_t code_opt)
{
	/* threads of one GPU have released their WQEs at its scope when they marked them */
	constexpr auto SS = RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD :
										   DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
	int ret = bl_dev_mark<RS, QT>(qp, post);

	return ret ? ret : doca_gpu_dev_verbs_submit<RS, SS, NH, QT>(qp, post->first + post->nr, code_opt);
}

/* Gives the ticket of the last slot, or the reason why there is none. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_finish(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_post *post, int ret, uint64_t *out_ticket,
			    uint32_t code_opt)
{
	if (!ret)
		ret = bl_dev_commit<RS, NH, QT>(qp, post, code_opt);
	*out_ticket = ret ? bl_dev_error_index(ret) : post->first + post->nr - 1;
	return ret;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_begin(struct doca_gpu_dev_verbs_qp *qp, uint64_t nr, uint32_t code_opt, struct bl_dev_post *post)
{
	post->nr = nr;
	post->first = doca_gpu_dev_verbs_reserve_wq_slots<RS, QT>(qp, (uint32_t)nr, code_opt);
	return bl_dev_index_error(post->first);
}

BL_DEVICE struct doca_gpu_dev_verbs_wqe *bl_dev_slot(struct doca_gpu_dev_verbs_qp *qp, uint64_t index)
{
	return doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
}

/* One WQE of at most 1 GiB. Of nothing: a NOP, but for an immediate, which the peer waits for. */
BL_DEVICE void bl_dev_fill_piece(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint32_t opcode, uint32_t imm,
				 const struct bl_dev_range *range, uint32_t bytes, uint32_t code_opt)
{
	struct doca_gpu_dev_verbs_wqe *wqe = bl_dev_slot(qp, index);

	if (opcode != DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ &&
	    bl_dev_may_bring<BL_DEV_WRITE_SEGS>(qp, range->laddr, bytes, code_opt)) {
		bl_dev_write_brought(qp, wqe, (uint16_t)index, opcode, imm, range->raddr, range->laddr, bytes);
	} else if (bytes) {
		doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, opcode, BL_DEV_ALWAYS_CQE, imm, range->raddr.addr,
						     range->raddr.key, range->laddr.addr, range->laddr.key, bytes);
	} else if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM) {
		bl_dev_ctrl(wqe, (uint16_t)index, opcode, qp->sq_num_shift8_be_2ds, BL_DEV_ALWAYS_CQE, imm);
		bl_dev_raddr(wqe, range->raddr.addr, range->raddr.key);
	} else {
		doca_gpu_dev_verbs_wqe_prepare_nop(qp, wqe, (uint16_t)index, BL_DEV_ALWAYS_CQE);
	}
}

/* As many WQEs of a range as @nr says, or until its end; what is left of it stays in @range. */
BL_DEVICE void bl_dev_fill_range(struct doca_gpu_dev_verbs_qp *qp, uint64_t first, uint64_t nr, const struct bl_dev_range_op *op,
				 struct bl_dev_range *range, uint32_t code_opt)
{
	for (uint64_t i = 0; i < nr; i++) {
		uint32_t bytes = (uint32_t)(range->size < DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE ?
						    range->size : DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE);
		bool last = bytes == range->size;

		bl_dev_fill_piece(qp, first + i, last ? op->last_opcode : op->opcode, last ? op->imm : 0, range, bytes, code_opt);
		range->raddr.addr += bytes;
		range->laddr.addr += bytes;
		range->size -= bytes;
	}
}

BL_DEVICE uint64_t bl_dev_nr_pieces(size_t size)
{
	return size ? doca_gpu_dev_verbs_div_ceil_aligned_pow2(size, DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT) : 1;
}

/* Reserves and fills the WQEs of a range and reserves @extra slots behind it. What the queue cannot hold at once is
 * submitted on the way.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH>
BL_DEVICE int bl_dev_begin_range(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_range_op *op, struct bl_dev_range range,
				 uint64_t extra, uint32_t code_opt, struct bl_dev_post *post)
{
	uint64_t nr = bl_dev_nr_pieces(range.size);
	uint64_t room = qp->sq_wqe_num > extra ? qp->sq_wqe_num - extra : 1;
	int ret;

	for (; nr > room; nr -= room) {
		ret = bl_dev_begin<RS, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, room, code_opt, post);
		if (ret)
			return ret;
		bl_dev_fill_range(qp, post->first, room, op, &range, code_opt);
		ret = bl_dev_commit<RS, NH, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, post, code_opt);
		if (ret)
			return ret;
	}
	ret = bl_dev_begin<RS, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, nr + extra, code_opt, post);
	if (!ret)
		bl_dev_fill_range(qp, post->first, nr, op, &range, code_opt);
	return ret;
}

/* The signal of an operation: adds to a word of the peer. */
BL_DEVICE void bl_dev_fill_add(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, struct doca_gpu_dev_verbs_addr raddr,
			       struct doca_gpu_dev_verbs_addr laddr, uint64_t value)
{
	doca_gpu_dev_verbs_wqe_prepare_atomic(qp, bl_dev_slot(qp, index), (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA,
					      BL_DEV_ALWAYS_CQE, raddr.addr, raddr.key, laddr.addr, laddr.key,
					      (uint32_t)sizeof(uint64_t), value, 0);
}

template <typename T>
BL_DEVICE void bl_dev_fill_value(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, struct doca_gpu_dev_verbs_addr raddr, T value)
{
	struct doca_gpu_dev_verbs_wqe *wqe = bl_dev_slot(qp, index);

	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(qp, wqe, (uint16_t)index, BL_DEV_ALWAYS_CQE, raddr.addr, raddr.key,
							     (uint32_t)sizeof(T));
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data<T>(qp, wqe, value);
}

/* Whether the lanes of a warp can post together, @per_lane WQEs each: by one reservation and one doorbell. */
template <enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE bool bl_dev_warp_fits(struct doca_gpu_dev_verbs_qp *qp, uint64_t per_lane, size_t size)
{
	return !bl_op_any(size > DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE || BL_DEV_WARP * per_lane > bl_dev_nr_slots<QT>(qp));
}

/* @post: the calling lane's own slots. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_warp_begin(struct doca_gpu_dev_verbs_qp *qp, uint64_t per_lane, uint32_t code_opt, struct bl_dev_post *post)
{
	unsigned int lane = bl_op_lane();
	uint64_t first = 0;

	if (!lane)
		first = doca_gpu_dev_verbs_reserve_wq_slots<RS, QT>(qp, (uint32_t)(BL_DEV_WARP * per_lane), code_opt);
	first = bl_op_shfl(first, 0);
	post->first = first + lane * per_lane;
	post->nr = per_lane;
	return bl_dev_index_error(first);
}

/* The first lane speaks for all, after it has met them. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_warp_finish(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_post *post, int ret, uint64_t *out_ticket,
				 uint32_t code_opt)
{
	struct bl_dev_post all = {post->first, BL_DEV_WARP * post->nr};
	uint64_t result = 0;

	if (!ret) {
		bl_op_syncwarp();
		if (!bl_op_lane())
			result = bl_dev_error_index(bl_dev_commit<RS, NH, QT>(qp, &all, code_opt));
		ret = (int)(int64_t)bl_op_shfl(result, 0);
	}
	*out_ticket = ret ? bl_dev_error_index(ret) : post->first + post->nr - 1;
	return ret;
}

/* Lanes one after the other, where they cannot post together. */
#define BL_DEV_LANE_BY_LANE(ret, call)                                                                                 \
	do {                                                                                                           \
		for (unsigned int lane_ = 0; lane_ < BL_DEV_WARP; lane_++) {                                           \
			if (lane_ == bl_op_lane())                                                                     \
				(ret) = (call);                                                                        \
			bl_op_syncwarp();                                                                              \
		}                                                                                                      \
	} while (0)

#endif
