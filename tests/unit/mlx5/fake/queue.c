// SPDX-License-Identifier: MIT
/* CREATE_CQ, CREATE_QP, and the end of both. */
#include <stdlib.h>

#include "model.h"

#define RC 0
#define UC 1

static const struct model_known cq_words[] = {
	{ 0x00, 0xffff0000 },
	/* context: valid dbr umem, cc, oi; dbr umem; size and page; event queue; dbr */
	{ 0x10, 0x02120000 }, { 0x14, ~0U }, { 0x1c, 0x1fffffff }, { 0x24, 0xff }, { 0x48, ~0U }, { 0x4c, ~0U },
	{ 0x50, ~0U }, { 0x54, ~0U }, { 0x58, ~0U }, { 0x5c, 0x80000000 },
	{ 0, 0 },
};

static const struct model_known qp_words[] = {
	{ 0x00, 0xffff0000 },
	{ 0x18, 0x00ff1800 }, { 0x1c, 0x00ffffff }, { 0x20, 0x007ff800 }, { 0x24, 0x00ffffff }, { 0x28, 0x00ffffff },
	{ 0x94, 0x00ffffff }, { 0xa8, 0x00000001 }, { 0xb4, 0x00ffffff }, { 0xb8, ~0U }, { 0xbc, ~0U },
	{ 0xc4, 0x07000000 }, { 0xe8, 0x10000000 }, { 0xfc, ~0U },
	{ 0x100, ~0U }, { 0x104, ~0U }, { 0x108, ~0U }, { 0x10c, 0x80000000 },
	{ 0, 0 },
};

/* A piece of a umem that exists, is large enough, and begins where it may. */
static struct model_umem *piece(struct ibv_context *ibv, uint32_t id, uint64_t off, uint64_t len, uint64_t align,
				const char *what)
{
	struct model_object *object = model_find(ibv, MODEL_UMEM, id, what);
	struct model_umem *umem = object ? model_of(model_umem, object) : NULL;

	if (!umem)
		return NULL;
	if (off % align || (uintptr_t)(umem->bytes + off) % align || off > umem->len || len > umem->len - off) {
		model_complain("%s: off 0x%llx len 0x%llx of umem 0x%x of 0x%zx bytes", what, (unsigned long long)off,
			       (unsigned long long)len, id, umem->len);
		return NULL;
	}
	return umem;
}

static struct model_uar *page(struct ibv_context *ibv, uint32_t id)
{
	struct model_object *object = model_find(ibv, MODEL_UAR, id, "page of doorbells");

	return object ? model_of(model_uar, object) : NULL;
}

static struct model_cq *find_cq(struct ibv_context *ibv, uint32_t number)
{
	return (struct model_cq *)model_find(ibv, MODEL_CQ, number, "completion queue");
}

uint8_t model_create_cq(struct ibv_context *ibv, const uint8_t *in, uint8_t *out, struct mlx5dv_devx_obj **obj_p)
{
	unsigned int log = get32(in, 0x1c) >> 24;
	struct bl_snic_cq_attr attr = {
		.ring_off = get64(in, 0x50),
		.nr = 1U << (log & 0x1f),
		.overrun = get32(in, 0x10) >> 17 & 1,
		.collapsed = get32(in, 0x10) >> 20 & 1,
	};
	struct model_cq *cq;

	if (!model_is_clean(in, FAKE_COMMAND_MAX, cq_words))
		return STATUS_BAD_PARAM;
	if (log > fake_mlx5.log_max_cq_sz || !(get32(in, 0x10) >> 25 & 1) || !(get32(in, 0x5c) >> 31) ||
	    get32(in, 0x24) != FAKE_EQN || (attr.overrun && fake_mlx5.no_oi))
		return STATUS_BAD_PARAM;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return STATUS_NO_RESOURCES;
	cq->ring = piece(ibv, get32(in, 0x58), attr.ring_off, attr.nr * 64ULL, 64, "CREATE_CQ: entries");
	cq->dbr = piece(ibv, get32(in, 0x14), get64(in, 0x48), 8, 8, "CREATE_CQ: record");
	cq->uar = page(ibv, get32(in, 0x1c) & 0xffffff);
	if (!cq->ring || !cq->dbr || !cq->uar) {
		free(cq);
		return STATUS_BAD_RESOURCE;
	}
	attr.ring.addr = cq->ring->bytes;
	attr.dbrec = (const uint32_t *)(const void *)(cq->dbr->bytes + get64(in, 0x48));
	if (bl_snic_cq_create(model_port_of(ibv)->snic, &attr, &cq->snic)) {
		free(cq);
		return STATUS_NO_RESOURCES;
	}
	cq->ring->object.users++;
	cq->dbr->object.users++;
	cq->uar->object.users++;
	model_add(&cq->obj.object, ibv, MODEL_CQ, bl_snic_cq_num(cq->snic));
	put32(out, 8, cq->obj.object.number);
	*obj_p = &cq->obj;
	return 0;
}

/* The queues as the context has them; false: they cannot be so. */
static bool read_queues(const uint8_t *in, struct bl_snic_qp_attr *attr)
{
	uint32_t sizes = get32(in, 0x20), rq_type = get32(in, 0xc4) >> 24;
	bool has_sq = !(sizes >> 15 & 1);

	if (rq_type != 0 && rq_type != 3)
		return false;
	attr->sq_nr = has_sq ? 1U << (sizes >> 11 & 0xf) : 0;
	attr->rq_nr = rq_type ? 0 : 1U << (sizes >> 19 & 0xf);
	attr->rq_sges = rq_type ? 0 : 1U << (sizes >> 16 & 7);
	if ((!has_sq && sizes & 0x7800) || (rq_type && sizes & 0x7f0000))
		return false;
	attr->rq_off = get64(in, 0x100);
	attr->sq_off = attr->rq_off + (uint64_t)attr->rq_nr * attr->rq_sges * 16;
	return attr->sq_nr <= 1U << fake_mlx5.log_max_qp_sz && (attr->sq_nr || attr->rq_nr);
}

static bool find_parts(struct ibv_context *ibv, const uint8_t *in, const struct bl_snic_qp_attr *attr,
		       struct model_qp *qp)
{
	uint64_t len = attr->sq_off - attr->rq_off + attr->sq_nr * 64ULL;

	qp->domain = model_domain_find(ibv, get32(in, 0x1c));
	qp->ring = piece(ibv, get32(in, 0x108), attr->rq_off, len, 64, "CREATE_QP: queues");
	qp->dbr = piece(ibv, get32(in, 0xfc), get64(in, 0xb8), 8, 8, "CREATE_QP: records");
	qp->uar = page(ibv, get32(in, 0x24));
	qp->send_cq = find_cq(ibv, get32(in, 0x94));
	qp->recv_cq = find_cq(ibv, get32(in, 0xb4));
	return qp->domain && qp->ring && qp->dbr && qp->uar && qp->send_cq && qp->recv_cq;
}

static void use(struct model_qp *qp, int change)
{
	qp->domain->users += (unsigned int)change;
	qp->ring->object.users += (unsigned int)change;
	qp->dbr->object.users += (unsigned int)change;
	qp->uar->object.users += (unsigned int)change;
	qp->send_cq->obj.object.users += (unsigned int)change;
	qp->recv_cq->obj.object.users += (unsigned int)change;
}

static bool make_snic(struct model_qp *qp, struct bl_snic_qp_attr *attr, uint64_t dbr_off)
{
	attr->type = qp->uc ? BL_SNIC_UC : BL_SNIC_RC;
	attr->sq.addr = attr->rq.addr = qp->ring->bytes;
	attr->dbrec = qp->shown;
	attr->send_cq = qp->send_cq->snic;
	attr->recv_cq = qp->recv_cq->snic;
	qp->records = (const uint32_t *)(const void *)(qp->dbr->bytes + dbr_off);
	return !bl_snic_qp_create(qp->domain->snic, attr, &qp->snic);
}

uint8_t model_create_qp(struct ibv_context *ibv, const uint8_t *in, uint8_t *out, struct mlx5dv_devx_obj **obj_p)
{
	uint32_t service = get32(in, 0x18) >> 16 & 0xff;
	struct bl_snic_qp_attr attr = { 0 };
	struct model_qp *qp;

	if (!model_is_clean(in, FAKE_COMMAND_MAX, qp_words))
		return STATUS_BAD_PARAM;
	if ((service != RC && (service != UC || fake_mlx5.no_uc)) || (get32(in, 0x18) >> 11 & 3) != 3 ||
	    !(get32(in, 0xe8) >> 28 & 1) || !(get32(in, 0x10c) >> 31) || (get32(in, 0xa8) & 1 && fake_mlx5.no_cd) ||
	    !read_queues(in, &attr))
		return STATUS_BAD_PARAM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return STATUS_NO_RESOURCES;
	qp->uc = service == UC;
	if (!find_parts(ibv, in, &attr, qp)) {
		free(qp);
		return STATUS_BAD_RESOURCE;
	}
	if (!make_snic(qp, &attr, get64(in, 0xb8))) {
		free(qp);
		return STATUS_NO_RESOURCES;
	}
	use(qp, 1);
	model_add(&qp->obj.object, ibv, MODEL_QP, bl_snic_qp_num(qp->snic));
	put32(out, 8, qp->obj.object.number);
	*obj_p = &qp->obj;
	return 0;
}

bool model_destroy_queue(struct mlx5dv_devx_obj *obj)
{
	struct model_cq *cq = (struct model_cq *)obj;
	struct model_qp *qp = (struct model_qp *)obj;

	if (!model_remove(&obj->object, "mlx5dv_devx_obj_destroy"))
		return false;
	if (obj->object.kind == MODEL_CQ) {
		bl_snic_cq_destroy(cq->snic);
		cq->ring->object.users--;
		cq->dbr->object.users--;
		cq->uar->object.users--;
	} else {
		bl_snic_qp_destroy(qp->snic);
		use(qp, -1);
	}
	free(obj);
	return true;
}
