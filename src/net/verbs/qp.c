// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/qp: " fmt
#include "qp.h"

#define qp_of(obj) ((struct doca_verbs_qp *)(obj)) /* the object is its first member */

int bl_qp_get(struct doca_verbs_qp *key, struct doca_verbs_qp **qp_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_QP, key, &object);
	if (ret)
		return ret;
	*qp_p = qp_of(object);
	return 0;
}

static int check(const struct bl_context *context, const struct doca_verbs_qp_init_attr *init)
{
	const struct bl_nic_caps *caps = &context->caps;
	const char *name = context->ibv.device->name;

	if (init->qp_type > DOCA_VERBS_QP_TYPE_UC)
		return fail(EINVAL, "type %u: there is none", init->qp_type);
	if (init->qp_type == DOCA_VERBS_QP_TYPE_RC ? !caps->rc : !caps->uc)
		return fail(EOPNOTSUPP, "device %s has no queue pairs of type %s", name,
			    init->qp_type == DOCA_VERBS_QP_TYPE_RC ? "RC" : "UC");
	if (!init->sq_wr && !init->rq_wr && !init->srq)
		return fail(EINVAL, "neither sends nor receives: sq_wr and rq_wr are 0");
	if (init->send_max_sges > caps->max_sge || init->receive_max_sges > caps->max_sge)
		return fail(EINVAL, "%u and %u segments: device %s has at most %u", init->send_max_sges,
			    init->receive_max_sges, name, caps->max_sge);
	if ((unsigned int)init->send_dbr_mode > DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT)
		return fail(EINVAL, "send_dbr_mode %d: there is none", (int)init->send_dbr_mode);
	if (init->send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT && init->emulate_no_dbr_ext)
		return fail(EINVAL, "emulate_no_dbr_ext is for queue pairs with doorbell record");
	if (init->send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT && !caps->no_dbrec)
		return fail(EOPNOTSUPP, "device %s needs doorbell records", name);
	return 0;
}

static int get_cqs(const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp *qp)
{
	int ret;

	if (init->sq_wr && !init->send_cq)
		return fail(EINVAL, "no completion queue for the sends");
	if ((init->rq_wr || init->srq) && !init->receive_cq)
		return fail(EINVAL, "no completion queue for the receives");
	if (init->send_cq) {
		ret = bl_cq_get(init->send_cq, qp->context, &qp->send_cq);
		if (ret)
			return ret;
	}
	if (!init->receive_cq)
		return 0;
	ret = bl_cq_get(init->receive_cq, qp->context, &qp->recv_cq);
	if (ret && qp->send_cq)
		bl_object_put(&qp->send_cq->object);
	return ret;
}

static void put_cqs(struct doca_verbs_qp *qp)
{
	if (qp->recv_cq)
		bl_object_put(&qp->recv_cq->object);
	if (qp->send_cq)
		bl_object_put(&qp->send_cq->object);
}

static void put_srq(struct doca_verbs_qp *qp)
{
	if (qp->srq)
		bl_object_put(&qp->srq->object);
}

static int get_uar(const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp *qp)
{
	struct bl_context *context = qp->context;
	int ret;

	if (!init->external_uar)
		return context->ops->uar_create(context->nic, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &qp->own_uar,
						&qp->uar_info);
	ret = bl_uar_get(init->external_uar, context, &qp->uar);
	if (!ret)
		qp->uar_info = qp->uar->info;
	return ret;
}

static void put_uar(struct doca_verbs_qp *qp)
{
	if (qp->uar)
		bl_object_put(&qp->uar->object);
	else
		qp->context->ops->uar_destroy(qp->context->nic, qp->own_uar);
}

static int get_mem(const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp *qp)
{
	const struct bl_queue_mem_attr wanted = {
		.ring = init->external_umem,
		.ring_off = init->external_umem_offset,
		.dbr = init->external_dbr_umem,
		.dbr_off = init->external_dbr_umem_offset,
		.len = qp->size.rq_len + qp->size.sq_len,
	};

	return bl_queue_mem_get(qp->context, &wanted, &qp->mem);
}

/* All that the queue pair uses, in an order that put_parts() undoes. */
static int get_parts(const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp *qp)
{
	int ret;

	ret = init->srq ? bl_srq_get(init->srq, qp->context, &qp->srq) : 0;
	if (ret)
		return ret;
	ret = get_cqs(init, qp);
	if (ret)
		goto put_srq;
	ret = get_uar(init, qp);
	if (ret)
		goto put_cqs;
	ret = get_mem(init, qp);
	if (ret)
		goto put_uar;
	return 0;
put_uar:
	put_uar(qp);
put_cqs:
	put_cqs(qp);
put_srq:
	put_srq(qp);
	return ret;
}

static void put_parts(struct doca_verbs_qp *qp)
{
	bl_queue_mem_put(qp->context, &qp->mem);
	put_uar(qp);
	put_cqs(qp);
	put_srq(qp);
}

static int create_nic_qp(const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp *qp)
{
	const struct bl_nic_qp_attr nic_attr = {
		.type = init->qp_type,
		.ring = qp->mem.nic_ring,
		.rq_off = qp->mem.ring_off,
		.rq_nr = qp->size.rq_nr,
		.rq_sges = qp->size.rq_sges,
		.sq_off = qp->mem.ring_off + qp->size.rq_len,
		.sq_nr = qp->size.sq_blocks,
		.dbr = qp->mem.nic_dbr,
		.dbr_off = qp->mem.dbr_off,
		.send_cq = qp->send_cq ? qp->send_cq->nic_cq : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->nic_cq : NULL,
		.srq = qp->srq ? qp->srq->nic_srq : NULL,
		.uar = qp->uar ? qp->uar->nic_uar : qp->own_uar,
		.user_index = init->user_index,
		.sq_sig_all = init->sq_sig_all,
		.no_dbrec = init->send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT,
		.core_direct = init->core_direct_master,
	};

	return qp->context->ops->qp_create(qp->context->nic, qp->pd->nic_pd, &nic_attr, &qp->nic_qp, &qp->num);
}

void bl_qp_mod_init(struct bl_nic_qp_mod *mod)
{
	*mod = (struct bl_nic_qp_mod){
		.from = DOCA_VERBS_QP_STATE_RST,
		.to = DOCA_VERBS_QP_STATE_RST,
		.mtu = 256,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
}

static int create_in(struct bl_pd *pd, const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp **qp_p)
{
	const struct bl_qp_want want = {
		.sq_wr = init->sq_wr,
		.send_sges = init->send_max_sges,
		.inline_len = init->max_inline_data,
		/* one that receives from a shared queue has none of its own, as in libibverbs */
		.rq_wr = init->srq ? 0 : init->rq_wr,
		.recv_sges = init->receive_max_sges,
	};
	struct doca_verbs_qp *qp = calloc(1, sizeof(*qp));
	int ret;

	if (!qp)
		return fail(ENOMEM, "out of memory");
	qp->pd = pd;
	qp->context = pd->context;
	qp->init = *init;
	ret = bl_qp_size(&want, pd->context->caps.max_qp_wr, &qp->size);
	if (ret)
		goto free_qp;
	ret = get_parts(init, qp);
	if (ret)
		goto free_qp;
	ret = create_nic_qp(init, qp);
	if (ret)
		goto put_parts;
	pthread_mutex_init(&qp->lock, NULL);
	bl_qp_mod_init(&qp->mod);
	bl_object_add(&qp->object, BL_QP, qp, &pd->object);
	qp->source = (struct bl_event_source){ .nic = qp->context->nic, .kind = BL_QP, .num = qp->num, .key = qp,
					       .queue = &qp->context->events };
	bl_events_add(&qp->source);
	*qp_p = qp;
	return 0;
put_parts:
	put_parts(qp);
free_qp:
	free(qp);
	return ret;
}

static int create(struct bl_context *context, const struct doca_verbs_qp_init_attr *init, struct doca_verbs_qp **qp_p)
{
	struct bl_pd *pd;
	int ret;

	ret = check(context, init);
	if (ret)
		return ret;
	ret = bl_pd_get(init->pd, &pd);
	if (ret)
		return ret;
	if (pd->context != context)
		ret = fail(EINVAL, "protection domain %p: of another context", (void *)init->pd);
	else
		ret = create_in(pd, init, qp_p);
	bl_pd_put(pd);
	return ret;
}

doca_error_t doca_verbs_qp_create(struct ibv_context *ibv, struct doca_verbs_qp_init_attr *init,
				  struct doca_verbs_qp **qp_p)
{
	struct bl_context *context;
	int ret;

	if (!init || !qp_p)
		return bl_doca_null(__func__, !init ? "qp_init_attr" : "place for the queue pair");
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = create(context, init, qp_p);
	bl_context_put(context);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_qp_destroy(struct doca_verbs_qp *key)
{
	struct bl_object *object;
	struct doca_verbs_qp *qp;
	int ret;

	ret = bl_object_take(BL_QP, key, false, &object);
	if (ret)
		return bl_doca_error(ret);
	qp = qp_of(object);
	ret = qp->context->ops->qp_destroy(qp->context->nic, qp->nic_qp);
	if (ret) {
		bl_object_untake(object);
		return bl_doca_error(ret);
	}
	bl_events_remove(&qp->source);
	put_parts(qp);
	bl_object_free_parent(object);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
	return DOCA_SUCCESS;
}
