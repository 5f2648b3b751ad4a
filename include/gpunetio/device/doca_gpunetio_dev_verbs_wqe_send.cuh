/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_wqe_send.cuh - filling slots for SEND, and slots of the receive queue
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_WQE_SEND_CUH
#define DOCA_GPUNETIO_DEV_VERBS_WQE_SEND_CUH

#include "doca_gpunetio_dev_verbs_wqe.cuh"

/** doca_gpu_dev_verbs_wqe_prepare_send_empty() - SEND, or SEND with an immediate, of no bytes */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_send_empty(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
							 uint16_t wqe_idx, uint32_t opcode,
							 enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, uint32_t immediate)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, opcode, qp->sq_num_shift8_be_1ds, ctrl_flags, immediate);
}

/** doca_gpu_dev_verbs_wqe_prepare_send() - SEND of one piece of local memory */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_send(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t laddr0, uint32_t lkey0, uint32_t bytes0)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, qp->sq_num_shift8_be_2ds, ctrl_flags, 0);
	bl_dev_data(wqe_ptr, 1, laddr0, lkey0, bytes0);
}

/* The same of two pieces, */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_send(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t laddr0, uint32_t lkey0, uint32_t bytes0, uint64_t laddr1,
						   uint32_t lkey1, uint32_t bytes1)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, qp->sq_num_shift8_be_3ds, ctrl_flags, 0);
	bl_dev_data(wqe_ptr, 1, laddr0, lkey0, bytes0);
	bl_dev_data(wqe_ptr, 2, laddr1, lkey1, bytes1);
}

/* and of three. */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_send(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t laddr0, uint32_t lkey0, uint32_t bytes0, uint64_t laddr1,
						   uint32_t lkey1, uint32_t bytes1, uint64_t laddr2, uint32_t lkey2,
						   uint32_t bytes2)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, qp->sq_num_shift8_be_4ds, ctrl_flags, 0);
	bl_dev_data(wqe_ptr, 1, laddr0, lkey0, bytes0);
	bl_dev_data(wqe_ptr, 2, laddr1, lkey1, bytes1);
	bl_dev_data(wqe_ptr, 3, laddr2, lkey2, bytes2);
}

/** doca_gpu_dev_verbs_wqe_prepare_send_imm() - SEND with an immediate */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_send_imm(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						       uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						       uint32_t immediate, uint64_t laddr0, uint32_t lkey0, uint32_t bytes0)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM, qp->sq_num_shift8_be_2ds, ctrl_flags, immediate);
	bl_dev_data(wqe_ptr, 1, laddr0, lkey0, bytes0);
}

/** doca_gpu_dev_verbs_wqe_prepare_send_inl() - SEND of at most 44 bytes at @laddr. Return: 0 or -EINVAL, and a NOP */
BL_DEVICE int doca_gpu_dev_verbs_wqe_prepare_send_inl(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						      uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						      uint64_t laddr, uint32_t bytes)
{
	uint32_t qpn_ds = bytes <= 12 ? qp->sq_num_shift8_be_2ds : bytes <= 28 ? qp->sq_num_shift8_be_3ds : qp->sq_num_shift8_be_4ds;
	uint32_t words[11];

	if (bytes > BL_DEV_SEND_INLINE) {
		doca_gpu_dev_verbs_wqe_prepare_nop(qp, wqe_ptr, wqe_idx, ctrl_flags);
		return -EINVAL;
	}
	bl_dev_load_words(words, laddr, bytes);
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, qpn_ds, ctrl_flags, 0);
	bl_dev_inline_at(wqe_ptr, 1, words, bytes);
	return 0;
}

/** bl_dev_send_slots() - Slots of a SEND of so many inline bytes; at most BL_DEV_SEND_INLINE_MAX of them */
#define BL_DEV_SEND_INLINE_MAX 108

BL_DEVICE uint32_t bl_dev_send_slots(uint32_t bytes)
{
	return bytes <= BL_DEV_SEND_INLINE ? 1 : 2;
}

/* Its segments. */
BL_DEVICE uint32_t bl_dev_send_segs(uint32_t bytes)
{
	return 1 + (bytes + 4 + 15) / 16;
}

/** bl_dev_wqe_send_inline() - SEND of inline bytes, in as many slots from @index on as they need; @words has them, and more */
BL_DEVICE void bl_dev_wqe_send_inline(struct doca_gpu_dev_verbs_qp *qp, uint64_t index,
				      enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
				      const uint32_t (&words)[BL_DEV_SEND_INLINE_MAX / 4], uint32_t bytes)
{
	bl_dev_ctrl(doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND,
		    bl_op_bswap32(qp->sq_num_shift8 | bl_dev_send_segs(bytes)), ctrl_flags, 0);
	bl_dev_inline(qp, index, 1, words, bytes);
}

/*
 * The same to the line of a NIC that is a CPU, where there is one, from registers; the slots are written as well, and submitted.
 * It may be carried out before anything that this thread has written earlier is seen: the bytes tell of nothing else.
 */
BL_DEVICE void bl_dev_give_send_inline(struct doca_gpu_dev_verbs_qp *qp, uint64_t index,
				       enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
				       const uint32_t (&words)[BL_DEV_SEND_INLINE_MAX / 4], uint32_t bytes)
{
	constexpr unsigned int nr = BL_GPUNETIO_EXPRESS_SLOTS * BL_GPUNETIO_EXPRESS_WORDS, data = 5;
	uint32_t raw[nr] = {bl_op_bswap32((uint32_t)DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND |
					  (uint32_t)(uint16_t)index << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT),
			    bl_op_bswap32(qp->sq_num_shift8 | bl_dev_send_segs(bytes)), (uint32_t)ctrl_flags << 24, 0,
			    bl_op_bswap32(BL_DEV_INLINE | bytes)};

	static_assert(nr == data + BL_DEV_SEND_INLINE_MAX / 4, "the words fill the slots");
	for (unsigned int i = data; i < nr; i++)
		raw[i] = words[i - data];
	for (unsigned int i = 0; i < nr; i += 2) {
		uint64_t slot = i / BL_GPUNETIO_EXPRESS_WORDS, tag = (index + 1 + slot) << 32;

		if (slot < bl_dev_send_slots(bytes))
			bl_op_store_pair(qp->sq_express + i, tag | raw[i], tag | raw[i + 1]);
	}
}

/** doca_gpu_dev_verbs_get_rwqe_ptr() - Slot of a receive WQE: its first data segment */
BL_DEVICE struct doca_gpunetio_ib_mlx5_wqe_data_seg *doca_gpu_dev_verbs_get_rwqe_ptr(struct doca_gpu_dev_verbs_qp *qp,
										       uint64_t wqe_idx)
{
	uint64_t slot = wqe_idx & qp->rq_wqe_mask;

	return (struct doca_gpunetio_ib_mlx5_wqe_data_seg *)(void *)(qp->rq_wqe_daddr + (slot << qp->rq_wqe_shift));
}

/**
 * doca_gpu_dev_verbs_wqe_prepare_recv() - Receive into one piece of local memory
 * @rwqe_ptr: of doca_gpu_dev_verbs_get_rwqe_ptr()
 *
 * Address 0, key 0x100 in network byte order and no bytes: a receive without memory, for WRITE with an immediate.
 */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_recv(struct doca_gpu_dev_verbs_qp *qp,
						   struct doca_gpunetio_ib_mlx5_wqe_data_seg *rwqe_ptr, uint64_t laddr, uint32_t lkey,
						   uint32_t bytes)
{
	bl_dev_data(rwqe_ptr, 0, laddr, lkey, bytes);
	/* ends the list where there is room for more */
	if (qp->rq_wqe_shift > 4)
		bl_dev_data(rwqe_ptr, 1, 0, bl_op_bswap32(DOCA_GPUNETIO_IB_MLX5_INVALID_LKEY), 0);
}

#endif
