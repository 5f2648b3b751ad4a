// SPDX-License-Identifier: MIT
/*
 * Reads whose bytes are placed, where both queue pairs are on one NIC: the answering side checks what it always checks,
 * has its bytes moved to where the request says, by the keys of the side that asked, and answers in one packet.
 */
#include <errno.h>
#include <stdlib.h>

#include "mr.h"
#include "place.h"
#include "segs.h"

/* No mover is worth less. */
#define LEAST 256U

bool bl_place_wants_read(struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	const struct bl_snic_mr *source, *target;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	unsigned int nr = 0;

	if (wr->wqe.opcode != BL_WQE_READ || wr->wqe.len < LEAST || !qp->loop)
		return false;
	source = bl_snic_map_find(&qp->nic->mrs, wr->wqe.rkey);
	if (!source || !source->mem.mover || wr->wqe.len < source->mem.mover->least)
		return false;
	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
		target = bl_snic_map_find(&qp->nic->mrs, piece.lkey);
		if (++nr > BL_PLACE_SEGS || !target || !bl_place_is_able(&target->mem, &source->mem))
			return false;
	}
	return true;
}

void bl_place_read_begin(struct bl_snic_qp *qp, const struct bl_packet *packet, struct bl_reply *reply)
{
	if (!(packet->flags & BL_PKT_PLACE) || !qp->loop || !packet->dma_len)
		return;
	/* without memory it comes in packets */
	reply->move = calloc(1, sizeof(*reply->move));
	reply->count = packet->swap_add;
}

void bl_place_read_end(struct bl_snic_qp *qp, struct bl_reply *reply)
{
	if (!reply->move)
		return;
	bl_jobs_detach(qp->nic, reply->move);
	free(reply->move);
	reply->move = NULL;
}

/* The request, as long as it waits for this answer. */
static struct bl_wr *find(struct bl_snic_qp *qp, const struct bl_reply *reply, struct bl_snic_qp **to_p)
{
	struct bl_snic_qp *to = bl_snic_map_find(&qp->nic->qps, qp->mod.dest_qpn);
	struct bl_wr *wr;

	if (!qp->loop || !to || to->state != BL_SNIC_RTS || to->mod.dest_qpn != qp->num ||
	    reply->count < to->sq.head || reply->count >= to->sq.launched)
		return NULL;
	wr = bl_qp_wr(to, reply->count);
	*to_p = to;
	return wr->fetched && !wr->syndrome && wr->wqe.len == reply->len && wr->nr_psn == reply->nr_psn &&
			       !((wr->first_psn ^ reply->psn) & BL_PSN_MASK)
		       ? wr
		       : NULL;
}

/* One job. Return: as bl_place_read_go(), 0: there may be more. */
static int move_part(struct bl_snic_qp *qp, struct bl_reply *reply)
{
	struct bl_move *move = reply->move;
	struct bl_mr_span span = {
		.pd = qp->pd,
		.key = reply->rkey,
		.addr = reply->va + move->off,
		.len = reply->len - move->off,
		.access = BL_SNIC_REMOTE_READ,
	};
	struct bl_snic_qp *to = NULL;
	struct bl_wr *wr = find(qp, reply, &to);
	struct bl_job job = {.move = move};
	struct bl_segs_part target;
	struct bl_snic_mr *source;
	uint64_t at, len;
	int ret;

	if (!wr || bl_segs_part(to, wr, move->off, BL_SNIC_LOCAL_WRITE, &target) ||
	    bl_mr_check(qp->nic, &span, &source, &at) || !bl_place_is_able(&target.mr->mem, &source->mem))
		return -ENOENT;
	job.src = &source->mem;
	job.dst = &target.mr->mem;
	job.memories[0] = &target.mr->jobs;
	job.memories[1] = &source->jobs;
	job.queues[0] = &qp->jobs;
	job.queues[1] = &to->jobs;
	len = target.len < span.len ? target.len : span.len;
	if (len > BL_JOB_MAX)
		len = BL_JOB_MAX;
	ret = bl_job_start(qp->nic, &job, target.off, at, len);
	if (!ret)
		move->off += (uint32_t)len;
	return ret;
}

/* What comes back comes in order: what was asked for before is there, or is being placed before it. */
static bool is_next(struct bl_snic_qp *qp)
{
	const struct bl_reply *first = &qp->resp.replies[0];
	struct bl_snic_qp *to;

	return first->move && (!find(qp, first, &to) || to->req.fetch == first->count);
}

int bl_place_read_go(struct bl_snic_qp *qp, struct bl_reply *reply)
{
	struct bl_move *move = reply->move;
	int ret = 0;

	if (!is_next(qp))
		return -EAGAIN;
	while (!move->error && !ret && move->off < reply->len)
		ret = move_part(qp, reply);
	/* for good, since later ones may have been begun meanwhile */
	if (ret && ret != -EAGAIN)
		move->error = ret;
	if (move->jobs || ret == -EAGAIN)
		return -EAGAIN;
	return move->error;
}

bool bl_place_reads_stop(struct bl_snic_qp *qp)
{
	struct bl_responder *resp = &qp->resp;

	for (unsigned int i = 0; i < resp->nr_replies; i++) {
		if (resp->replies[i].move && resp->replies[i].move->jobs)
			return false;
	}
	for (unsigned int i = 0; i < resp->nr_replies; i++) {
		if (resp->replies[i].move)
			bl_snic_count(qp->nic, BL_SNIC_PLACE_REFUSED, 1);
		bl_place_read_end(qp, &resp->replies[i]);
	}
	return true;
}

void bl_place_read_hold(struct bl_snic_qp *qp, const struct bl_packet *packet)
{
	struct bl_snic_qp *to = bl_snic_map_find(&qp->nic->qps, packet->src_qpn);

	if (to)
		to->req.retries = 0;
}
