// SPDX-License-Identifier: MIT
/* Receive queues. */
#include <errno.h>

#include "bytes.h"
#include "mem.h"
#include "qp.h"
#include "util/guard.h"

/* Acquire: the list is read after the count that covers it. A count that is not ahead by at most the ring is an old
 * one. */
static void look(struct bl_snic_qp *qp)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_LOCAL_ACCESS, .responder = true};
	uint32_t record;
	uint16_t ahead;

	if (qp->rq.lost)
		return;
	if (bl_guard_load32(&qp->attr.dbrec[0], &record)) {
		qp->rq.lost = true;
		bl_qp_fail(qp, UINT64_MAX, &cause, "receive record at %p cannot be read: %s",
			   (const void *)&qp->attr.dbrec[0], strerror(EFAULT));
		return;
	}
	ahead = (uint16_t)(be32toh(record) - (uint32_t)qp->rq.pi);
	if (ahead <= qp->attr.rq_nr)
		qp->rq.pi += ahead;
}

uint64_t bl_rq_posted(struct bl_snic_qp *qp)
{
	if (qp->attr.rq_nr)
		look(qp);
	return qp->rq.pi - qp->rq.ci;
}

int bl_rq_read(struct bl_snic_qp *qp, uint64_t count, struct bl_rwqe *rwqe)
{
	uint8_t raw[BL_RWQE_MAX_SGES * BL_WQE_SEG];
	size_t stride = (size_t)qp->attr.rq_sges * BL_WQE_SEG;
	uint64_t slot = count & (qp->attr.rq_nr - 1);
	int ret;

	ret = bl_snic_mem_read(&qp->attr.rq, qp->attr.rq_off + slot * stride, raw, stride);
	if (!ret)
		bl_rwqe_parse(raw, qp->attr.rq_sges, rwqe);
	return ret;
}

static int take_own(struct bl_snic_qp *qp, const char **why_p)
{
	struct bl_rq *rq = &qp->rq;

	*why_p = "the receive ring cannot be read";
	if (!qp->attr.rq_nr)
		return -EAGAIN;
	if (rq->ci == rq->pi)
		look(qp);
	if (rq->ci == rq->pi)
		return rq->lost ? -EFAULT : -EAGAIN;
	return bl_rq_read(qp, rq->ci, &rq->rwqe);
}

/* A list that has no successor is this queue pair's all the same, and completes. */
static int take_shared(struct bl_snic_qp *qp, const char **why_p)
{
	struct bl_rq *rq = &qp->rq;
	int ret = bl_srq_take(qp->attr.srq, &rq->rwqe, &rq->index, why_p);

	rq->taken = !ret || ret == -EBADMSG;
	rq->pi += rq->taken;
	return ret;
}

int bl_rq_take(struct bl_snic_qp *qp, const char **why_p)
{
	int ret;

	if (qp->rq.taken)
		return 0;
	if (qp->attr.srq)
		return take_shared(qp, why_p);
	ret = take_own(qp, why_p);
	qp->rq.taken = !ret;
	return ret;
}

void bl_rq_drop(struct bl_snic_qp *qp)
{
	if (qp->attr.srq && qp->rq.taken)
		bl_srq_give_back(qp->attr.srq, qp->rq.index);
	qp->rq.taken = false;
}

void bl_rq_complete(struct bl_snic_qp *qp, struct bl_cqe *cqe)
{
	struct bl_snic_srq *srq = qp->attr.srq;

	cqe->wqe_counter = srq ? qp->rq.index : (uint16_t)qp->rq.ci;
	cqe->remote_qpn = qp->mod.dest_qpn;
	qp->rq.ci++;
	qp->rq.taken = false;
	bl_snic_count_end(qp->nic, BL_SNIC_RECV_DONE, cqe->syndrome, cqe->len);
	if (srq) {
		cqe->srqn = srq->num;
		srq->done++;
	}
	bl_qp_cqe(qp, qp->attr.recv_cq, cqe);
}
