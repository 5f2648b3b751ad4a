// SPDX-License-Identifier: MIT
/* Time-outs, and sending again. */
#include "place.h"
#include "requester.h"

#define FOREVER 7

static const uint32_t rnr_us[32] = {
	655360, 10,    20,    30,    40,    60,	    80,	    120,    160,    240,    320,
	480,	640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
	20480,	30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
};

/* On an unreliable connection: how long a way may be blocked. */
#define BLOCKED_NS (250 * BL_SNIC_MS)

static uint64_t timeout_of(const struct bl_snic_qp *qp)
{
	uint64_t ns = 4096ULL << qp->mod.ack_timeout, floor = qp->nic->attr.timeout_floor_ns;

	if (!bl_qp_is_rc(qp))
		return BLOCKED_NS;
	return ns > floor ? ns : floor;
}

void bl_req_arm(struct bl_snic_qp *qp)
{
	if ((bl_qp_is_rc(qp) && !qp->mod.ack_timeout) || qp->req.rnr_until || qp->req.refused)
		return;
	qp->req.timer = qp->nic->now + timeout_of(qp);
}

void bl_req_rewind(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	const struct bl_sq *sq = &qp->sq;
	const struct bl_wr *wr;

	for (req->wr = sq->head; req->wr < sq->launched; req->wr++) {
		wr = bl_qp_wr(qp, req->wr);
		if (wr->first_psn + wr->nr_psn > req->una)
			break;
	}
	req->psn = req->una;
	/* what is placed is sent again before anything that comes after it */
	req->placed_end = 0;
}

/* The oldest request that is not complete, for which there is no answer. */
static uint64_t oldest(const struct bl_snic_qp *qp)
{
	return qp->sq.head < qp->sq.tail ? qp->sq.head : UINT64_MAX;
}

void bl_req_retry(struct bl_snic_qp *qp, const char *why)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_RETRIES, .vendor = BL_REQ_VENDOR_RETRIES};
	struct bl_requester *req = &qp->req;
	const struct bl_wqe *wqe = &bl_qp_wr(qp, qp->sq.head)->wqe;

	/* nobody is there to answer */
	if (req->refused)
		return;
	if (req->retries >= qp->mod.retry_cnt) {
		bl_qp_fail(qp, oldest(qp), &cause, "opcode 0x%02x raddr 0x%llx rkey 0x%x: sent %u times to qp 0x%x: %s",
			   wqe->opcode, (unsigned long long)wqe->raddr, wqe->rkey, req->retries + 1, qp->mod.dest_qpn,
			   why);
		return;
	}
	req->retries++;
	bl_req_rewind(qp);
	bl_req_arm(qp);
}

void bl_req_rnr(struct bl_snic_qp *qp, uint8_t code)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_RNR_RETRIES};
	struct bl_requester *req = &qp->req;
	const struct bl_wqe *wqe;

	bl_snic_count(qp->nic, BL_SNIC_RNR_RECEIVED, 1);
	if (req->refused)
		return;
	if (req->rnr_retries >= qp->mod.rnr_retry && qp->mod.rnr_retry != FOREVER) {
		wqe = &bl_qp_wr(qp, qp->sq.head)->wqe;
		bl_qp_fail(qp, oldest(qp), &cause, "opcode 0x%02x len %u: qp 0x%x had no receive posted, %u times",
			   wqe->opcode, wqe->len, qp->mod.dest_qpn, req->rnr_retries + 1);
		return;
	}
	req->rnr_retries++;
	req->rnr_until = qp->nic->now + rnr_us[code] * 1000ULL;
	req->timer = 0;
	bl_req_rewind(qp);
}

static const char *why_silent(const struct bl_snic_qp *qp)
{
	const char *why = qp->nic->ops->path_why ? qp->nic->ops->path_why(qp->path) : NULL;

	return why ? why : "no answer; is it ready to receive?";
}

bool bl_req_timers(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	bool lost = req->place_timer && bl_place_timer(qp);

	if (!req->timer || qp->nic->now < req->timer)
		return lost;
	req->timer = 0;
	bl_snic_count(qp->nic, BL_SNIC_TIMEOUTS, 1);
	if (req->refused) {
		bl_req_refused_late(qp);
	} else if (bl_qp_is_rc(qp)) {
		/* an answer to what comes now may have the same gap */
		req->gap = 0;
		bl_req_retry(qp, why_silent(qp));
	} else {
		req->dropping = true;
	}
	return true;
}
