// SPDX-License-Identifier: MIT
/* Send requests, and the life of a queue pair, where something else carries the requests. */
#define log_fmt(fmt) "snic/offload: " fmt
#include "offload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mr.h"
#include "requester.h"
#include "segs.h"
#include "util/log.h"

/* Requests given, and taken back, in one pass; others should have their turn. */
#define BURST 32

/* How long a queue pair in ERR waits for its requests to come back. */
#define RETURN_NS 2000000000ULL

/* Carriers have a bit of ids for themselves. */
static void next_generation(struct bl_offload *offload)
{
	offload->generation = (offload->generation + 1) & INT32_MAX;
}

static const struct bl_snic_offload_ops *ops_of(const struct bl_snic_qp *qp)
{
	return qp->nic->ops->offload;
}

int bl_offload_open(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;
	struct bl_offload *offload;
	int ret;

	offload = calloc(1, sizeof(*offload) + (size_t)qp->attr.rq_nr * qp->attr.rq_sges * sizeof(offload->keys[0]));
	if (!offload)
		return fail(ENOMEM, "%s: out of memory", nic->name);
	ret = ops_of(qp)->open(nic->link, &qp->attr, qp->sq.blocks, bl_qp_nr_blocks(qp), &offload->carrier, &qp->num);
	if (ret) {
		free(offload);
		return ret;
	}
	qp->offload = offload;
	if (!qp->num || bl_snic_map_find(&nic->qps, qp->num))
		ret = fail(EEXIST, "%s: the device gives out number 0x%x twice", nic->name, qp->num);
	else if (bl_snic_map_add(&nic->qps, qp->num, qp))
		ret = fail(ENOMEM, "%s: out of memory", nic->name);
	if (ret)
		bl_offload_close(qp);
	return ret;
}

void bl_offload_close(struct bl_snic_qp *qp)
{
	if (qp->offload->carrier)
		ops_of(qp)->close(qp->offload->carrier);
	qp->offload->carrier = NULL;
}

int bl_offload_move(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	return ops_of(qp)->move(qp->offload->carrier, qp->state, mod);
}

int bl_offload_reset(struct bl_snic_qp *qp)
{
	const struct bl_snic_qp_mod mod = {.state = BL_SNIC_RST};
	struct bl_offload *offload = qp->offload;
	int ret = qp->state == BL_SNIC_RST ? 0 : bl_offload_move(qp, &mod);

	if (ret)
		return ret;
	/* what was given before may be told of later: it has an id of before */
	next_generation(offload);
	offload->nr_sends = 0;
	offload->given = 0;
	offload->since = 0;
	return 0;
}

void bl_offload_waits(const struct bl_snic_qp *qp, char *text, size_t size)
{
	const struct bl_offload *offload = qp->offload;

	ops_of(qp)->waits(offload->carrier, offload->nr_sends ? qp->nic->now - offload->progress : 0, text, size);
}

/* The oldest request is complete. */
static void pop(struct bl_snic_qp *qp, uint8_t syndrome, uint8_t vendor)
{
	const struct bl_wr *wr = bl_qp_wr(qp, qp->sq.head);

	if (qp->sq.launched == qp->sq.head)
		qp->sq.launched++;
	qp->sq.head++;
	qp->sq.ci += wr->nr_bb;
	bl_qp_cqe_send(qp, wr, syndrome, vendor);
}

void bl_offload_fail(struct bl_snic_qp *qp, uint64_t wr, const struct bl_cause *cause)
{
	const struct bl_snic_qp_mod mod = {.state = BL_SNIC_ERR};

	/* its state is not changed yet where it matters: any can go there. That it did not was logged; the deadline helps */
	ops_of(qp)->move(qp->offload->carrier, BL_SNIC_RTS, &mod);
	if (wr == qp->sq.head && wr != UINT64_MAX)
		pop(qp, cause->syndrome, cause->vendor);
}

/* What came back was written behind the CPU's back: whoever owns the memory sees it before the completion. */
static void flush_results(struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	const struct bl_snic_mr *mr;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;

	bl_wqe_walk_start(&walk, &wr->wqe, wr->raw, 0);
	while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
		mr = bl_snic_map_find(&qp->nic->mrs, piece.lkey);
		if (mr && mr->mem.flush)
			mr->mem.flush(mr->mem.priv);
	}
}

/* From the oldest on, what is done; the first that is bad, when all before it are. */
static void complete(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;

	while (qp->state == BL_SNIC_RTS && sq->head < sq->tail) {
		const struct bl_wr *wr = bl_qp_wr(qp, sq->head);

		if (sq->head == sq->launched) {
			if (wr->syndrome)
				bl_qp_fail_bad(qp, sq->head);
			return;
		}
		if (!wr->done)
			return;
		if (bl_wqe_is_fetch(&wr->wqe))
			flush_results(qp, wr);
		pop(qp, BL_SYNDROME_NONE, 0);
	}
}

static bool is_masked(const struct bl_wqe *wqe)
{
	return wqe->opcode == BL_WQE_MASKED_CMP_SWAP || wqe->opcode == BL_WQE_MASKED_FETCH_ADD;
}

/* Whether the carrier has the request; what it will never take is bad. */
static bool give(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	const char *why = "masked atomics are not carried by this device";
	int ret = -EOPNOTSUPP;

	if (bl_segs_check(qp, wr, bl_wqe_is_fetch(&wr->wqe) ? BL_SNIC_LOCAL_WRITE : 0))
		return false;
	if (!is_masked(&wr->wqe))
		ret = ops_of(qp)->send(qp->offload->carrier, &wr->wqe, wr->raw, bl_offload_id(qp, qp->sq.launched),
				       &why);
	if (ret && ret != -EAGAIN) {
		wr->syndrome = BL_SYNDROME_LOCAL_OPERATION;
		wr->why = why;
	}
	if (ret)
		return false;
	if (!qp->offload->nr_sends++)
		qp->offload->progress = qp->nic->now;
	return true;
}

/* One request, if it may begin. Local ones are done when all before them are. */
static bool launch(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	struct bl_wr *wr;

	if (sq->launched == sq->tail)
		return false;
	wr = bl_qp_wr(qp, sq->launched);
	if (wr->syndrome || (wr->wqe.fence == BL_WQE_STRONG_FENCE && sq->head != sq->launched))
		return false;
	if (bl_wqe_is_local(&wr->wqe)) {
		if (sq->head != sq->launched || !bl_req_do_local(qp, wr))
			return false;
	} else if (!give(qp, wr)) {
		return false;
	}
	sq->launched++;
	return true;
}

static int give_sends(struct bl_snic_qp *qp)
{
	int nr = 0;

	while (qp->state == BL_SNIC_RTS && nr < BURST && launch(qp)) {
		/* one that is done at once makes room for what waits for it */
		complete(qp);
		nr++;
	}
	complete(qp);
	return nr;
}

/* @event: a syndrome, where the device has said what it was */
static void moved_by_itself(struct bl_snic_qp *qp, const char *why, uint8_t event)
{
	const struct bl_cause cause = {.syndrome = BL_SYNDROME_FLUSHED, .vendor = 0xf9, .responder = true, .event = event};

	bl_qp_fail(qp, UINT64_MAX, &cause, "the device has moved it to ERR: %s", why);
}

static void send_failed(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	const struct bl_cause cause = {.syndrome = carried->syndrome, .vendor = carried->vendor};
	const struct bl_wqe *wqe = &bl_qp_wr(qp, qp->sq.head)->wqe;

	bl_qp_fail(qp, qp->sq.head, &cause, "opcode 0x%02x raddr 0x%llx rkey 0x%x len %u: %s (vendor 0x%02x)",
		   wqe->opcode, (unsigned long long)wqe->raddr, wqe->rkey, wqe->len, carried->why, carried->vendor);
}

/* In ERR: those before it were local, and done. */
static void send_flushed(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	while (qp->sq.head < qp->sq.launched && (uint32_t)qp->sq.head != (uint32_t)carried->id)
		pop(qp, BL_SYNDROME_NONE, 0);
	if (qp->sq.head >= qp->sq.launched)
		return;
	if (!carried->syndrome && bl_wqe_is_fetch(&bl_qp_wr(qp, qp->sq.head)->wqe))
		flush_results(qp, bl_qp_wr(qp, qp->sq.head));
	pop(qp, carried->syndrome, carried->vendor);
}

static void send_back(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	static const struct bl_cause disorder = {.syndrome = BL_SYNDROME_LOCAL_OPERATION};

	qp->offload->nr_sends--;
	qp->offload->progress = qp->nic->now;
	if (qp->state == BL_SNIC_RTS && (uint32_t)carried->id != (uint32_t)qp->sq.head)
		bl_qp_fail(qp, UINT64_MAX, &disorder, "the device has completed request %u before request %u",
			   (uint32_t)carried->id, (uint32_t)qp->sq.head);
	if (qp->state == BL_SNIC_RTS && carried->syndrome == BL_SYNDROME_FLUSHED)
		moved_by_itself(qp, carried->why, 0);
	if (qp->state != BL_SNIC_RTS) {
		send_flushed(qp, carried);
	} else if (carried->syndrome) {
		send_failed(qp, carried);
	} else {
		bl_qp_wr(qp, qp->sq.head)->done = true;
		complete(qp);
	}
}

/* What the device says later of a queue pair that it had moved without a word. */
static void take_event(struct bl_snic_qp *qp, const char *why, uint8_t event)
{
	struct bl_snic_error *error = &qp->error;

	if (qp->state == BL_SNIC_RST)
		return;
	if (qp->state != BL_SNIC_ERR)
		moved_by_itself(qp, why, event);
	else if (error->responder && error->syndrome == BL_SYNDROME_FLUSHED)
		snprintf(error->text, sizeof(error->text), "the device has moved it to ERR: %s", why);
}

static void take_back(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	if (carried->kind == BL_CARRIED_EVENT) {
		take_event(qp, carried->why, carried->syndrome);
		return;
	}
	if (carried->id >> 32 != qp->offload->generation)
		return;
	if (carried->kind == BL_CARRIED_SEND && qp->offload->nr_sends)
		send_back(qp, carried);
	else if (carried->kind == BL_CARRIED_RECEIVE && qp->offload->given > qp->rq.ci)
		bl_offload_received(qp, carried);
}

static int reap(struct bl_snic_qp *qp)
{
	struct bl_carried carried[BURST];
	unsigned int nr = ops_of(qp)->poll(qp->offload->carrier, carried, BURST);

	for (unsigned int i = 0; i < nr; i++)
		take_back(qp, &carried[i]);
	return (int)nr;
}

static void give_up(struct bl_snic_qp *qp)
{
	struct bl_offload *offload = qp->offload;

	log_warn("%s: qp 0x%x: the device keeps %u requests and %llu receive lists of a queue pair in ERR: they count as "
		 "flushed",
		 qp->nic->name, qp->num, offload->nr_sends, (unsigned long long)(offload->given - qp->rq.ci));
	next_generation(offload);
	offload->nr_sends = 0;
	offload->given = qp->rq.ci;
}

/* In ERR nothing is flushed that the carrier may still work on. */
static int flush(struct bl_snic_qp *qp)
{
	struct bl_offload *offload = qp->offload;
	int nr = 0;

	if (offload->nr_sends || offload->given > qp->rq.ci) {
		if (!offload->since)
			offload->since = qp->nic->now;
		if (qp->nic->now - offload->since >= RETURN_NS)
			give_up(qp);
	}
	if (!offload->nr_sends)
		nr += bl_qp_flush_sends(qp);
	if (offload->given <= qp->rq.ci) {
		nr += bl_qp_flush_receives(qp);
		offload->given = qp->rq.ci;
	}
	return nr;
}

int bl_offload_serve(struct bl_snic_qp *qp)
{
	int nr;

	if (qp->state == BL_SNIC_RST)
		return 0;
	nr = reap(qp);
	if (qp->state == BL_SNIC_RTS) {
		nr += bl_sq_take(qp);
		nr += give_sends(qp);
	}
	if (qp->state != BL_SNIC_ERR)
		nr += bl_offload_give_receives(qp);
	if (qp->state == BL_SNIC_ERR)
		nr += flush(qp);
	return nr;
}
