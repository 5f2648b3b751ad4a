// SPDX-License-Identifier: MIT
/* The queue pair of a high-level object: doorbell page, handler, queues, export; and the way back. */
#define log_fmt(fmt) "high level: " fmt
#include <errno.h>

#include "net/high_level.h"
#include "net/log.h"
#include "net/verbs/qp_size.h"

#define DBR_LEN 8

/* A page that nobody else uses where there is one. */
static doca_error_t make_uar(const struct bl_hl_want *want, struct doca_verbs_uar **uar_p)
{
	struct ibv_context *context = &want->pd->context->ibv;
	doca_error_t err;

	if (want->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF)
		return doca_verbs_uar_create(context, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, uar_p);
	bl_fail_hush(1);
	err = doca_verbs_uar_create(context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, uar_p);
	bl_fail_hush(-1);
	return err ? doca_verbs_uar_create(context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, uar_p) : err;
}

/*
 * Whether the GPU can ring decides where the send record lies, so AUTO is looked into before memory is made. The export
 * comes to the same, and tells why: the register stays shown to the GPU until then.
 */
static doca_error_t resolve(struct bl_hl_want *want, struct bl_hl *hl)
{
	doca_error_t err;
	void *reg;

	want->proxy = bl_is_proxy(want->handler) ||
		      want->mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;
	if (want->handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)
		return DOCA_SUCCESS;
	if (want->mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW)
		err = doca_verbs_uar_dbr_less_addr_get(want->uar, &reg);
	else
		err = doca_verbs_uar_reg_addr_get(want->uar, &reg);
	if (!err && bl_gpu_uar_get(want->gpu, reg, true, &hl->probe))
		want->proxy = true;
	return err;
}

/* Receive queue first, then send queue. */
static doca_error_t make_queues(const struct bl_hl_want *want, struct bl_hl *hl)
{
	size_t len = (size_t)want->rq_nr * want->rq_sges * BL_WQE_SEG;
	bool host_dbr = want->cpu || want->proxy;
	doca_error_t err;

	if (want->rq_nr && len < BL_WQE_BLOCK)
		len = BL_WQE_BLOCK;
	len += (size_t)want->sq_nr * BL_WQE_BLOCK;
	err = bl_hl_queue_make(want, len, want->cpu ? DOCA_GPU_MEM_TYPE_CPU_GPU : DOCA_GPU_MEM_TYPE_GPU, &hl->qp_ring);
	if (!err)
		err = bl_hl_queue_make(want, DBR_LEN, host_dbr ? DOCA_GPU_MEM_TYPE_CPU_GPU : DOCA_GPU_MEM_TYPE_GPU,
				       &hl->qp_dbr);
	return err;
}

static doca_error_t fill_attr(const struct bl_hl_want *want, const struct bl_hl *hl,
			      struct doca_verbs_qp_init_attr *attr)
{
	bool no_dbr = want->mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
	doca_error_t err = doca_verbs_qp_init_attr_set_pd(attr, &want->pd->ibv);

#define SET(name, ...) (err = err ? err : doca_verbs_qp_init_attr_set_##name(attr, __VA_ARGS__))
	SET(qp_type, want->uc ? DOCA_VERBS_QP_TYPE_UC : DOCA_VERBS_QP_TYPE_RC);
	SET(sq_wr, want->sq_nr);
	SET(rq_wr, want->rq_nr);
	SET(send_max_sges, 1);
	SET(receive_max_sges, want->rq_nr ? want->rq_sges : 1);
	SET(send_cq, hl->pub->cq_sq);
	if (want->rq_nr)
		SET(receive_cq, hl->cq_rq);
	SET(external_umem, hl->qp_ring.umem, 0);
	SET(external_dbr_umem, hl->qp_dbr.umem, 0);
	SET(external_uar, want->uar);
	SET(core_direct_master, want->core_direct);
	SET(send_dbr_mode,
	    no_dbr ? DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT : DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID);
#undef SET
	return err;
}

static doca_error_t create(const struct bl_hl_want *want, struct bl_hl *hl)
{
	struct doca_verbs_qp_init_attr *attr;
	doca_error_t err;

	err = doca_verbs_qp_init_attr_create(&attr);
	if (err)
		return err;
	err = fill_attr(want, hl, attr);
	if (!err)
		err = doca_verbs_qp_create(&want->pd->context->ibv, attr, &hl->pub->qp);
	doca_verbs_qp_init_attr_destroy(attr);
	return err;
}

static doca_error_t export(const struct bl_hl_want *want, struct bl_hl *hl)
{
	struct bl_net_export_attr attr = {
		.sz = sizeof(attr),
		.nic_handler = want->handler,
		.send_dbr_mode_ext = want->mode,
		.umem_gpu_ptr = (void *)(uintptr_t)hl->qp_ring.block->va,
		.cq_sq = hl->pub->cq_sq,
		.cq_rq = hl->cq_rq,
		.cq_collapsed = want->collapsed,
		.cq_folded = want->folded,
	};
	struct bl_gpu_qp *qp;
	int ret;

	ret = bl_export(want->gpu, hl->pub->qp, &attr, &qp);
	if (ret)
		return bl_net_doca(ret);
	hl->pub->qp_gverbs = &qp->pub;
	hl->pub->nic_handler = (enum doca_gpu_dev_verbs_nic_handler)qp->begin.nic_handler;
	return DOCA_SUCCESS;
}

static void *gpu_address(const struct bl_hl_queue *queue)
{
	return (void *)(uintptr_t)queue->block->va;
}

/* What the program may look at. */
static void publish(const struct bl_hl_want *want, struct bl_hl *hl)
{
	struct doca_gpu_verbs_qp_hl *pub = hl->pub;

	pub->cq_sq_umem_gpu_ptr = gpu_address(&hl->cq_ring);
	pub->cq_sq_umem = hl->cq_ring.umem;
	pub->cq_sq_umem_dbr_gpu_ptr = gpu_address(&hl->cq_dbr);
	pub->cq_sq_umem_dbr = hl->cq_dbr.umem;
	pub->qp_umem_gpu_ptr = gpu_address(&hl->qp_ring);
	pub->qp_umem = hl->qp_ring.umem;
	pub->qp_umem_dbr_gpu_ptr = gpu_address(&hl->qp_dbr);
	pub->qp_umem_dbr = hl->qp_dbr.umem;
	pub->send_dbr_mode_ext = want->mode;
}

doca_error_t bl_hl_make(struct bl_hl_want *want, struct bl_hl *hl)
{
	enum doca_gpu_mem_type gpu_ring = want->cpu ? DOCA_GPU_MEM_TYPE_GPU_CPU : DOCA_GPU_MEM_TYPE_GPU;
	doca_error_t err = DOCA_SUCCESS;

	hl->pub->gpu_dev = want->gpu;
	if (!want->uar) {
		err = make_uar(want, &hl->uar);
		want->uar = hl->uar;
	}
	hl->pub->external_uar = want->uar;
	if (!err)
		err = resolve(want, hl);
	if (!err)
		err = bl_hl_cq_make(want, want->sq_nr, want->collapsed, want->folded ? DOCA_GPU_MEM_TYPE_CPU_GPU : gpu_ring,
				    &hl->cq_ring, &hl->cq_dbr, &hl->pub->cq_sq);
	if (!err && want->rq_nr)
		err = bl_hl_cq_make(want, want->rq_nr, false, gpu_ring, &hl->rcq_ring, &hl->rcq_dbr, &hl->cq_rq);
	if (!err)
		err = make_queues(want, hl);
	if (!err)
		err = create(want, hl);
	if (!err)
		err = export(want, hl);
	if (err) {
		bl_hl_drop(hl);
		return err;
	}
	publish(want, hl);
	return DOCA_SUCCESS;
}

/* What somebody else still uses is left, with the memory that it lies in: the caller may come again. */
static doca_error_t drop_cq(struct doca_gpu *gpu, struct doca_verbs_cq **cq_p, struct bl_hl_queue *dbr,
			    struct bl_hl_queue *ring)
{
	doca_error_t err = *cq_p ? doca_verbs_cq_destroy(*cq_p) : DOCA_SUCCESS;

	if (err)
		return err;
	*cq_p = NULL;
	err = bl_hl_queue_drop(gpu, dbr);
	return err ? err : bl_hl_queue_drop(gpu, ring);
}

static doca_error_t drop_qp(struct bl_hl *hl)
{
	struct doca_gpu_verbs_qp_hl *pub = hl->pub;
	doca_error_t err = pub->qp_gverbs ? bl_net_doca(bl_unexport(pub->qp_gverbs)) : DOCA_SUCCESS;

	if (err)
		return err;
	pub->qp_gverbs = NULL;
	if (pub->qp)
		err = doca_verbs_qp_destroy(pub->qp);
	if (err)
		return err;
	pub->qp = NULL;
	err = bl_hl_queue_drop(pub->gpu_dev, &hl->qp_dbr);
	return err ? err : bl_hl_queue_drop(pub->gpu_dev, &hl->qp_ring);
}

doca_error_t bl_hl_drop(struct bl_hl *hl)
{
	struct doca_gpu_verbs_qp_hl *pub = hl->pub;
	doca_error_t err;

	err = drop_qp(hl);
	if (!err)
		err = drop_cq(pub->gpu_dev, &hl->cq_rq, &hl->rcq_dbr, &hl->rcq_ring);
	if (!err)
		err = drop_cq(pub->gpu_dev, &pub->cq_sq, &hl->cq_dbr, &hl->cq_ring);
	if (err)
		return err;
	bl_gpu_uar_put(hl->probe);
	hl->probe = NULL;
	if (hl->uar)
		err = doca_verbs_uar_destroy(hl->uar);
	if (!err)
		hl->uar = NULL;
	return err;
}
