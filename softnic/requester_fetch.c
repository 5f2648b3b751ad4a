// SPDX-License-Identifier: MIT
/* Answers to reads and atomics. */
#include "requester.h"

#include "segs.h"

static void bad_response(struct bl_snic_qp *qp, const char *why, uint32_t len)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_BAD_RESPONSE};
	const struct bl_wqe *wqe = &bl_qp_wr(qp, qp->req.fetch)->wqe;

	bl_qp_fail(qp, qp->req.fetch, &cause, "opcode 0x%02x raddr 0x%llx len %u: answer of %u bytes: %s", wqe->opcode,
		   (unsigned long long)wqe->raddr, wqe->len, len, why);
}

/* Return: what is wrong with the answer, or NULL. */
static const char *store(struct bl_snic_qp *qp, struct bl_wr *wr, const struct bl_packet *packet,
			 const uint8_t *payload)
{
	uint64_t off = (qp->req.una - wr->first_psn) * qp->packet;
	uint32_t left = wr->wqe.len - (uint32_t)off, want = left < qp->packet ? left : qp->packet;
	uint32_t value4;

	if (bl_wqe_is_atomic(&wr->wqe)) {
		if (packet->opcode != BL_PKT_ATOMIC_ACK)
			return "data where a value is due";
		value4 = (uint32_t)packet->original;
		payload = wr->wqe.operand_len == 4 ? (const uint8_t *)&value4 : (const uint8_t *)&packet->original;
		want = wr->wqe.operand_len;
		off = 0;
	} else if (packet->opcode == BL_PKT_ATOMIC_ACK) {
		return "a value where data is due";
	} else if (packet->len != want) {
		return "not as long as it should be";
	}
	bl_segs_scatter(qp, wr, off, payload, want);
	return NULL;
}

/* The oldest read or atomic is complete: the next one, if there is one. */
static void next_fetch(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;

	if (!--req->nr_fetches)
		return;
	do {
		req->fetch++;
	} while (!bl_wqe_is_fetch(&bl_qp_wr(qp, req->fetch)->wqe));
}

/* The bytes are where they belong. */
static void placed(struct bl_snic_qp *qp, const struct bl_wr *wr, const struct bl_packet *packet)
{
	struct bl_requester *req = &qp->req;

	if (!wr->fetched || req->una != wr->first_psn || packet->compare_mask != wr->nr_psn) {
		bad_response(qp, "placed, which was not asked for", 0);
		return;
	}
	req->una += wr->nr_psn;
	req->fetch_psns -= wr->nr_psn;
	next_fetch(qp);
	bl_req_progress(qp);
}

void bl_req_response(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload)
{
	struct bl_requester *req = &qp->req;
	uint64_t psn = bl_psn_near(req->una, packet->psn);
	struct bl_wr *wr;
	const char *why;
	bool gap;

	if (psn < req->una || psn >= req->nxt || !req->nr_fetches) {
		bl_snic_count(qp->nic, psn < req->una ? BL_SNIC_RX_DUPLICATE : BL_SNIC_RX_MALFORMED, 1);
		return;
	}
	/* it answers, and so acknowledges what was before it */
	gap = bl_req_acked(qp, psn);
	if (qp->state != BL_SNIC_RTS)
		return;
	wr = bl_qp_wr(qp, req->fetch);
	if (gap || psn != req->una || psn < wr->first_psn) {
		bl_snic_count(qp->nic, BL_SNIC_RX_OUT_OF_ORDER, 1);
		bl_req_gap(qp);
		return;
	}
	if (packet->opcode == BL_PKT_READ_PLACED) {
		placed(qp, wr, packet);
		return;
	}
	why = store(qp, wr, packet, payload);
	if (why) {
		bad_response(qp, why, packet->len);
		return;
	}
	if (wr->syndrome) {
		bl_req_complete(qp);
		return;
	}
	req->una++;
	req->fetch_psns--;
	if (req->una == wr->first_psn + wr->nr_psn)
		next_fetch(qp);
	bl_req_progress(qp);
}
