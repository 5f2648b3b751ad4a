// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "completions: " fmt
#include "net/fold.h"

#include <endian.h>
#include <inttypes.h>

#include "barlane_net_gpu.h"
#include "net/export.h"
#include "net/log.h"

#define CQE_VENDOR   54
#define CQE_SYNDROME 55
#define CQE_LAST     60

enum bl_fold_what bl_fold_count(uint64_t count, uint32_t last, uint64_t *count_p)
{
	uint32_t word = be32toh(last), opcode = word >> DOCA_GPUNETIO_IB_MLX5_CQE_OPCODE_SHIFT & 0xf;
	bool failed = opcode == DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR || opcode == DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR;
	uint64_t next;

	if (opcode == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID)
		return BL_FOLD_NONE;
	next = (count & ~0xffffULL) | (((word >> 16) + (failed ? 0 : 1)) & 0xffff);
	if (next < count)
		next += 0x10000;
	*count_p = next;
	if (failed)
		return BL_FOLD_FAILED;
	return next == count ? BL_FOLD_NONE : BL_FOLD_DONE;
}

static uint32_t last_of(const uint8_t *cqe)
{
	return __atomic_load_n((const uint32_t *)(const void *)(cqe + CQE_LAST), __ATOMIC_ACQUIRE);
}

bool bl_fold_news(const struct bl_gpu_qp *qp)
{
	uint64_t next;

	return qp->fold_cqe && !qp->fold_failed && atomic_load_explicit(&qp->fold_to, memory_order_acquire) &&
	       bl_fold_count(__atomic_load_n(&qp->folded, __ATOMIC_RELAXED), last_of(qp->fold_cqe), &next) != BL_FOLD_NONE;
}

static void tell_error(struct bl_gpu_qp *qp, struct doca_gpu_dev_verbs_cq *to, uint64_t index)
{
	uint32_t syndrome = qp->fold_cqe[CQE_SYNDROME], vendor = qp->fold_cqe[CQE_VENDOR];

	/* the index before the word that says that there is an error */
	__atomic_store_n(&to->error_wqe, (uint32_t)index & 0xffff, __ATOMIC_RELAXED);
	__atomic_store_n(&to->error, DOCA_GPUNETIO_VERBS_ERROR_SET | vendor << 8 | syndrome, __ATOMIC_RELEASE);
	log_warn("qp 0x%x: request %" PRIu64 " failed: %s (syndrome 0x%02x, vendor 0x%02x)", qp->begin.sq_num, index,
		 bl_net_syndrome_text((int)syndrome), syndrome, vendor);
}

bool bl_fold_serve(struct bl_gpu_qp *qp)
{
	struct doca_gpu_dev_verbs_cq *to = atomic_load_explicit(&qp->fold_to, memory_order_acquire);
	enum bl_fold_what what;
	uint64_t next = 0;

	if (!qp->fold_cqe || qp->fold_failed || !to)
		return false;
	what = bl_fold_count(qp->folded, last_of(qp->fold_cqe), &next);
	if (what == BL_FOLD_NONE)
		return false;
	/* what the NIC wrote to the GPU's memory arrives before the answer to a read does */
	if (qp->gpu->need_mcst)
		(void)__atomic_load_n(&to->cqe_ci, __ATOMIC_ACQUIRE);
	/* the NIC's data, seen by the load of the entry, before the count that kernels look at */
	__atomic_store_n(&to->cqe_ci, next, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->folded, next, __ATOMIC_RELAXED);
	if (what == BL_FOLD_FAILED) {
		qp->fold_failed = true;
		tell_error(qp, to, next);
	}
	return true;
}
