// SPDX-License-Identifier: MIT
/*
 * A request that the peer has refused. Its queue pair there has failed with that, and says no more. But answers to reads
 * and atomics before it may still be on their way: a network may deliver the refusal first. They have their time.
 */
#include "requester.h"

/* The request that a sequence number under way is of. */
static uint64_t request_of(const struct bl_snic_qp *qp, uint64_t psn)
{
	const struct bl_wr *wr;
	uint64_t count;

	for (count = qp->sq.head; count + 1 < qp->sq.launched; count++) {
		wr = bl_qp_wr(qp, count);
		if (psn < wr->first_psn + wr->nr_psn)
			break;
	}
	return count;
}

static const struct {
	uint8_t ack, syndrome;
	const char *what;
} kinds[] = {
	{BL_AETH_INVALID, BL_SYNDROME_REMOTE_INVALID, "invalid request"},
	{BL_AETH_ACCESS, BL_SYNDROME_REMOTE_ACCESS, "no access"},
	{BL_AETH_OPERATION, BL_SYNDROME_REMOTE_OPERATION, "failed there"},
};

static size_t kind_of(uint8_t ack)
{
	size_t i = 0;

	while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && kinds[i].ack != ack)
		i++;
	return i;
}

void bl_req_refused_if_due(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	size_t kind = kind_of(req->refused);
	const struct bl_cause cause = {.syndrome = kinds[kind].syndrome};
	const struct bl_wqe *wqe;
	uint64_t count;

	if (!req->refused || qp->state != BL_SNIC_RTS)
		return;
	/* it acknowledges all before it, as far as the oldest answer that is missing: that may be a later one now */
	bl_req_acked(qp, req->refused_psn);
	if (qp->state != BL_SNIC_RTS)
		return;
	count = request_of(qp, req->refused_psn);
	if (count != qp->sq.head)
		return;
	wqe = &bl_qp_wr(qp, count)->wqe;
	bl_qp_fail(qp, count, &cause, "opcode 0x%02x raddr 0x%llx len %u rkey 0x%x: refused by the peer: %s", wqe->opcode,
		   (unsigned long long)wqe->raddr, wqe->len, wqe->rkey, kinds[kind].what);
}

void bl_req_refused(struct bl_snic_qp *qp, uint64_t psn, uint8_t syndrome)
{
	struct bl_requester *req = &qp->req;

	/* it comes twice, or the peer has more to say than it should */
	if (req->refused)
		return;
	req->refused = syndrome;
	req->refused_psn = psn;
	req->rnr_until = 0;
	req->timer = qp->nic->now + BL_REQ_OVERTAKEN_NS;
	bl_req_refused_if_due(qp);
}

void bl_req_refused_late(struct bl_snic_qp *qp)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_RETRIES, .vendor = BL_REQ_VENDOR_RETRIES};
	const struct bl_wqe *wqe = &bl_qp_wr(qp, qp->sq.head)->wqe;

	bl_qp_fail(qp, qp->sq.head, &cause,
		   "opcode 0x%02x raddr 0x%llx: its answer is lost, and the peer has refused a later request: %s",
		   wqe->opcode, (unsigned long long)wqe->raddr, kinds[kind_of(qp->req.refused)].what);
}
