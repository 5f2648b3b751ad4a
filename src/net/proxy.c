// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "proxy: " fmt
#include "net/proxy.h"

#include <errno.h>
#include <sched.h>

#include "copy/fence.h"
#include "net/export.h"
#include "net/fold.h"
#include "net/log.h"

/* A NIC that is a thread may be asleep. The queue pair is in use as long as it is exported: no need to look it up. */
static void kick(const struct bl_gpu_qp *qp)
{
	const struct bl_context *context = qp->verbs->context;

	if (context->ops->kick)
		context->ops->kick(context->nic);
}

static void ring(struct bl_gpu_qp *qp, uint64_t pi)
{
	if (qp->pub.send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW) {
		/* what was read in the GPU's word comes first: WQEs are complete when the NIC finds them by its record */
		__atomic_store_n(&qp->dbrec[DOCA_GPUNETIO_IB_MLX5_SND_DBR], bl_proxy_record(pi), __ATOMIC_RELEASE);
		/* the NIC reads the record when the doorbell rings: record first */
		bl_fence_wc_store();
	}
	__atomic_store_n(qp->pub.sq_db, bl_proxy_doorbell(pi, qp->pub.sq_num_shift8_be), __ATOMIC_RELEASE);
	/* the register may be write-combining: out with it now, before the next one */
	bl_fence_wc_store();
	kick(qp);
	atomic_fetch_add_explicit(&qp->rings, 1, memory_order_relaxed);
}

/* Slots that are ready in a row, at most so many of them at a time: completions want to be counted too. */
#define MAX_SLOTS 64

static bool is_ready(const struct bl_gpu_qp *qp, uint64_t index, int order)
{
	return __atomic_load_n(&qp->slots[index & qp->begin.sq_wqe_mask], order) == index + 1;
}

/* Others are kept from serving: nobody else writes the word. */
static bool gather(struct bl_gpu_qp *qp)
{
	uint64_t begin = qp->control->word, pi = begin;

	/* pairs with the GPU's system-scope release: the WQE before its slot's word */
	while (pi - begin < MAX_SLOTS && is_ready(qp, pi, __ATOMIC_ACQUIRE))
		pi++;
	if (pi == begin)
		return false;
	/* the WQEs before the count, which the NIC may look at by itself */
	__atomic_store_n(&qp->control->word, pi, __ATOMIC_RELEASE);
	if (qp->watched)
		kick(qp);
	return true;
}

static uint64_t served(const struct bl_gpu_qp *qp)
{
	return __atomic_load_n(&qp->pub.sq_wqe_pi_last, __ATOMIC_RELAXED);
}

/* Others are kept from serving. */
static bool serve_word(struct bl_gpu_qp *qp)
{
	const uint64_t *word = atomic_load_explicit(&qp->word, memory_order_acquire);
	uint64_t pi;

	if (!word)
		return false;
	/* pairs with the GPU's system-scope release: the WQEs before the count of them */
	pi = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (pi == served(qp))
		return false;
	if (!qp->watched)
		ring(qp, pi);
	__atomic_store_n(&qp->pub.sq_wqe_pi_last, pi, __ATOMIC_RELAXED);
	return true;
}

/*
 * Cheap: most of the time there is none. A word of the GPU's object may go away with it, and is looked at by who keeps
 * others from serving only; that of the control page stays as long as the queue pair.
 */
static bool news(const struct bl_gpu_qp *qp)
{
	const uint64_t *word = atomic_load_explicit(&qp->word, memory_order_acquire);

	if (word && (word != &qp->control->word || __atomic_load_n(word, __ATOMIC_RELAXED) != served(qp)))
		return true;
	if (qp->slots && is_ready(qp, __atomic_load_n(&qp->control->word, __ATOMIC_RELAXED), __ATOMIC_RELAXED))
		return true;
	return bl_fold_news(qp);
}

bool bl_proxy_serve(struct bl_gpu_qp *qp)
{
	bool moved;

	if (!news(qp))
		return false;
	/* what the one before has written is seen: two must not ring for the same count, nor in the wrong order */
	if (atomic_exchange_explicit(&qp->busy, true, memory_order_acquire))
		return false;
	moved = qp->slots && gather(qp);
	moved |= serve_word(qp);
	moved |= bl_fold_serve(qp);
	atomic_store_explicit(&qp->busy, false, memory_order_release);
	return moved;
}

void bl_proxy_hold(struct bl_gpu_qp *qp)
{
	/* serving takes well below a microsecond, and ends by itself */
	while (atomic_exchange_explicit(&qp->busy, true, memory_order_acquire))
		sched_yield();
}

void bl_proxy_release(struct bl_gpu_qp *qp)
{
	atomic_store_explicit(&qp->busy, false, memory_order_release);
}

doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp, bool *out_progressed)
{
	bool moved;

	if (!qp)
		return bl_net_doca(fail(EINVAL, "no queue pair"));
	if (!qp->cpu_proxy)
		return bl_net_doca(fail(EOPNOTSUPP, "qp 0x%x: the GPU rings its doorbell itself",
					be32toh(qp->sq_num_shift8_be) >> 8));
	moved = bl_proxy_serve(bl_gpu_qp_of(qp));
	if (out_progressed)
		*out_progressed = moved;
	return DOCA_SUCCESS;
}
