// SPDX-License-Identifier: MIT
#include <errno.h>

#include "mem.h"
#include "nic.h"
#include "qp.h"
#include "receive.h"
#include "requester.h"
#include "responder.h"

/* Packets taken in one pass. */
#define BUDGET 128

/* How often paths are asked whether their peers live. */
#define PATH_CHECK_NS BL_SNIC_MS

static bool is_up(const struct bl_snic_qp *qp)
{
	return qp->state == BL_SNIC_RTR || qp->state == BL_SNIC_RTS;
}

/* Doorbells, and what they make due. */
static int serve(struct bl_snic_qp *qp)
{
	int nr = 0;

	if (qp->state == BL_SNIC_ERR)
		nr = bl_qp_flush(qp);
	else if (qp->state == BL_SNIC_RTS)
		nr = bl_sq_take(qp);
	if (qp->state == BL_SNIC_RTS)
		nr += bl_req_timers(qp);
	if (qp->state == BL_SNIC_RTS)
		nr += bl_req_send(qp);
	return nr;
}

static int answer(struct bl_snic_qp *qp)
{
	/* of one that failed, nothing but the refusal that it failed by, and what is due before */
	if (is_up(qp) || qp->resp.ack == BL_ACK_FATAL)
		return bl_resp_send(qp);
	return 0;
}

static void peer_gone(struct bl_snic_qp *qp)
{
	static const struct bl_cause busy = {.syndrome = BL_SYNDROME_RETRIES, .vendor = 0x81},
				     idle = {.syndrome = BL_SYNDROME_RETRIES, .vendor = 0x81, .quiet = true};
	bool waits = qp->sq.head < qp->sq.tail;

	bl_qp_fail(qp, waits ? qp->sq.head : UINT64_MAX, waits ? &busy : &idle, "the process of qp 0x%x is gone",
		   qp->mod.dest_qpn);
}

/* Return: how many queue pairs lost their peers. */
static int check_paths(struct bl_snic *nic)
{
	int nr = 0;

	if (nic->now < nic->path_check)
		return 0;
	nic->path_check = nic->now + PATH_CHECK_NS;
	for (struct bl_snic_qp *qp = nic->first_qp; qp; qp = qp->next) {
		if (!is_up(qp) || nic->ops->path_state(qp->path) != -ECONNRESET)
			continue;
		peer_gone(qp);
		nr++;
	}
	return nr;
}

int bl_snic_pass(struct bl_snic *nic)
{
	struct bl_snic_qp *qp;
	int received, nr;

	nic->now = nic->attr.now_ns();
	received = nic->ops->poll(nic->link, bl_snic_receive, nic, BUDGET);
	nr = received;
	for (qp = nic->first_qp; qp; qp = qp->next)
		nr += answer(qp);
	for (qp = nic->first_qp; qp; qp = qp->next)
		nr += serve(qp);
	/* what a peer sent before it went comes first */
	if (received < BUDGET)
		nr += check_paths(nic);
	bl_snic_mem_settle(nic);
	return nr;
}

uint64_t bl_snic_next_timer(const struct bl_snic *nic, bool *polled_p)
{
	uint64_t next = UINT64_MAX;

	*polled_p = false;
	for (const struct bl_snic_qp *qp = nic->first_qp; qp; qp = qp->next) {
		if (qp->req.timer && qp->req.timer < next)
			next = qp->req.timer;
		if (qp->req.rnr_until && qp->req.rnr_until < next)
			next = qp->req.rnr_until;
		if (qp->state == BL_SNIC_RTS || qp->state == BL_SNIC_ERR)
			*polled_p = true;
	}
	return next;
}
