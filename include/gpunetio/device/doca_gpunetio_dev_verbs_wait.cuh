/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_wait.cuh - how a wait of device code ends when what it waits for does not come
 *
 * Inside of the device headers. Every loop that waits for another thread or for the NIC takes its turns here: it ends
 * with the queue's error, the stop flags or the deadline.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_WAIT_CUH
#define DOCA_GPUNETIO_DEV_VERBS_WAIT_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

#define BL_DEV_SYS DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS

/*
 * A flag may lie behind a bus, where one look takes longer than some turns, and holds up the lanes of the warp that are
 * elsewhere: it is looked at once in so many turns, and the clock in so many.
 */
#define BL_DEV_STOP_TURNS  256
#define BL_DEV_CLOCK_TURNS 16

/* The error word lies near, but is one more load of each turn: once in so many. */
#define BL_DEV_ERROR_TURNS 8

/* Tickets and indices above are results of functions that could not give one. */
#define BL_DEV_FIRST_ERROR ((uint64_t)-4095)

/**
 * struct bl_dev_limit - what ends a wait early
 * @cq:		 completion queue: its error word, and the time-out that counts without a deadline
 * @stop:	 the queue pair's stop flag, or NULL
 * @own_stop:	 the caller's, or NULL
 * @deadline_ns: UINT64_MAX: none
 * @by_queue:	 the deadline is the queue's time-out, from the first turn on
 * @turns:	 so far
 */
struct bl_dev_limit {
	struct doca_gpu_dev_verbs_cq *cq;
	const uint32_t *stop;
	const uint32_t *own_stop;
	uint64_t deadline_ns;
	bool by_queue;
	uint32_t turns;
};

/* The queue pair that a completion queue is a part of, or NULL. */
BL_DEVICE struct doca_gpu_dev_verbs_qp *bl_dev_cq_qp(struct doca_gpu_dev_verbs_cq *cq)
{
	if (!cq->qp_distance)
		return nullptr;
	return (struct doca_gpu_dev_verbs_qp *)(void *)((char *)cq - cq->qp_distance * 8);
}

BL_DEVICE struct bl_dev_limit bl_dev_limit_cq_until(struct doca_gpu_dev_verbs_cq *cq, uint64_t deadline_ns,
						    const uint32_t *stop_flag)
{
	struct doca_gpu_dev_verbs_qp *qp = bl_dev_cq_qp(cq);

	return {cq, qp ? qp->stop_flag : nullptr, stop_flag, deadline_ns, false, 0};
}

BL_DEVICE struct bl_dev_limit bl_dev_limit_cq(struct doca_gpu_dev_verbs_cq *cq)
{
	struct doca_gpu_dev_verbs_qp *qp = bl_dev_cq_qp(cq);

	return {cq, qp ? qp->stop_flag : nullptr, nullptr, UINT64_MAX, true, 0};
}

template <enum doca_gpu_dev_verbs_qp_type QT> BL_DEVICE struct doca_gpu_dev_verbs_cq *bl_dev_qp_cq(struct doca_gpu_dev_verbs_qp *qp)
{
	return QT == DOCA_GPUNETIO_VERBS_QP_RQ ? &qp->cq_rq : &qp->cq_sq;
}

template <enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE struct bl_dev_limit bl_dev_limit_qp_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t deadline_ns,
						    const uint32_t *stop_flag)
{
	return {bl_dev_qp_cq<QT>(qp), qp->stop_flag, stop_flag, deadline_ns, false, 0};
}

template <enum doca_gpu_dev_verbs_qp_type QT> BL_DEVICE struct bl_dev_limit bl_dev_limit_qp(struct doca_gpu_dev_verbs_qp *qp)
{
	return {bl_dev_qp_cq<QT>(qp), qp->stop_flag, nullptr, UINT64_MAX, true, 0};
}

BL_DEVICE bool bl_dev_flag_set(const uint32_t *flag)
{
	return flag && bl_op_load<BL_DEV_SYS>(flag);
}

/* The queue pair of a completion queue has failed. */
BL_DEVICE bool bl_dev_cq_failed(struct doca_gpu_dev_verbs_cq *cq)
{
	if (!bl_op_load<BL_DEV_SYS>(&cq->error))
		return false;
	/* the error word before the CQEs that came ahead of it: the caller looks at them once more */
	bl_op_fence_acquire<BL_DEV_SYS>();
	return true;
}

/* Whether it is time to look at the error word. */
BL_DEVICE bool bl_dev_error_is_due(const struct bl_dev_limit *limit)
{
	return limit->turns % BL_DEV_ERROR_TURNS == BL_DEV_ERROR_TURNS - 1;
}

/* One turn: 0 to go on, or how the wait ends. The error word is the caller's to look at: it has to look once more at
 * what it waits for, which may have come before the error.
 */
BL_DEVICE int bl_dev_turn(struct bl_dev_limit *limit)
{
	bool over = false;

	limit->turns++;
	if (limit->by_queue) {
		limit->by_queue = false;
		if (limit->cq->timeout_ms)
			limit->deadline_ns = bl_op_timer() + limit->cq->timeout_ms * 1000000ULL;
	} else if (!(limit->turns % BL_DEV_CLOCK_TURNS) && limit->deadline_ns != UINT64_MAX) {
		over = bl_op_timer() >= limit->deadline_ns;
	}
	/* who stops a wait is told so also when its time was over before the next look */
	if ((over || !(limit->turns % BL_DEV_STOP_TURNS)) && (bl_dev_flag_set(limit->stop) || bl_dev_flag_set(limit->own_stop)))
		return DOCA_GPUNETIO_VERBS_WAIT_STOPPED;
	if (over)
		return DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT;
	bl_op_pause();
	return 0;
}

/* A submission is left to a thread that has brought a higher index. */
#define BL_DEV_LEFT 1

/* Whether that is so. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE bool bl_dev_is_old(const uint64_t *pi, uint64_t prod_index)
{
	return bl_op_load<bl_dev_scope<RS>::value>(pi) >= prod_index;
}

/*
 * The lock of a submission, within the limits of a wait: 0, BL_DEV_LEFT: there is nothing to submit any more, and the lock
 * is not taken, or how the wait ended. One thread alone needs no lock. Many threads come here at once, with the index of
 * their own: whoever gets the lock with a high one sends most of the others home. The lock is looked at before it is
 * tried: lanes of a warp look by one access, and try one after the other.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_lock(int *lock, const uint64_t *pi, uint64_t prod_index, struct bl_dev_limit *limit)
{
	constexpr auto S = bl_dev_scope<RS>::value;
	int ret;

	for (;;) {
		if (bl_dev_is_old<RS>(pi, prod_index))
			return BL_DEV_LEFT;
		if (RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE || (!bl_op_load<S>(lock) && !bl_op_cas<S>(lock, 0, 1)))
			break;
		ret = bl_dev_turn(limit);
		if (ret)
			return ret;
	}
	/* taking the lock before what it protects */
	bl_op_fence_acquire<S>();
	return 0;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> BL_DEVICE void bl_dev_unlock(int *lock)
{
	if (RS != DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE)
		doca_gpu_dev_verbs_unlock<RS>(lock);
}

#endif
