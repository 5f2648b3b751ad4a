// SPDX-License-Identifier: MIT
#include "segs.h"

#include <string.h>

#include "early.h"
#include "mem.h"
#include "mr.h"

static enum bl_syndrome bad(struct bl_wr *wr, enum bl_syndrome syndrome, const struct bl_wqe_piece *piece,
			    const char *why)
{
	wr->syndrome = (uint8_t)syndrome;
	wr->why = why;
	wr->bad_addr = piece->addr;
	wr->bad_len = piece->len;
	wr->bad_key = piece->lkey;
	return syndrome;
}

/* Data that came along with the request: all of its one segment. */
static bool take_brought(const struct bl_wr *wr, const struct bl_wqe_piece *piece, uint8_t *dst)
{
	if (!wr->wqe.brought || piece->len != wr->wqe.brought)
		return false;
	memcpy(dst, bl_wqe_brought(&wr->wqe, wr->raw), piece->len);
	return true;
}

/* The region of a piece; NULL when there is none, which is then noted. */
static struct bl_snic_mr *region(struct bl_snic_qp *qp, struct bl_wr *wr, const struct bl_wqe_piece *piece,
				 unsigned int access, uint64_t *off_p)
{
	struct bl_mr_span span = {
		.pd = qp->pd, .key = piece->lkey, .addr = piece->addr, .len = piece->len, .access = access};
	struct bl_snic_mr *mr = NULL;
	const char *why = bl_mr_check(qp->nic, &span, &mr, off_p);

	if (why)
		bad(wr, BL_SYNDROME_LOCAL_PROTECTION, piece, why);
	return mr;
}

enum bl_syndrome bl_segs_gather(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, uint8_t *dst, uint32_t len)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct bl_snic_mr *mr;
	uint64_t at;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, off);
	while (len && bl_wqe_walk_next(&walk, len, &piece)) {
		if (piece.bytes) {
			memcpy(dst, piece.bytes, piece.len);
		} else {
			mr = region(qp, wr, &piece, 0, &at);
			if (!mr)
				return wr->syndrome;
			if (!take_brought(wr, &piece, dst) && !bl_early_take(wr, &piece, dst) &&
			    bl_snic_mem_read(&mr->mem, at, dst, piece.len))
				return bad(wr, BL_SYNDROME_LOCAL_ACCESS, &piece, "the memory cannot be read any more");
		}
		dst += piece.len;
		len -= piece.len;
	}
	return BL_SYNDROME_NONE;
}

enum bl_syndrome bl_segs_scatter(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, const uint8_t *src,
				 uint32_t len)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct bl_snic_mr *mr;
	uint64_t at;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, off);
	while (len && bl_wqe_walk_next(&walk, len, &piece)) {
		mr = region(qp, wr, &piece, BL_SNIC_LOCAL_WRITE, &at);
		if (!mr)
			return wr->syndrome;
		if (bl_snic_mem_write(qp->nic, &mr->mem, at, src, piece.len))
			return bad(wr, BL_SYNDROME_LOCAL_ACCESS, &piece, "the memory cannot be written any more");
		src += piece.len;
		len -= piece.len;
	}
	return BL_SYNDROME_NONE;
}

enum bl_syndrome bl_segs_check(struct bl_snic_qp *qp, struct bl_wr *wr, unsigned int access)
{
	uint64_t left = wr->wqe.len, at;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	while (left && bl_wqe_walk_next(&walk, left, &piece)) {
		if (!piece.bytes && !region(qp, wr, &piece, access, &at))
			return wr->syndrome;
		left -= piece.len;
	}
	return BL_SYNDROME_NONE;
}

enum bl_syndrome bl_segs_part(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, unsigned int access,
			      struct bl_segs_part *part)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, off);
	if (!bl_wqe_walk_next(&walk, UINT32_MAX, &piece))
		return BL_SYNDROME_LOCAL_LENGTH;
	part->mr = region(qp, wr, &piece, access, &part->off);
	part->len = piece.len;
	return part->mr ? BL_SYNDROME_NONE : wr->syndrome;
}

static int touch(const struct bl_snic_mr *mr, uint64_t at, uint32_t len)
{
	uint8_t byte;
	int ret = bl_snic_mem_read(&mr->mem, at, &byte, 1);

	return ret ? ret : bl_snic_mem_read(&mr->mem, at + len - 1, &byte, 1);
}

enum bl_syndrome bl_segs_touch(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct bl_snic_mr *mr;
	uint64_t at;

	bl_snic_mem_settle(qp->nic);
	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
		mr = region(qp, wr, &piece, 0, &at);
		if (!mr)
			return wr->syndrome;
		if (mr->mem.flush)
			mr->mem.flush(mr->mem.priv);
		/* ordinary memory is coherent, and its owner may be writing to it just now */
		if (!bl_snic_mem_is_ordinary(&mr->mem) && touch(mr, at, piece.len))
			return bad(wr, BL_SYNDROME_LOCAL_ACCESS, &piece, "the memory cannot be read any more");
	}
	return BL_SYNDROME_NONE;
}

/* What of a segment a packet covers. Return: whether anything. */
static bool part_of(const struct bl_rwqe_sge *sge, uint64_t *off_p, uint32_t len, struct bl_mr_span *span)
{
	uint64_t skip = *off_p;

	if (skip >= sge->len) {
		*off_p -= sge->len;
		return false;
	}
	*off_p = 0;
	span->addr = sge->addr + skip;
	span->len = sge->len - skip < len ? sge->len - skip : len;
	span->key = sge->lkey;
	return true;
}

enum bl_syndrome bl_segs_deliver(struct bl_snic_qp *qp, uint64_t off, const uint8_t *src, uint32_t len,
				 struct bl_rwqe_sge *bad_p, const char **why_p)
{
	const struct bl_rwqe *rwqe = &qp->rq.rwqe;
	struct bl_mr_span span = {.pd = bl_qp_list_pd(qp), .access = BL_SNIC_LOCAL_WRITE};
	struct bl_snic_mr *mr = NULL;
	uint64_t at;

	for (unsigned int i = 0; i < rwqe->nr && len; i++) {
		if (!part_of(&rwqe->sges[i], &off, len, &span))
			continue;
		*bad_p = rwqe->sges[i];
		*why_p = bl_mr_check(qp->nic, &span, &mr, &at);
		if (*why_p)
			return BL_SYNDROME_LOCAL_PROTECTION;
		*why_p = "the memory cannot be written any more";
		if (bl_snic_mem_write(qp->nic, &mr->mem, at, src, span.len))
			return BL_SYNDROME_LOCAL_ACCESS;
		src += span.len;
		len -= (uint32_t)span.len;
	}
	return BL_SYNDROME_NONE;
}
