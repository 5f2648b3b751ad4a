/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_wqe.cuh - filling slots of the send and the receive queue
 *
 * Keys and immediates are given in network byte order, everything else in that of the machine. Indices are those that
 * were reserved; the NIC sees their low 16 bits.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_WQE_CUH
#define DOCA_GPUNETIO_DEV_VERBS_WQE_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

#define BL_DEV_MAX_BYTES   0x7fffffffU
#define BL_DEV_INLINE	   ((uint32_t)DOCA_GPUNETIO_IB_MLX5_INLINE_SEG)
#define BL_DEV_SEND_INLINE 44

/** doca_gpu_dev_verbs_store_wqe_seg() - Store 16 bytes into a slot */
BL_DEVICE void doca_gpu_dev_verbs_store_wqe_seg(uint64_t *ptr, uint64_t *val)
{
	bl_op_store_seg(ptr, val);
}

/** doca_gpu_dev_verbs_get_wqe_ptr() - Slot of a send WQE */
BL_DEVICE struct doca_gpu_dev_verbs_wqe *doca_gpu_dev_verbs_get_wqe_ptr(struct doca_gpu_dev_verbs_qp *qp, uint16_t wqe_idx)
{
	uint64_t slot = wqe_idx & qp->sq_wqe_mask;

	return (struct doca_gpu_dev_verbs_wqe *)(void *)(qp->sq_wqe_daddr + (slot << DOCA_GPUNETIO_IB_MLX5_WQE_SQ_SHIFT));
}

/* Segment number @seg of a slot, as four words in memory order, or two. */
BL_DEVICE void bl_dev_seg32(void *slot, unsigned int seg, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
	uint64_t words[2] = {(uint64_t)w1 << 32 | w0, (uint64_t)w3 << 32 | w2};

	bl_op_store_seg((char *)slot + seg * 16, words);
}

BL_DEVICE void bl_dev_seg64(void *slot, unsigned int seg, uint64_t w0, uint64_t w1)
{
	uint64_t words[2] = {w0, w1};

	bl_op_store_seg((char *)slot + seg * 16, words);
}

/* Control segment with its third word as it is; @qpn_ds is one of the five values of the queue pair. */
BL_DEVICE void bl_dev_ctrl_word(void *slot, uint16_t wqe_idx, uint32_t opmod_opcode, uint32_t qpn_ds, uint32_t word, uint32_t imm)
{
	uint32_t first = opmod_opcode | (uint32_t)wqe_idx << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT;

	bl_dev_seg32(slot, 0, bl_op_bswap32(first), qpn_ds, word, imm);
}

BL_DEVICE void bl_dev_ctrl(void *slot, uint16_t wqe_idx, uint32_t opmod_opcode, uint32_t qpn_ds, uint32_t flags, uint32_t imm)
{
	bl_dev_ctrl_word(slot, wqe_idx, opmod_opcode, qpn_ds, flags << 24, imm);
}

BL_DEVICE void bl_dev_raddr(void *slot, uint64_t raddr, uint32_t rkey)
{
	bl_dev_seg64(slot, 1, bl_op_bswap64(raddr), rkey);
}

BL_DEVICE void bl_dev_data(void *slot, unsigned int seg, uint64_t laddr, uint32_t lkey, uint32_t bytes)
{
	bl_dev_seg64(slot, seg, (uint64_t)lkey << 32 | bl_op_bswap32(bytes & BL_DEV_MAX_BYTES), bl_op_bswap64(laddr));
}

/* Inline data in words, the last one filled up with zeros. All are loaded before the first is used. */
template <unsigned int NR> BL_DEVICE void bl_dev_load_words(uint32_t (&words)[NR], uint64_t laddr, uint32_t bytes)
{
	const uint8_t *src = (const uint8_t *)laddr;
	bool aligned = !(laddr & 3);

	for (uint32_t i = 0; i < NR; i++) {
		uint32_t left = i * 4 < bytes ? bytes - i * 4 : 0;

		words[i] = 0;
		if (left >= 4 && aligned) {
			words[i] = *(const uint32_t *)(const void *)(src + i * 4);
			continue;
		}
		for (uint32_t j = 0; j < 4; j++)
			words[i] |= j < left ? (uint32_t)src[i * 4 + j] << (8 * j) : 0;
	}
}

/* Inline data behind its header, in whole segments: a store of a byte over a bus takes as long as one of 16. The slot has
 * room for it.
 */
template <unsigned int NR>
BL_DEVICE void bl_dev_inline_at(void *slot, unsigned int seg, const uint32_t (&words)[NR], uint32_t bytes)
{
	static_assert(NR % 4 == 3, "the words fill segments");
	bl_dev_seg32(slot, seg, bl_op_bswap32(BL_DEV_INLINE | bytes), words[0], words[1], words[2]);
	for (uint32_t i = 3; i < NR; i += 4) {
		if (i * 4 < bytes)
			bl_dev_seg32(slot, seg + (i + 1) / 4, words[i], words[i + 1], words[i + 2], words[i + 3]);
	}
}

/* The same of the WQE at @index, which goes on in the slots after it. */
template <unsigned int NR>
BL_DEVICE void bl_dev_inline(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, unsigned int seg, const uint32_t (&words)[NR],
			     uint32_t bytes)
{
	static_assert(NR % 4 == 3, "the words fill segments");
	bl_dev_seg32(doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), seg, bl_op_bswap32(BL_DEV_INLINE | bytes), words[0],
		     words[1], words[2]);
	for (uint32_t i = 3; i < NR; i += 4) {
		if (i * 4 >= bytes)
			return;
		seg++;
		bl_dev_seg32(doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + seg / 4)), seg % 4, words[i], words[i + 1],
			     words[i + 2], words[i + 3]);
	}
}

/** doca_gpu_dev_verbs_wqe_prepare_nop() - Nothing; takes its turn, and makes a CQE when the flags say so */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_nop(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						  uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP, qp->sq_num_shift8_be_1ds, ctrl_flags, 0);
}

/** doca_gpu_dev_verbs_wqe_prepare_write() - RDMA WRITE, or with an immediate, of one piece of local memory */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_write(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						    uint16_t wqe_idx, uint32_t opcode,
						    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, uint32_t immediate,
						    uint64_t raddr, uint32_t rkey, uint64_t laddr0, uint32_t lkey0, uint32_t bytes0)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, opcode, qp->sq_num_shift8_be_3ds, ctrl_flags, immediate);
	bl_dev_raddr(wqe_ptr, raddr, rkey);
	bl_dev_data(wqe_ptr, 2, laddr0, lkey0, bytes0);
}

/* The same of two pieces. */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_write(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						    uint16_t wqe_idx, uint32_t opcode,
						    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, uint32_t immediate,
						    uint64_t raddr, uint32_t rkey, uint64_t laddr0, uint32_t lkey0, uint32_t bytes0,
						    uint64_t laddr1, uint32_t lkey1, uint32_t bytes1)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, opcode, qp->sq_num_shift8_be_4ds, ctrl_flags, immediate);
	bl_dev_raddr(wqe_ptr, raddr, rkey);
	bl_dev_data(wqe_ptr, 2, laddr0, lkey0, bytes0);
	bl_dev_data(wqe_ptr, 3, laddr1, lkey1, bytes1);
}

/** doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header() - RDMA WRITE of at most 28 bytes in the slot: all but the bytes */
BL_DEVICE void doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(struct doca_gpu_dev_verbs_qp *qp,
								    struct doca_gpu_dev_verbs_wqe *wqe_ptr, uint16_t wqe_idx,
								    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
								    uint64_t raddr, uint32_t rkey, uint32_t bytes)
{
	uint32_t qpn_ds = bytes <= 12 ? qp->sq_num_shift8_be_3ds : qp->sq_num_shift8_be_4ds;

	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, qpn_ds, ctrl_flags, 0);
	bl_dev_raddr(wqe_ptr, raddr, rkey);
	bl_dev_seg32(wqe_ptr, 2, bl_op_bswap32(BL_DEV_INLINE | bytes), 0, 0, 0);
}

/** doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data() - Its bytes: a value of 1, 2, 4 or 8 */
template <typename T>
BL_DEVICE void doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(struct doca_gpu_dev_verbs_qp *qp,
								  struct doca_gpu_dev_verbs_wqe *wqe_ptr, T data)
{
	static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
		      "an inline value has 1, 2, 4 or 8 bytes; doca_gpu_dev_verbs_wqe_prepare_write_inl() takes up to 28");
	(void)qp;
	bl_op_store_bytes(wqe_ptr->inl_data + 36, &data, sizeof(data));
}

/** doca_gpu_dev_verbs_wqe_prepare_write_inl() - RDMA WRITE of at most 28 bytes at @laddr. Return: 0 or -EINVAL, and a NOP */
BL_DEVICE int doca_gpu_dev_verbs_wqe_prepare_write_inl(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						       uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						       uint64_t raddr, uint32_t rkey, uint64_t laddr, uint32_t bytes)
{
	uint32_t words[7];

	if (bytes > DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE) {
		doca_gpu_dev_verbs_wqe_prepare_nop(qp, wqe_ptr, wqe_idx, ctrl_flags);
		return -EINVAL;
	}
	bl_dev_load_words(words, laddr, bytes);
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
		    bytes <= 12 ? qp->sq_num_shift8_be_3ds : qp->sq_num_shift8_be_4ds, ctrl_flags, 0);
	bl_dev_raddr(wqe_ptr, raddr, rkey);
	bl_dev_inline_at(wqe_ptr, 2, words, bytes);
	return 0;
}

/** doca_gpu_dev_verbs_wqe_prepare_read() - RDMA READ into one piece of local memory */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_read(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t raddr, uint32_t rkey, uint64_t laddr0, uint32_t lkey0, uint32_t bytes0)
{
	doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0, raddr,
					     rkey, laddr0, lkey0, bytes0);
}

/* The same into two pieces. */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_read(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t raddr, uint32_t rkey, uint64_t laddr0, uint32_t lkey0, uint32_t bytes0,
						   uint64_t laddr1, uint32_t lkey1, uint32_t bytes1)
{
	doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0, raddr,
					     rkey, laddr0, lkey0, bytes0, laddr1, lkey1, bytes1);
}

/**
 * doca_gpu_dev_verbs_wqe_prepare_atomic() - Fetch and add, or compare and swap, of 8 bytes
 * @compare_add: what is added, or compared with
 * @swap_add:	 what is swapped in
 *
 * The old value comes to @laddr.
 */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_atomic(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						     uint16_t wqe_idx, uint32_t opcode,
						     enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, uint64_t raddr,
						     uint32_t rkey, uint64_t laddr, uint32_t lkey, uint32_t bytes,
						     uint64_t compare_add, uint64_t swap_add)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, opcode, qp->sq_num_shift8_be_4ds, ctrl_flags, 0);
	bl_dev_raddr(wqe_ptr, raddr, rkey);
	if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS)
		bl_dev_seg64(wqe_ptr, 2, bl_op_bswap64(swap_add), bl_op_bswap64(compare_add));
	else
		bl_dev_seg64(wqe_ptr, 2, bl_op_bswap64(compare_add), 0);
	bl_dev_data(wqe_ptr, 3, laddr, lkey, bytes);
}

/**
 * doca_gpu_dev_verbs_wqe_prepare_atomic_ext() - Masked fetch and add, or compare and swap, of 4 or 8 bytes
 * @wqe_ptr1: the slot after @wqe_ptr0; only compare and swap of 8 bytes uses it, and needs both reserved
 */
template <enum doca_gpu_dev_verbs_atomic_ext_bytes bytes = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_atomic_ext(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr0,
							 struct doca_gpu_dev_verbs_wqe *wqe_ptr1, uint16_t wqe_idx,
							 uint32_t opcode, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
							 uint64_t raddr, uint32_t rkey, uint64_t laddr, uint32_t lkey,
							 uint64_t add_data, uint64_t field_boundary, uint64_t swap_data,
							 uint64_t compare_data, uint64_t swap_mask, uint64_t compare_mask)
{
	constexpr bool wide = bytes == DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8;
	bool swap = opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS;
	uint32_t opmod = wide ? DOCA_GPUNETIO_IB_MLX5_OPMOD_EXT_ATOMIC_8 : DOCA_GPUNETIO_IB_MLX5_OPMOD_EXT_ATOMIC_4;

	bl_dev_ctrl(wqe_ptr0, wqe_idx, opmod | opcode, wide && swap ? qp->sq_num_shift8_be_5ds : qp->sq_num_shift8_be_4ds,
		    ctrl_flags, 0);
	bl_dev_raddr(wqe_ptr0, raddr, rkey);
	if (wide && swap) {
		bl_dev_seg64(wqe_ptr0, 2, bl_op_bswap64(swap_data), bl_op_bswap64(compare_data));
		bl_dev_seg64(wqe_ptr0, 3, bl_op_bswap64(swap_mask), bl_op_bswap64(compare_mask));
		bl_dev_data(wqe_ptr1, 0, laddr, lkey, bytes);
		return;
	}
	if (wide)
		bl_dev_seg64(wqe_ptr0, 2, bl_op_bswap64(add_data), bl_op_bswap64(field_boundary));
	else if (swap)
		bl_dev_seg32(wqe_ptr0, 2, bl_op_bswap32((uint32_t)swap_data), bl_op_bswap32((uint32_t)compare_data),
			     bl_op_bswap32((uint32_t)swap_mask), bl_op_bswap32((uint32_t)compare_mask));
	else
		bl_dev_seg32(wqe_ptr0, 2, bl_op_bswap32((uint32_t)add_data), bl_op_bswap32((uint32_t)field_boundary), 0, 0);
	bl_dev_data(wqe_ptr0, 3, laddr, lkey, bytes);
}

/** doca_gpu_dev_verbs_wqe_prepare_wait() - Hold this queue until a completion queue has come so far */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint32_t max_index, uint32_t qpn_cqn)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT, qp->sq_num_shift8_be_2ds, ctrl_flags, 0);
	bl_dev_seg32(wqe_ptr, 1, 0, 0, bl_op_bswap32(max_index), bl_op_bswap32(qpn_cqn));
}

/** doca_gpu_dev_verbs_wqe_prepare_dump() - The NIC reads local memory: what it wrote there earlier has arrived then */
BL_DEVICE void doca_gpu_dev_verbs_wqe_prepare_dump(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr,
						   uint16_t wqe_idx, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
						   uint64_t laddr, uint32_t lkey, uint32_t bytes)
{
	bl_dev_ctrl(wqe_ptr, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP, qp->sq_num_shift8_be_2ds, ctrl_flags, 0);
	bl_dev_data(wqe_ptr, 1, laddr, lkey, bytes);
}

#endif
