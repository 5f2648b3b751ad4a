// SPDX-License-Identifier: MIT
#include "qp.h"

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
	bl_snic_unlock(nic);
	return 0;
}
