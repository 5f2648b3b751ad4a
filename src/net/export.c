// SPDX-License-Identifier: MIT
/* Showing a queue pair to a GPU, and taking it back. */
#define log_fmt(fmt) "export: " fmt
#include "net/export.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "net/log.h"
#include "net/service.h"
#include "net/show.h"

static int check_handler(enum doca_gpu_dev_verbs_nic_handler handler)
{
	switch (handler) {
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR:
		return 0;
	default:
		return fail(EINVAL, "nic handler %d: there is none", (int)handler);
	}
}

/* What was asked for must go together, and with what the queue pair was made with. */
static int check_mode(struct doca_verbs_qp *qp, const struct bl_net_export_attr *attr)
{
	enum doca_verbs_qp_send_dbr_mode made = doca_verbs_qp_get_send_dbr_mode(qp);
	enum doca_verbs_qp_send_dbr_mode wanted = DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID;
	bool valid = attr->send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR;

	if ((unsigned int)attr->send_dbr_mode_ext > DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED)
		return fail(EINVAL, "doorbell record mode %d: there is none", (int)attr->send_dbr_mode_ext);
	if (attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR && valid)
		return fail(EINVAL, "handler GPU_SM_NO_DBR with a valid doorbell record: nobody would write it");
	if (attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF && !valid)
		return fail(EINVAL, "handler GPU_SM_BF needs a valid doorbell record");
	if (attr->send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW)
		wanted = DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT;
	if (made != wanted)
		return fail(EINVAL, "doorbell record mode %d: the queue pair was made with send_dbr_mode %d, not %d",
			    (int)attr->send_dbr_mode_ext, (int)made, (int)wanted);
	return 0;
}

static int check_queues(const struct bl_net_export_attr *attr)
{
	if (attr->sz < sizeof(*attr))
		return fail(EINVAL, "attributes of %zu bytes: this library's have %zu", attr->sz, sizeof(*attr));
	if (!attr->cq_sq && !attr->cq_rq)
		return fail(EINVAL, "no completion queue");
	return 0;
}

/* The page of words that the GPU and CPUs share. */
static int make_control(struct bl_gpu_qp *qp)
{
	int ret;

	ret = bl_gpu_alloc(qp->gpu, sizeof(*qp->control), 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &qp->control_block);
	if (ret)
		return ret;
	qp->control = qp->control_block->cpu;
	qp->begin.stop_flag = (uint32_t *)(uintptr_t)(qp->control_block->va + offsetof(struct bl_control, stop));
	return 0;
}

/* From here on somebody serves: the NIC itself where it can, so that there is one way for a doorbell and not two. */
static int begin_service(struct bl_gpu_qp *qp)
{
	if (!qp->pub.cpu_proxy)
		return 0;
	if (qp->pub.cpu_db) {
		atomic_store(&qp->word, qp->pub.cpu_db);
		bl_fail_hush(1);
		qp->watched = !bl_qp_watch(qp->verbs, qp->pub.cpu_db);
		bl_fail_hush(-1);
	}
	return bl_served_begin(qp);
}

/*
 * A NIC that is a CPU may be given requests ahead of the doorbell, where it sees that by itself. Where somebody else passes
 * doorbells on, requests go when he does; a word of each slot is another way.
 */
static void begin_express(struct bl_gpu_qp *qp)
{
	if (!qp->begin.sq_wqe_num || qp->slots || (qp->pub.cpu_proxy && !qp->watched))
		return;
	bl_fail_hush(1);
	qp->express = !bl_qp_express(qp->verbs, qp->control->express);
	bl_fail_hush(-1);
	if (qp->express)
		qp->begin.sq_express =
			(uint64_t *)(uintptr_t)(qp->control_block->va + offsetof(struct bl_control, express));
}

/* A NIC that takes bytes from requests finds them in its ring, whoever tells it of them. */
static void begin_bringing(struct bl_gpu_qp *qp)
{
	struct bl_context *context = qp->verbs->context;
	uint64_t va = 0;

	if (!qp->begin.sq_wqe_num || !context->caps.brings)
		return;
	qp->brings = !bl_regions_show(&context->regions, qp->gpu, &va);
	qp->begin.regions = (const struct bl_gpu_dev_region *)(uintptr_t)va;
}

static void end_service(struct bl_gpu_qp *qp)
{
	bl_served_end(qp);
	if (qp->express)
		bl_qp_express(qp->verbs, NULL);
	if (qp->watched)
		bl_qp_watch(qp->verbs, NULL);
}

/* Undo what was done, in part or in full. What the driver does not take back was logged. */
static void undo(struct bl_gpu_qp *qp)
{
	bl_hide_gpu_qp(qp);
	end_service(qp);
	if (qp->array)
		atomic_fetch_sub(&qp->array->members, 1);
	bl_gpu_uar_put(qp->uar);
	bl_gpu_free(qp->gpu, qp->dev_block);
	bl_gpu_free(qp->gpu, qp->control_block);
	bl_gpu_free(qp->gpu, qp->slots_block);
	if (qp->brings)
		bl_regions_hide(&qp->verbs->context->regions, qp->gpu);
	bl_qp_put(qp->verbs);
	bl_object_put(&qp->gpu->object);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
}

static uint8_t type_of_cq(const struct bl_net_export_attr *attr)
{
	if (attr->cq_folded)
		return DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST;
	return attr->cq_collapsed ? DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED : DOCA_GPUNETIO_VERBS_CQ_64B;
}

/* So that a wait that gets a completion queue only finds the stop flag. */
static void tell_distances(struct doca_gpu_dev_verbs_qp *dev)
{
	dev->cq_sq.qp_distance = offsetof(struct doca_gpu_dev_verbs_qp, cq_sq) / 8;
	dev->cq_rq.qp_distance = offsetof(struct doca_gpu_dev_verbs_qp, cq_rq) / 8;
}

static int fill(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr)
{
	int ret;

	ret = make_control(qp);
	if (!ret)
		ret = bl_export_queues(qp, attr);
	if (!ret)
		ret = bl_export_records(qp, attr);
	if (!ret)
		ret = bl_export_handler(qp, attr);
	if (!ret && attr->cq_sq)
		ret = bl_export_cq(qp, attr->cq_sq, type_of_cq(attr), &qp->begin.cq_sq);
	if (!ret && attr->cq_rq)
		ret = bl_export_cq(qp, attr->cq_rq, DOCA_GPUNETIO_VERBS_CQ_64B, &qp->begin.cq_rq);
	tell_distances(&qp->begin);
	if (!ret)
		ret = begin_service(qp);
	if (!ret) {
		begin_express(qp);
		begin_bringing(qp);
	}
	return ret;
}

int bl_export(struct doca_gpu *gpu, struct doca_verbs_qp *verbs, const struct bl_net_export_attr *attr,
	      struct bl_gpu_qp **qp_p)
{
	struct bl_gpu_qp *qp;
	int ret;

	ret = check_handler(attr->nic_handler);
	if (!ret)
		ret = check_mode(verbs, attr);
	if (!ret)
		ret = check_queues(attr);
	if (ret)
		return ret;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return fail(ENOMEM, "out of memory");
	ret = bl_qp_get(verbs, &qp->verbs);
	if (ret) {
		free(qp);
		return ret;
	}
	pthread_mutex_init(&qp->lock, NULL);
	bl_object_hold(&gpu->object);
	qp->gpu = gpu;
	qp->pub.gpu_dev = gpu;
	qp->pub.qp = verbs;
	qp->pub.qp_cpu = &qp->begin;
	qp->pub.send_dbr_mode_ext = attr->send_dbr_mode_ext;
	ret = fill(qp, attr);
	if (ret) {
		undo(qp);
		return ret;
	}
	bl_show_gpu_qp(qp);
	bl_object_add(&qp->object, BL_GPU_QP, &qp->pub, NULL);
	*qp_p = qp;
	return 0;
}

/* The queue pair is of that GPU, as far as it is one. */
static int check_gpu(struct doca_gpu *gpu, struct doca_gpu_verbs_qp *pub)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_GPU_QP, pub, &object);
	if (ret)
		return ret;
	if (pub->gpu_dev != gpu)
		ret = fail(EINVAL, "qp %p is exported to another GPU", (void *)pub);
	bl_object_put(object);
	return ret;
}

int bl_unexport(struct doca_gpu_verbs_qp *pub)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_take(BL_GPU_QP, pub, false, &object);
	if (!ret)
		undo(bl_gpu_qp_of(pub));
	return ret;
}

doca_error_t bl_net_export_qp(struct doca_gpu *gpu, struct doca_verbs_qp *qp, const struct bl_net_export_attr *attr,
			      struct doca_gpu_verbs_qp **out_p)
{
	struct bl_gpu_qp *made;
	int ret;

	if (!qp || !attr || !out_p)
		return bl_net_doca(fail(EINVAL, "no queue pair, no attributes, or no place for the answer"));
	ret = bl_gpu_get(gpu);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_export(gpu, qp, attr, &made);
	bl_gpu_put(gpu);
	if (!ret)
		*out_p = &made->pub;
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_verbs_export_qp(struct doca_gpu *gpu_dev, struct doca_verbs_qp *qp,
				      enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_ptr,
				      struct doca_verbs_cq *cq_sq,
				      enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
				      struct doca_gpu_verbs_qp **qp_out)
{
	struct bl_net_export_attr attr = {
		.sz = sizeof(attr),
		.nic_handler = nic_handler,
		.send_dbr_mode_ext = send_dbr_mode_ext,
		.umem_gpu_ptr = gpu_qp_umem_ptr,
		.cq_sq = cq_sq,
	};

	return bl_net_export_qp(gpu_dev, qp, &attr, qp_out);
}

doca_error_t doca_gpu_verbs_unexport_qp(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp *gverbs_qp)
{
	int ret;

	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	ret = check_gpu(gpu_dev, gverbs_qp);
	if (!ret)
		ret = bl_unexport(gverbs_qp);
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}
