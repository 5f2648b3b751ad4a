// SPDX-License-Identifier: MIT
/* Completion queues, queue pairs, and the attributes that each move of one must have. */
#include "fake_ibv.h"

#include <errno.h>
#include <stdlib.h>

struct fake_qp *fake_qps;
static uint32_t next_qpn = 0x100;

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int nr, void *arg, struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq;

	if (fake_fails("create_cq"))
		return NULL;
	if (nr < 1 || nr > 65536) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->wc = calloc((size_t)nr, sizeof(*cq->wc));
	cq->ibv = (struct ibv_cq){ .context = context, .cq_context = arg, .cqe = nr };
	cq->size = (unsigned int)nr;
	fake_lock();
	fake_ibv.live++;
	fake_unlock();
	return &cq->ibv;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct fake_cq *cq = (struct fake_cq *)ibv;

	fake_lock();
	if (cq->users)
		fake_complain("ibv_destroy_cq: %d users are left", cq->users);
	fake_ibv.live--;
	fake_unlock();
	free(cq->wc);
	free(cq);
	return 0;
}

static bool fits(const struct ibv_qp_init_attr *init)
{
	const struct ibv_qp_cap *cap = &init->cap;

	return (init->qp_type == IBV_QPT_RC || init->qp_type == IBV_QPT_UC) && init->send_cq && init->recv_cq &&
	       cap->max_send_wr && cap->max_send_wr <= (uint32_t)fake_ibv.max_wr && cap->max_recv_wr &&
	       cap->max_recv_wr <= (uint32_t)fake_ibv.max_wr && cap->max_send_sge <= (uint32_t)fake_ibv.max_sge &&
	       cap->max_recv_sge && cap->max_recv_sge <= (uint32_t)fake_ibv.max_sge &&
	       cap->max_inline_data <= fake_ibv.max_inline;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fake_qp *qp;

	if (fake_fails("create_qp"))
		return NULL;
	if (!fits(init)) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->sends = calloc(FAKE_WORK, sizeof(*qp->sends));
	qp->recvs = calloc(FAKE_WORK, sizeof(*qp->recvs));
	qp->cap = init->cap;
	fake_lock();
	qp->ibv = (struct ibv_qp){
		.context = pd->context, .qp_context = init->qp_context, .pd = pd, .send_cq = init->send_cq,
		.recv_cq = init->recv_cq, .qp_num = next_qpn += 3, .qp_type = init->qp_type, .state = IBV_QPS_RESET,
	};
	((struct fake_cq *)init->send_cq)->users++;
	((struct fake_cq *)init->recv_cq)->users++;
	pd->handle++;
	qp->next = fake_qps;
	fake_qps = qp;
	fake_ibv.live++;
	fake_unlock();
	return &qp->ibv;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct fake_qp **place = &fake_qps, *qp = (struct fake_qp *)ibv;

	fake_lock();
	while (*place && *place != qp)
		place = &(*place)->next;
	if (!*place) {
		fake_complain("ibv_destroy_qp: there is none");
		fake_unlock();
		return EINVAL;
	}
	*place = qp->next;
	((struct fake_cq *)ibv->send_cq)->users--;
	((struct fake_cq *)ibv->recv_cq)->users--;
	ibv->pd->handle--;
	fake_ibv.live--;
	fake_unlock();
	free(qp->sends);
	free(qp->recvs);
	free(qp);
	return 0;
}

#define RC_RTR (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* What libibverbs' manual and the kernel's table ask for. */
static bool is_allowed(const struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	static const struct {
		enum ibv_qp_state from, to;
		int must_rc, must_uc, may;
	} moves[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
		{ IBV_QPS_INIT, IBV_QPS_INIT, 0, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | RC_RTR,
		  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | RC_RTS, IBV_QP_SQ_PSN, IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_RTS, IBV_QPS_RTS, 0, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER },
	};
	bool rc = qp->ibv.qp_type == IBV_QPT_RC;
	int must, may;

	if (!(mask & IBV_QP_STATE))
		return false;
	if (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_ERR)
		return mask == IBV_QP_STATE;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (moves[i].from != qp->ibv.state || moves[i].to != attr->qp_state)
			continue;
		must = IBV_QP_STATE | (rc ? moves[i].must_rc : moves[i].must_uc);
		may = must | moves[i].may;
		if (!rc)
			may &= ~IBV_QP_MIN_RNR_TIMER;
		return (mask & must) == must && !(mask & ~may);
	}
	return false;
}

static bool has_good_values(const struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_PORT && attr->port_num != 1)
		return false;
	if (mask & IBV_QP_PATH_MTU && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > fake_ibv.mtu))
		return false;
	if (mask & IBV_QP_AV && (attr->ah_attr.port_num != 1 || !attr->ah_attr.is_global ||
				 attr->ah_attr.grh.sgid_index >= fake_ibv.nr_gids))
		return false;
	if (mask & IBV_QP_ACCESS_FLAGS && qp->ibv.qp_type == IBV_QPT_UC && attr->qp_access_flags & ~IBV_ACCESS_REMOTE_WRITE)
		return false;
	return true;
}

static void take(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	qp->ibv.state = attr->qp_state;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = (struct fake_qp *)ibv;

	if (fake_fails("modify_qp"))
		return errno;
	fake_lock();
	fake_ibv.attr = *attr;
	fake_ibv.mask = mask;
	if (!is_allowed(qp, attr, mask)) {
		fake_complain("ibv_modify_qp: from %d to %d with mask 0x%x", (int)ibv->state, (int)attr->qp_state, mask);
		fake_unlock();
		return EINVAL;
	}
	if (!has_good_values(qp, attr, mask)) {
		fake_unlock();
		return EINVAL;
	}
	take(qp, attr, mask);
	if (attr->qp_state == IBV_QPS_RESET)
		fake_drop(qp);
	if (attr->qp_state == IBV_QPS_ERR && !fake_ibv.stuck)
		fake_flush(qp);
	fake_progress();
	fake_unlock();
	return 0;
}
