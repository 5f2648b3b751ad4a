/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_slots.cuh - slots of a queue: waiting for free ones, reserving them, saying they are filled
 *
 * Threads reserve slots, fill them side by side and say so in the order of the slots. A slot is free again when its WQE
 * is done, which the completion of a later WQE says as well: not every WQE has to make a CQE.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_SLOTS_CUH
#define DOCA_GPUNETIO_DEV_VERBS_SLOTS_CUH

#include "doca_gpunetio_dev_verbs_cq.cuh"

/* Not decided, and the queue moved on: look again at once. */
#define BL_DEV_AGAIN 1

/* Turns in vain after which completions are taken one by one although each WQE so far had its own. */
#define BL_DEV_WALK_TURNS 64

/* Turns that a thread waits for the ones before it without heeding errors and stop flags: they are about to come. */
#define BL_DEV_READY_TURNS 4096

/* A WQE by the completion before the first unknown one: EBUSY when that does not say it. */
BL_DEVICE int bl_dev_sq_look_last(struct doca_gpu_dev_verbs_cq *cq, uint64_t wqe, uint64_t known)
{
	uint16_t counter;

	if (!known || bl_dev_cqe_state(cq, known - 1, &counter))
		return EBUSY;
	return (int16_t)(counter - (uint16_t)wqe) < 0 ? EBUSY : 0;
}

/* A WQE by the first unknown completion, which is taken when the WQEs before it had no CQEs, or when @walk says so. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_sq_look_next(struct doca_gpu_dev_verbs_cq *cq, uint64_t wqe, uint64_t known, bool walk)
{
	uint16_t counter;
	int16_t ahead;
	int ret = bl_dev_cqe_state(cq, known, &counter);

	if (ret == EBUSY)
		return bl_dev_sq_look_last(cq, wqe, known);
	ahead = (int16_t)(counter - (uint16_t)wqe);
	/* what comes before the one that failed has not */
	if (ret)
		return ahead > 0 ? 0 : ret;
	if (ahead < 0 && !walk && counter == (uint16_t)known)
		return EBUSY;
	bl_dev_cq_learn<RS>(cq, known + 1);
	return ahead < 0 ? BL_DEV_AGAIN : 0;
}

/* Whether WQE @wqe of the send queue is done: 0, EBUSY, BL_DEV_AGAIN, or a negative value. Completion number n is that
 * of WQE n or of a later one, so it may stand for it; where WQEs make no CQEs it comes late, and others have to do.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_sq_look(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe, bool walk)
{
	struct doca_gpu_dev_verbs_cq *cq = &qp->cq_sq;
	uint64_t known;
	uint16_t counter;
	int ret;

	if (cq->cq_type != DOCA_GPUNETIO_VERBS_CQ_64B || wqe >= BL_DEV_FIRST_ERROR)
		return doca_gpu_dev_verbs_poll_one_cq_at<RS>(cq, wqe);
	known = bl_dev_cq_known<RS>(cq);
	if (wqe < known)
		return 0;
	if (wqe - known >= cq->cqe_num)
		return bl_dev_sq_look_next<RS>(cq, wqe, known, walk);
	ret = bl_dev_cqe_state(cq, wqe, &counter);
	if (!ret)
		bl_dev_cq_learn<RS>(cq, wqe + 1);
	else if (ret == EBUSY)
		return bl_dev_sq_look_next<RS>(cq, wqe, known, walk);
	else if ((int16_t)(counter - (uint16_t)wqe) > 0)
		/* before one that failed; before one that was flushed, it may be the one that failed */
		return bl_dev_cqe_is_flush(cq, (wqe + cq->cqe_rsvd) & cq->cqe_mask) ?
			       bl_dev_sq_look_next<RS>(cq, wqe, known, true) : 0;
	return ret;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_wait_sq(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe, struct bl_dev_limit *limit)
{
	bool failed = false;
	int ret;

	for (;;) {
		ret = bl_dev_sq_look<RS>(qp, wqe, failed || limit->turns >= BL_DEV_WALK_TURNS);
		if (ret == BL_DEV_AGAIN)
			continue;
		if (ret != EBUSY)
			return ret;
		if (failed)
			return DOCA_GPUNETIO_VERBS_WAIT_ERROR;
		failed = bl_dev_error_is_due(limit) && bl_dev_cq_failed(&qp->cq_sq);
		ret = failed ? 0 : bl_dev_turn(limit);
		if (ret)
			return ret;
	}
}

/* Waits until WQE @wqe is done. Receive WQEs all have their completions. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_wait_wqe(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe, struct bl_dev_limit *limit)
{
	return QT == DOCA_GPUNETIO_VERBS_QP_RQ ? bl_dev_poll<RS>(&qp->cq_rq, wqe, limit) : bl_dev_wait_sq<RS>(qp, wqe, limit);
}

template <enum doca_gpu_dev_verbs_qp_type QT> BL_DEVICE uint64_t bl_dev_nr_slots(struct doca_gpu_dev_verbs_qp *qp)
{
	return QT == DOCA_GPUNETIO_VERBS_QP_RQ ? qp->rq_wqe_num : qp->sq_wqe_num;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE int bl_dev_slot_free(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx, struct bl_dev_limit *limit)
{
	uint64_t nr = bl_dev_nr_slots<QT>(qp);

	return wqe_idx < nr ? 0 : bl_dev_wait_wqe<RS, QT>(qp, wqe_idx - nr, limit);
}

/**
 * doca_gpu_dev_verbs_wait_until_slot_available() - Wait until the slot of a WQE is free
 * @qp:	     queue pair
 * @wqe_idx: index of the WQE that is to come into it
 *
 * Return: 0, DOCA_GPUNETIO_VERBS_WAIT_ERROR, _TIMEOUT, _STOPPED.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_wait_until_slot_available(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);

	return bl_dev_slot_free<resource_sharing_mode, qp_type>(qp, wqe_idx, &limit);
}

/** doca_gpu_dev_verbs_slot_available_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_slot_available_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx, uint64_t deadline_ns,
						      const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<qp_type>(qp, deadline_ns, stop_flag);

	return bl_dev_slot_free<resource_sharing_mode, qp_type>(qp, wqe_idx, &limit);
}

/* Takes slots when they are free, so that a wait that fails leaves nothing behind that others would wait for. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE uint64_t bl_dev_reserve(struct doca_gpu_dev_verbs_qp *qp, uint32_t count, uint32_t code_opt, struct bl_dev_limit *limit)
{
	constexpr auto S = bl_dev_scope<RS>::value;
	uint64_t *reserved = QT == DOCA_GPUNETIO_VERBS_QP_RQ ? &qp->rq_rsvd_index : &qp->sq_rsvd_index;
	uint64_t first, seen;
	int ret;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK)
		return bl_op_fetch_add<S>(reserved, (uint64_t)count);
	if (!count || count > bl_dev_nr_slots<QT>(qp))
		return (uint64_t)(int64_t)-EINVAL;
	first = bl_op_load<S>(reserved);
	for (;;) {
		ret = bl_dev_slot_free<RS, QT>(qp, first + count - 1, limit);
		if (ret)
			return (uint64_t)(int64_t)ret;
		seen = bl_op_cas<S>(reserved, first, first + count);
		if (seen == first)
			return first;
		first = seen;
	}
}

/**
 * doca_gpu_dev_verbs_reserve_wq_slots() - Reserve slots, waiting for free ones
 * @qp:	      queue pair
 * @count:    slots in a row, at most as many as the queue has
 * @code_opt: DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK: do not wait, the caller knows that they are free
 *
 * Return: index of the first WQE, or as uint64_t a negative value, and nothing is reserved: -EINVAL (@count),
 * DOCA_GPUNETIO_VERBS_WAIT_ERROR, _TIMEOUT, _STOPPED. As a ticket it makes waits return the same value.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE uint64_t doca_gpu_dev_verbs_reserve_wq_slots(struct doca_gpu_dev_verbs_qp *qp, uint32_t count, uint32_t code_opt = 0)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);

	return bl_dev_reserve<resource_sharing_mode, qp_type>(qp, count, code_opt, &limit);
}

/** doca_gpu_dev_verbs_reserve_wq_slots_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE uint64_t doca_gpu_dev_verbs_reserve_wq_slots_until(struct doca_gpu_dev_verbs_qp *qp, uint32_t count,
							     uint64_t deadline_ns, const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<qp_type>(qp, deadline_ns, stop_flag);

	return bl_dev_reserve<resource_sharing_mode, qp_type>(qp, count, 0, &limit);
}

/* Waits for the threads before this one, and passes on to those after it. @limit NULL: waits however long it lasts. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_ready_mode RM>
BL_DEVICE int bl_dev_mark_ready(uint64_t *ready, uint64_t from, uint64_t to, struct bl_dev_limit *limit)
{
	constexpr auto S = bl_dev_scope<RS>::value;
	constexpr bool by_store = RM == DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST ||
				  (RM == DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT &&
				   RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA);
	uint32_t turns = 0;
	int ret;

	if (RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE) {
		bl_op_store<S>(ready, to + 1);
		return 0;
	}
	/* the WQEs before the index: an exchange passes on what the threads before this one have released */
	if (!by_store)
		bl_op_fence_release<S>();
	/* a look before the exchange: lanes of a warp look by one access, and exchange one after the other, mostly in vain */
	while (bl_op_load<S>(ready) != from || (!by_store && bl_op_cas<S>(ready, from, to + 1) != from)) {
		if (!limit || turns++ < BL_DEV_READY_TURNS) {
			bl_op_pause();
			continue;
		}
		ret = bl_dev_cq_failed(limit->cq) ? DOCA_GPUNETIO_VERBS_WAIT_ERROR : bl_dev_turn(limit);
		if (ret)
			return ret;
	}
	/* the index before the WQEs that are known ready by it, which the caller may tell the NIC about */
	bl_op_fence_acquire<S>();
	if (by_store) {
		/* these WQEs and the caller's before the new index, which a plain store does not pass on by itself */
		bl_op_fence_release<S>();
		bl_op_store<S>(ready, to + 1);
	}
	return 0;
}

/** doca_gpu_dev_common_mark_wqes_ready() - Raise an index from @from_wqe_idx to @to_wqe_idx + 1, however long that lasts */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>
BL_DEVICE void doca_gpu_dev_common_mark_wqes_ready(uint64_t &ready_index, uint64_t from_wqe_idx, uint64_t to_wqe_idx)
{
	bl_dev_mark_ready<resource_sharing_mode, ready_mode>(&ready_index, from_wqe_idx, to_wqe_idx, nullptr);
}

template <enum doca_gpu_dev_verbs_qp_type QT> BL_DEVICE uint64_t *bl_dev_ready_index(struct doca_gpu_dev_verbs_qp *qp)
{
	return QT == DOCA_GPUNETIO_VERBS_QP_RQ ? &qp->rq_ready_index : &qp->sq_ready_index;
}

/* Whether a CPU looks at each slot: then threads do not wait for each other. */
template <enum doca_gpu_dev_verbs_qp_type QT> BL_DEVICE bool bl_dev_is_free_flow(struct doca_gpu_dev_verbs_qp *qp)
{
	return QT == DOCA_GPUNETIO_VERBS_QP_SQ && qp->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW;
}

/* The index never wraps, so a word of the round before is another one. */
BL_DEVICE int bl_dev_show_slots(struct doca_gpu_dev_verbs_qp *qp, uint64_t from, uint64_t to)
{
	uint64_t *words = qp->sq_db, mask = qp->sq_wqe_mask;

	/* WQEs before the words that a CPU polls */
	bl_op_fence_release<BL_DEV_SYS>();
	for (uint64_t i = from; i <= to; i++)
		bl_op_store<BL_DEV_SYS>(&words[i & mask], i + 1);
	return 0;
}

/**
 * doca_gpu_dev_verbs_mark_wqes_ready() - Say that reserved slots hold complete WQEs
 * @qp:		  queue pair
 * @from_wqe_idx: first slot, as it was reserved
 * @to_wqe_idx:	  last slot
 *
 * Waits until all slots before are. After it the caller may submit everything up to @to_wqe_idx. With CPU_PROXY_FREE_FLOW it
 * waits for nobody, and the CPU that serves the queue pair takes the slots as soon as all before them are ready too.
 *
 * Return: 0, or -EINVAL (@from_wqe_idx is a failed reservation), DOCA_GPUNETIO_VERBS_WAIT_ERROR, _TIMEOUT, _STOPPED: some
 * thread has reserved slots and never came here. Slots stay unpublished then, and only a reset heals the queue pair.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
BL_DEVICE int doca_gpu_dev_verbs_mark_wqes_ready(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx, uint64_t to_wqe_idx)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);

	if (from_wqe_idx >= BL_DEV_FIRST_ERROR)
		return -EINVAL;
	if (bl_dev_is_free_flow<qp_type>(qp))
		return bl_dev_show_slots(qp, from_wqe_idx, to_wqe_idx);
	return bl_dev_mark_ready<resource_sharing_mode, ready_mode>(bl_dev_ready_index<qp_type>(qp), from_wqe_idx, to_wqe_idx,
								    &limit);
}

/** doca_gpu_dev_verbs_mark_wqes_ready_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ,
	  enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
BL_DEVICE int doca_gpu_dev_verbs_mark_wqes_ready_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx,
						       uint64_t to_wqe_idx, uint64_t deadline_ns,
						       const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<qp_type>(qp, deadline_ns, stop_flag);

	if (from_wqe_idx >= BL_DEV_FIRST_ERROR)
		return -EINVAL;
	if (bl_dev_is_free_flow<qp_type>(qp))
		return bl_dev_show_slots(qp, from_wqe_idx, to_wqe_idx);
	return bl_dev_mark_ready<resource_sharing_mode, ready_mode>(bl_dev_ready_index<qp_type>(qp), from_wqe_idx, to_wqe_idx,
								    &limit);
}

#endif
