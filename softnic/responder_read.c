// SPDX-License-Identifier: MIT
/* Reads: checked when they come, done when their answers are sent. */
#include "mr.h"
#include "place.h"
#include "responder.h"

uint32_t bl_resp_read_psns(uint32_t len, uint32_t size)
{
	return len ? (len - 1) / size + 1 : 1;
}

/* Payload of an answer: as this side sends, unless the peer, who counts them, says otherwise. */
static uint32_t size_of(const struct bl_snic_qp *qp, const struct bl_packet *packet)
{
	uint32_t size = packet->imm ? packet->imm : qp->mod.mtu;

	return size <= qp->nic->max_payload && size >= 256 ? size : 0;
}

static const char *check(struct bl_snic_qp *qp, const struct bl_packet *packet)
{
	struct bl_mr_span span = {
		.pd = qp->pd,
		.key = packet->rkey,
		.addr = packet->va,
		.len = packet->dma_len,
		.access = BL_SNIC_REMOTE_READ,
	};
	struct bl_snic_mr *mr;
	uint64_t at;

	if (!(qp->mod.access & BL_SNIC_REMOTE_READ))
		return "the queue pair does not allow it";
	/* a read of nothing names no memory */
	return packet->dma_len ? bl_mr_check(qp->nic, &span, &mr, &at) : NULL;
}

static struct bl_reply reply_to(const struct bl_request *request, uint32_t size, uint32_t msn)
{
	const struct bl_packet *packet = request->packet;

	return (struct bl_reply){
		.psn = request->psn,
		.nr_psn = bl_resp_read_psns(packet->dma_len, size),
		.packet = size,
		.msn = msn,
		.rkey = packet->rkey,
		.len = packet->dma_len,
		.va = packet->va,
	};
}

enum bl_outcome bl_resp_read(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal)
{
	const struct bl_packet *packet = request->packet;
	struct bl_responder *resp = &qp->resp;
	uint32_t size = size_of(qp, packet);
	struct bl_reply reply;

	refusal->len = packet->dma_len;
	if (!size || packet->dma_len > BL_WQE_MAX_LEN) {
		refusal->why = "answers of a size, or as many, as there are none";
		return BL_OUTCOME_INVALID;
	}
	refusal->why = check(qp, packet);
	if (refusal->why)
		return BL_OUTCOME_ACCESS;
	reply = reply_to(request, size, resp->msn + 1);
	bl_place_read_begin(qp, packet, &reply);
	if (!bl_resp_queue(qp, &reply)) {
		bl_place_read_end(qp, &reply);
		refusal->why = "more reads and atomics at a time than agreed";
		return BL_OUTCOME_INVALID;
	}
	resp->msn++;
	resp->epsn += reply.nr_psn;
	return BL_OUTCOME_DONE;
}

/* It is being placed, and will be answered. */
static bool is_placed(const struct bl_snic_qp *qp, const struct bl_reply *reply)
{
	for (unsigned int i = 0; i < qp->resp.nr_replies; i++) {
		const struct bl_reply *old = &qp->resp.replies[i];

		if (old->move && old->psn == reply->psn && old->nr_psn == reply->nr_psn)
			return true;
	}
	return false;
}

/* What cannot be answered is left out: the sender asks again. */
void bl_resp_read_again(struct bl_snic_qp *qp, const struct bl_request *request)
{
	uint32_t size = size_of(qp, request->packet);
	struct bl_reply reply;

	if (!size || request->packet->dma_len > BL_WQE_MAX_LEN || check(qp, request->packet))
		return;
	reply = reply_to(request, size, qp->resp.msn);
	reply.again = true;
	if (is_placed(qp, &reply)) {
		bl_place_read_hold(qp, request->packet);
		return;
	}
	if (reply.psn + reply.nr_psn <= qp->resp.epsn)
		bl_resp_queue(qp, &reply);
}
