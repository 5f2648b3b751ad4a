// SPDX-License-Identifier: MIT
/*
 * Shared receive queues. No provider has them yet, so attributes can be filled and creation says what is missing; no
 * pointer can be one.
 */
#define log_fmt(fmt) "net/srq: " fmt
#include "../context.h"
#include "attr.h"

BL_ATTR_CREATE(srq_init_attr)
BL_ATTR_DESTROY(srq_init_attr)

BL_ATTR(srq_init_attr, srq_wr, uint32_t)
BL_ATTR(srq_init_attr, receive_max_sges, uint32_t)
BL_ATTR(srq_init_attr, type, enum doca_verbs_srq_type)
BL_ATTR(srq_init_attr, pd, struct ibv_pd *)
BL_ATTR_SET_UMEM(srq_init_attr, external_umem, external_umem)
BL_ATTR_GET_UMEM(srq_init_attr)

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
	ret = fail(EOPNOTSUPP, "device %s has no shared receive queues (provider %s)", ibv->device->name,
		      context->ops->name);
	bl_context_put(context);
	return bl_doca_error(ret);
}

/* Why a pointer is none of a shared receive queue. */
static int no_srq(const struct doca_verbs_srq *srq)
{
	struct bl_object *object;

	return bl_object_get(BL_SRQ, srq, &object);
}

doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *srq)
{
	return bl_doca_error(no_srq(srq));
}

uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *srq)
{
	no_srq(srq);
	return 0;
}

void doca_verbs_srq_get_wq(const struct doca_verbs_srq *srq, void **srq_buf, uint32_t *srq_num_entries,
			   uint32_t *rwqe_size_bytes)
{
	no_srq(srq);
}

void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *srq)
{
	no_srq(srq);
	return NULL;
}
