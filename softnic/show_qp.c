// SPDX-License-Identifier: MIT
#include "show_qp.h"

#include <endian.h>
#include <string.h>

#include "util/guard.h"

/* Blocks before the oldest request that is not done: what was done last. */
#define BEFORE 2

/* Time until then; 0 stands for no wait at all. */
static uint64_t until(uint64_t when, uint64_t now)
{
	return !when ? 0 : when > now ? when - now : 1;
}

static const uint8_t *block_at(const struct bl_snic_qp *qp, uint64_t nr)
{
	return qp->sq.blocks + (size_t)(nr & (qp->attr.sq_nr - 1)) * BL_SNIC_WQEBB;
}

static void show_blocks(struct bl_shown_qp *to, const struct bl_snic_qp *qp)
{
	uint64_t first = qp->sq.ci > BEFORE ? qp->sq.ci - BEFORE : 0, end = qp->sq.fetched;

	to->block = first;
	to->nr_blocks = 0;
	if (!qp->attr.sq_nr)
		return;
	/* older ones were written over */
	if (end > first + qp->attr.sq_nr)
		first = to->block = qp->sq.ci;
	while (to->nr_blocks < BL_SHOWN_BLOCKS && first < end)
		memcpy(to->blocks[to->nr_blocks++], block_at(qp, first++), BL_SHOWN_BLOCK);
}

static void show_error(struct bl_shown_qp *to, const struct bl_snic_qp *qp)
{
	const struct bl_snic_error *error = &qp->error;

	to->error_syndrome = error->syndrome;
	to->error_vendor = error->vendor;
	to->error_opcode = error->opcode;
	to->error_wqe = error->wqe_counter;
	memcpy(to->text, error->text, sizeof(to->text));
	if (error->responder)
		to->flags |= BL_SHOWN_RESPONDER;
	/* it stays in the copy of the ring until that many blocks were posted after it */
	if (qp->state != BL_SNIC_ERR || qp->culprit == UINT64_MAX || !qp->attr.sq_nr)
		return;
	memcpy(to->error_block, block_at(qp, error->wqe_counter), sizeof(to->error_block));
	to->flags |= BL_SHOWN_ERROR_BLOCK;
}

static void show_queues(struct bl_shown_qp *to, const struct bl_snic_qp *qp)
{
	const struct bl_sq *sq = &qp->sq;
	/* then the records are the program's alone, which sets them back */
	bool reset = qp->state == BL_SNIC_RST;
	uint32_t record;
	uint16_t ahead = 0;

	to->sq_nr = qp->attr.sq_nr;
	to->sq_posted = sq->pi;
	to->sq_fetched = sq->fetched;
	to->sq_taken = sq->taken;
	to->sq_done = sq->ci;
	to->wr_taken = sq->tail;
	to->wr_launched = sq->launched;
	to->wr_done = sq->head;
	to->doorbell = sq->seen;
	to->watched = 0;
	if (sq->watched && !reset && !sq->lost)
		bl_guard_load64(sq->watched, &to->watched);
	to->rq_nr = qp->attr.rq_nr;
	to->rq_sges = qp->attr.rq_sges;
	/* the NIC itself looks when it has none left */
	if (qp->attr.rq_nr && !reset && !qp->rq.lost && !bl_guard_load32(&qp->attr.dbrec[0], &record))
		ahead = (uint16_t)(be32toh(record) - (uint32_t)qp->rq.pi);
	to->rq_posted = qp->rq.pi + (ahead <= qp->attr.rq_nr ? ahead : 0);
	to->rq_done = qp->rq.ci;
}

static void show_wire(struct bl_shown_qp *to, const struct bl_snic_qp *qp)
{
	const struct bl_requester *req = &qp->req;

	to->retries = req->retries;
	to->rnr_retries = req->rnr_retries;
	to->nr_fetches = req->nr_fetches;
	to->nr_replies = qp->resp.nr_replies;
	to->nr_placed = req->nr_placed;
	to->nr_jobs = qp->jobs;
	to->psn_next = (uint32_t)req->nxt & BL_PSN_MASK;
	to->psn_sent = (uint32_t)req->psn & BL_PSN_MASK;
	to->psn_acked = (uint32_t)req->una & BL_PSN_MASK;
	to->psn_expected = (uint32_t)qp->resp.epsn & BL_PSN_MASK;
	to->msn = qp->resp.msn & BL_PSN_MASK;
	to->timer_ns = until(req->timer, qp->nic->now);
	to->rnr_ns = until(req->rnr_until, qp->nic->now);
}

static uint32_t flags_of(const struct bl_snic_qp *qp)
{
	return (qp->attr.no_dbrec ? BL_SHOWN_NO_RECORD : 0) | (qp->sq.watched ? BL_SHOWN_WATCHED : 0) |
	       (qp->attr.sq_sig_all ? BL_SHOWN_SIGNAL_ALL : 0) | (qp->loop ? BL_SHOWN_LOOP : 0) |
	       (qp->offload ? BL_SHOWN_CARRIED : 0);
}

void bl_show_qp(struct bl_shown_qp *to, const struct bl_snic_qp *qp)
{
	const struct bl_snic_qp_mod *mod = &qp->mod;

	bl_shown_begin(&to->seq);
	to->num = qp->num;
	to->type = (uint8_t)qp->attr.type;
	to->state = (uint8_t)qp->state;
	to->flags = flags_of(qp);
	to->pd = qp->pd->num;
	to->send_cq = qp->attr.send_cq ? qp->attr.send_cq->num : 0;
	to->recv_cq = qp->attr.recv_cq ? qp->attr.recv_cq->num : 0;
	to->srq = qp->attr.srq ? qp->attr.srq->num : 0;
	to->dest_qpn = mod->dest_qpn;
	memcpy(to->dest_gid, mod->dest_gid, sizeof(to->dest_gid));
	to->sgid_index = mod->sgid_index;
	to->mtu = mod->mtu;
	to->access = mod->access;
	to->ack_timeout = mod->ack_timeout;
	to->retry_cnt = mod->retry_cnt;
	to->rnr_retry = mod->rnr_retry;
	to->min_rnr_timer = mod->min_rnr_timer;
	show_queues(to, qp);
	show_wire(to, qp);
	show_error(to, qp);
	show_blocks(to, qp);
	bl_shown_end(&to->seq);
}
