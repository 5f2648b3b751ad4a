// SPDX-License-Identifier: MIT
/* What the peer says to requests. */
#include "requester.h"

void bl_req_progress(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;

	req->retries = req->rnr_retries = 0;
	req->timer = 0;
	if (req->una < req->nxt)
		bl_req_arm(qp);
	bl_req_complete(qp);
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
	if (qp->req.gap == qp->req.una)
		return;
	qp->req.gap = qp->req.una;
	bl_req_retry(qp, "answers are lost");
}

static void refused(struct bl_snic_qp *qp, uint64_t psn, uint8_t syndrome)
{
	static const struct {
		uint8_t ack, syndrome;
		const char *what;
	} kinds[] = {
		{BL_AETH_INVALID, BL_SYNDROME_REMOTE_INVALID, "invalid request"},
		{BL_AETH_ACCESS, BL_SYNDROME_REMOTE_ACCESS, "no access"},
		{BL_AETH_OPERATION, BL_SYNDROME_REMOTE_OPERATION, "failed there"},
	};
	const struct bl_wr *wr;
	uint64_t count;

	for (count = qp->sq.head; count + 1 < qp->sq.launched; count++) {
		wr = bl_qp_wr(qp, count);
		if (psn < wr->first_psn + wr->nr_psn)
			break;
	}
	wr = bl_qp_wr(qp, count);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct bl_cause cause = {.syndrome = kinds[i].syndrome};

		if (kinds[i].ack == syndrome)
			bl_qp_fail(qp, count, &cause,
				   "opcode 0x%02x raddr 0x%llx len %u rkey 0x%x: refused by the peer: %s",
				   wr->wqe.opcode, (unsigned long long)wr->wqe.raddr, wr->wqe.len, wr->wqe.rkey,
				   kinds[i].what);
	}
}

static void nak(struct bl_snic_qp *qp, uint64_t psn, uint8_t syndrome)
{
	bl_snic_count(qp->nic, BL_SNIC_NAK_RECEIVED, 1);
	bl_req_acked(qp, psn);
	if (qp->state != BL_SNIC_RTS)
		return;
	if (syndrome == BL_AETH_SEQUENCE)
		bl_req_retry(qp, "the peer misses packets");
	else
		refused(qp, psn, syndrome);
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
	} else if (psn < req->una) {
		bl_snic_count(qp->nic, BL_SNIC_RX_DUPLICATE, 1);
	} else if (syndrome < BL_AETH_RNR + 0x20) {
		bl_req_acked(qp, psn);
		if (qp->state == BL_SNIC_RTS)
			bl_req_rnr(qp, syndrome & 0x1f);
	} else if (syndrome >= BL_AETH_SEQUENCE && syndrome <= BL_AETH_OPERATION) {
		nak(qp, psn, syndrome);
	} else {
		bl_snic_count(qp->nic, BL_SNIC_RX_MALFORMED, 1);
	}
}
