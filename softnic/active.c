// SPDX-License-Identifier: MIT
#include "active.h"

#include "place.h"

/* Quiet queue pairs that are looked at in a pass. */
#define SCAN 16U

/* Passes for which one that is quiet is served all the same. */
#define LINGER 256U

void bl_active_wake(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;

	qp->quiet = 0;
	if (qp->active)
		return;
	qp->active = true;
	qp->next_active = NULL;
	if (nic->last_active)
		nic->last_active->next_active = qp;
	else
		nic->first_active = qp;
	nic->last_active = qp;
}

/* @before: of which it is the next, or NULL */
static void leave(struct bl_snic_qp *qp, struct bl_snic_qp **link, struct bl_snic_qp *before)
{
	struct bl_snic *nic = qp->nic;

	*link = qp->next_active;
	if (nic->last_active == qp)
		nic->last_active = before;
	qp->active = false;
}

void bl_active_forget(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;
	struct bl_snic_qp **link = &nic->first_active, *before = NULL;

	if (nic->scan_at == qp)
		nic->scan_at = qp->next;
	if (!qp->active)
		return;
	for (; *link != qp; link = &before->next_active)
		before = *link;
	leave(qp, link, before);
}

void bl_active_scan(struct bl_snic *nic)
{
	if (!nic->first_qp)
		return;
	if (!nic->unseen)
		nic->unseen = nic->qps.nr;
	for (unsigned int left = SCAN; left && nic->unseen; left--, nic->unseen--) {
		struct bl_snic_qp *qp = nic->scan_at ? nic->scan_at : nic->first_qp;

		nic->scan_at = qp->next;
		if (!qp->active && bl_sq_rung(qp))
			bl_active_wake(qp);
	}
}

/* Nothing but a doorbell, a packet or a call can make work for it. */
static bool is_quiet(const struct bl_snic_qp *qp)
{
	const struct bl_requester *req = &qp->req;
	const struct bl_responder *resp = &qp->resp;

	if (qp->offload || qp->state < BL_SNIC_RTR)
		return qp->state == BL_SNIC_RST || !qp->offload;
	/* both of its queues are looked at */
	if (qp->state == BL_SNIC_ERR)
		return false;
	return qp->sq.taken == qp->sq.pi && qp->sq.head == qp->sq.tail && !req->timer && !req->rnr_until &&
	       !req->place_timer && !resp->nr_replies && resp->ack == BL_ACK_NONE && !bl_place_nr(qp) && !qp->jobs;
}

bool bl_active_rest(struct bl_snic_qp **link, struct bl_snic_qp *before)
{
	struct bl_snic_qp *qp = *link;

	if (!is_quiet(qp)) {
		qp->quiet = 0;
		return false;
	}
	if (qp->quiet++ < LINGER)
		return false;
	leave(qp, link, before);
	return true;
}
