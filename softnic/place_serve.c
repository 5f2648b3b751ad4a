// SPDX-License-Identifier: MIT
/* The receiver of messages that are placed. */
#include <errno.h>
#include <stdlib.h>

#include "place.h"

/* Sequence numbers of a message at most: of the longest one, in the smallest packets. */
#define MAX_PSNS (BL_WQE_MAX_LEN / 256)

static struct bl_placement *at(const struct bl_snic_qp *qp, unsigned int i)
{
	struct bl_placing *placing = qp->resp.placing;

	return &placing->ring[(placing->first + i) % BL_PLACE_DEPTH];
}

static bool needs_list(const struct bl_placement *placement)
{
	return (placement->packet.opcode & (uint8_t)~BL_PKT_UC) != BL_PKT_PLACE_WRITE;
}

static bool is_send(const struct bl_placement *placement)
{
	uint8_t opcode = placement->packet.opcode & (uint8_t)~BL_PKT_UC;

	return opcode == BL_PKT_PLACE_SEND || opcode == BL_PKT_PLACE_SEND_IMM;
}

uint64_t bl_place_done_psn(const struct bl_snic_qp *qp)
{
	return bl_place_nr(qp) ? at(qp, 0)->psn : qp->resp.epsn;
}

bool bl_place_holds(const struct bl_snic_qp *qp, uint64_t psn)
{
	for (unsigned int i = 0; i < bl_place_nr(qp); i++) {
		if (!((at(qp, i)->psn ^ psn) & BL_PSN_MASK))
			return true;
	}
	return false;
}

/* All from number @i on: they are as if they had not come. */
static void drop_from(struct bl_snic_qp *qp, unsigned int i)
{
	struct bl_placing *placing = qp->resp.placing;

	if (i >= bl_place_nr(qp))
		return;
	qp->resp.epsn = at(qp, i)->psn;
	while (placing->nr > i) {
		bl_jobs_detach(qp->nic, &at(qp, --placing->nr)->move);
		qp->nic->nr_placing--;
	}
}

void bl_place_drop(struct bl_snic_qp *qp)
{
	drop_from(qp, 0);
}

enum bl_outcome bl_place_take(struct bl_snic_qp *qp, const struct bl_packet *packet, uint64_t psn,
			      struct bl_refusal *refusal)
{
	struct bl_placing *placing = qp->resp.placing;
	struct bl_snic_qp *from;
	struct bl_placement *placement;

	if (!packet->dma_len || packet->dma_len > BL_WQE_MAX_LEN || !packet->compare_mask ||
	    packet->compare_mask > MAX_PSNS) {
		refusal->why = "placed: of a length that there is not";
		return BL_OUTCOME_INVALID;
	}
	if (!placing)
		placing = qp->resp.placing = calloc(1, sizeof(*placing));
	if (!placing)
		return BL_OUTCOME_UNPLACED;
	if (placing->nr == BL_PLACE_DEPTH) {
		refusal->why = "placed: more at a time than there may be";
		return BL_OUTCOME_INVALID;
	}
	placement = at(qp, placing->nr);
	*placement = (struct bl_placement){.packet = *packet, .psn = psn, .outcome = BL_OUTCOME_DONE};
	/* memory of another process is looked for when its bytes are */
	if (!packet->compare && !bl_place_source(qp, placement, &from))
		return BL_OUTCOME_UNPLACED;
	placing->nr++;
	qp->nic->nr_placing++;
	qp->resp.epsn = psn + packet->compare_mask;
	return BL_OUTCOME_DONE;
}

/* Return: whether the list can be used. */
static bool use_list(struct bl_placement *placement, const struct bl_rwqe *rwqe)
{
	struct bl_refusal *refusal = &placement->refusal;

	if (rwqe->room < placement->packet.dma_len) {
		placement->outcome = BL_OUTCOME_INVALID;
		refusal->syndrome = BL_SYNDROME_LOCAL_LENGTH;
		refusal->len = placement->packet.dma_len;
		refusal->why = "the message is larger than the receive list";
	} else if (rwqe->nr > BL_PLACE_SEGS) {
		placement->outcome = BL_OUTCOME_UNPLACED;
	} else {
		placement->nr_list = rwqe->nr;
		for (unsigned int i = 0; i < rwqe->nr; i++)
			placement->list[i] = rwqe->sges[i];
		return true;
	}
	return false;
}

/* The same of one of the queue pair's own. */
static bool read_list(struct bl_snic_qp *qp, struct bl_placement *placement, uint64_t count)
{
	struct bl_rwqe rwqe;

	if (!bl_rq_read(qp, count, &rwqe))
		return use_list(placement, &rwqe);
	placement->outcome = BL_OUTCOME_OPERATION;
	placement->refusal.syndrome = BL_SYNDROME_LOCAL_ACCESS;
	placement->refusal.why = "the receive ring cannot be read";
	return false;
}

/* The next list of a shared queue is known when it is taken, and a queue pair has one at a time. */
static bool take_list(struct bl_snic_qp *qp, struct bl_placement *placement)
{
	int ret = bl_rq_take(qp, &placement->refusal.why);

	if (!ret)
		return !is_send(placement) || use_list(placement, &qp->rq.rwqe);
	placement->outcome = bl_resp_no_list(qp, ret, &placement->refusal);
	return false;
}

/* Whether number @i may be begun: its receive list is there, and those before it have theirs. */
static bool check(struct bl_snic_qp *qp, unsigned int i)
{
	struct bl_placement *placement = at(qp, i);
	unsigned int before = 0;

	if (placement->checked || !needs_list(placement))
		return true;
	if (qp->attr.srq) {
		placement->checked = !i && take_list(qp, placement);
		return placement->checked;
	}
	for (unsigned int j = 0; j < i; j++)
		before += needs_list(at(qp, j));
	if (bl_rq_posted(qp) <= before) {
		/* who comes later may find one */
		if (!i)
			placement->outcome = BL_OUTCOME_NOT_READY;
		return false;
	}
	placement->checked = !is_send(placement) || read_list(qp, placement, qp->rq.ci + before);
	return placement->checked;
}

static void begin(struct bl_snic_qp *qp)
{
	struct bl_placement *placement;
	int ret;

	for (unsigned int i = 0; i < bl_place_nr(qp); i++) {
		placement = at(qp, i);
		if (placement->outcome != BL_OUTCOME_DONE || placement->move.error)
			return;
		if (placement->move.off == placement->packet.dma_len)
			continue;
		if (!check(qp, i))
			return;
		ret = bl_place_move(qp, placement);
		if (ret == -ESTALE)
			drop_from(qp, i);
		if (ret)
			return;
	}
}

static struct bl_placement pop(struct bl_snic_qp *qp)
{
	struct bl_placing *placing = qp->resp.placing;
	struct bl_placement first = *at(qp, 0);

	placing->first = (placing->first + 1) % BL_PLACE_DEPTH;
	placing->nr--;
	qp->nic->nr_placing--;
	return first;
}

/* On an unreliable connection nobody acknowledges: its sender may use the memory again. */
static void release(struct bl_snic_qp *qp, const struct bl_placement *placement)
{
	struct bl_snic_qp *from;
	struct bl_wr *wr = bl_qp_is_rc(qp) ? NULL : bl_place_source(qp, placement, &from);

	if (wr)
		wr->done = true;
}

static void complete(struct bl_snic_qp *qp)
{
	struct bl_placement done = pop(qp);
	struct bl_cqe cqe = {
		.opcode = BL_CQE_RESP_WRITE_IMM,
		.solicited = done.packet.flags & BL_PKT_SOLICITED,
		.len = done.packet.dma_len,
		.imm = done.packet.imm,
	};

	qp->resp.msn++;
	bl_snic_count(qp->nic, BL_SNIC_PLACED, 1);
	bl_snic_count(qp->nic, BL_SNIC_PLACED_BYTES, done.packet.dma_len);
	bl_snic_count_served(qp->nic, done.packet.dma_len);
	release(qp, &done);
	if (bl_qp_is_rc(qp) && qp->resp.ack == BL_ACK_NONE)
		qp->resp.ack = BL_ACK_POSITIVE;
	if (is_send(&done))
		cqe.opcode = done.packet.opcode & 1 ? BL_CQE_RESP_SEND_IMM : BL_CQE_RESP_SEND;
	if (needs_list(&done))
		bl_rq_complete(qp, &cqe);
}

/* What is lost is lost; but what only cannot be placed comes in packets. */
static void fail_uc(struct bl_snic_qp *qp)
{
	struct bl_snic_qp *from = NULL;
	struct bl_placement bad = *at(qp, 0);

	if (bad.outcome != BL_OUTCOME_UNPLACED) {
		bl_snic_count(qp->nic, BL_SNIC_SERVED_FAILED, 1);
		pop(qp);
		release(qp, &bad);
		return;
	}
	drop_from(qp, 0);
	if (bl_place_source(qp, &bad, &from))
		bl_place_undo(from, bad.psn);
}

static void fail_first(struct bl_snic_qp *qp)
{
	struct bl_placement bad = *at(qp, 0);
	struct bl_request request = {.packet = &bad.packet, .psn = bad.psn, .kind = BL_REQUEST_PLACE};
	const char *unused;

	if (bad.outcome == BL_OUTCOME_DONE) {
		bad.outcome = BL_OUTCOME_OPERATION;
		bad.refusal.why = "its bytes could not be moved";
	}
	if (!bl_qp_is_rc(qp)) {
		fail_uc(qp);
		return;
	}
	drop_from(qp, 0);
	/* the list that it hits completes with the error */
	if (bad.refusal.syndrome)
		bl_rq_take(qp, &unused);
	bl_resp_outcome(qp, &request, bad.outcome, &bad.refusal);
}

/* Return: whether the first one was over. */
static bool end_first(struct bl_snic_qp *qp)
{
	const struct bl_placement *first = at(qp, 0);

	if (first->move.jobs)
		return false;
	if (first->outcome != BL_OUTCOME_DONE || first->move.error)
		fail_first(qp);
	else if (first->move.off == first->packet.dma_len)
		complete(qp);
	else
		return false;
	return true;
}

int bl_place_serve(struct bl_snic_qp *qp)
{
	unsigned int jobs = qp->nic->nr_jobs;
	int nr = 0;

	while (bl_place_nr(qp) && end_first(qp))
		nr++;
	begin(qp);
	/* what could not be begun at all */
	while (bl_place_nr(qp) && end_first(qp))
		nr++;
	return nr + (int)(qp->nic->nr_jobs - jobs);
}
