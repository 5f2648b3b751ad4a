// SPDX-License-Identifier: MIT
#include "bed.h"

#include "net/verbs/qp_moves.h"

void net_bed_open(struct net_bed *bed)
{
	*bed = (struct net_bed){ 0 };
	fake_reset();
	bed->context = bl_net_open_device("fake0");
	check(bed->context);
	bed->pd = bl_net_alloc_pd(bed->context);
	check(bed->pd);
	check_eq(doca_verbs_qp_init_attr_create(&bed->init), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(bed->init, bed->pd);
	doca_verbs_qp_init_attr_set_sq_wr(bed->init, 64);
	doca_verbs_qp_init_attr_set_send_max_sges(bed->init, 1);
}

struct doca_verbs_cq *net_bed_cq(struct net_bed *bed)
{
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq = NULL;

	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	check_eq(doca_verbs_cq_create(bed->context, attr, &cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	return cq;
}

struct doca_verbs_umem *net_bed_umem(struct net_bed *bed, void *addr, size_t size)
{
	struct doca_verbs_umem *umem = NULL;

	check_eq(doca_verbs_umem_create(bed->context, addr, size, IBV_ACCESS_LOCAL_WRITE, -1, 0, &umem),
		 DOCA_SUCCESS);
	return umem;
}

struct doca_verbs_uar *net_bed_uar(struct net_bed *bed)
{
	struct doca_verbs_uar *uar = NULL;

	check_eq(doca_verbs_uar_create(bed->context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, &uar),
		 DOCA_SUCCESS);
	return uar;
}

void net_bed_qp(struct net_bed *bed, uint32_t type)
{
	const struct doca_verbs_gid gid = { { 0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 } };

	bed->cq = net_bed_cq(bed);
	doca_verbs_qp_init_attr_set_send_cq(bed->init, bed->cq);
	doca_verbs_qp_init_attr_set_qp_type(bed->init, type);
	check_eq(doca_verbs_qp_create(bed->context, bed->init, &bed->qp), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_create(&bed->attr), DOCA_SUCCESS);
	check_eq(doca_verbs_ah_attr_create(bed->context, &bed->ah), DOCA_SUCCESS);
	doca_verbs_ah_attr_set_gid(bed->ah, gid);
	doca_verbs_ah_attr_set_sgid_index(bed->ah, 3);
	doca_verbs_qp_attr_set_ah_attr(bed->attr, bed->ah);
	doca_verbs_qp_attr_set_port_num(bed->attr, 1);
}

void net_bed_go(struct net_bed *bed, enum doca_verbs_qp_state state)
{
	struct bl_nic_qp_info info = fake.info;
	bool stuck = fake.stuck;
	uint32_t type = doca_verbs_qp_init_attr_get_qp_type(bed->init);

	fake.stuck = false;
	doca_verbs_qp_attr_set_next_state(bed->attr, DOCA_VERBS_QP_STATE_RST);
	check_eq(doca_verbs_qp_modify(bed->qp, bed->attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
	for (size_t i = 0; i < bl_qp_nr_moves && state != DOCA_VERBS_QP_STATE_ERR; i++) {
		const struct bl_qp_move *move = &bl_qp_moves[i];

		if (move->from == move->to || move->to > state)
			continue;
		doca_verbs_qp_attr_set_next_state(bed->attr, move->to);
		check_eq(doca_verbs_qp_modify(bed->qp, bed->attr,
					      (int)move->required[type] | DOCA_VERBS_QP_ATTR_NEXT_STATE),
			 DOCA_SUCCESS);
	}
	if (state == DOCA_VERBS_QP_STATE_ERR) {
		doca_verbs_qp_attr_set_next_state(bed->attr, state);
		check_eq(doca_verbs_qp_modify(bed->qp, bed->attr, DOCA_VERBS_QP_ATTR_NEXT_STATE), DOCA_SUCCESS);
	}
	fake.info = info;
	fake.stuck = stuck;
}

void net_bed_close(struct net_bed *bed)
{
	fake.fail_at = 0;
	if (bed->qp) {
		check_eq(doca_verbs_qp_destroy(bed->qp), DOCA_SUCCESS);
		doca_verbs_ah_attr_destroy(bed->ah);
		doca_verbs_qp_attr_destroy(bed->attr);
	}
	if (bed->cq)
		check_eq(doca_verbs_cq_destroy(bed->cq), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(bed->init);
	check_eq(bl_net_dealloc_pd(bed->pd), 0);
	check_eq(bl_net_close_device(bed->context), 0);
	check_eq(fake_live(), 0);
}
