// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mlx5: " fmt
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_create_qp.h"
#include "cmd_qp_moves.h"
#include "cmd_query_qp.h"
#include "mlx5.h"
#include "net/log.h"

#define SEG   16U
#define BLOCK 64U

static uint64_t rq_bytes(const struct bl_nic_qp_attr *attr)
{
	return (uint64_t)attr->rq_nr * attr->rq_sges * SEG;
}

/* The device takes both queues as one piece, and a receive list's size in three bits. */
static int check_attr(const struct bl_nic *nic, const struct bl_nic_qp_attr *attr)
{
	uint64_t start = attr->rq_nr ? attr->rq_off : attr->sq_off;

	if (!attr->uar || !attr->dbr)
		return fail(EINVAL, "device %s: a queue pair needs a page of doorbells and records", nic->name);
	if (start % BLOCK || attr->dbr_off % 8)
		return fail(EINVAL,
			    "device %s: queues at 0x%llx, records at 0x%llx: multiples of 64 and 8 are possible",
			    nic->name, (unsigned long long)start, (unsigned long long)attr->dbr_off);
	if (attr->rq_nr && attr->sq_nr && attr->sq_off != attr->rq_off + rq_bytes(attr))
		return fail(EINVAL, "device %s: the send queue does not begin where the receive queue ends", nic->name);
	if (attr->rq_nr && attr->sq_nr && rq_bytes(attr) % BLOCK)
		return fail(EINVAL, "device %s: a receive queue of %llu bytes before a send queue: no multiple of 64",
			    nic->name, (unsigned long long)rq_bytes(attr));
	if (attr->no_dbrec)
		return fail(EOPNOTSUPP, "device %s: no queue pairs without doorbell record by this provider",
			    nic->name);
	if (attr->core_direct && !nic->cap.cd)
		return fail(EOPNOTSUPP, "device %s: its queue pairs cannot wait for completions of others", nic->name);
	return 0;
}

static void fill(const struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr, struct bl_create_qp *want)
{
	const struct bl_nic_cq *send = attr->send_cq ? attr->send_cq : attr->recv_cq;
	const struct bl_nic_cq *recv = attr->recv_cq ? attr->recv_cq : attr->send_cq;

	*want = (struct bl_create_qp){
		.uc = attr->type == DOCA_VERBS_QP_TYPE_UC,
		.pdn = pd->num,
		.has_sq = attr->sq_nr,
		.log_sq = attr->sq_nr ? (uint8_t)__builtin_ctz(attr->sq_nr) : 0,
		.has_rq = attr->rq_nr,
		.log_rq = attr->rq_nr ? (uint8_t)__builtin_ctz(attr->rq_nr) : 0,
		.log_stride = attr->rq_nr ? (uint8_t)__builtin_ctz(attr->rq_sges) : 0,
		.uar_page = attr->uar->dv->page_id,
		.user_index = attr->user_index,
		.cqn_send = send ? send->num : 0,
		.cqn_recv = recv ? recv->num : 0,
		.cd_master = attr->core_direct,
		.ring_umem = attr->ring->dv->umem_id,
		.ring_off = attr->rq_nr ? attr->rq_off : attr->sq_off,
		.dbr_umem = attr->dbr->dv->umem_id,
		.dbr_off = attr->dbr_off,
	};
}

int bl_mlx5_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
		      struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	struct bl_create_qp want;
	struct bl_nic_qp *qp;
	struct bl_cmd cmd;
	int ret;

	ret = check_attr(nic, attr);
	if (ret)
		return ret;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	fill(pd, attr, &want);
	bl_cmd_create_qp(&cmd, nic->name, &want);
	ret = bl_cmd_create(&cmd, nic->dv, nic->context, &qp->obj);
	if (ret) {
		free(qp);
		return ret;
	}
	qp->num = (uint32_t)bl_cmd_get(&cmd, 0, &bl_cmd_number_field);
	qp->uc = want.uc;
	if (attr->sq_sig_all)
		log_info("device %s: qp 0x%x: there is a completion for each request whose flags ask for one",
			 nic->name, qp->num);
	*num_p = qp->num;
	*qp_p = qp;
	return 0;
}

int bl_mlx5_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp)
{
	int ret;

	errno = 0;
	ret = nic->dv->obj_destroy(qp->obj);
	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: qp 0x%x: mlx5dv_devx_obj_destroy: %s", nic->name, qp->num,
			    strerror(bl_mlx5_error(ret)));
	free(qp);
	return 0;
}

static bool is_same_way(const struct bl_nic_qp_mod *a, const struct bl_nic_qp_mod *b)
{
	return a->addr_type == b->addr_type && !memcmp(a->gid, b->gid, sizeof(a->gid)) && a->dlid == b->dlid &&
	       a->sl == b->sl && a->sgid_index == b->sgid_index && a->static_rate == b->static_rate &&
	       a->hop_limit == b->hop_limit && a->traffic_class == b->traffic_class;
}

int bl_mlx5_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	struct bl_qp_way way = { 0 };
	struct bl_cmd cmd;
	int ret = 0;

	if (mod->from == DOCA_VERBS_QP_STATE_RTS && mod->to == DOCA_VERBS_QP_STATE_RTS && !is_same_way(mod, &qp->mod))
		return fail(EOPNOTSUPP, "device %s: qp 0x%x: the way to the peer cannot be changed in RTS", nic->name,
			    qp->num);
	if (mod->to == DOCA_VERBS_QP_STATE_RTR)
		ret = bl_mlx5_way_find(nic, qp->num, mod, &way);
	if (ret)
		return ret;
	ret = bl_cmd_qp_move(&cmd, nic->name, qp->num, qp->uc, mod, &way);
	if (ret)
		return fail(-ret, "device %s: qp 0x%x: no such state", nic->name, qp->num);
	ret = bl_cmd_modify(&cmd, nic->dv, qp->obj);
	if (ret)
		return ret;
	qp->mod = *mod;
	return 0;
}

/* A send queue in error has lost requests: for who posts, that is what ERR is. */
static enum doca_verbs_qp_state state_of(uint64_t state)
{
	switch (state) {
	case BL_QPC_STATE_RST:
		return DOCA_VERBS_QP_STATE_RST;
	case BL_QPC_STATE_INIT:
		return DOCA_VERBS_QP_STATE_INIT;
	case BL_QPC_STATE_RTR:
		return DOCA_VERBS_QP_STATE_RTR;
	case BL_QPC_STATE_RTS:
	case BL_QPC_STATE_SQ_DRAINED:
		return DOCA_VERBS_QP_STATE_RTS;
	default:
		return DOCA_VERBS_QP_STATE_ERR;
	}
}

/* The cause of ERR is in the first completion that failed; the device keeps only how far it came. */
int bl_mlx5_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info)
{
	struct bl_cmd cmd;
	int ret;

	bl_cmd_query_qp(&cmd, nic->name, qp->num);
	ret = bl_cmd_query(&cmd, nic->dv, qp->obj);
	if (ret)
		return ret;
	*info = (struct bl_nic_qp_info){ .state = state_of(bl_cmd_queried_qp(&cmd, BL_QPC_STATE)) };
	if (info->state != DOCA_VERBS_QP_STATE_ERR)
		return 0;
	info->wqe_counter = (uint16_t)bl_cmd_queried_qp(&cmd, BL_QPC_HW_SQ_COUNTER);
	snprintf(info->text, sizeof(info->text),
		 "device %s: qp 0x%x is in error at block %u: its first failed completion has the cause", nic->name,
		 qp->num, info->wqe_counter);
	return 0;
}
