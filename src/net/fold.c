// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "completions: " fmt
#include "net/fold.h"

#include <endian.h>
#include <inttypes.h>

#include "barlane_net_gpu.h"
#include "copy/fence.h"
#include "net/export.h"
#include "net/log.h"

#define CQE_PART     48 /* 8 bytes, the next two among them */
#define CQE_VENDOR   54
#define CQE_SYNDROME 55
#define CQE_LAST     60
#define FLUSHED	     0x05

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

/**
 * struct cause - why requests fail
 * @index:   the first that did
 */
struct cause {
	uint64_t index;
	uint8_t syndrome;
	uint8_t vendor;
};

/*
 * The entry may be that of a request that was only flushed: all go to one place. The NIC knows the first cause, if it
 * is one that tells; what was done is all before that. If not, nothing more is known to be done than was before.
 */
static void find_cause(struct bl_gpu_qp *qp, uint64_t seen, struct cause *cause)
{
	uint32_t first = DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR << DOCA_GPUNETIO_IB_MLX5_CQE_OPCODE_SHIFT;
	union {
		uint64_t value;
		uint8_t bytes[8];
	} part;
	struct bl_nic_qp_info info;
	int ret;

	bl_fail_hush(1);
	ret = bl_qp_info(qp->verbs, &info);
	bl_fail_hush(-1);
	if (!ret && info.syndrome) {
		*cause = (struct cause){ .syndrome = info.syndrome, .vendor = info.vendor };
		bl_fold_count(qp->folded, htobe32((uint32_t)info.wqe_counter << 16 | first), &cause->index);
		return;
	}
	part.value = __atomic_load_n((const uint64_t *)(const void *)(qp->fold_cqe + CQE_PART), __ATOMIC_RELAXED);
	*cause = (struct cause){
		.index = seen,
		.syndrome = part.bytes[CQE_SYNDROME - CQE_PART],
		.vendor = part.bytes[CQE_VENDOR - CQE_PART],
	};
	if (cause->syndrome == FLUSHED)
		cause->index = qp->folded;
}

static void tell_error(struct bl_gpu_qp *qp, struct doca_gpu_dev_verbs_cq *to, const struct cause *cause)
{
	uint32_t word = DOCA_GPUNETIO_VERBS_ERROR_SET | (uint32_t)cause->vendor << 8 | cause->syndrome;

	/* count and index before the word that says that there is an error; the object may be write-combining memory */
	__atomic_store_n(&to->error_wqe, (uint32_t)cause->index & 0xffff, __ATOMIC_RELAXED);
	bl_fence_wc_store();
	__atomic_store_n(&to->error, word, __ATOMIC_RELEASE);
	log_warn("qp 0x%x: request %" PRIu64 " failed: %s (syndrome 0x%02x, vendor 0x%02x)", qp->begin.sq_num,
		 cause->index, bl_net_syndrome_text(cause->syndrome), cause->syndrome, cause->vendor);
}

bool bl_fold_serve(struct bl_gpu_qp *qp)
{
	struct doca_gpu_dev_verbs_cq *to = atomic_load_explicit(&qp->fold_to, memory_order_acquire);
	struct cause cause;
	enum bl_fold_what what;
	uint64_t next = 0;

	if (!qp->fold_cqe || qp->fold_failed || !to)
		return false;
	what = bl_fold_count(qp->folded, last_of(qp->fold_cqe), &next);
	if (what == BL_FOLD_NONE)
		return false;
	if (what == BL_FOLD_FAILED) {
		find_cause(qp, next, &cause);
		next = cause.index;
	}
	/* what the NIC wrote to the GPU's memory arrives before the answer to a read does */
	if (qp->gpu->need_mcst)
		(void)__atomic_load_n(&to->cqe_ci, __ATOMIC_ACQUIRE);
	/* the NIC's data, seen by the load of the entry, before the count that kernels look at */
	__atomic_store_n(&to->cqe_ci, next, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->folded, next, __ATOMIC_RELAXED);
	if (what == BL_FOLD_FAILED) {
		qp->fold_failed = true;
		tell_error(qp, to, &cause);
	}
	/* out with it: a kernel waits, and a write-combining buffer may keep it for as long as nothing else comes */
	bl_fence_wc_store();
	return true;
}
