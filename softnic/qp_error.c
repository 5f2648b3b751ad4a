// SPDX-License-Identifier: MIT
/* What becomes of a queue pair that failed: the first cause is kept, and everything posted is completed as flushed. */
#define log_fmt(fmt) "snic/qp: " fmt
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "active.h"
#include "offload.h"
#include "place.h"
#include "qp.h"
#include "util/log.h"

#define VENDOR_FLUSHED 0xf9

static const struct bl_cause flushed = {.syndrome = BL_SYNDROME_FLUSHED, .vendor = VENDOR_FLUSHED};

void bl_qp_cqe(struct bl_snic_qp *qp, struct bl_snic_cq *cq, struct bl_cqe *cqe)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_LOCAL_OPERATION};
	int ret;

	cqe->qpn = qp->num;
	if (cqe->opcode >= BL_CQE_REQ_ERR)
		qp->error_cqe = true;
	ret = bl_cq_put(cq, cqe);
	if (!ret || qp->state == BL_SNIC_ERR)
		return;
	if (ret == -ENOSPC)
		bl_qp_fail(qp, UINT64_MAX, &cause, "cq 0x%x of %u CQEs is full: a completion is lost", cq->num,
			   cq->attr.nr);
	else
		bl_qp_fail(qp, UINT64_MAX, &cause, "cq 0x%x cannot be written: %s", cq->num, strerror(-ret));
}

static bool wants_cqe(const struct bl_snic_qp *qp, const struct bl_wr *wr, uint8_t syndrome)
{
	if (wr->wqe.ce >= BL_WQE_CE_ALWAYS || qp->attr.sq_sig_all)
		return true;
	if (!syndrome)
		return false;
	return wr->wqe.ce == BL_WQE_CE_ERROR || !qp->error_cqe;
}

void bl_qp_cqe_send(struct bl_snic_qp *qp, const struct bl_wr *wr, uint8_t syndrome, uint8_t vendor)
{
	struct bl_cqe cqe = {
		.opcode = syndrome ? BL_CQE_REQ_ERR : BL_CQE_REQ,
		.send_opcode = wr->wqe.opcode,
		.syndrome = syndrome,
		.vendor = vendor,
		.wqe_counter = wr->wqe.index,
		.len = syndrome ? 0 : wr->wqe.len,
	};

	bl_snic_count_end(qp->nic, BL_SNIC_WQE_DONE, syndrome, wr->wqe.len);
	if (wants_cqe(qp, wr, syndrome))
		bl_qp_cqe(qp, qp->attr.send_cq, &cqe);
}

/* All requests that were taken over; the culprit has a syndrome of its own. */
static int flush_taken(struct bl_snic_qp *qp)
{
	const struct bl_cause cause = {.syndrome = qp->culprit_syndrome, .vendor = qp->culprit_vendor};
	struct bl_sq *sq = &qp->sq;
	int nr = 0;

	for (; sq->head < sq->tail; nr++) {
		const struct bl_wr *wr = bl_qp_wr(qp, sq->head);
		const struct bl_cause *why = sq->head == qp->culprit ? &cause : &flushed;

		sq->head++;
		sq->ci += wr->nr_bb;
		bl_qp_cqe_send(qp, wr, why->syndrome, why->vendor);
	}
	return nr;
}

int bl_qp_flush_receives(struct bl_snic_qp *qp)
{
	int nr = 0;

	/*
	 * What a list says is of no interest any more: whether it can be read, too. Of a shared queue only that which was
	 * begun is this queue pair's.
	 */
	while (qp->attr.srq ? qp->rq.taken : bl_rq_posted(qp) != 0) {
		struct bl_cqe cqe = {
			.opcode = BL_CQE_RESP_ERR, .syndrome = BL_SYNDROME_FLUSHED, .vendor = VENDOR_FLUSHED};

		bl_rq_complete(qp, &cqe);
		nr++;
	}
	return nr;
}

int bl_qp_flush_sends(struct bl_snic_qp *qp)
{
	bl_sq_take(qp);
	return flush_taken(qp);
}

int bl_qp_flush(struct bl_snic_qp *qp)
{
	int nr = bl_sq_take(qp);

	/* a completion says that the memory is its user's again */
	if (qp->jobs)
		return nr;
	flush_taken(qp);
	return nr + bl_qp_flush_receives(qp);
}

static void note(struct bl_snic_qp *qp, uint64_t wr, const struct bl_cause *cause, const char *fmt, va_list ap)
{
	struct bl_snic_error *error = &qp->error;

	*error = (struct bl_snic_error){
		.syndrome = cause->syndrome,
		.vendor = cause->vendor,
		.responder = cause->responder,
		.dest_qpn = qp->mod.dest_qpn,
		.wqe_counter = (uint16_t)qp->sq.ci,
	};
	if (wr != UINT64_MAX) {
		error->opcode = bl_qp_wr(qp, wr)->wqe.opcode;
		error->wqe_counter = bl_qp_wr(qp, wr)->wqe.index;
	}
	vsnprintf(error->text, sizeof(error->text), fmt, ap);
}

static void say(const struct bl_snic_qp *qp, const struct bl_cause *cause)
{
	const struct bl_snic_error *error = &qp->error;

	if (cause->quiet)
		log_debug("%s: qp 0x%x: %s", qp->nic->name, qp->num, error->text);
	else
		fail(EIO, "%s: qp 0x%x: %s (syndrome 0x%02x, wqe %u, peer qp 0x%x)", qp->nic->name, qp->num,
		     error->text, error->syndrome, error->wqe_counter, error->dest_qpn);
}

static void tell(const struct bl_snic_qp *qp, const struct bl_cause *cause)
{
	uint8_t syndrome = cause->event ? cause->event : cause->syndrome;
	enum bl_snic_event_type type = BL_SNIC_QP_FATAL;

	if (cause->responder && (syndrome == BL_SYNDROME_REMOTE_ACCESS || syndrome == BL_SYNDROME_LOCAL_ACCESS))
		type = BL_SNIC_QP_ACCESS_ERR;
	else if (cause->responder && syndrome == BL_SYNDROME_REMOTE_INVALID)
		type = BL_SNIC_QP_REQ_ERR;
	if (!cause->asked)
		bl_snic_tell(qp->nic, type, qp->num);
}

void bl_qp_fail(struct bl_snic_qp *qp, uint64_t wr, const struct bl_cause *cause, const char *fmt, ...)
{
	va_list ap;

	if (qp->state == BL_SNIC_ERR)
		return;
	va_start(ap, fmt);
	note(qp, wr, cause, fmt, ap);
	va_end(ap);
	say(qp, cause);
	qp->state = qp->mod.state = BL_SNIC_ERR;
	bl_active_wake(qp);
	qp->req.timer = qp->req.rnr_until = qp->req.place_timer = 0;
	qp->culprit = wr;
	qp->culprit_syndrome = cause->syndrome;
	qp->culprit_vendor = cause->vendor;
	tell(qp, cause);
	bl_place_drop(qp);
	/* requests that are elsewhere come back from there */
	if (qp->offload) {
		bl_offload_fail(qp, wr, cause);
		return;
	}
	/* queues are reached by the NIC's thread only, where it has one: its next pass flushes */
	if (qp->nic->in_call && !qp->nic->attr.manual)
		return;
	bl_qp_flush(qp);
}

void bl_qp_fail_bad(struct bl_snic_qp *qp, uint64_t wr)
{
	const struct bl_wr *bad = bl_qp_wr(qp, wr);
	struct bl_cause cause = {.syndrome = bad->syndrome};

	if (bad->bad_len)
		bl_qp_fail(qp, wr, &cause, "opcode 0x%02x addr 0x%llx len %llu key 0x%x: %s", bad->wqe.opcode,
			   (unsigned long long)bad->bad_addr, (unsigned long long)bad->bad_len, bad->bad_key, bad->why);
	else
		bl_qp_fail(qp, wr, &cause, "opcode 0x%02x: %s", bad->wqe.opcode, bad->why);
}
