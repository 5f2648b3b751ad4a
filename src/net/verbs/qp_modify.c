// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/qp: " fmt
#include "qp.h"
#include "qp_moves.h"
#include "qp_values.h"

static int query_nic(struct doca_verbs_qp *qp, struct bl_nic_qp_info *info)
{
	return qp->context->ops->qp_query(qp->context->nic, qp->nic_qp, info);
}

/* The state to start from: the NIC may have gone to ERR by itself. What the program takes it for has to agree. */
static int state_before(struct doca_verbs_qp *qp, const struct doca_verbs_qp_attr *attr, uint32_t mask,
			enum doca_verbs_qp_state *state_p)
{
	struct bl_nic_qp_info info;
	int ret;

	ret = query_nic(qp, &info);
	if (ret)
		return ret;
	if (mask & DOCA_VERBS_QP_ATTR_CURRENT_STATE && attr->current_state != info.state)
		return fail(EINVAL, "queue pair 0x%x is in state %s and not in %s", qp->num, bl_qp_state_name(info.state),
			    bl_qp_state_name(attr->current_state));
	*state_p = info.state;
	return 0;
}

static int modify(struct doca_verbs_qp *qp, const struct doca_verbs_qp_attr *attr, uint32_t mask)
{
	struct bl_nic_qp_mod mod = qp->mod;
	int ret;

	mod.mask = mask;
	ret = state_before(qp, attr, mask, &mod.from);
	if (ret)
		return ret;
	mod.to = mask & DOCA_VERBS_QP_ATTR_NEXT_STATE ? attr->next_state : mod.from;
	if ((unsigned int)mod.to > DOCA_VERBS_QP_STATE_ERR)
		return fail(EINVAL, "queue pair 0x%x: next state %d: there is none", qp->num, (int)mod.to);
	ret = bl_qp_move_check(qp->init.qp_type, mod.from, mod.to, mask);
	if (ret)
		return ret;
	ret = bl_qp_values_take(attr, mask, &qp->context->caps, &mod);
	if (ret)
		return ret;
	ret = qp->context->ops->qp_modify(qp->context->nic, qp->nic_qp, &mod);
	if (ret)
		return ret;
	qp->mod = mod;
	if (mod.to == DOCA_VERBS_QP_STATE_RST)
		bl_qp_mod_init(&qp->mod);
	log_debug("queue pair 0x%x: %s to %s", qp->num, bl_qp_state_name(mod.from), bl_qp_state_name(mod.to));
	return 0;
}

doca_error_t doca_verbs_qp_modify(struct doca_verbs_qp *key, struct doca_verbs_qp_attr *attr, int attr_mask)
{
	struct doca_verbs_qp *qp;
	int ret;

	if (!attr)
		return bl_doca_null(__func__, "qp_attr");
	ret = bl_qp_get(key, &qp);
	if (ret)
		return bl_doca_error(ret);
	pthread_mutex_lock(&qp->lock);
	ret = modify(qp, attr, (uint32_t)attr_mask);
	pthread_mutex_unlock(&qp->lock);
	bl_qp_put(qp);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_qp_query(struct doca_verbs_qp *key, struct doca_verbs_qp_attr *attr,
				 struct doca_verbs_qp_init_attr *init)
{
	struct bl_nic_qp_info info;
	struct doca_verbs_qp *qp;
	int ret;

	if (!attr || !init)
		return bl_doca_null(__func__, !attr ? "qp_attr" : "qp_init_attr");
	ret = bl_qp_get(key, &qp);
	if (ret)
		return bl_doca_error(ret);
	pthread_mutex_lock(&qp->lock);
	ret = query_nic(qp, &info);
	if (!ret) {
		attr->current_state = info.state;
		attr->next_state = info.state;
		bl_qp_values_give(&qp->mod, attr);
		*init = qp->init;
	}
	pthread_mutex_unlock(&qp->lock);
	bl_qp_put(qp);
	return bl_doca_error(ret);
}

int bl_qp_info(struct doca_verbs_qp *key, struct bl_nic_qp_info *info)
{
	struct doca_verbs_qp *qp;
	int ret;

	ret = bl_qp_get(key, &qp);
	if (ret)
		return ret;
	pthread_mutex_lock(&qp->lock);
	ret = query_nic(qp, info);
	pthread_mutex_unlock(&qp->lock);
	bl_qp_put(qp);
	return ret;
}

/* What a NIC that is a CPU is to look at: the word of doorbells, or the line of requests that are given whole. */
static int look_at(struct doca_verbs_qp *key, bool whole, const uint64_t *words)
{
	int (*look)(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *words);
	const struct bl_nic_ops *ops;
	struct doca_verbs_qp *qp;
	int ret;

	ret = bl_qp_get(key, &qp);
	if (ret)
		return ret;
	ops = qp->context->ops;
	look = whole ? ops->qp_express : ops->qp_watch;
	pthread_mutex_lock(&qp->lock);
	ret = look ? look(qp->context->nic, qp->nic_qp, words) : -EOPNOTSUPP;
	pthread_mutex_unlock(&qp->lock);
	bl_qp_put(qp);
	return ret;
}

int bl_qp_watch(struct doca_verbs_qp *key, const uint64_t *word)
{
	return look_at(key, false, word);
}

int bl_qp_express(struct doca_verbs_qp *key, const uint64_t *line)
{
	return look_at(key, true, line);
}

void bl_qp_kick(struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp;

	if (bl_qp_get(key, &qp))
		return;
	if (qp->context->ops->kick)
		qp->context->ops->kick(qp->context->nic);
	bl_qp_put(qp);
}
