// SPDX-License-Identifier: MIT
/* When the next send request may begin, and what is done without the peer. */
#include "place.h"
#include "requester.h"
#include "segs.h"

/* Sequence numbers under way at most, so that old and new ones are told apart: half of them, less a window. */
#define MAX_SPAN (1U << 22)
#define SLACK	 4096

static unsigned int max_fetches(const struct bl_snic_qp *qp)
{
	return qp->mod.max_rd_atomic ? qp->mod.max_rd_atomic : 1;
}

bool bl_req_fence_is_open(const struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	switch (wr->wqe.fence) {
	case BL_WQE_READ_FENCE:
	case BL_WQE_READ_AND_SMALL_FENCE:
		return !qp->req.nr_fetches;
	case BL_WQE_STRONG_FENCE:
		return qp->sq.head == qp->sq.launched;
	default:
		return true;
	}
}

/* CQE number @wait_index, counted from 0 since the queue was made, has been written. */
static bool wait_is_over(const struct bl_snic_qp *qp, struct bl_wr *wr)
{
	const struct bl_snic_cq *cq = bl_snic_map_find(&qp->nic->cqs, wr->wqe.wait_cqn);

	if (cq)
		return (int32_t)((uint32_t)cq->pi - wr->wqe.wait_index) > 0;
	wr->syndrome = BL_SYNDROME_LOCAL_OPERATION;
	wr->why = "no completion queue has the number to wait for";
	return false;
}

bool bl_req_do_local(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	if (wr->wqe.opcode == BL_WQE_WAIT && !wait_is_over(qp, wr))
		return false;
	if (wr->wqe.opcode == BL_WQE_DUMP && bl_segs_touch(qp, wr))
		return false;
	wr->done = true;
	return true;
}

static uint32_t psns_of(const struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	if (bl_wqe_is_local(&wr->wqe))
		return 0;
	if (bl_wqe_is_atomic(&wr->wqe) || !wr->wqe.len)
		return 1;
	return (wr->wqe.len + qp->packet - 1) / qp->packet;
}

/* What comes back must have a place before anything happens at the peer. */
static bool may_fetch(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_requester *req = &qp->req;

	if (req->nr_fetches >= max_fetches(qp) || bl_segs_check(qp, wr, BL_SNIC_LOCAL_WRITE))
		return false;
	wr->fetched = bl_place_wants_read(qp, wr);
	return req->assigned - req->una + psns_of(qp, wr) <= MAX_SPAN + SLACK;
}

/* A message of several packets is not begun when its end cannot be sent. */
static bool may_send(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_requester *req = &qp->req;

	wr->placed = bl_place_wants(qp, wr);
	if (wr->placed && req->assigned - req->una + psns_of(qp, wr) > MAX_SPAN + SLACK)
		return false;
	return (wr->wqe.len <= qp->packet && !wr->placed) || !bl_segs_check(qp, wr, 0);
}

/* A wire has no packet for it. */
static bool is_off_wire(const struct bl_snic_qp *qp, struct bl_wr *wr)
{
	if (!qp->nic->wire || (wr->wqe.opcode != BL_WQE_MASKED_CMP_SWAP && wr->wqe.opcode != BL_WQE_MASKED_FETCH_ADD))
		return false;
	wr->syndrome = BL_SYNDROME_LOCAL_OPERATION;
	wr->why = "masked atomics do not travel over a network";
	return true;
}

static bool may_launch(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	if (wr->syndrome || is_off_wire(qp, wr) || !bl_req_fence_is_open(qp, wr))
		return false;
	if (bl_wqe_is_local(&wr->wqe))
		return bl_req_do_local(qp, wr);
	return bl_wqe_is_fetch(&wr->wqe) ? may_fetch(qp, wr) : may_send(qp, wr);
}

bool bl_req_launch(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	struct bl_sq *sq = &qp->sq;
	struct bl_wr *wr;

	if (sq->launched == sq->tail)
		return false;
	wr = bl_qp_wr(qp, sq->launched);
	if (!may_launch(qp, wr))
		return false;
	wr->first_psn = req->assigned;
	wr->nr_psn = psns_of(qp, wr);
	req->assigned += wr->nr_psn;
	if (bl_wqe_is_fetch(&wr->wqe) && !req->nr_fetches++)
		req->fetch = sq->launched;
	sq->launched++;
	return true;
}
