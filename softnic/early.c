// SPDX-License-Identifier: MIT
#include "early.h"

#include "copy/fence.h"
#include "mr.h"

/* As many as one burst sends. */
#define MAX_EARLY 32

static bool is_short_message(const struct bl_wr *wr)
{
	switch (wr->wqe.opcode) {
	case BL_WQE_SEND:
	case BL_WQE_SEND_IMM:
	case BL_WQE_WRITE:
	case BL_WQE_WRITE_IMM:
		return wr->wqe.len && wr->wqe.len <= BL_SNIC_PEEK_MAX;
	default:
		return false;
	}
}

/* The region that has all of the data, when it is worth a peek. */
static const struct bl_snic_mr *find(struct bl_snic_qp *qp, const struct bl_wr *wr, uint64_t *off_p)
{
	struct bl_mr_span span = {.pd = qp->pd};
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct bl_snic_mr *mr = NULL;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	if (!bl_wqe_walk_next(&walk, wr->wqe.len, &piece) || piece.bytes || piece.len != wr->wqe.len)
		return NULL;
	span.key = piece.lkey;
	span.addr = piece.addr;
	span.len = piece.len;
	if (bl_mr_check(qp->nic, &span, &mr, off_p) || !mr->mem.peek)
		return NULL;
	return mr;
}

void bl_early_read(struct bl_snic_qp *qp)
{
	uint64_t end = qp->sq.tail, at = 0;
	const struct bl_snic_mr *mr, *last = NULL;

	if (end - qp->sq.launched > MAX_EARLY)
		end = qp->sq.launched + MAX_EARLY;
	for (uint64_t i = qp->sq.launched; i < end; i++) {
		struct bl_wr *wr = bl_qp_wr(qp, i);

		if (wr->syndrome || wr->wqe.fence || bl_wqe_is_fetch(&wr->wqe) || bl_wqe_is_local(&wr->wqe))
			break;
		if (wr->early_len || wr->wqe.brought || bl_wqe_starts_inline(&wr->wqe, wr->raw) || !is_short_message(wr))
			continue;
		mr = find(qp, wr, &at);
		if (!mr)
			continue;
		/* the doorbell's load before those of the data that it covers: these are not ordered by themselves */
		if (!last)
			bl_fence_full();
		else if (last != mr)
			last->mem.peeked(last->mem.priv);
		last = mr;
		if (!mr->mem.peek(mr->mem.priv, at, wr->early, wr->wqe.len))
			wr->early_len = (uint8_t)wr->wqe.len;
	}
	if (last)
		last->mem.peeked(last->mem.priv);
}
