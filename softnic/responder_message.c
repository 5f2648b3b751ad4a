// SPDX-License-Identifier: MIT
/* Sends and writes, packet by packet. */
#include <errno.h>

#include "mem.h"
#include "mr.h"
#include "responder.h"
#include "segs.h"

void bl_resp_abort(struct bl_snic_qp *qp)
{
	qp->resp.message.kind = BL_MESSAGE_NONE;
}

static enum bl_outcome invalid(struct bl_refusal *refusal, const char *why)
{
	refusal->why = why;
	return BL_OUTCOME_INVALID;
}

enum bl_outcome bl_resp_no_list(const struct bl_snic_qp *qp, int ret, struct bl_refusal *refusal)
{
	const struct bl_snic_srq *srq = qp->attr.srq;
	bool is_list = ret == -EBADMSG || ret == -EPIPE;

	if (ret == -EAGAIN)
		return BL_OUTCOME_NOT_READY;
	refusal->addr = srq ? (uintptr_t)srq->attr.ring.addr + srq->attr.ring_off
			    : (uintptr_t)qp->attr.rq.addr + qp->attr.rq_off;
	refusal->syndrome = is_list ? BL_SYNDROME_LOCAL_OPERATION : BL_SYNDROME_LOCAL_ACCESS;
	return BL_OUTCOME_OPERATION;
}

/* A receive list is there: DONE; else NOT_READY, or it cannot be had. */
static enum bl_outcome need_list(struct bl_snic_qp *qp, struct bl_refusal *refusal)
{
	int ret = bl_rq_take(qp, &refusal->why);

	return ret ? bl_resp_no_list(qp, ret, refusal) : BL_OUTCOME_DONE;
}

/* The region of a write, asked for again with each packet: it may be gone. */
static enum bl_outcome check_write(struct bl_snic_qp *qp, const struct bl_message *message, struct bl_refusal *refusal,
				   struct bl_snic_mr **mr_p, uint64_t *off_p)
{
	struct bl_mr_span span = {
		.pd = qp->pd,
		.key = message->rkey,
		.addr = message->va,
		.len = message->len,
		.access = BL_SNIC_REMOTE_WRITE,
	};

	refusal->addr = message->va;
	refusal->len = message->len;
	refusal->key = message->rkey;
	if (qp->mod.access & BL_SNIC_REMOTE_WRITE)
		refusal->why = bl_mr_check(qp->nic, &span, mr_p, off_p);
	else
		refusal->why = "the queue pair does not allow it";
	return refusal->why ? BL_OUTCOME_ACCESS : BL_OUTCOME_DONE;
}

/* What the message is, with this packet. */
static enum bl_outcome begin(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_message *message,
			     struct bl_refusal *refusal)
{
	enum bl_message_kind kind = request->kind == BL_REQUEST_SEND ? BL_MESSAGE_SEND : BL_MESSAGE_WRITE;

	if (!request->first) {
		*message = qp->resp.message;
		return message->kind == kind ? BL_OUTCOME_DONE
					     : invalid(refusal, "the rest of a message without its begin");
	}
	*message = (struct bl_message){
		.kind = kind,
		.va = request->packet->va,
		.rkey = request->packet->rkey,
		.len = request->packet->dma_len,
	};
	return BL_OUTCOME_DONE;
}

static enum bl_outcome do_send(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_message *message,
			       struct bl_refusal *refusal)
{
	uint32_t len = request->packet->len;
	struct bl_rwqe_sge bad = {.addr = 0};
	enum bl_outcome outcome = need_list(qp, refusal);

	if (outcome != BL_OUTCOME_DONE)
		return outcome;
	if (len > qp->rq.rwqe.room || message->off > qp->rq.rwqe.room - len) {
		refusal->syndrome = BL_SYNDROME_LOCAL_LENGTH;
		refusal->len = message->off + len;
		return invalid(refusal, "the message is larger than the receive list");
	}
	refusal->syndrome = (uint8_t)bl_segs_deliver(qp, message->off, request->payload, len, &bad, &refusal->why);
	refusal->addr = bad.addr;
	refusal->len = bad.len;
	refusal->key = bad.lkey;
	message->off += len;
	return refusal->syndrome ? BL_OUTCOME_OPERATION : BL_OUTCOME_DONE;
}

static enum bl_outcome do_write(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_message *message,
				struct bl_refusal *refusal)
{
	uint32_t len = request->packet->len, left = message->len - (uint32_t)message->off;
	struct bl_snic_mr *mr = NULL;
	enum bl_outcome outcome;
	uint64_t at = 0;

	if (len > left || (request->last && len != left))
		return invalid(refusal, "not as many bytes as the first packet said");
	/* an immediate needs a list; without, nothing is written either, so that all is the same when it comes again */
	if (request->imm) {
		outcome = need_list(qp, refusal);
		if (outcome != BL_OUTCOME_DONE)
			return outcome;
	}
	/* a write of nothing names no memory */
	if (!message->len)
		return BL_OUTCOME_DONE;
	outcome = check_write(qp, message, refusal, &mr, &at);
	if (outcome != BL_OUTCOME_DONE)
		return outcome;
	if (bl_snic_mem_write(qp->nic, &mr->mem, at + message->off, request->payload, len)) {
		refusal->why = "the memory cannot be written any more";
		return BL_OUTCOME_ACCESS;
	}
	message->off += len;
	return BL_OUTCOME_DONE;
}

static void complete(struct bl_snic_qp *qp, const struct bl_request *request, const struct bl_message *message)
{
	struct bl_cqe cqe = {
		.opcode = BL_CQE_RESP_WRITE_IMM,
		.solicited = request->packet->flags & BL_PKT_SOLICITED,
		.len = (uint32_t)message->off,
		.imm = request->imm ? request->packet->imm : 0,
	};

	bl_snic_count_served(qp->nic, message->off);
	if (request->kind == BL_REQUEST_SEND)
		cqe.opcode = request->imm ? BL_CQE_RESP_SEND_IMM : BL_CQE_RESP_SEND;
	if (request->kind == BL_REQUEST_SEND || request->imm)
		bl_rq_complete(qp, &cqe);
}

enum bl_outcome bl_resp_message(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal)
{
	struct bl_responder *resp = &qp->resp;
	struct bl_message message;
	enum bl_outcome outcome = begin(qp, request, &message, refusal);

	if (outcome != BL_OUTCOME_DONE)
		return outcome;
	if (!request->packet->len && !(request->first && request->last))
		return invalid(refusal, "a packet of a longer message is empty");
	outcome = request->kind == BL_REQUEST_SEND ? do_send(qp, request, &message, refusal)
						   : do_write(qp, request, &message, refusal);
	if (outcome != BL_OUTCOME_DONE)
		return outcome;
	if (!request->last) {
		resp->message = message;
		return BL_OUTCOME_DONE;
	}
	resp->message.kind = BL_MESSAGE_NONE;
	resp->msn++;
	complete(qp, request, &message);
	return BL_OUTCOME_DONE;
}
