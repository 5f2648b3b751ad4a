// SPDX-License-Identifier: MIT
/* What the peer says to requests. */
#include "place.h"
#include "requester.h"

void bl_req_progress(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;

	req->retries = req->rnr_retries = 0;
	if (!req->refused)
		req->timer = 0;
	if (req->una < req->nxt)
		bl_req_arm(qp);
	bl_req_complete(qp);
	bl_req_refused_if_due(qp);
	/* nothing that has arrived needs to be sent again */
	if (qp->state == BL_SNIC_RTS && req->psn < req->una)
		bl_req_rewind(qp);
}

/* Where acknowledgement ends: at the oldest answer that is not here. */
static uint64_t limit_of(const struct bl_snic_qp *qp)
{
	const struct bl_requester *req = &qp->req;
	uint64_t first;

	if (!req->nr_fetches)
		return UINT64_MAX;
	first = bl_qp_wr(qp, req->fetch)->first_psn;
	return first > req->una ? first : req->una;
}

bool bl_req_acked(struct bl_snic_qp *qp, uint64_t end)
{
	struct bl_requester *req = &qp->req;
	uint64_t limit = limit_of(qp);
	bool gap = end > limit;

	if (gap)
		end = limit;
	if (end > req->una) {
		req->una = end;
		bl_req_progress(qp);
	}
	return gap;
}

void bl_req_gap(struct bl_snic_qp *qp)
{
	if (qp->req.gap == qp->req.una || qp->req.refused)
		return;
	qp->req.gap = qp->req.una;
	bl_req_retry(qp, "answers are lost");
}

static void unplaced(struct bl_snic_qp *qp, uint64_t psn)
{
	if (!bl_place_undo(qp, psn))
		bl_snic_count(qp->nic, BL_SNIC_RX_DUPLICATE, 1);
	else
		bl_req_arm(qp);
}

/* It takes long, but it is no reason to send anything again. */
static void still_placing(struct bl_snic_qp *qp)
{
	qp->req.retries = 0;
	if (qp->req.timer)
		bl_req_arm(qp);
}

/*
 * Packets that were on their way when the peer had no receive list are out of sequence to it, and some say so. What is
 * missing will be sent when the wait is over, and is no fault of the wire.
 */
static void missed(struct bl_snic_qp *qp)
{
	if (!qp->req.rnr_until)
		bl_req_retry(qp, "the peer misses packets");
}

static void nak(struct bl_snic_qp *qp, uint64_t psn, uint8_t syndrome)
{
	bl_snic_count_nak(qp->nic, BL_SNIC_NAK_RECEIVED, syndrome);
	bl_req_acked(qp, psn);
	if (qp->state != BL_SNIC_RTS)
		return;
	if (syndrome == BL_AETH_UNPLACED)
		unplaced(qp, psn);
	else if (syndrome == BL_AETH_SEQUENCE)
		missed(qp);
	else
		bl_req_refused(qp, psn, syndrome);
}

void bl_req_ack(struct bl_snic_qp *qp, const struct bl_packet *packet)
{
	struct bl_requester *req = &qp->req;
	uint64_t psn = bl_psn_near(req->una, packet->psn);
	uint8_t syndrome = packet->syndrome;

	/* of what was never sent, or is over since long */
	if (psn >= req->nxt || psn + 1 < req->una) {
		bl_snic_count(qp->nic, psn >= req->nxt ? BL_SNIC_RX_MALFORMED : BL_SNIC_RX_DUPLICATE, 1);
		return;
	}
	if (syndrome <= BL_AETH_ACK) {
		if (bl_req_acked(qp, psn + 1) && qp->state == BL_SNIC_RTS)
			bl_req_gap(qp);
		if (packet->flags & BL_PKT_PLACING && qp->state == BL_SNIC_RTS)
			still_placing(qp);
	} else if (psn < req->una) {
		bl_snic_count(qp->nic, BL_SNIC_RX_DUPLICATE, 1);
	} else if (syndrome < BL_AETH_RNR + 0x20) {
		bl_req_acked(qp, psn);
		if (qp->state == BL_SNIC_RTS)
			bl_req_rnr(qp, syndrome & 0x1f);
	} else if (syndrome >= BL_AETH_SEQUENCE && syndrome <= BL_AETH_UNPLACED) {
		nak(qp, psn, syndrome);
	} else {
		bl_snic_count(qp->nic, BL_SNIC_RX_MALFORMED, 1);
	}
}
