// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/soft: " fmt
#include "soft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "net/log.h"
#include "gpunetio/common/doca_gpunetio_verbs_dev.h"
#include "softnic/snic_srq.h"
#include "softnic/wqe.h"

#define snic_cq(cq)   ((struct bl_snic_cq *)(cq))
#define snic_srq(srq) ((struct bl_snic_srq *)(srq))

#define ACCESS_BITS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static const uint32_t *record(const struct bl_nic_umem *umem, uint64_t off)
{
	return umem ? (const uint32_t *)((const char *)umem->reach.cpu + off) : NULL;
}

int bl_soft_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p, uint32_t *num_p)
{
	struct bl_snic_cq_attr snic_attr = {
		.ring_off = attr->ring_off,
		.nr = attr->nr,
		.dbrec = record(attr->dbr, attr->dbr_off),
		.overrun = attr->overrun,
		.collapsed = attr->collapsed,
	};
	struct bl_snic_cq *cq;
	int ret;

	bl_soft_mem(&attr->ring->reach, &snic_attr.ring);
	ret = bl_snic_cq_create(nic->snic, &snic_attr, &cq);
	if (ret)
		return ret;
	*cq_p = (struct bl_nic_cq *)cq;
	*num_p = bl_snic_cq_num(cq);
	return 0;
}

int bl_soft_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq)
{
	return bl_snic_cq_destroy(snic_cq(cq));
}

int bl_soft_srq_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_srq_attr *attr,
		       struct bl_nic_srq **srq_p, uint32_t *num_p)
{
	struct bl_snic_srq_attr snic_attr = {
		.type = attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST ? BL_SNIC_SRQ_LINKED : BL_SNIC_SRQ_CYCLIC,
		.ring_off = attr->ring_off,
		.nr = attr->nr,
		.sges = attr->sges,
		.dbrec = record(attr->dbr, attr->dbr_off),
	};
	struct bl_snic_srq *srq;
	int ret;

	bl_soft_mem(&attr->ring->reach, &snic_attr.ring);
	ret = bl_snic_srq_create((struct bl_snic_pd *)pd, &snic_attr, &srq);
	if (ret)
		return ret;
	*srq_p = (struct bl_nic_srq *)srq;
	*num_p = bl_snic_srq_num(srq);
	return 0;
}

int bl_soft_srq_destroy(struct bl_nic *nic, struct bl_nic_srq *srq)
{
	return bl_snic_srq_destroy(snic_srq(srq));
}

int bl_soft_qp_make(struct bl_nic *nic, struct bl_snic_pd *pd, void *domain, const struct bl_nic_qp_attr *attr,
		    struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	struct bl_snic_qp_attr snic_attr = {
		.type = attr->type == DOCA_VERBS_QP_TYPE_UC ? BL_SNIC_UC : BL_SNIC_RC,
		.sq_off = attr->sq_off,
		.sq_nr = attr->sq_nr,
		.rq_off = attr->rq_off,
		.rq_nr = attr->rq_nr,
		.rq_sges = attr->rq_sges,
		.dbrec = record(attr->dbr, attr->dbr_off),
		.send_cq = snic_cq(attr->send_cq),
		.recv_cq = snic_cq(attr->recv_cq),
		.srq = snic_srq(attr->srq),
		.sq_sig_all = attr->sq_sig_all,
		.no_dbrec = attr->no_dbrec,
		.uar = (struct bl_snic_uar *)attr->uar,
		.domain = domain,
	};
	struct bl_nic_qp *qp = calloc(1, sizeof(*qp));
	int ret;

	if (!qp)
		return fail(ENOMEM, "%s: queue pair: out of memory", nic->name);
	bl_soft_mem(&attr->ring->reach, &snic_attr.sq);
	bl_soft_mem(&attr->ring->reach, &snic_attr.rq);
	ret = bl_snic_qp_create(pd, &snic_attr, &qp->qp);
	if (ret) {
		free(qp);
		return ret;
	}
	*num_p = bl_snic_qp_num(qp->qp);
	*qp_p = qp;
	return 0;
}

int bl_soft_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
		      struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	return bl_soft_qp_make(nic, (struct bl_snic_pd *)pd, NULL, attr, qp_p, num_p);
}

int bl_soft_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp)
{
	int ret = bl_snic_qp_destroy(qp->qp);

	if (!ret)
		free(qp);
	return ret;
}

static enum bl_snic_qp_state snic_state(enum doca_verbs_qp_state state)
{
	static const enum bl_snic_qp_state states[] = {
		[DOCA_VERBS_QP_STATE_RST] = BL_SNIC_RST, [DOCA_VERBS_QP_STATE_INIT] = BL_SNIC_INIT,
		[DOCA_VERBS_QP_STATE_RTR] = BL_SNIC_RTR, [DOCA_VERBS_QP_STATE_RTS] = BL_SNIC_RTS,
		[DOCA_VERBS_QP_STATE_ERR] = BL_SNIC_ERR,
	};

	return states[state];
}

static enum doca_verbs_qp_state verbs_state(enum bl_snic_qp_state state)
{
	static const enum doca_verbs_qp_state states[] = {
		[BL_SNIC_RST] = DOCA_VERBS_QP_STATE_RST, [BL_SNIC_INIT] = DOCA_VERBS_QP_STATE_INIT,
		[BL_SNIC_RTR] = DOCA_VERBS_QP_STATE_RTR, [BL_SNIC_RTS] = DOCA_VERBS_QP_STATE_RTS,
		[BL_SNIC_ERR] = DOCA_VERBS_QP_STATE_ERR,
	};

	return states[state];
}

/* One move of the NIC. */
static int step(struct bl_nic_qp *qp, enum bl_snic_qp_state state)
{
	int ret;

	qp->mod.state = state;
	ret = bl_snic_qp_modify(qp->qp, &qp->mod);
	if (!ret && (state == BL_SNIC_INIT || state == BL_SNIC_RTS))
		qp->access = qp->mod.access;
	return ret;
}

/* What the peer may do, and the RNR timer, can be set at more moves of a program than of the NIC: then it makes two. */
static int move(struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	bool access_changes = qp->mod.access != qp->access;
	int ret = 0;

	if (mod->from == DOCA_VERBS_QP_STATE_INIT && mod->to == DOCA_VERBS_QP_STATE_RTR && access_changes)
		ret = step(qp, BL_SNIC_INIT);
	if (!ret)
		ret = step(qp, snic_state(mod->to));
	if (!ret && mod->from == DOCA_VERBS_QP_STATE_RTR && mod->to == DOCA_VERBS_QP_STATE_RTS &&
	    (access_changes || mod->mask & DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER))
		ret = step(qp, BL_SNIC_RTS);
	return ret;
}

static int check_way(struct bl_nic *nic, const struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	if (!(mod->mask & DOCA_VERBS_QP_ATTR_AH_ATTR))
		return 0;
	if (mod->addr_type == DOCA_VERBS_ADDR_TYPE_IB_NO_GRH && !nic->has_lids)
		return fail(EOPNOTSUPP, "%s: an address of type IB_NO_GRH: a software NIC has GIDs and no LIDs", nic->name);
	if (mod->from == DOCA_VERBS_QP_STATE_RTS && memcmp(mod->gid, qp->mod.dest_gid, BL_NIC_GID_LEN))
		return fail(EOPNOTSUPP, "%s: the peer of a queue pair in RTS cannot be changed", nic->name);
	return 0;
}

static void fill(struct bl_snic_qp_mod *to, const struct bl_nic_qp_mod *mod)
{
	memcpy(to->dest_gid, mod->gid, BL_NIC_GID_LEN);
	to->sgid_index = mod->sgid_index;
	to->hop_limit = mod->hop_limit;
	to->traffic_class = mod->traffic_class;
	to->port = mod->port;
	to->sl = mod->sl;
	to->static_rate = mod->static_rate;
	to->dlid = (uint16_t)mod->dlid;
	to->pkey_index = mod->pkey_index;
	to->no_grh = mod->addr_type == DOCA_VERBS_ADDR_TYPE_IB_NO_GRH;
	to->dest_qpn = mod->dest_qpn;
	to->mtu = mod->mtu;
	to->rq_psn = mod->rq_psn;
	to->sq_psn = mod->sq_psn;
	to->ack_timeout = mod->ack_timeout;
	to->retry_cnt = mod->retry_cnt;
	to->rnr_retry = mod->rnr_retry;
	to->min_rnr_timer = mod->min_rnr_timer;
	to->max_rd_atomic = mod->max_rd_atomic;
	to->max_dest_rd_atomic = mod->max_dest_rd_atomic;
	/* of IBV_ACCESS_REMOTE_* the NIC takes these as they are */
	to->access = mod->access & ACCESS_BITS;
}

int bl_soft_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	struct bl_snic_qp_mod before = qp->mod;
	int ret;

	ret = check_way(nic, qp, mod);
	if (ret)
		return ret;
	fill(&qp->mod, mod);
	ret = move(qp, mod);
	if (!ret)
		return 0;
	qp->mod = before;
	return ret;
}

int bl_soft_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info)
{
	struct bl_snic_qp_info snic_info;
	int ret;

	ret = bl_snic_qp_query(qp->qp, &snic_info);
	if (ret)
		return ret;
	*info = (struct bl_nic_qp_info){
		.state = verbs_state(snic_info.mod.state),
		.syndrome = snic_info.error.syndrome,
		.vendor = snic_info.error.vendor,
		.opcode = snic_info.error.opcode,
		.wqe_counter = snic_info.error.wqe_counter,
		.responder = snic_info.error.responder,
		.sq_pi = snic_info.sq_pi,
		.sq_ci = snic_info.sq_ci,
		.send_cqes = snic_info.send_cqes,
		.recv_cqes = snic_info.recv_cqes,
	};
	_Static_assert(sizeof(info->text) == sizeof(snic_info.error.text) && sizeof(info->text) == sizeof(snic_info.waits),
		       "the text fits");
	memcpy(info->text, info->state == DOCA_VERBS_QP_STATE_ERR ? snic_info.error.text : snic_info.waits,
	       sizeof(info->text));
	return 0;
}

int bl_soft_qp_watch(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *word)
{
	return bl_snic_qp_watch(qp->qp, word);
}

_Static_assert(BL_GPUNETIO_EXPRESS_WORDS == BL_SNIC_EXPRESS_WORDS && BL_GPUNETIO_EXPRESS_SLOTS == BL_SNIC_EXPRESS_BLOCKS,
	       "kernels write what the NIC reads");
_Static_assert(BL_GPUNETIO_BROUGHT == BL_WQE_BROUGHT, "kernels say what the NIC reads");

int bl_soft_qp_express(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *line)
{
	return bl_snic_qp_express(qp->qp, line);
}

static void on_event(void *arg, const struct bl_snic_event *event)
{
	static const enum doca_verbs_event_type types[] = {
		[BL_SNIC_QP_FATAL] = DOCA_VERBS_EVENT_QP_FATAL,
		[BL_SNIC_QP_REQ_ERR] = DOCA_VERBS_EVENT_QP_REQ_ERR,
		[BL_SNIC_QP_ACCESS_ERR] = DOCA_VERBS_EVENT_QP_ACCESS_ERR,
		[BL_SNIC_CQ_ERR] = DOCA_VERBS_EVENT_CQ_ERR,
		[BL_SNIC_DEVICE_FATAL] = DOCA_VERBS_EVENT_DEVICE_FATAL,
		[BL_SNIC_PORT_ACTIVE] = DOCA_VERBS_EVENT_PORT_ACTIVE,
		[BL_SNIC_PORT_ERR] = DOCA_VERBS_EVENT_PORT_ERR,
	};

	bl_events_tell(arg, types[event->type], event->num);
}

void bl_soft_events(struct bl_nic *nic, struct bl_snic_attr *attr)
{
	attr->event = on_event;
	attr->event_arg = nic;
}
