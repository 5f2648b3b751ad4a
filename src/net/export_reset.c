// SPDX-License-Identifier: MIT
/* A queue pair that went back to RST: queues, records and the GPU's object begin anew. Completion queues go on. */
#define log_fmt(fmt) "reset: " fmt
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy/fence.h"
#include "net/cqe.h"
#include "net/export.h"
#include "net/log.h"
#include "net/proxy.h"

#define CI_MASK 0xffffffU

/* What a CPU sees of memory that the GPU has at @va, if it is host memory; GPU memory is CUDA's to fill: NULL. */
static void *host_view(struct bl_gpu_qp *qp, uint64_t va, bool on_host)
{
	return on_host ? bl_gpu_block_cpu(qp->gpu, va) : NULL;
}

static int read_any(struct bl_gpu_qp *qp, void *dst, uint64_t va, const void *cpu, size_t len)
{
	if (!cpu)
		return bl_gpu_read(qp->gpu, dst, va, len);
	memcpy(dst, cpu, len);
	return 0;
}

/* What was in the ring is consumed: a NIC that looks at the record finds all of it free. */
static int reset_ci(struct bl_gpu_qp *qp, const struct doca_gpu_dev_verbs_cq *cq)
{
	uint32_t ci = htobe32((uint32_t)cq->cqe_rsvd & CI_MASK);
	uint64_t va = (uintptr_t)cq->dbrec;
	uint32_t *cpu;

	if (!va)
		return 0;
	cpu = bl_gpu_block_cpu(qp->gpu, va);
	if (!cpu)
		return bl_gpu_write(qp->gpu, va, &ci, sizeof(ci));
	__atomic_store_n(cpu, ci, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Empty the ring, and have the GPU look for completions where the NIC will write the next one. @written: how many it
 * has, 0: it does not tell. The ring says that for one turn of its owner bit only, which is enough to find a CQE, but
 * not for what names one to the NIC: a WAIT, or a consumer index.
 */
static int reset_cq(struct bl_gpu_qp *qp, struct doca_gpu_dev_verbs_cq *cq, uint64_t written)
{
	size_t len = (size_t)cq->cqe_num * BL_CQE_SIZE;
	bool on_host = cq->mem_type == DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	uint64_t va = (uintptr_t)cq->cqe_daddr;
	void *cpu = host_view(qp, va, on_host);
	uint8_t *ring;
	int ret;

	if (!cq->cqe_num)
		return 0;
	ring = malloc(len);
	if (!ring)
		return fail(ENOMEM, "out of memory");
	ret = read_any(qp, ring, va, cpu, len);
	if (!ret)
		ret = bl_gpu_fill_any(qp->gpu, va, cpu, 0xff, len);
	/* a collapsed one has one entry, which is told apart by its WQE counter */
	if (!ret && written)
		cq->cqe_rsvd = written;
	else if (!ret && !cq->cq_type)
		cq->cqe_rsvd = bl_cqe_ring_position(ring, cq->cqe_num, cq->cqe_rsvd);
	free(ring);
	return ret ? ret : reset_ci(qp, cq);
}

static int reset_cqs(struct bl_gpu_qp *qp, const struct bl_nic_qp_info *info)
{
	struct doca_gpu_dev_verbs_qp *dev = &qp->begin;
	int ret;

	ret = reset_cq(qp, &dev->cq_sq, info->send_cqes);
	if (ret)
		return ret;
	if (dev->cq_rq.cqe_daddr != dev->cq_sq.cqe_daddr)
		return reset_cq(qp, &dev->cq_rq, info->recv_cqes);
	/* one queue for both, and one look at it */
	dev->cq_rq.cqe_rsvd = dev->cq_sq.cqe_rsvd;
	return 0;
}

static int reset_rings(struct bl_gpu_qp *qp)
{
	const struct doca_gpu_dev_verbs_qp *dev = &qp->begin;
	uint64_t sq = (uintptr_t)dev->sq_wqe_daddr, rq = (uintptr_t)dev->rq_wqe_daddr;
	int ret = 0;

	if (sq)
		ret = bl_gpu_fill_any(qp->gpu, sq, host_view(qp, sq, qp->sq_on_host), 0,
				      (size_t)dev->sq_wqe_num * DOCA_GPUNETIO_IB_MLX5_SEND_WQE_BB);
	if (!ret && rq)
		ret = bl_gpu_fill_any(qp->gpu, rq, host_view(qp, rq, qp->sq_on_host), 0,
				      (size_t)dev->rq_wqe_num << dev->rq_wqe_shift);
	return ret;
}

static int reset_records(struct bl_gpu_qp *qp)
{
	if (!qp->dbrec)
		return bl_gpu_fill(qp->gpu, qp->dbrec_va, 0, 2 * sizeof(uint32_t));
	__atomic_store_n(&qp->dbrec[DOCA_GPUNETIO_IB_MLX5_RCV_DBR], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&qp->dbrec[DOCA_GPUNETIO_IB_MLX5_SND_DBR], 0, __ATOMIC_RELAXED);
	return 0;
}

static int check_state(struct bl_gpu_qp *qp, struct bl_nic_qp_info *info)
{
	int ret;

	if (!qp->pub.qp_gpu)
		return fail(EINVAL, "qp 0x%x: no object on the GPU: doca_gpu_verbs_get_qp_dev() comes first",
			    qp->begin.sq_num);
	ret = bl_qp_info(qp->verbs, info);
	if (!ret && info->state != DOCA_VERBS_QP_STATE_RST)
		ret = fail(EBADFD, "qp 0x%x is in state %d, not RST: the NIC may use its memory", qp->begin.sq_num,
			   (int)info->state);
	return ret;
}

/* Nobody serves meanwhile. */
static int reset_all(struct bl_gpu_qp *qp, const struct bl_nic_qp_info *info)
{
	int ret;

	ret = reset_cqs(qp, info);
	if (!ret)
		ret = reset_rings(qp);
	if (!ret)
		ret = reset_records(qp);
	if (ret)
		return ret;
	__atomic_store_n(&qp->control->word, 0, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_SLOTS * BL_GPUNETIO_EXPRESS_WORDS; i++)
		__atomic_store_n(&qp->control->express[i], 0, __ATOMIC_RELAXED);
	if (qp->slots)
		memset(qp->slots, 0, qp->begin.sq_wqe_num * sizeof(*qp->slots));
	__atomic_store_n(&qp->folded, 0, __ATOMIC_RELAXED);
	atomic_store(&qp->fold_failed, false);
	/* records and rings may be write-combining memory: out with what was written, before the queue pair leaves RST */
	bl_fence_wc_store();
	ret = bl_export_write_dev(qp);
	__atomic_store_n(&qp->pub.sq_wqe_pi_last, 0, __ATOMIC_RELAXED);
	return ret;
}

doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp)
{
	struct bl_gpu_qp *mine = bl_gpu_qp_of(qp);
	struct bl_nic_qp_info info;
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_GPU_QP, qp, &object);
	if (ret)
		return bl_net_doca(ret);
	pthread_mutex_lock(&mine->lock);
	ret = check_state(mine, &info);
	if (!ret) {
		bl_proxy_hold(mine);
		ret = reset_all(mine, &info);
		bl_proxy_release(mine);
	}
	pthread_mutex_unlock(&mine->lock);
	bl_object_put(object);
	return bl_net_doca(ret);
}
