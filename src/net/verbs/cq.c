// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/cq: " fmt
#include <string.h>

#include "objects.h"

#define cq_of(obj) ((struct doca_verbs_cq *)(obj)) /* the object is its first member */

#define CQE_LEN	   64
#define CQE_OWNER  63
#define CQE_UNUSED 0xf1 /* opcode "invalid", owner of the hardware */

int bl_cq_get(struct doca_verbs_cq *key, const struct bl_context *context, struct doca_verbs_cq **cq_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_CQ, key, &object);
	if (ret)
		return ret;
	if (context && cq_of(object)->context->nic != context->nic) {
		bl_object_put(object);
		return fail(EINVAL, "completion queue %p: of another device", (void *)key);
	}
	*cq_p = cq_of(object);
	return 0;
}

static int check(const struct bl_context *context, const struct doca_verbs_cq_attr *attr)
{
	if (!attr->cq_size || attr->cq_size & (attr->cq_size - 1))
		return fail(EINVAL, "size %u is no power of two", attr->cq_size);
	if (attr->cq_size > context->caps.max_cqe)
		return fail(EINVAL, "size %u: the device has at most %u entries", attr->cq_size, context->caps.max_cqe);
	if ((unsigned int)attr->cq_overrun > DOCA_VERBS_CQ_ENABLE_OVERRUN)
		return fail(EINVAL, "overrun %d: there is no such choice", (int)attr->cq_overrun);
	return 0;
}

static int get_parts(struct bl_context *context, const struct doca_verbs_cq_attr *attr, struct doca_verbs_cq *cq)
{
	const struct bl_queue_mem_attr wanted = {
		.ring = attr->external_umem,
		.ring_off = attr->external_umem_offset,
		.dbr = attr->external_dbr_umem,
		.dbr_off = attr->external_dbr_umem_offset,
		.len = (size_t)attr->cq_size * CQE_LEN,
	};
	int ret;

	if (attr->external_uar) {
		ret = bl_uar_get(attr->external_uar, context, &cq->uar);
		if (ret)
			return ret;
	}
	ret = bl_queue_mem_get(context, &wanted, &cq->mem);
	if (ret && cq->uar)
		bl_object_put(&cq->uar->object);
	return ret;
}

static void put_parts(struct doca_verbs_cq *cq)
{
	bl_queue_mem_put(cq->context, &cq->mem);
	if (cq->uar)
		bl_object_put(&cq->uar->object);
}

static int create_nic_cq(const struct doca_verbs_cq_attr *attr, struct doca_verbs_cq *cq)
{
	const struct bl_nic_cq_attr nic_attr = {
		.ring = cq->mem.nic_ring,
		.ring_off = cq->mem.ring_off,
		.dbr = cq->mem.nic_dbr,
		.dbr_off = cq->mem.dbr_off,
		.nr = attr->cq_size,
		.uar = cq->uar ? cq->uar->nic_uar : NULL,
		.overrun = attr->cq_overrun == DOCA_VERBS_CQ_ENABLE_OVERRUN,
		.collapsed = attr->cq_collapsed,
	};

	for (uint32_t i = 0; cq->mem.own && i < attr->cq_size; i++)
		cq->mem.ring_addr[(size_t)i * CQE_LEN + CQE_OWNER] = (char)CQE_UNUSED;
	return cq->context->ops->cq_create(cq->context->nic, &nic_attr, &cq->nic_cq, &cq->num);
}

static int create(struct bl_context *context, const struct doca_verbs_cq_attr *attr, struct doca_verbs_cq **cq_p)
{
	struct doca_verbs_cq *cq;
	int ret;

	ret = check(context, attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return fail(ENOMEM, "out of memory");
	cq->context = context;
	cq->entries = attr->cq_size;
	ret = get_parts(context, attr, cq);
	if (ret)
		goto free_cq;
	ret = create_nic_cq(attr, cq);
	if (ret)
		goto put_parts;
	bl_object_add(&cq->object, BL_CQ, cq, &context->object);
	cq->source = (struct bl_event_source){ .nic = context->nic, .kind = BL_CQ, .num = cq->num, .key = cq,
					       .queue = &context->events };
	bl_events_add(&cq->source);
	*cq_p = cq;
	return 0;
put_parts:
	put_parts(cq);
free_cq:
	free(cq);
	return ret;
}

doca_error_t doca_verbs_cq_create(struct ibv_context *ibv, struct doca_verbs_cq_attr *cq_attr,
				  struct doca_verbs_cq **cq_p)
{
	struct bl_context *context;
	int ret;

	if (!cq_attr || !cq_p)
		return bl_doca_null(__func__, !cq_attr ? "cq_attr" : "place for the queue");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = create(context, cq_attr, cq_p);
	bl_context_put(context);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_cq_destroy(struct doca_verbs_cq *key)
{
	struct bl_object *object;
	struct doca_verbs_cq *cq;
	int ret;

	ret = bl_object_take(BL_CQ, key, false, &object);
	if (ret)
		return bl_doca_error(ret);
	cq = cq_of(object);
	ret = cq->context->ops->cq_destroy(cq->context->nic, cq->nic_cq);
	if (ret) {
		bl_object_untake(object);
		return bl_doca_error(ret);
	}
	bl_events_remove(&cq->source);
	put_parts(cq);
	bl_object_free_parent(object);
	free(cq);
	return DOCA_SUCCESS;
}

/* A getter's way in: the queue, or NULL with a line in the log. */
static struct doca_verbs_cq *look(const struct doca_verbs_cq *key)
{
	struct doca_verbs_cq *cq;

	return bl_cq_get((struct doca_verbs_cq *)(uintptr_t)key, NULL, &cq) ? NULL : cq;
}

void doca_verbs_cq_get_wq(const struct doca_verbs_cq *key, void **cq_buf, uint32_t *cq_num_entries,
			  uint8_t *cq_entry_size)
{
	struct doca_verbs_cq *cq = look(key);

	if (!cq)
		return;
	if (cq_buf)
		*cq_buf = cq->mem.ring_addr;
	if (cq_num_entries)
		*cq_num_entries = cq->entries;
	if (cq_entry_size)
		*cq_entry_size = CQE_LEN;
	bl_object_put(&cq->object);
}

void doca_verbs_cq_get_dbr_addr(const struct doca_verbs_cq *key, uint64_t **uar_db_reg, uint32_t **ci_dbr,
				uint32_t **arm_dbr)
{
	struct doca_verbs_cq *cq = look(key);

	if (!cq)
		return;
	if (uar_db_reg)
		*uar_db_reg = cq->uar ? cq->uar->info.cq_db : NULL;
	if (ci_dbr)
		*ci_dbr = (uint32_t *)(void *)cq->mem.dbr_addr;
	if (arm_dbr)
		*arm_dbr = (uint32_t *)(void *)cq->mem.dbr_addr + 1;
	bl_object_put(&cq->object);
}

uint32_t doca_verbs_cq_get_cqn(const struct doca_verbs_cq *key)
{
	struct doca_verbs_cq *cq = look(key);
	uint32_t num;

	if (!cq)
		return 0;
	num = cq->num;
	bl_object_put(&cq->object);
	return num;
}
