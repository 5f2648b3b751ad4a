// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/qp: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "active.h"
#include "offload.h"
#include "qp.h"
#include "util/log.h"

#define REMOTE_ACCESS (BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ | BL_SNIC_REMOTE_ATOMIC)
#define MAX_QPN	      0xffffffU
#define LARGEST_PATH  4096

static const char *const state_names[] = {
	[BL_SNIC_RST] = "RST", [BL_SNIC_INIT] = "INIT", [BL_SNIC_RTR] = "RTR",
	[BL_SNIC_RTS] = "RTS", [BL_SNIC_ERR] = "ERR",
};

static int refuse(const struct bl_snic_qp *qp, const char *what, unsigned int value)
{
	return fail(EINVAL, "%s: qp 0x%x: %s %u is out of range", qp->nic->name, qp->num, what, value);
}

/*
 * Largest payload that it sends. A path MTU of 4096 says nothing better is known; then packets may be as large as the
 * transport takes them, unless the NIC was opened with a size.
 */
static uint32_t packet_size(const struct bl_snic *nic, uint32_t path_mtu)
{
	uint32_t size = path_mtu;

	if (nic->wire)
		return path_mtu;
	if (path_mtu == LARGEST_PATH)
		size = nic->attr.mtu ? nic->attr.mtu : nic->max_payload;
	if (nic->attr.mtu && size > nic->attr.mtu)
		size = nic->attr.mtu;
	return size < nic->max_payload ? size : nic->max_payload;
}

static int to_init(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	qp->mod.access = mod->access & REMOTE_ACCESS;
	return 0;
}

static int check_rtr(const struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	if (mod->mtu < 256 || mod->mtu > LARGEST_PATH || mod->mtu & (mod->mtu - 1))
		return refuse(qp, "path mtu", mod->mtu);
	if (mod->mtu > qp->nic->path_mtu)
		return fail(EINVAL, "%s: qp 0x%x: path mtu %u: the port has %u", qp->nic->name, qp->num, mod->mtu,
			    qp->nic->path_mtu);
	if (mod->dest_qpn > MAX_QPN)
		return refuse(qp, "destination", mod->dest_qpn);
	if (mod->rq_psn > BL_PSN_MASK)
		return refuse(qp, "receive psn", mod->rq_psn);
	if (mod->min_rnr_timer > 31)
		return refuse(qp, "rnr timer", mod->min_rnr_timer);
	return 0;
}

/* Room for the answers that the peer may wait for, and as many that it asks for again. */
static int alloc_replies(struct bl_responder *resp, unsigned int max_dest)
{
	resp->max_replies = 2 * (max_dest ? max_dest : 1);
	resp->replies = calloc(resp->max_replies, sizeof(*resp->replies));
	resp->history = calloc(resp->max_replies, sizeof(*resp->history));
	if (resp->replies && resp->history)
		return 0;
	free(resp->replies);
	free(resp->history);
	*resp = (struct bl_responder){.epsn = 0};
	return fail(ENOMEM, "out of memory for %u replies", max_dest);
}

/* As before to_rtr(). */
static void leave_rtr(struct bl_snic_qp *qp)
{
	qp->nic->ops->path_close(qp->path);
	qp->path = NULL;
	free(qp->resp.replies);
	free(qp->resp.history);
	qp->resp = (struct bl_responder){.epsn = 0};
}

static int open_path(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	const struct bl_snic *nic = qp->nic;
	struct bl_snic_way way = {
		.sgid_index = mod->sgid_index,
		.hop_limit = mod->hop_limit,
		.traffic_class = mod->traffic_class,
	};

	if (!nic->ops->way_open)
		return nic->ops->path_open(nic->link, mod->dest_gid, &qp->path);
	memcpy(way.gid, mod->dest_gid, sizeof(way.gid));
	return nic->ops->way_open(nic->link, &way, &qp->path);
}

static int to_rtr(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	struct bl_snic *nic = qp->nic;
	int ret = check_rtr(qp, mod);

	if (ret)
		return ret;
	ret = alloc_replies(&qp->resp, mod->max_dest_rd_atomic);
	if (ret)
		return ret;
	ret = open_path(qp, mod);
	if (ret) {
		qp->path = NULL;
		free(qp->resp.replies);
		free(qp->resp.history);
		qp->resp = (struct bl_responder){.epsn = 0};
		/* the transport has said why */
		return ret;
	}
	memcpy(qp->mod.dest_gid, mod->dest_gid, sizeof(qp->mod.dest_gid));
	qp->mod.sgid_index = mod->sgid_index;
	qp->mod.hop_limit = mod->hop_limit;
	qp->mod.traffic_class = mod->traffic_class;
	qp->mod.dest_qpn = mod->dest_qpn;
	qp->mod.mtu = mod->mtu;
	qp->mod.rq_psn = mod->rq_psn;
	qp->mod.min_rnr_timer = mod->min_rnr_timer;
	qp->mod.max_dest_rd_atomic = mod->max_dest_rd_atomic;
	qp->packet = packet_size(nic, mod->mtu);
	qp->loop = !nic->wire && !memcmp(mod->dest_gid, nic->gid, sizeof(nic->gid));
	qp->resp.epsn = qp->resp.acked = BL_QP_PSN_BASE + mod->rq_psn;
	return 0;
}

static int to_rts(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	if (mod->sq_psn > BL_PSN_MASK)
		return refuse(qp, "send psn", mod->sq_psn);
	if (mod->ack_timeout > 31)
		return refuse(qp, "ack timeout", mod->ack_timeout);
	if (mod->retry_cnt > 7)
		return refuse(qp, "retry count", mod->retry_cnt);
	if (mod->rnr_retry > 7)
		return refuse(qp, "rnr retry count", mod->rnr_retry);
	qp->mod.sq_psn = mod->sq_psn;
	qp->mod.ack_timeout = mod->ack_timeout;
	qp->mod.retry_cnt = mod->retry_cnt;
	qp->mod.rnr_retry = mod->rnr_retry;
	qp->mod.max_rd_atomic = mod->max_rd_atomic;
	qp->req.una = qp->req.nxt = qp->req.assigned = qp->req.psn = BL_QP_PSN_BASE + mod->sq_psn;
	return 0;
}

static int rts_again(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	if (mod->min_rnr_timer > 31)
		return refuse(qp, "rnr timer", mod->min_rnr_timer);
	qp->mod.access = mod->access & REMOTE_ACCESS;
	qp->mod.min_rnr_timer = mod->min_rnr_timer;
	return 0;
}

static int to_err(struct bl_snic_qp *qp)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_FLUSHED, .vendor = 0xf9, .quiet = true, .asked = true};

	if (qp->state != BL_SNIC_ERR)
		bl_qp_fail(qp, UINT64_MAX, &cause, "moved to ERR by its user");
	return 0;
}

static int move_offload(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	int ret = bl_offload_move(qp, mod);

	if (ret && qp->state == BL_SNIC_INIT && mod->state == BL_SNIC_RTR)
		leave_rtr(qp);
	return ret;
}

static int move(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	static const struct {
		enum bl_snic_qp_state from, to;
		int (*set)(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod);
	} moves[] = {
		{BL_SNIC_RST, BL_SNIC_INIT, to_init},  {BL_SNIC_INIT, BL_SNIC_INIT, to_init},
		{BL_SNIC_INIT, BL_SNIC_RTR, to_rtr},   {BL_SNIC_RTR, BL_SNIC_RTS, to_rts},
		{BL_SNIC_RTS, BL_SNIC_RTS, rts_again},
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (moves[i].from == qp->state && moves[i].to == mod->state) {
			int ret = moves[i].set(qp, mod);

			if (!ret && qp->offload)
				ret = move_offload(qp, mod);
			if (!ret)
				qp->state = qp->mod.state = mod->state;
			return ret;
		}
	}
	return fail(EINVAL, "%s: qp 0x%x: no move from %s to %s", qp->nic->name, qp->num, state_names[qp->state],
		    (unsigned int)mod->state <= BL_SNIC_ERR ? state_names[mod->state] : "an unknown state");
}

int bl_snic_qp_modify(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod)
{
	struct bl_snic *nic = qp->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (mod->state == BL_SNIC_RST) {
		ret = bl_jobs_wait(nic, &qp->jobs, "qp", qp->num);
		if (!ret && qp->offload)
			ret = bl_offload_reset(qp);
		if (!ret)
			bl_qp_reset(qp);
	} else if (mod->state == BL_SNIC_ERR) {
		ret = to_err(qp);
	} else {
		ret = move(qp, mod);
	}
	bl_active_wake(qp);
	bl_snic_unlock(nic);
	return ret;
}
