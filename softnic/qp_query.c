// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "offload.h"

#define FOREVER 7

/*
 * While a request is tried again and again; what becomes of it in the end is the error's text. Where none is, one of the
 * peer's may be waited for, which has to come in on this side.
 */
static void tell_waits(const struct bl_snic_qp *qp, char *text, size_t size)
{
	const struct bl_requester *req = &qp->req;
	const struct bl_snic *nic = qp->nic;
	const char *why;

	if (qp->state != BL_SNIC_RTS)
		return;
	if (qp->offload) {
		bl_offload_waits(qp, text, size);
	} else if (req->rnr_retries) {
		snprintf(text, size, "qp 0x%x has no receive posted, asked %u times%s", qp->mod.dest_qpn, req->rnr_retries,
			 qp->mod.rnr_retry == FOREVER ? " and for ever (RNR)" : " (RNR)");
	} else if (req->retries) {
		why = nic->ops->path_why ? nic->ops->path_why(qp->path) : NULL;
		snprintf(text, size, "sent %u times to qp 0x%x: %s", req->retries + 1, qp->mod.dest_qpn,
			 why ? why : "no answer; is it ready to receive?");
	} else if (qp->sq.late) {
		snprintf(text, size, "block %u is posted and holds no request yet", (unsigned int)(uint16_t)qp->sq.taken);
	} else if (nic->ops->path_flaw) {
		why = nic->ops->path_flaw(qp->path);
		snprintf(text, size, "%s", why ? why : "");
	}
}

int bl_snic_qp_query(struct bl_snic_qp *qp, struct bl_snic_qp_info *info)
{
	struct bl_snic *nic = qp->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	*info = (struct bl_snic_qp_info){
		.attr = qp->attr,
		.mod = qp->mod,
		.error = qp->error,
		.sq_pi = qp->sq.taken,
		.sq_ci = qp->sq.ci,
		.rq_pi = qp->rq.pi,
		.rq_ci = qp->rq.ci,
		.send_cqes = qp->attr.send_cq ? qp->attr.send_cq->pi : 0,
		.recv_cqes = qp->attr.recv_cq ? qp->attr.recv_cq->pi : 0,
		.next_psn = (uint32_t)qp->req.nxt & BL_PSN_MASK,
		.acked_psn = (uint32_t)(qp->req.una - 1) & BL_PSN_MASK,
		.expected_psn = (uint32_t)qp->resp.epsn & BL_PSN_MASK,
	};
	tell_waits(qp, info->waits, sizeof(info->waits));
	bl_snic_unlock(nic);
	return 0;
}
