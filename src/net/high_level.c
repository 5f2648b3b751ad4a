// SPDX-License-Identifier: MIT
/* Queue pairs, and groups of two, that are made and destroyed in one call. */
#define log_fmt(fmt) "high level: " fmt
#include "net/high_level.h"

#include <errno.h>
#include <stdlib.h>

#include "net/log.h"

#define MAX_WQES 32768U

/**
 * struct bl_qp_hl - one queue pair
 * @pub:    what the program has
 * @object: as it is known to others, by the address of @pub; uses the GPU
 * @hl:	    what belongs to it
 */
struct bl_qp_hl {
	struct doca_gpu_verbs_qp_hl pub;
	struct bl_object object;
	struct bl_hl hl;
};

/**
 * struct bl_group_hl - two queue pairs
 * @pub:    what the program has
 * @object: as it is known to others, by the address of @pub
 * @main, @companion: what belongs to them
 */
struct bl_group_hl {
	struct doca_gpu_verbs_qp_group_hl pub;
	struct bl_object object;
	struct bl_hl main;
	struct bl_hl companion;
};

#define hl_of(obj)    ((struct bl_qp_hl *)((char *)(obj) - offsetof(struct bl_qp_hl, object)))
#define group_of(obj) ((struct bl_group_hl *)((char *)(obj) - offsetof(struct bl_group_hl, object)))

static uint32_t power_of_two(uint32_t nr)
{
	uint32_t power = 1;

	while (power < nr)
		power *= 2;
	return power;
}

static int check_values(const struct doca_gpu_verbs_qp_init_attr_hl *attr, const struct bl_net_qp_hl_attr *more)
{
	switch (attr->nic_handler) {
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF:
		break;
	default:
		return fail(EINVAL, "nic handler %d: AUTO, CPU_PROXY, CPU_PROXY_FREE_FLOW, GPU_SM_DB or GPU_SM_BF are", (int)attr->nic_handler);
	}
	if ((unsigned int)attr->mreg_type >= DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX)
		return fail(EINVAL, "memory registration type %d: there is none", (int)attr->mreg_type);
	/* 16 bits hold more than the NIC's counters can tell apart */
	if (!attr->sq_nwqe || attr->sq_nwqe > MAX_WQES)
		return fail(EINVAL, "send queue of %u blocks: 1 to %u are", attr->sq_nwqe, MAX_WQES);
	if (more && more->sz < sizeof(*more))
		return fail(EINVAL, "attributes of %zu bytes: this library's have %zu", more->sz, sizeof(*more));
	if (more && more->rq_nwqe > MAX_WQES)
		return fail(EINVAL, "receive queue of %u requests: up to %u are", more->rq_nwqe, MAX_WQES);
	if (more && more->rq_sges > 16)
		return fail(EINVAL, "receive requests of %u segments: up to 16 are", more->rq_sges);
	return 0;
}

doca_error_t bl_hl_check(struct doca_gpu_verbs_qp_init_attr_hl *attr, const struct bl_net_qp_hl_attr *more,
			 struct bl_hl_want *want)
{
	int ret;

	ret = check_values(attr, more);
	if (ret)
		return bl_net_doca(ret);
	*want = (struct bl_hl_want){
		.gpu = attr->gpu_dev,
		.handler = attr->nic_handler,
		.mode = attr->send_dbr_mode_ext,
		.reg_type = attr->mreg_type,
		.collapsed = attr->cq_collapsed || (more && more->cq_folded),
		.folded = more && more->cq_folded,
		.sq_nr = power_of_two(attr->sq_nwqe),
		.rq_nr = more && more->rq_nwqe ? power_of_two(more->rq_nwqe) : 0,
		.rq_sges = more && more->rq_sges ? power_of_two(more->rq_sges) : 1,
		.uc = more && more->uc,
	};
	ret = bl_gpu_get(want->gpu);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_pd_get(attr->ibpd, &want->pd);
	if (ret) {
		bl_gpu_put(want->gpu);
		return bl_net_doca(ret);
	}
	want->cpu = want->pd->context->caps.cpu;
	attr->sq_nwqe = (uint16_t)want->sq_nr;
	return DOCA_SUCCESS;
}

void bl_hl_unwant(struct bl_hl_want *want)
{
	bl_pd_put(want->pd);
	bl_gpu_put(want->gpu);
}

static doca_error_t create_qp(struct doca_gpu_verbs_qp_init_attr_hl *attr, const struct bl_net_qp_hl_attr *more,
			      struct doca_gpu_verbs_qp_hl **qp_p)
{
	struct bl_hl_want want;
	struct bl_qp_hl *qp;
	doca_error_t err;

	if (!attr || !qp_p)
		return bl_net_doca(fail(EINVAL, "no attributes, or no place for the answer"));
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return bl_net_doca(fail(ENOMEM, "out of memory"));
	err = bl_hl_check(attr, more, &want);
	if (err)
		goto free_qp;
	qp->hl.pub = &qp->pub;
	err = bl_hl_make(&want, &qp->hl);
	bl_hl_unwant(&want);
	if (err)
		goto free_qp;
	bl_object_add(&qp->object, BL_GPU_QP_HL, &qp->pub, NULL);
	*qp_p = &qp->pub;
	return DOCA_SUCCESS;
free_qp:
	free(qp);
	return err;
}

doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					 struct doca_gpu_verbs_qp_hl **qp)
{
	return create_qp(qp_init_attr, NULL, qp);
}

doca_error_t bl_net_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
				 const struct bl_net_qp_hl_attr *more, struct doca_gpu_verbs_qp_hl **qp)
{
	return create_qp(qp_init_attr, more, qp);
}

doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp)
{
	struct bl_object *object;
	doca_error_t err;
	int ret;

	ret = bl_object_take(BL_GPU_QP_HL, qp, false, &object);
	if (ret)
		return bl_net_doca(ret);
	err = bl_hl_drop(&hl_of(object)->hl);
	if (err)
		bl_object_untake(object);
	else
		free(hl_of(object));
	return err;
}

/* A register without record is rung by two queue pairs, or polled by a CPU, which sees the last doorbell only. */
static bool may_share_page(const struct bl_hl_want *want)
{
	return !want->cpu || want->mode != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
}

/* The companion has the doorbell page of the main one where it can, and outlives it no more than the page does. */
static doca_error_t make_group(struct bl_hl_want *want, struct bl_group_hl *group)
{
	doca_error_t err;

	group->main.pub = &group->pub.qp_main;
	group->companion.pub = &group->pub.qp_companion;
	err = bl_hl_make(want, &group->main);
	if (err)
		return err;
	want->uar = may_share_page(want) ? group->main.uar : NULL;
	want->core_direct = true;
	err = bl_hl_make(want, &group->companion);
	if (err)
		bl_hl_drop(&group->main);
	return err;
}

doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					       struct doca_gpu_verbs_qp_group_hl **qpg)
{
	struct bl_group_hl *group;
	struct bl_hl_want want;
	doca_error_t err;

	if (!qp_init_attr || !qpg)
		return bl_net_doca(fail(EINVAL, "no attributes, or no place for the answer"));
	if (qp_init_attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF)
		return bl_net_doca(fail(EINVAL, "a group with GPU_SM_BF: its doorbells are not BlueFlame registers"));
	group = calloc(1, sizeof(*group));
	if (!group)
		return bl_net_doca(fail(ENOMEM, "out of memory"));
	err = bl_hl_check(qp_init_attr, NULL, &want);
	if (err)
		goto free_group;
	err = make_group(&want, group);
	bl_hl_unwant(&want);
	if (err)
		goto free_group;
	bl_object_add(&group->object, BL_GPU_GROUP_HL, &group->pub, NULL);
	*qpg = &group->pub;
	return DOCA_SUCCESS;
free_group:
	free(group);
	return err;
}

doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg)
{
	struct bl_object *object;
	doca_error_t err;
	int ret;

	ret = bl_object_take(BL_GPU_GROUP_HL, qpg, false, &object);
	if (ret)
		return bl_net_doca(ret);
	err = bl_hl_drop(&group_of(object)->companion);
	if (!err)
		err = bl_hl_drop(&group_of(object)->main);
	if (err)
		bl_object_untake(object);
	else
		free(group_of(object));
	return err;
}
