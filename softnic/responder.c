// SPDX-License-Identifier: MIT
#include "responder.h"

#include "place.h"

static void classify(struct bl_request *request)
{
	switch (request->packet->opcode & ~BL_PKT_UC) {
	case BL_PKT_SEND_FIRST ... BL_PKT_SEND_ONLY_IMM:
		request->kind = BL_REQUEST_SEND;
		break;
	case BL_PKT_WRITE_FIRST ... BL_PKT_WRITE_ONLY_IMM:
		request->kind = BL_REQUEST_WRITE;
		break;
	case BL_PKT_READ_REQUEST:
		request->kind = BL_REQUEST_READ;
		break;
	case BL_PKT_PLACE_SEND ... BL_PKT_PLACE_WRITE_IMM:
		request->kind = BL_REQUEST_PLACE;
		break;
	case BL_PKT_CMP_SWAP:
	case BL_PKT_FETCH_ADD:
	case BL_PKT_MASKED_CMP_SWAP:
	case BL_PKT_MASKED_FETCH_ADD:
		request->kind = BL_REQUEST_ATOMIC;
		break;
	default:
		request->kind = BL_REQUEST_NONE;
	}
}

/* Place in its message. */
static void place(struct bl_request *request)
{
	uint8_t base = request->kind == BL_REQUEST_SEND ? BL_PKT_SEND_FIRST : BL_PKT_WRITE_FIRST;
	uint8_t place = (uint8_t)((request->packet->opcode & ~BL_PKT_UC) - base);

	request->first = request->last = true;
	if (request->kind != BL_REQUEST_SEND && request->kind != BL_REQUEST_WRITE)
		return;
	request->first = place == BL_PKT_SEND_FIRST || place >= BL_PKT_SEND_ONLY;
	request->last = place >= BL_PKT_SEND_LAST;
	request->imm = place == BL_PKT_SEND_LAST_IMM || place == BL_PKT_SEND_ONLY_IMM;
}

static enum bl_outcome execute(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal)
{
	if (qp->resp.message.kind != BL_MESSAGE_NONE && request->first) {
		refusal->why = "a message begins before the last one is complete";
		return BL_OUTCOME_INVALID;
	}
	switch (request->kind) {
	case BL_REQUEST_SEND:
	case BL_REQUEST_WRITE:
		return bl_resp_message(qp, request, refusal);
	case BL_REQUEST_READ:
		return bl_resp_read(qp, request, refusal);
	case BL_REQUEST_PLACE:
		return bl_place_take(qp, request->packet, request->psn, refusal);
	default:
		return bl_resp_atomic(qp, request, refusal);
	}
}

/* The queue pair fails at once; answers that are due before the refusal, and the refusal, still go out. */
static void refuse(struct bl_snic_qp *qp, const struct bl_request *request, enum bl_outcome outcome,
		   const struct bl_refusal *refusal)
{
	static const struct {
		uint8_t ack, syndrome;
		const char *what;
	} kinds[] = {
		[BL_OUTCOME_INVALID] = {BL_AETH_INVALID, BL_SYNDROME_REMOTE_INVALID, "invalid request"},
		[BL_OUTCOME_ACCESS] = {BL_AETH_ACCESS, BL_SYNDROME_REMOTE_ACCESS, "no access"},
		[BL_OUTCOME_OPERATION] = {BL_AETH_OPERATION, BL_SYNDROME_REMOTE_OPERATION, "failed"},
	};
	struct bl_cause cause = {.syndrome = refusal->syndrome ? refusal->syndrome : kinds[outcome].syndrome,
				 .responder = true};
	struct bl_cqe cqe = {.opcode = BL_CQE_RESP_ERR, .syndrome = refusal->syndrome};

	bl_snic_count(qp->nic, BL_SNIC_SERVED_FAILED, 1);
	qp->resp.ack = BL_ACK_FATAL;
	qp->resp.ack_syndrome = kinds[outcome].ack;
	qp->resp.ack_psn = request->psn;
	if (refusal->syndrome && qp->rq.taken)
		bl_rq_complete(qp, &cqe);
	bl_qp_fail(qp, UINT64_MAX, &cause, "packet 0x%02x of qp 0x%x addr 0x%llx len %llu key 0x%x: %s",
		   request->packet->opcode, qp->mod.dest_qpn, (unsigned long long)refusal->addr,
		   (unsigned long long)refusal->len, refusal->key, refusal->why ? refusal->why : kinds[outcome].what);
}

void bl_resp_outcome(struct bl_snic_qp *qp, const struct bl_request *request, enum bl_outcome outcome,
		     const struct bl_refusal *refusal)
{
	struct bl_responder *resp = &qp->resp;

	switch (outcome) {
	case BL_OUTCOME_NOT_READY:
		/* what follows is out of order, and the sender knows why */
		resp->nak_sent = true;
		resp->ack = BL_ACK_RNR;
		resp->ack_syndrome = BL_AETH_RNR | qp->mod.min_rnr_timer;
		break;
	case BL_OUTCOME_UNPLACED:
		resp->nak_sent = true;
		resp->ack = BL_ACK_NAK;
		resp->ack_syndrome = BL_AETH_UNPLACED;
		break;
	default:
		refuse(qp, request, outcome, refusal);
	}
}

static bool is_fetch(const struct bl_request *request)
{
	return request->kind == BL_REQUEST_READ || request->kind == BL_REQUEST_ATOMIC;
}

static void execute_rc(struct bl_snic_qp *qp, const struct bl_request *request)
{
	struct bl_responder *resp = &qp->resp;
	struct bl_refusal refusal = {.addr = request->packet->va, .key = request->packet->rkey};
	enum bl_outcome outcome = execute(qp, request, &refusal);

	if (outcome != BL_OUTCOME_DONE) {
		bl_resp_outcome(qp, request, outcome, &refusal);
		return;
	}
	/* packets that followed a gap are expected again */
	resp->nak_sent = false;
	/* a read counts its answers, a placed message the packets that it stands for */
	if (request->kind != BL_REQUEST_READ && request->kind != BL_REQUEST_PLACE)
		resp->epsn++;
	/* the answer to a read or an atomic tells of all before it */
	if (resp->ack == BL_ACK_RNR || resp->ack == BL_ACK_NAK || (resp->ack == BL_ACK_POSITIVE && is_fetch(request)))
		resp->ack = BL_ACK_NONE;
	if (!is_fetch(request))
		resp->acked = resp->epsn;
	if (request->kind <= BL_REQUEST_WRITE && request->packet->flags & BL_PKT_ACK_REQ)
		resp->ack = BL_ACK_POSITIVE;
}

/* It was executed before: say so again. */
static void repeat(struct bl_snic_qp *qp, const struct bl_request *request)
{
	bl_snic_count(qp->nic, BL_SNIC_RX_DUPLICATE, 1);
	if (request->kind == BL_REQUEST_READ)
		bl_resp_read_again(qp, request);
	else if (request->kind == BL_REQUEST_ATOMIC)
		bl_resp_atomic_again(qp, request);
	else if (qp->resp.ack == BL_ACK_NONE)
		qp->resp.ack = BL_ACK_POSITIVE;
}

/* Nothing may be seen before what is being placed; a sender keeps it back. One that does not will send it again. */
static bool too_early(const struct bl_snic_qp *qp, const struct bl_request *request)
{
	return bl_place_nr(qp) && request->kind != BL_REQUEST_PLACE;
}

static void request_rc(struct bl_snic_qp *qp, const struct bl_request *request)
{
	struct bl_responder *resp = &qp->resp;

	if (request->psn < resp->epsn) {
		repeat(qp, request);
	} else if (request->psn > resp->epsn) {
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
		if (resp->nak_sent)
			return;
		resp->nak_sent = true;
		resp->ack = BL_ACK_NAK;
		resp->ack_syndrome = BL_AETH_SEQUENCE;
	} else if (too_early(qp, request)) {
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
	} else {
		execute_rc(qp, request);
	}
}

/* One that comes late, or twice, is not the one that its sender waits for any more. */
static void place_uc(struct bl_snic_qp *qp, const struct bl_request *request)
{
	struct bl_refusal refusal = {.why = NULL};

	if (request->psn != qp->resp.epsn)
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
	if (request->psn < qp->resp.epsn)
		return;
	bl_resp_abort(qp);
	bl_place_take(qp, request->packet, request->psn, &refusal);
}

/* What is lost is lost; a message of which something is missing is dropped, and the next one is a new start. */
static void request_uc(struct bl_snic_qp *qp, const struct bl_request *request)
{
	struct bl_refusal refusal = {.why = NULL};

	if (request->kind == BL_REQUEST_PLACE) {
		place_uc(qp, request);
		return;
	}
	if (request->kind != BL_REQUEST_SEND && request->kind != BL_REQUEST_WRITE) {
		bl_snic_count(qp->nic, BL_SNIC_RX_MALFORMED, 1);
		return;
	}
	if (too_early(qp, request)) {
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
		return;
	}
	if (request->psn != qp->resp.epsn)
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
	if (request->psn != qp->resp.epsn || request->first)
		bl_resp_abort(qp);
	qp->resp.epsn = request->psn + 1;
	/* the rest of a message that was dropped */
	if (!request->first && qp->resp.message.kind == BL_MESSAGE_NONE)
		return;
	if (execute(qp, request, &refusal) != BL_OUTCOME_DONE) {
		bl_snic_count(qp->nic, BL_SNIC_SERVED_FAILED, 1);
		bl_resp_abort(qp);
	}
}

void bl_resp_request(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload)
{
	struct bl_request request = {
		.packet = packet,
		.payload = payload,
		.psn = bl_psn_near(qp->resp.epsn, packet->psn),
	};

	classify(&request);
	place(&request);
	if (request.kind == BL_REQUEST_NONE) {
		bl_snic_count(qp->nic, BL_SNIC_RX_MALFORMED, 1);
		return;
	}
	if (bl_qp_is_rc(qp))
		request_rc(qp, &request);
	else
		request_uc(qp, &request);
}
