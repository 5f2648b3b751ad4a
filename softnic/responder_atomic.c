// SPDX-License-Identifier: MIT
/* Atomics: done once, however often they are asked for. */
#include "atomic.h"
#include "mr.h"
#include "responder.h"

static const char *check(struct bl_snic_qp *qp, const struct bl_packet *packet, struct bl_snic_mr **mr_p,
			 uint64_t *at_p)
{
	struct bl_mr_span span = {
		.pd = qp->pd,
		.key = packet->rkey,
		.addr = packet->va,
		.len = packet->operand_len,
		.access = BL_SNIC_REMOTE_ATOMIC,
	};

	if (!(qp->mod.access & BL_SNIC_REMOTE_ATOMIC))
		return "the queue pair does not allow it";
	return bl_mr_check(qp->nic, &span, mr_p, at_p);
}

static bool is_masked(const struct bl_packet *packet)
{
	return packet->opcode == BL_PKT_MASKED_CMP_SWAP || packet->opcode == BL_PKT_MASKED_FETCH_ADD;
}

static void queue(struct bl_snic_qp *qp, const struct bl_atomic_result *result, bool again)
{
	struct bl_reply reply = {
		.psn = result->psn,
		.nr_psn = 1,
		.msn = qp->resp.msn,
		.atomic = true,
		.again = again,
		.original = result->original,
	};

	bl_resp_queue(qp, &reply);
}

enum bl_outcome bl_resp_atomic(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal)
{
	const struct bl_packet *packet = request->packet;
	struct bl_responder *resp = &qp->resp;
	struct bl_snic_mr *mr = NULL;
	struct bl_atomic_result result = {.psn = request->psn};
	uint64_t at = 0;

	refusal->len = packet->operand_len;
	if (packet->operand_len != 8 && !(packet->operand_len == 4 && is_masked(packet))) {
		refusal->why = "atomic of a length that there is not";
		return BL_OUTCOME_INVALID;
	}
	if (packet->va % packet->operand_len) {
		refusal->why = "atomic on an address that is not aligned";
		return BL_OUTCOME_INVALID;
	}
	refusal->why = check(qp, packet, &mr, &at);
	if (refusal->why)
		return BL_OUTCOME_ACCESS;
	/* room for the answer first: what is done cannot be taken back */
	if (!bl_resp_has_room(qp, false)) {
		refusal->why = "more reads and atomics at a time than agreed";
		return BL_OUTCOME_INVALID;
	}
	if (bl_atomic_do(qp->nic, &mr->mem, at, packet, &result.original)) {
		refusal->why = "the memory cannot be reached any more";
		return BL_OUTCOME_ACCESS;
	}
	bl_snic_count_served(qp->nic, packet->operand_len);
	resp->msn++;
	resp->history[resp->nr_atomics++ % resp->max_replies] = result;
	queue(qp, &result, false);
	return BL_OUTCOME_DONE;
}

void bl_resp_atomic_again(struct bl_snic_qp *qp, const struct bl_request *request)
{
	struct bl_responder *resp = &qp->resp;
	uint64_t first = resp->nr_atomics > resp->max_replies ? resp->nr_atomics - resp->max_replies : 0;

	for (uint64_t i = first; i < resp->nr_atomics; i++) {
		const struct bl_atomic_result *result = &resp->history[i % resp->max_replies];

		if (result->psn == request->psn) {
			queue(qp, result, true);
			return;
		}
	}
}
