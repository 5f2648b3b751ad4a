// SPDX-License-Identifier: MIT
/* The sender of messages that are placed. */
#include "mr.h"
#include "place.h"
#include "segs.h"
#include "share.h"

/* No mover is worth less. */
#define LEAST 256U

/* On an unreliable connection: how long a message may be on its way before it counts as lost. */
#define LOST_NS (250 * BL_SNIC_MS)

static bool is_write(const struct bl_wr *wr)
{
	return wr->wqe.opcode == BL_WQE_WRITE || wr->wqe.opcode == BL_WQE_WRITE_IMM;
}

static bool is_send(const struct bl_wr *wr)
{
	return wr->wqe.opcode == BL_WQE_SEND || wr->wqe.opcode == BL_WQE_SEND_IMM;
}

/* The memory of a write as the receiver will look for it; it is the one who checks. */
static const struct bl_snic_mr *target_of(const struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	return is_write(wr) ? bl_snic_map_find(&qp->nic->mrs, wr->wqe.rkey) : NULL;
}

static bool may_come_from(const struct bl_snic_qp *qp, const struct bl_wr *wr, const struct bl_wqe_piece *piece)
{
	const struct bl_snic_mr *mr = piece->bytes ? NULL : bl_snic_map_find(&qp->nic->mrs, piece->lkey);
	const struct bl_snic_mover *mover = mr ? mr->mem.mover : NULL;
	const struct bl_snic_mr *target;

	if (!mover || wr->wqe.len < mover->least)
		return false;
	if (is_send(wr))
		return true;
	target = target_of(qp, wr);
	return target && target->mem.mover == mover && mover->able(target->mem.moved, mr->mem.moved);
}

/* From memory that the peer's process has: one piece, of which it is known where that process has it. */
static bool is_shared(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	const struct bl_snic_mover *mover;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	struct bl_snic_mr *mr;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	if (!bl_qp_is_rc(qp) || !bl_wqe_walk_next(&walk, UINT32_MAX, &piece) || piece.bytes ||
	    piece.len != wr->wqe.len)
		return false;
	mr = bl_snic_map_find(&qp->nic->mrs, piece.lkey);
	mover = mr ? mr->mem.mover : NULL;
	/* what is beyond the region is found out with the check that follows */
	if (!mover || !mover->share || wr->wqe.len < mover->least || piece.addr < mr->iova)
		return false;
	wr->share = bl_share_get(qp, mr);
	wr->share_off = piece.addr - mr->iova;
	return wr->share;
}

bool bl_place_wants(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	unsigned int nr = 0;

	wr->share = 0;
	if (wr->wqe.len < LEAST)
		return false;
	if (is_send(wr) ? qp->req.unplaced_sends : !is_write(wr) || wr->wqe.rkey == qp->req.unplaced)
		return false;
	/* a network has no packet by which memory could be offered */
	if (!qp->loop)
		return !qp->nic->wire && is_shared(qp, wr);
	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
		if (++nr > BL_PLACE_SEGS || !may_come_from(qp, wr, &piece))
			return false;
	}
	return true;
}

bool bl_place_is_over(const struct bl_snic_qp *qp)
{
	const struct bl_wr *wr;

	if (bl_qp_is_rc(qp))
		return qp->req.placed_end <= qp->req.una;
	for (uint64_t count = qp->sq.head; qp->req.nr_placed && count < qp->req.wr; count++) {
		wr = bl_qp_wr(qp, count);
		if (wr->placed && !wr->done)
			return false;
	}
	return true;
}

struct bl_packet bl_place_packet(const struct bl_snic_qp *qp, const struct bl_wr *wr, uint64_t count)
{
	bool imm = wr->wqe.opcode == BL_WQE_SEND_IMM || wr->wqe.opcode == BL_WQE_WRITE_IMM;
	struct bl_packet packet = {
		.opcode = (uint8_t)((is_send(wr) ? BL_PKT_PLACE_SEND : BL_PKT_PLACE_WRITE) + imm),
		.flags = (uint8_t)(BL_PKT_ACK_REQ | (wr->wqe.solicited ? BL_PKT_SOLICITED : 0)),
		.imm = imm ? wr->wqe.imm : 0,
		.dma_len = wr->wqe.len,
		.swap_add = wr->share ? wr->share_off : count,
		.compare = wr->share,
		.compare_mask = wr->nr_psn,
	};

	if (is_write(wr)) {
		packet.va = wr->wqe.raddr;
		packet.rkey = wr->wqe.rkey;
	}
	return packet;
}

void bl_place_sent(struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	struct bl_requester *req = &qp->req;
	uint64_t end = wr->first_psn + wr->nr_psn;

	req->placed_end = end;
	if (end <= req->nxt)
		return;
	req->nr_placed++;
	if (!bl_qp_is_rc(qp) && !req->place_timer)
		req->place_timer = qp->nic->now + LOST_NS;
}

void bl_place_done(struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	if (!wr->placed)
		return;
	if (!--qp->req.nr_placed)
		qp->req.place_timer = 0;
}

/* Nothing else was sent after it, so that all from there on may be sent anew. */
bool bl_place_undo(struct bl_snic_qp *qp, uint64_t psn)
{
	struct bl_requester *req = &qp->req;
	struct bl_wr *wr;

	for (uint64_t count = qp->sq.head; count < qp->sq.launched; count++) {
		wr = bl_qp_wr(qp, count);
		if (!wr->nr_psn || ((wr->first_psn ^ psn) & BL_PSN_MASK) || wr->done)
			continue;
		if (!wr->placed)
			return false;
		bl_snic_count(qp->nic, BL_SNIC_PLACE_REFUSED, 1);
		bl_place_done(qp, wr);
		wr->placed = false;
		if (is_write(wr))
			req->unplaced = wr->wqe.rkey;
		else
			req->unplaced_sends = true;
		req->wr = count;
		req->psn = wr->first_psn;
		if (!bl_qp_is_rc(qp))
			req->una = wr->first_psn;
		req->placed_end = 0;
		return true;
	}
	return false;
}

bool bl_place_timer(struct bl_snic_qp *qp)
{
	const struct bl_snic_qp *peer = bl_snic_map_find(&qp->nic->qps, qp->mod.dest_qpn);
	struct bl_requester *req = &qp->req;
	bool lost = false;
	struct bl_wr *wr;

	if (!req->place_timer || qp->nic->now < req->place_timer)
		return false;
	req->place_timer = qp->nic->now + LOST_NS;
	for (uint64_t count = qp->sq.head; count < req->wr; count++) {
		wr = bl_qp_wr(qp, count);
		if (!wr->placed || wr->done || (peer && bl_place_holds(peer, wr->first_psn)))
			continue;
		/* should it come after all, it finds its request done */
		wr->done = lost = true;
	}
	return lost;
}
