/* SPDX-License-Identifier: MIT */
/*
 * bl_gpunetio_dev_bring.cuh - WQEs that bring the bytes of their data segment along
 *
 * A NIC that is a CPU reads memory of a GPU across the bus, one load after the doorbell. A thread of the GPU that posts a
 * short message can read it in less, and hand it on in what is left of the WQE's slot. Address and key are there as ever,
 * and the NIC checks them as ever: what it takes are the bytes. A key that is not in the table of the queue pair, or an
 * address beyond its region, makes the thread read nothing.
 */
#ifndef BL_GPUNETIO_DEV_BRING_CUH
#define BL_GPUNETIO_DEV_BRING_CUH

#include "doca_gpunetio_dev_verbs_wait.cuh"
#include "doca_gpunetio_dev_verbs_wqe_send.cuh"

/* Segments of a WQE with one data segment. */
#define BL_DEV_SEND_SEGS  2
#define BL_DEV_WRITE_SEGS 3

/* Bytes of a slot behind that many segments. */
template <unsigned int nr_segs> struct bl_dev_room {
	static_assert(nr_segs == BL_DEV_SEND_SEGS || nr_segs == BL_DEV_WRITE_SEGS, "a SEND, or a WRITE, of one data segment");
	static constexpr uint32_t bytes = 64 - nr_segs * 16;
	static constexpr unsigned int words = bytes / 8;
};

/* Up to four bytes, in one load where that can be. */
BL_DEVICE uint32_t bl_dev_brought_half(uint64_t addr, uint32_t left)
{
	uint32_t half = 0;

	if (left >= 4 && !(addr & 3))
		return bl_op_load<BL_DEV_SYS>((const uint32_t *)addr);
	for (uint32_t i = 0; i < 4; i++)
		half |= i < left ? (uint32_t)bl_op_load<BL_DEV_SYS>((const uint8_t *)addr + i) << (8 * i) : 0;
	return half;
}

/* The same of eight. */
BL_DEVICE uint64_t bl_dev_brought_word(uint64_t addr, uint32_t left)
{
	if (left >= 8 && !(addr & 7))
		return bl_op_load<BL_DEV_SYS>((const uint64_t *)addr);
	return bl_dev_brought_half(addr, left) |
	       (left > 4 ? (uint64_t)bl_dev_brought_half(addr + 4, left - 4) << 32 : 0);
}

/*
 * The bytes, then zeros. At system scope: the cache of the SM may hold what was there before a NIC, a CPU or another SM
 * wrote, and the thread has acquired that what it reads is written.
 */
template <unsigned int NR> BL_DEVICE void bl_dev_load_brought(uint64_t (&words)[NR], uint64_t addr, uint32_t bytes)
{
	for (unsigned int i = 0; i < NR; i++)
		words[i] = i * 8 < bytes ? bl_dev_brought_word(addr + i * 8, bytes - i * 8) : 0;
}

/* Of the control segment's third word. */
BL_DEVICE uint32_t bl_dev_brought_mark(uint32_t bytes)
{
	return bytes << 16 | (uint32_t)BL_GPUNETIO_BROUGHT << 8;
}

/**
 * bl_gpu_dev_verbs_can_bring() - Whether a WQE may bring the bytes of its data segment along
 * @nr_segs: segments of the WQE: 3 of a WRITE, 2 of a SEND, each with one data segment; they leave room for 16 and 32 bytes
 * @qp:	     queue pair
 * @laddr, @lkey, @bytes: data segment
 *
 * That there is a NIC that takes them, and that a region of that key, in memory of this GPU, has all of them at these
 * addresses. It is so until the region is deregistered: a thread that has asked, and posts from there beyond that, may read
 * memory that is not there any more. Any thread.
 */
template <unsigned int nr_segs = BL_DEV_WRITE_SEGS>
BL_DEVICE bool bl_gpu_dev_verbs_can_bring(struct doca_gpu_dev_verbs_qp *qp, uint64_t laddr, uint32_t lkey, uint32_t bytes)
{
	const struct bl_gpu_dev_region *region = qp->regions;
	uint64_t key, addr, len, off;

	if (!region || !lkey || !bytes || bytes > bl_dev_room<nr_segs>::bytes)
		return false;
	region += bl_op_bswap32(lkey) >> (32 - BL_GPUNETIO_REGIONS_SHIFT);
	/* what was deregistered is not taken from the cache of the SM either */
	key = bl_op_load<BL_DEV_SYS>(&region->key);
	addr = bl_op_load<BL_DEV_SYS>(&region->addr);
	len = bl_op_load<BL_DEV_SYS>(&region->len);
	/* below the region this is larger than any */
	off = laddr - addr;
	return key == lkey && off < len && bytes <= len - off;
}

/**
 * bl_gpu_dev_verbs_wqe_bring() - Have a WQE bring the bytes of its data segment along
 * @nr_segs: as for bl_gpu_dev_verbs_can_bring(), which has said that it may
 * @wqe:     copy of the WQE in memory of this thread, to be given to bl_gpu_dev_verbs_submit_express()
 * @laddr, @bytes: data segment
 *
 * The bytes are read here, as this thread sees them: those that others wrote it must have acquired. They do not change
 * any more when the memory does. What was written by copies of TMA needs its fence of the proxy before.
 */
template <unsigned int nr_segs = BL_DEV_WRITE_SEGS>
BL_DEVICE void bl_gpu_dev_verbs_wqe_bring(struct doca_gpu_dev_verbs_wqe *wqe, uint64_t laddr, uint32_t bytes)
{
	uint64_t words[bl_dev_room<nr_segs>::words];
	uint32_t *ctrl = (uint32_t *)(void *)(wqe->inl_data + 8);

	bl_dev_load_brought(words, laddr, bytes);
	*ctrl = (*ctrl & 0xff0000ffU) | bl_dev_brought_mark(bytes);
	for (unsigned int i = 0; i < bl_dev_room<nr_segs>::words; i++)
		*(uint64_t *)(void *)(wqe->inl_data + nr_segs * 16 + i * 8) = words[i];
}

/* Whether an operation that is posted in one call may bring its bytes. One that does not ring may yet get others. */
template <unsigned int nr_segs>
BL_DEVICE bool bl_dev_may_bring(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr, uint32_t bytes,
				uint32_t code_opt)
{
	return bytes <= bl_dev_room<nr_segs>::bytes && !(code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING) &&
	       bl_gpu_dev_verbs_can_bring<nr_segs>(qp, laddr.addr, laddr.key, bytes);
}

/* A WRITE into a slot, with its bytes behind it. */
BL_DEVICE void bl_dev_write_brought(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe, uint16_t wqe_idx,
				    uint32_t opcode, uint32_t imm, struct doca_gpu_dev_verbs_addr raddr,
				    struct doca_gpu_dev_verbs_addr laddr, uint32_t bytes)
{
	uint64_t words[bl_dev_room<BL_DEV_WRITE_SEGS>::words];

	bl_dev_load_brought(words, laddr.addr, bytes);
	bl_dev_ctrl_word(wqe, wqe_idx, opcode, qp->sq_num_shift8_be_3ds,
			 (uint32_t)DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE << 24 | bl_dev_brought_mark(bytes), imm);
	bl_dev_raddr(wqe, raddr.addr, raddr.key);
	bl_dev_data(wqe, 2, laddr.addr, laddr.key, bytes);
	bl_dev_seg64(wqe, 3, words[0], words[1]);
}

/* The same of a SEND. */
BL_DEVICE void bl_dev_send_brought(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe, uint16_t wqe_idx,
				   uint32_t opcode, uint32_t imm, struct doca_gpu_dev_verbs_addr laddr, uint32_t bytes)
{
	uint64_t words[bl_dev_room<BL_DEV_SEND_SEGS>::words];

	bl_dev_load_brought(words, laddr.addr, bytes);
	bl_dev_ctrl_word(wqe, wqe_idx, opcode, qp->sq_num_shift8_be_2ds,
			 (uint32_t)DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE << 24 | bl_dev_brought_mark(bytes), imm);
	bl_dev_data(wqe, 1, laddr.addr, laddr.key, bytes);
	bl_dev_seg64(wqe, 2, words[0], words[1]);
	if (bytes > 16)
		bl_dev_seg64(wqe, 3, words[2], words[3]);
}

#endif
