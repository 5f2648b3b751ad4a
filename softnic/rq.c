// SPDX-License-Identifier: MIT
/* Receive queues. */
#include <errno.h>

#include "bytes.h"
#include "mem.h"
#include "qp.h"

/* Acquire: the list is read after the count that covers it. A count that is not ahead by at most the ring is an old
 * one. */
static void look(struct bl_snic_qp *qp)
{
	uint32_t record = be32toh(__atomic_load_n(&qp->attr.dbrec[0], __ATOMIC_ACQUIRE));
	uint16_t ahead = (uint16_t)(record - (uint32_t)qp->rq.pi);

	if (ahead <= qp->attr.rq_nr)
		qp->rq.pi += ahead;
}

int bl_rq_take(struct bl_snic_qp *qp)
{
	uint8_t raw[BL_RWQE_MAX_SGES * BL_WQE_SEG];
	size_t stride = (size_t)qp->attr.rq_sges * BL_WQE_SEG;
	struct bl_rq *rq = &qp->rq;
	uint64_t slot;
	int ret;

	if (rq->taken)
		return 0;
	if (!qp->attr.rq_nr)
		return -EAGAIN;
	if (rq->ci == rq->pi)
		look(qp);
	if (rq->ci == rq->pi)
		return -EAGAIN;
	slot = rq->ci & (qp->attr.rq_nr - 1);
	ret = bl_snic_mem_read(&qp->attr.rq, qp->attr.rq_off + slot * stride, raw, stride);
	if (ret)
		return ret;
	bl_rwqe_parse(raw, qp->attr.rq_sges, &rq->rwqe);
	rq->taken = true;
	return 0;
}

void bl_rq_complete(struct bl_snic_qp *qp, struct bl_cqe *cqe)
{
	cqe->wqe_counter = (uint16_t)qp->rq.ci;
	cqe->remote_qpn = qp->mod.dest_qpn;
	qp->rq.ci++;
	qp->rq.taken = false;
	bl_qp_cqe(qp, qp->attr.recv_cq, cqe);
}
