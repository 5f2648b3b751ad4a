/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_cq.cuh - completion queues: what is done, and waiting for it
 *
 * Functions return 0, EBUSY (positive: not yet), or a negative value: DOCA_GPUNETIO_VERBS_WAIT_*. Those that wait obey
 * the queue's timeout_ms and the stop flag of its queue pair; those named ..._until a deadline and a flag of the caller.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_CQ_CUH
#define DOCA_GPUNETIO_DEV_VERBS_CQ_CUH

#include "doca_gpunetio_dev_verbs_cqe.cuh"
#include "doca_gpunetio_dev_verbs_wait.cuh"

/** doca_gpu_dev_verbs_qp_get_cq_sq() - Completion queue of the send queue */
BL_DEVICE struct doca_gpu_dev_verbs_cq *doca_gpu_dev_verbs_qp_get_cq_sq(struct doca_gpu_dev_verbs_qp *qp)
{
	return &qp->cq_sq;
}

/** doca_gpu_dev_verbs_qp_get_cq_rq() - Completion queue of the receive queue */
BL_DEVICE struct doca_gpu_dev_verbs_cq *doca_gpu_dev_verbs_qp_get_cq_rq(struct doca_gpu_dev_verbs_qp *qp)
{
	return &qp->cq_rq;
}

/** doca_gpu_dev_verbs_cqe_idx_inc_mask() - A 24-bit consumer index, some CQEs further */
BL_DEVICE uint32_t doca_gpu_dev_verbs_cqe_idx_inc_mask(uint32_t cqe_idx, uint32_t increment)
{
	return (cqe_idx + increment) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK;
}

/* How many completions are known. A CPU keeps the count of a queue that lies in host memory. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> BL_DEVICE uint64_t bl_dev_cq_known(struct doca_gpu_dev_verbs_cq *cq)
{
	/* the count before any CQE: a slot that the count allows to look at cannot be two rounds old then */
	if (cq->cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST)
		return bl_op_load_acquire<BL_DEV_SYS>(&cq->cqe_ci);
	return bl_op_load_acquire<bl_dev_scope<RS>::value>(&cq->cqe_ci);
}

/* Makes it known that @count completions have come. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE void bl_dev_cq_learn(struct doca_gpu_dev_verbs_cq *cq, uint64_t count)
{
	/* what the load of the CQE has acquired goes to the threads that will only see the count as well */
	bl_op_fetch_max_release<bl_dev_scope<RS>::value>(&cq->cqe_ci, count);
}

/* The last completion of a collapsed queue against an index: 0, EBUSY, -EIO. @next_p: what is known to be done then. */
BL_DEVICE int bl_dev_cq_collapsed(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint64_t *next_p)
{
	struct bl_dev_cqe_end end = bl_dev_cqe_last(cq, 0);
	int16_t ahead = (int16_t)(end.counter - (uint16_t)index);

	if (end.opcode == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID)
		return EBUSY;
	if (bl_dev_cqe_is_error(end.opcode)) {
		bl_dev_cq_fail(cq, 0, end.counter);
		/* what comes before the one that failed has not; where that was written over, nobody knows */
		return ahead > 0 && !bl_dev_cqe_is_flush(cq, 0) ? 0 : DOCA_GPUNETIO_VERBS_WAIT_ERROR;
	}
	if (ahead < 0)
		return EBUSY;
	*next_p = index + (uint64_t)ahead + 1;
	return 0;
}

/* One look. @next_p: count of completions that is known then, 0: nothing new. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_cq_look(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint64_t *next_p)
{
	uint64_t known;
	int ret;

	*next_p = 0;
	if (index >= BL_DEV_FIRST_ERROR)
		return (int)(int64_t)index;
	known = bl_dev_cq_known<RS>(cq);
	if (index < known)
		return 0;
	if (cq->cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST)
		return EBUSY;
	if (cq->cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED)
		return bl_dev_cq_collapsed(cq, index, next_p);
	if (index - known >= cq->cqe_num)
		return EBUSY;
	ret = bl_dev_cqe_state(cq, index, nullptr);
	if (!ret)
		*next_p = index + 1;
	return ret;
}

/** doca_priv_gpu_dev_verbs_poll_one_cq_at() - As doca_gpu_dev_verbs_poll_one_cq_at(), without order and memory */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_priv_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	uint64_t next;

	return bl_dev_cq_look<resource_sharing_mode>(cq, cons_index, &next);
}

/**
 * doca_gpu_dev_verbs_poll_one_cq_at() - Look whether a completion has come
 * @cq:		completion queue
 * @cons_index: its number, counted from 0; or a ticket, where every WQE makes a CQE
 *
 * What the operation wrote is seen after it, in GPU memory within the limits of docs/device-memory-order.md.
 *
 * Return: 0, EBUSY, DOCA_GPUNETIO_VERBS_WAIT_ERROR (the completion is an error), or the negative value that a ticket is
 * of an operation that was not posted.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	uint64_t next;
	int ret = bl_dev_cq_look<resource_sharing_mode>(cq, cons_index, &next);

	if (next)
		bl_dev_cq_learn<resource_sharing_mode>(cq, next);
	return ret;
}

/* Looks until something is decided. An error of the queue pair counts only when what came before it does not suffice. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_cq_wait(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, struct bl_dev_limit *limit, uint64_t *next_p)
{
	bool failed = false;
	int ret;

	for (;;) {
		ret = bl_dev_cq_look<RS>(cq, index, next_p);
		if (ret != EBUSY)
			return ret;
		if (failed)
			return DOCA_GPUNETIO_VERBS_WAIT_ERROR;
		failed = bl_dev_error_is_due(limit) && bl_dev_cq_failed(cq);
		ret = failed ? 0 : bl_dev_turn(limit);
		if (ret)
			return ret;
	}
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_poll(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, struct bl_dev_limit *limit)
{
	uint64_t next;
	int ret = bl_dev_cq_wait<RS>(cq, index, limit, &next);

	if (next)
		bl_dev_cq_learn<RS>(cq, next);
	return ret;
}

/** doca_priv_gpu_dev_verbs_poll_cq_at() - As doca_gpu_dev_verbs_poll_cq_at(), without order and memory */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_priv_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	struct bl_dev_limit limit = bl_dev_limit_cq(cq);
	uint64_t next;

	return bl_dev_cq_wait<resource_sharing_mode>(cq, cons_index, &limit, &next);
}

/**
 * doca_gpu_dev_verbs_poll_cq_at() - Wait for a completion
 * @cq:		completion queue
 * @cons_index: as for doca_gpu_dev_verbs_poll_one_cq_at()
 *
 * Return: 0, DOCA_GPUNETIO_VERBS_WAIT_ERROR, _TIMEOUT, _STOPPED, or the ticket's value.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
	struct bl_dev_limit limit = bl_dev_limit_cq(cq);

	return bl_dev_poll<resource_sharing_mode>(cq, cons_index, &limit);
}

/**
 * doca_gpu_dev_verbs_poll_cq_at_until() - Wait for a completion until a time
 * @cq:		 completion queue
 * @cons_index:	 as above
 * @deadline_ns: of doca_gpu_dev_verbs_query_globaltimer(); UINT64_MAX: none
 * @stop_flag:	 word that ends the wait when it is not 0, besides the queue pair's own; may be NULL
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_at_until(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index, uint64_t deadline_ns,
						  const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_cq_until(cq, deadline_ns, stop_flag);

	return bl_dev_poll<resource_sharing_mode>(cq, cons_index, &limit);
}

/* Later releases of the original take the queue pair. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index)
{
	return doca_gpu_dev_verbs_poll_one_cq_at<resource_sharing_mode, qp_type>(bl_dev_qp_cq<qp_type>(qp), cons_index);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);

	return bl_dev_poll<resource_sharing_mode>(bl_dev_qp_cq<qp_type>(qp), cons_index, &limit);
}

/** doca_gpu_dev_verbs_poll_cq() - Wait for so many completions beyond those that are known */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq(struct doca_gpu_dev_verbs_cq *cq, uint32_t count)
{
	if (!count)
		return 0;
	return doca_gpu_dev_verbs_poll_cq_at<resource_sharing_mode, qp_type>(
		cq, bl_dev_cq_known<resource_sharing_mode>(cq) + count - 1);
}

/** doca_gpu_dev_verbs_poll_cq_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_until(struct doca_gpu_dev_verbs_cq *cq, uint32_t count, uint64_t deadline_ns,
					       const uint32_t *stop_flag = nullptr)
{
	if (!count)
		return 0;
	return doca_gpu_dev_verbs_poll_cq_at_until<resource_sharing_mode, qp_type>(
		cq, bl_dev_cq_known<resource_sharing_mode>(cq) + count - 1, deadline_ns, stop_flag);
}

/* A collapsed queue whatever its kind says: programs that know better set none. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_collapsed_wait(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, struct bl_dev_limit *limit, uint64_t *next_p)
{
	bool failed = false;
	int ret;

	*next_p = 0;
	if (cq->cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST || index >= BL_DEV_FIRST_ERROR)
		return bl_dev_cq_wait<RS>(cq, index, limit, next_p);
	for (;;) {
		if (index < bl_dev_cq_known<RS>(cq))
			return 0;
		ret = bl_dev_cq_collapsed(cq, index, next_p);
		if (ret != EBUSY)
			return ret;
		if (failed)
			return DOCA_GPUNETIO_VERBS_WAIT_ERROR;
		failed = bl_dev_error_is_due(limit) && bl_dev_cq_failed(cq);
		ret = failed ? 0 : bl_dev_turn(limit);
		if (ret)
			return ret;
	}
}

/**
 * doca_priv_gpu_dev_verbs_poll_cq_collapsed_at() - As doca_gpu_dev_verbs_poll_cq_collapsed_at(), without order and memory
 * @new_cqe_ci: receives the count of WQEs that are known to be done
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_priv_gpu_dev_verbs_poll_cq_collapsed_at(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_cq *cq,
							   uint64_t cons_index, uint64_t *new_cqe_ci)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);
	uint64_t next;
	int ret;

	limit.cq = cq;
	ret = bl_dev_collapsed_wait<resource_sharing_mode>(cq, cons_index, &limit, &next);
	*new_cqe_ci = next ? next : bl_dev_cq_known<resource_sharing_mode>(cq);
	return ret;
}

/** doca_gpu_dev_verbs_poll_cq_collapsed_at_until() - Wait for a WQE by a collapsed completion queue until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_collapsed_at_until(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index,
							    uint64_t deadline_ns, const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<qp_type>(qp, deadline_ns, stop_flag);
	uint64_t next;
	int ret = bl_dev_collapsed_wait<resource_sharing_mode>(limit.cq, cons_index, &limit, &next);

	if (next)
		bl_dev_cq_learn<resource_sharing_mode>(limit.cq, next);
	return ret;
}

/** doca_gpu_dev_verbs_poll_cq_collapsed_at() - Wait for a WQE by a collapsed completion queue */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_poll_cq_collapsed_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);
	uint64_t next;
	int ret = bl_dev_collapsed_wait<resource_sharing_mode>(limit.cq, cons_index, &limit, &next);

	if (next)
		bl_dev_cq_learn<resource_sharing_mode>(limit.cq, next);
	return ret;
}

/**
 * doca_gpu_dev_verbs_cq_update_dbrec() - Count completions as taken
 * @cq:	     completion queue
 * @cqe_num: so many
 *
 * Without overrun the NIC learns of it by the record. Return: the consumer index then, 24 bits.
 */
template <bool is_overrun>
BL_DEVICE uint32_t doca_gpu_dev_verbs_cq_update_dbrec(struct doca_gpu_dev_verbs_cq *cq, uint32_t cqe_num)
{
	uint64_t taken = bl_op_fetch_add<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>(&cq->cqe_ci, (uint64_t)cqe_num) + cqe_num;
	uint32_t index = (uint32_t)(taken + cq->cqe_rsvd) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK;

	if (!is_overrun) {
		/* reading the CQEs before the NIC may overwrite them */
		bl_op_store_release<BL_DEV_SYS>(cq->dbrec, bl_op_bswap32(index));
	}
	return (uint32_t)taken & DOCA_GPUNETIO_VERBS_CQE_CI_MASK;
}

#endif
