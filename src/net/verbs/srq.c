// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/srq: " fmt
#include "objects.h"
#include "qp_size.h"

#define srq_of(obj) ((struct doca_verbs_srq *)(obj)) /* the object is its first member */

#define DBR_ALIGN 64

/* Of the segment that a WQE of a linked list begins with. */
#define NEXT_INDEX 2

int bl_srq_get(struct doca_verbs_srq *key, const struct bl_context *context, struct doca_verbs_srq **srq_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_SRQ, key, &object);
	if (ret)
		return ret;
	if (context && srq_of(object)->context->nic != context->nic) {
		bl_object_put(object);
		return fail(EINVAL, "shared receive queue %p: of another device", (void *)key);
	}
	*srq_p = srq_of(object);
	return 0;
}

static int check(const struct bl_context *context, const struct doca_verbs_srq_init_attr *attr)
{
	const struct bl_nic_caps *caps = &context->caps;
	const char *name = context->ibv.device->name;

	if (!context->ops->srq_create || !caps->max_srq)
		return fail(EOPNOTSUPP, "device %s has no shared receive queues (provider %s)", name, context->ops->name);
	if ((unsigned int)attr->type > DOCA_VERBS_SRQ_TYPE_CONTIGUOUS)
		return fail(EINVAL, "type %d: there is none", (int)attr->type);
	if (!attr->srq_wr || attr->srq_wr > caps->max_srq_wr)
		return fail(EINVAL, "srq_wr %u: device %s has 1 to %u", attr->srq_wr, name, caps->max_srq_wr);
	if (attr->receive_max_sges > caps->max_srq_sge)
		return fail(EINVAL, "%u segments: device %s has at most %u", attr->receive_max_sges, name,
			    caps->max_srq_sge);
	return 0;
}

/* The doorbell record lies behind the WQEs, also in memory of the program, which names one umem. */
static int get_mem(const struct doca_verbs_srq_init_attr *attr, struct doca_verbs_srq *srq)
{
	const size_t len = (size_t)srq->entries * srq->wqe_len;
	const struct bl_queue_mem_attr wanted = {
		.ring = attr->external_umem,
		.ring_off = attr->external_umem_offset,
		.dbr = attr->external_umem,
		.dbr_off = attr->external_umem_offset + (len + DBR_ALIGN - 1) / DBR_ALIGN * DBR_ALIGN,
		.len = len,
	};

	return bl_queue_mem_get(srq->context, &wanted, &srq->mem);
}

/* As a program that posts in the order of the ring wants it. Memory of its own it links itself. */
static void link_wqes(struct doca_verbs_srq *srq)
{
	for (uint32_t i = 0; i < srq->entries; i++) {
		uint32_t next = (i + 1) % srq->entries;
		char *at = srq->mem.ring_addr + (size_t)i * srq->wqe_len + NEXT_INDEX;

		at[0] = (char)(next >> 8);
		at[1] = (char)next;
	}
}

static int create_nic_srq(struct bl_pd *pd, const struct doca_verbs_srq_init_attr *attr, uint32_t sges,
			  struct doca_verbs_srq *srq)
{
	const struct bl_nic_srq_attr nic_attr = {
		.ring = srq->mem.nic_ring,
		.ring_off = srq->mem.ring_off,
		.dbr = srq->mem.nic_dbr,
		.dbr_off = srq->mem.dbr_off,
		.type = attr->type,
		.nr = srq->entries,
		.sges = sges,
	};

	if (srq->mem.own && srq->linked)
		link_wqes(srq);
	return srq->context->ops->srq_create(srq->context->nic, pd->nic_pd, &nic_attr, &srq->nic_srq, &srq->num);
}

static int create_in(struct bl_pd *pd, const struct doca_verbs_srq_init_attr *attr, struct doca_verbs_srq **srq_p)
{
	struct doca_verbs_srq *srq = calloc(1, sizeof(*srq));
	struct bl_srq_size size;
	int ret;

	if (!srq)
		return fail(ENOMEM, "out of memory");
	bl_srq_size(attr->srq_wr, attr->receive_max_sges, attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST, &size);
	srq->context = pd->context;
	srq->entries = size.nr;
	srq->wqe_len = size.wqe_len;
	srq->linked = attr->type == DOCA_VERBS_SRQ_TYPE_LINKED_LIST;
	ret = get_mem(attr, srq);
	if (ret)
		goto free_srq;
	ret = create_nic_srq(pd, attr, size.sges, srq);
	if (ret)
		goto put_mem;
	bl_object_add(&srq->object, BL_SRQ, srq, &pd->object);
	*srq_p = srq;
	return 0;
put_mem:
	bl_queue_mem_put(srq->context, &srq->mem);
free_srq:
	free(srq);
	return ret;
}

static int create(struct bl_context *context, const struct doca_verbs_srq_init_attr *attr,
		  struct doca_verbs_srq **srq_p)
{
	struct bl_pd *pd;
	int ret;

	ret = check(context, attr);
	if (ret)
		return ret;
	ret = bl_pd_get(attr->pd, &pd);
	if (ret)
		return ret;
	if (pd->context != context)
		ret = fail(EINVAL, "protection domain %p: of another context", (void *)attr->pd);
	else
		ret = create_in(pd, attr, srq_p);
	bl_pd_put(pd);
	return ret;
}

doca_error_t doca_verbs_srq_create(struct ibv_context *ibv, struct doca_verbs_srq_init_attr *attr,
				   struct doca_verbs_srq **srq_p)
{
	struct bl_context *context;
	int ret;

	if (!attr || !srq_p)
		return bl_doca_null(__func__, !attr ? "srq_init_attr" : "place for the queue");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = create(context, attr, srq_p);
	bl_context_put(context);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *key)
{
	struct bl_object *object;
	struct doca_verbs_srq *srq;
	int ret;

	ret = bl_object_take(BL_SRQ, key, false, &object);
	if (ret)
		return bl_doca_error(ret);
	srq = srq_of(object);
	ret = srq->context->ops->srq_destroy(srq->context->nic, srq->nic_srq);
	if (ret) {
		bl_object_untake(object);
		return bl_doca_error(ret);
	}
	bl_queue_mem_put(srq->context, &srq->mem);
	bl_object_free_parent(object);
	free(srq);
	return DOCA_SUCCESS;
}

/* A getter's way in: the queue, or NULL with a line in the log. */
static struct doca_verbs_srq *look(const struct doca_verbs_srq *key)
{
	struct doca_verbs_srq *srq;

	return bl_srq_get((struct doca_verbs_srq *)(uintptr_t)key, NULL, &srq) ? NULL : srq;
}

uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *key)
{
	struct doca_verbs_srq *srq = look(key);
	uint32_t num = 0;

	if (srq) {
		num = srq->num;
		bl_object_put(&srq->object);
	}
	return num;
}

void doca_verbs_srq_get_wq(const struct doca_verbs_srq *key, void **srq_buf, uint32_t *srq_num_entries,
			   uint32_t *rwqe_size_bytes)
{
	struct doca_verbs_srq *srq = look(key);

	if (!srq)
		return;
	if (srq_buf)
		*srq_buf = srq->mem.ring_addr;
	if (srq_num_entries)
		*srq_num_entries = srq->entries;
	if (rwqe_size_bytes)
		*rwqe_size_bytes = srq->wqe_len;
	bl_object_put(&srq->object);
}

void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *key)
{
	struct doca_verbs_srq *srq = look(key);
	void *addr = NULL;

	if (srq) {
		addr = srq->mem.dbr_addr;
		bl_object_put(&srq->object);
	}
	return addr;
}
