// SPDX-License-Identifier: MIT
#include "bed.h"

#include <stdlib.h>
#include <string.h>

#include "net/mlx5/mlx5.h"

static const struct bl_nic_ops *const ops = &bl_nic_mlx5;

void bed_init(struct bed *bed)
{
	*bed = (struct bed){
		.memory = aligned_alloc(4096, BED_BYTES),
		.cq_attr = { .ring_off = BED_CQ, .dbr_off = BED_DBR + 64, .nr = 64, .overrun = true },
		.qp_attr = {
			.type = DOCA_VERBS_QP_TYPE_RC,
			.rq_off = BED_RQ,
			.rq_nr = 64,
			.rq_sges = 4,
			.sq_off = BED_SQ,
			.sq_nr = 64,
			.dbr_off = BED_DBR,
		},
		.mod = {
			.addr_type = DOCA_VERBS_ADDR_TYPE_IPv6,
			.sgid_index = 2,
			.hop_limit = 64,
			.traffic_class = 0x68,
			.port = 1,
			.mtu = 1024,
			.rq_psn = 0x123456,
			.sq_psn = 0x123456,
			.ack_timeout = 14,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.min_rnr_timer = 12,
			.max_rd_atomic = 4,
			.max_dest_rd_atomic = 4,
			.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		},
	};
	memset(bed->memory, 0, BED_BYTES);
}

int bed_make_parts(struct bed *bed)
{
	struct bl_nic_memory memory = {
		.addr = bed->memory + BED_DATA, .len = BED_BYTES - BED_DATA, .access = 0xf, .dmabuf_fd = -1 };
	int ret;

	ret = ops->open("mlx5_0", &bed->nic);
	if (!ret)
		ret = ops->caps(bed->nic, &bed->caps);
	if (!ret)
		ret = ops->pd_create(bed->nic, &bed->pd, &bed->pdn);
	if (!ret)
		ret = ops->mr_create(bed->nic, bed->pd, &memory, BED_IOVA, &bed->mr, &bed->lkey, &bed->rkey);
	memory = (struct bl_nic_memory){
		.addr = bed->memory, .len = BED_DATA, .access = IBV_ACCESS_LOCAL_WRITE, .dmabuf_fd = -1 };
	if (!ret)
		ret = ops->umem_create(bed->nic, &memory, &bed->umem, &bed->umem_id);
	if (!ret)
		ret = ops->uar_create(bed->nic, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, &bed->uar,
				      &bed->page);
	return ret;
}

int bed_make_queues(struct bed *bed)
{
	int ret;

	bed->cq_attr.ring = bed->cq_attr.dbr = bed->umem;
	bed->cq_attr.uar = bed->uar;
	ret = ops->cq_create(bed->nic, &bed->cq_attr, &bed->cq, &bed->cqn);
	if (ret)
		return ret;
	bed->qp_attr.ring = bed->qp_attr.dbr = bed->umem;
	bed->qp_attr.send_cq = bed->qp_attr.recv_cq = bed->cq;
	bed->qp_attr.uar = bed->uar;
	return ops->qp_create(bed->nic, bed->pd, &bed->qp_attr, &bed->qp, &bed->qpn);
}

int bed_move(struct bed *bed, enum doca_verbs_qp_state from, enum doca_verbs_qp_state to)
{
	bed->mod.from = from;
	bed->mod.to = to;
	return ops->qp_modify(bed->nic, bed->qp, &bed->mod);
}

int bed_connect(struct bed *bed)
{
	enum bl_nic_gid_type type;
	int ret;

	bed->mod.dest_qpn = bed->qpn;
	ret = ops->gid(bed->nic, 1, bed->mod.sgid_index, bed->mod.gid, &type);
	for (int state = DOCA_VERBS_QP_STATE_RST; !ret && state < DOCA_VERBS_QP_STATE_RTS; state++)
		ret = bed_move(bed, (enum doca_verbs_qp_state)state, (enum doca_verbs_qp_state)(state + 1));
	return ret;
}

int bed_make(struct bed *bed)
{
	int ret;

	bed_init(bed);
	ret = bed_make_parts(bed);
	if (!ret)
		ret = bed_make_queues(bed);
	return ret ? ret : bed_connect(bed);
}

struct ibv_context *bed_context(const struct bed *bed)
{
	return bed->nic->context;
}

struct mlx5dv_devx_obj *bed_queue_pair(const struct bed *bed)
{
	return bed->qp->obj;
}

#define DROP(object, call)                                                                                             \
	do {                                                                                                           \
		int drop_ret = (object) ? ops->call(bed->nic, object) : 0;                                             \
		ret = ret ? ret : drop_ret;                                                                            \
		(object) = drop_ret ? (object) : NULL;                                                                 \
	} while (0)

int bed_drop(struct bed *bed)
{
	int ret = 0;

	DROP(bed->qp, qp_destroy);
	DROP(bed->cq, cq_destroy);
	DROP(bed->uar, uar_destroy);
	DROP(bed->umem, umem_destroy);
	DROP(bed->mr, mr_destroy);
	DROP(bed->pd, pd_destroy);
	if (ret)
		return ret;
	if (bed->nic)
		ops->close(bed->nic);
	bed->nic = NULL;
	free(bed->memory);
	bed->memory = NULL;
	return 0;
}
