// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/qp: " fmt
#include "qp_size.h"

#include <errno.h>
#include <inttypes.h>

#include "net/log.h"

#define CTRL_LEN       16
#define RADDR_LEN      16
#define INLINE_HDR_LEN 4

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* Of values below 2^63, which products of what is within limits are. 0 stays 0. */
static uint64_t power_of_two(uint64_t value)
{
	uint64_t power = 1;

	while (power < value)
		power *= 2;
	return value ? power : 0;
}

uint64_t bl_send_wqe_len(uint32_t sges, uint32_t inline_len)
{
	uint64_t with_sges = CTRL_LEN + RADDR_LEN + (uint64_t)sges * BL_WQE_SEG;
	uint64_t with_inline = inline_len ? CTRL_LEN + RADDR_LEN +
						    round_up(INLINE_HDR_LEN + (uint64_t)inline_len, BL_WQE_SEG) :
					    0;

	return round_up(with_sges > with_inline ? with_sges : with_inline, BL_WQE_BLOCK);
}

static int size_sq(const struct bl_qp_want *want, uint32_t max_wr, struct bl_qp_size *size)
{
	uint64_t wqe_len = bl_send_wqe_len(want->send_sges, want->inline_len), blocks;

	if (wqe_len / BL_WQE_BLOCK > max_wr || want->sq_wr > max_wr)
		return fail(EINVAL, "send queue of %u WQEs of %" PRIu64 " bytes: the device has at most %u blocks of 64",
			    want->sq_wr, wqe_len, max_wr);
	blocks = power_of_two(wqe_len / BL_WQE_BLOCK * want->sq_wr);
	if (blocks > max_wr)
		return fail(EINVAL, "send queue of %u WQEs of %" PRIu64 " bytes needs %" PRIu64
				    " blocks of 64, the device has at most %u", want->sq_wr, wqe_len, blocks, max_wr);
	size->sq_blocks = (uint32_t)blocks;
	size->sq_len = blocks * BL_WQE_BLOCK;
	return 0;
}

static int size_rq(const struct bl_qp_want *want, uint32_t max_wr, struct bl_qp_size *size)
{
	uint64_t wqe_len, len;

	if (!want->rq_wr)
		return 0;
	if (want->rq_wr > max_wr || want->recv_sges > max_wr)
		goto too_many;
	wqe_len = power_of_two(want->recv_sges ? want->recv_sges : 1) * BL_WQE_SEG;
	len = power_of_two(wqe_len * want->rq_wr);
	if (len < BL_WQE_BLOCK)
		len = BL_WQE_BLOCK;
	if (len / wqe_len > max_wr)
		goto too_many;
	size->rq_sges = (uint32_t)(wqe_len / BL_WQE_SEG);
	size->rq_nr = (uint32_t)(len / wqe_len);
	size->rq_len = len;
	return 0;
too_many:
	return fail(EINVAL, "receive queue of %u WQEs of %u segments: the device has at most %u", want->rq_wr,
		    want->recv_sges, max_wr);
}

int bl_qp_size(const struct bl_qp_want *want, uint32_t max_wr, struct bl_qp_size *size)
{
	int ret;

	*size = (struct bl_qp_size){ 0 };
	ret = size_rq(want, max_wr, size);
	return ret ? ret : size_sq(want, max_wr, size);
}

void bl_srq_size(uint32_t wr, uint32_t sges, bool linked, struct bl_srq_size *size)
{
	uint64_t nr = power_of_two((uint64_t)wr + linked);
	uint64_t segs = power_of_two((uint64_t)(sges ? sges : 1) + linked);

	size->nr = nr < 2 ? 2 : (uint32_t)nr;
	size->sges = (uint32_t)segs - linked;
	size->wqe_len = (uint32_t)segs * BL_WQE_SEG;
}
