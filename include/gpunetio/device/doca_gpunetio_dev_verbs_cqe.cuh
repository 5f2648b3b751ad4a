/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_cqe.cuh - one completion: whether it is there, what it says
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_CQE_CUH
#define DOCA_GPUNETIO_DEV_VERBS_CQE_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

#define BL_DEV_CQE_INLINE_32  0x4
#define BL_DEV_CQE_FORMATS    0xc
#define BL_DEV_SYNDROME_FLUSH 0x05

/* The last word of a CQE, which the NIC writes last. */
struct bl_dev_cqe_end {
	uint16_t counter;
	uint8_t opcode;
	uint8_t owner;
};

/** doca_gpu_dev_verbs_cq_get_cqe_ptr() - Place of a completion, by its number */
BL_DEVICE struct doca_gpunetio_ib_mlx5_cqe64 *doca_gpu_dev_verbs_cq_get_cqe_ptr(struct doca_gpu_dev_verbs_cq *cq,
										 uint64_t cons_index)
{
	uint64_t slot = (cons_index + cq->cqe_rsvd) & cq->cqe_mask;

	return (struct doca_gpunetio_ib_mlx5_cqe64 *)(void *)(cq->cqe_daddr + slot * DOCA_GPUNETIO_IB_MLX5_CQE_SIZE);
}

BL_DEVICE uint32_t bl_dev_cqe_word(const uint8_t *cqe, unsigned int off)
{
	return bl_op_load<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>((const uint32_t *)(const void *)(cqe + off));
}

/* By slot of the ring. */
BL_DEVICE struct bl_dev_cqe_end bl_dev_cqe_last(struct doca_gpu_dev_verbs_cq *cq, uint64_t slot)
{
	const uint8_t *cqe = cq->cqe_daddr + slot * DOCA_GPUNETIO_IB_MLX5_CQE_SIZE;
	uint32_t word = bl_op_load_cqe_end((const uint32_t *)(const void *)(cqe + 60));

	return {bl_op_bswap16((uint16_t)word), (uint8_t)(word >> 28),
		(uint8_t)(word >> 24 & DOCA_GPUNETIO_IB_MLX5_CQE_OWNER_MASK)};
}

/* Opcodes that the NIC has for requests that went well are known; all others are not. */
BL_DEVICE bool bl_dev_cqe_is_error(uint8_t opcode)
{
	return opcode > DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND_INV && opcode != DOCA_GPUNETIO_IB_MLX5_CQE_NO_PACKET;
}

/* First word of the error in a CQE whose last word was seen: vendor syndrome, and the syndrome in its highest byte. */
BL_DEVICE uint32_t bl_dev_cqe_error(struct doca_gpu_dev_verbs_cq *cq, uint64_t slot)
{
	return bl_dev_cqe_word(cq->cqe_daddr + slot * DOCA_GPUNETIO_IB_MLX5_CQE_SIZE, 52);
}

/* Whether an error CQE says no more than that some request before it has failed: which, or how many, it does not. */
BL_DEVICE bool bl_dev_cqe_is_flush(struct doca_gpu_dev_verbs_cq *cq, uint64_t slot)
{
	return bl_dev_cqe_error(cq, slot) >> 24 == BL_DEV_SYNDROME_FLUSH;
}

/* Keeps the first cause of a failure. What was only flushed is a consequence of it. */
BL_DEVICE void bl_dev_cq_fail(struct doca_gpu_dev_verbs_cq *cq, uint64_t slot, uint16_t counter)
{
	constexpr auto sys = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS;
	uint32_t word = bl_dev_cqe_error(cq, slot);

	if (word >> 24 == BL_DEV_SYNDROME_FLUSH)
		return;
	if (bl_op_cas<sys>(&cq->error_wqe, 0U, DOCA_GPUNETIO_VERBS_ERROR_SET | counter))
		return;
	/* the WQE before the error: who sees the error finds both */
	bl_op_store_release<sys>(&cq->error, DOCA_GPUNETIO_VERBS_ERROR_SET | (word >> 8 & 0xff00) | word >> 24);
}

/* Completion number @index: 0 it is there, EBUSY, or -EIO. @counter_p: of its WQE, when it is there; may be NULL. */
BL_DEVICE int bl_dev_cqe_state(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint16_t *counter_p)
{
	uint64_t position = index + cq->cqe_rsvd;
	struct bl_dev_cqe_end end = bl_dev_cqe_last(cq, position & cq->cqe_mask);

	if (end.opcode == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID || end.owner != ((position & cq->cqe_num) != 0))
		return EBUSY;
	if (counter_p)
		*counter_p = end.counter;
	if (!bl_dev_cqe_is_error(end.opcode))
		return 0;
	bl_dev_cq_fail(cq, position & cq->cqe_mask, end.counter);
	return DOCA_GPUNETIO_VERBS_WAIT_ERROR;
}

/** doca_gpu_dev_verbs_cqe_is_inline() - Whether the payload lies in the CQE itself */
BL_DEVICE bool doca_gpu_dev_verbs_cqe_is_inline(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return (bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 60) >> 24 & BL_DEV_CQE_FORMATS) != 0;
}

/** doca_gpu_dev_verbs_cqe_get_bytes() - Bytes that were received */
BL_DEVICE uint32_t doca_gpu_dev_verbs_cqe_get_bytes(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return bl_op_bswap32(bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 44));
}

/** doca_gpu_dev_verbs_cqe_get_imm() - Immediate, in network byte order as it was sent */
BL_DEVICE uint32_t doca_gpu_dev_verbs_cqe_get_imm(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	return bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 36);
}

/**
 * doca_gpu_dev_verbs_cqe_get_inl_data() - Payload in the CQE, at most 32 bytes
 *
 * NULL: there is none, or it is longer, which CQEs of 64 bytes have no room for.
 */
BL_DEVICE const void *doca_gpu_dev_verbs_cqe_get_inl_data(const struct doca_gpunetio_ib_mlx5_cqe64 *cqe)
{
	uint32_t format = bl_dev_cqe_word((const uint8_t *)(const void *)cqe, 60) >> 24 & BL_DEV_CQE_FORMATS;

	return format == BL_DEV_CQE_INLINE_32 ? cqe->inl_data : nullptr;
}

/** doca_gpu_dev_verbs_cq_print_cqe_err() - Print what an error CQE says */
BL_DEVICE void doca_gpu_dev_verbs_cq_print_cqe_err(struct doca_gpunetio_ib_mlx5_cqe64 *cqe64)
{
	const uint8_t *cqe = (const uint8_t *)(const void *)cqe64;
	uint32_t error = bl_dev_cqe_word(cqe, 52), wqe = bl_op_bswap32(bl_dev_cqe_word(cqe, 56));

	printf("error cqe: syndrome 0x%x vendor 0x%x hw 0x%x type 0x%x, qp 0x%x wqe %u opcode 0x%x\n", error >> 24,
	       error >> 16 & 0xff, error & 0xff, error >> 8 & 0xff, wqe & 0xffffff,
	       (unsigned int)bl_op_bswap16((uint16_t)bl_dev_cqe_word(cqe, 60)), wqe >> 24);
}

#endif
