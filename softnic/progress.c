// SPDX-License-Identifier: MIT
#include <errno.h>

#include "active.h"
#include "cq.h"
#include "early.h"
#include "job.h"
#include "mem.h"
#include "nic.h"
#include "offload.h"
#include "place.h"
#include "qp.h"
#include "receive.h"
#include "requester.h"
#include "responder.h"
#include "share.h"
#include "show.h"

/* Packets taken in one pass. */
#define BUDGET 128

/* How often paths are asked whether their peers live. */
#define PATH_CHECK_NS BL_SNIC_MS

static bool is_up(const struct bl_snic_qp *qp)
{
	return qp->state == BL_SNIC_RTR || qp->state == BL_SNIC_RTS;
}

/* Nothing that it sends is posted or under way. */
static bool is_at_rest(const struct bl_snic_qp *qp)
{
	return qp->sq.head == qp->sq.tail && !qp->req.timer && !qp->req.rnr_until && !qp->req.place_timer;
}

/* Doorbells, and what they make due. */
static int serve(struct bl_snic_qp *qp)
{
	int nr = 0;

	if (qp->offload)
		return bl_offload_serve(qp);
	if (qp->state == BL_SNIC_ERR)
		nr = bl_qp_flush(qp);
	else if (qp->state == BL_SNIC_RTS)
		nr = bl_sq_take(qp);
	/* what most passes find */
	if (!nr && is_at_rest(qp))
		return 0;
	if (qp->state == BL_SNIC_RTS)
		nr += bl_req_timers(qp);
	if (qp->state == BL_SNIC_RTS) {
		bl_early_read(qp);
		nr += bl_req_send(qp);
	}
	return nr;
}

static int answer(struct bl_snic_qp *qp)
{
	if (qp->offload)
		return 0;
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

/* Messages that are placed: what movers have done, and what they are to do next. */
static int place(struct bl_snic *nic)
{
	int nr = nic->nr_jobs ? bl_jobs_poll(nic) : 0;

	nic->flushed = NULL;
	if (nic->attaches || nic->shares)
		nr += bl_shares_serve(nic);
	if (!nic->nr_placing)
		return nr;
	for (struct bl_snic_qp *qp = nic->first_active; qp; qp = qp->next_active) {
		if (bl_place_nr(qp))
			nr += bl_place_serve(qp);
	}
	return nr;
}

/* Doorbells, after a look at those of queue pairs that were quiet. */
static int serve_all(struct bl_snic *nic)
{
	struct bl_snic_qp **link = &nic->first_active, *before = NULL;
	int nr = 0;

	bl_active_scan(nic);
	while (*link) {
		nr += serve(*link);
		if (bl_active_rest(link, before))
			continue;
		before = *link;
		link = &before->next_active;
	}
	return nr;
}

int bl_snic_pass(struct bl_snic *nic)
{
	int received, nr;

	nic->now = nic->attr.now_ns();
	bl_snic_count(nic, BL_SNIC_PASSES, 1);
	/* what goes out to queue pairs of this NIC comes in at once */
	nr = serve_all(nic);
	received = nic->ops->poll(nic->link, bl_snic_receive, nic, BUDGET);
	/* what came is not kept waiting by what is done for it */
	bl_snic_mem_order(nic);
	bl_snic_port_watch(nic);
	nr += received + place(nic);
	bl_cq_show(nic);
	bl_snic_mem_order(nic);
	for (struct bl_snic_qp *qp = nic->first_active; qp; qp = qp->next_active)
		nr += answer(qp);
	/* what a peer sent before it went comes first */
	if (received < BUDGET)
		nr += check_paths(nic);
	bl_cq_show(nic);
	bl_snic_mem_push(nic);
	if (nic->ops->flush)
		nic->ops->flush(nic->link);
	bl_show_if_due(nic);
	/* a look at all of them begins anew */
	if (nr)
		nic->unseen = 0;
	return nr;
}

static bool is_polled(const struct bl_snic_qp *qp)
{
	return qp->state == BL_SNIC_RTS || qp->state == BL_SNIC_ERR || (qp->offload && qp->state != BL_SNIC_RST);
}

uint64_t bl_snic_next_timer(const struct bl_snic *nic, bool *polled_p)
{
	const struct bl_snic_qp *qp;
	uint64_t next = UINT64_MAX;

	for (qp = nic->first_active; qp; qp = qp->next_active) {
		if (qp->req.timer && qp->req.timer < next)
			next = qp->req.timer;
		if (qp->req.rnr_until && qp->req.rnr_until < next)
			next = qp->req.rnr_until;
		if (qp->req.place_timer && qp->req.place_timer < next)
			next = qp->req.place_timer;
	}
	/* most are, so that the first one tells */
	for (qp = nic->first_qp; qp && !is_polled(qp); qp = qp->next)
		;
	*polled_p = qp != NULL;
	return next;
}
