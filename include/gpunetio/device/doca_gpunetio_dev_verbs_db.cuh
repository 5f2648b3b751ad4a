/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_db.cuh - telling the NIC, or the CPU that stands in for it, about WQEs
 *
 * What a NIC reads over the bus it reads after the store that rings it. What a CPU polls it may see at any time, so
 * every word of that kind comes after a release at system scope, whatever scope the caller asks for: queues that are
 * not known to lie in memory of the GPU, and everything that a CPU proxy serves.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_DB_CUH
#define DOCA_GPUNETIO_DEV_VERBS_DB_CUH

#include "doca_gpunetio_dev_verbs_slots.cuh"

#define BL_DEV_EXCLUSIVE DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE

/* WQEs before the word that tells of them. */
template <enum doca_gpu_dev_verbs_sync_scope SS> BL_DEVICE void bl_dev_release_to(bool on_gpu)
{
	if (on_gpu)
		bl_op_fence_release<SS>();
	else
		bl_op_fence_release<BL_DEV_SYS>();
}

template <enum doca_gpu_dev_verbs_sync_scope SS> BL_DEVICE void bl_dev_release_to_nic(struct doca_gpu_dev_verbs_qp *qp)
{
	bl_dev_release_to<SS>(qp->mem_type == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
}

/** doca_gpu_dev_verbs_prepare_dbr() - Value of a doorbell record */
BL_DEVICE uint32_t doca_gpu_dev_verbs_prepare_dbr(uint32_t prod_index)
{
	return bl_op_bswap32(prod_index & DOCA_GPUNETIO_VERBS_WQE_PI_MASK);
}

/** doca_gpu_dev_common_update_dbr() - Store to a doorbell record; no fence */
BL_DEVICE void doca_gpu_dev_common_update_dbr(uint32_t *dbrec, uint32_t prod_index)
{
	bl_op_store<BL_DEV_SYS>(dbrec, doca_gpu_dev_verbs_prepare_dbr(prod_index));
}

/** doca_priv_gpu_dev_verbs_update_dbr() - Store to a queue's doorbell record; no fence */
template <enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE void doca_priv_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index)
{
	doca_gpu_dev_common_update_dbr(qp_type == DOCA_GPUNETIO_VERBS_QP_RQ ? qp->rq_dbrec : qp->sq_dbrec, prod_index);
}

/** doca_gpu_dev_verbs_update_dbr() - WQEs, then the record; with ASYNC_STORE_RELEASE in one instruction where there is one */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE void doca_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index, uint32_t code_opt = 0)
{
	uint32_t *dbrec = qp_type == DOCA_GPUNETIO_VERBS_QP_RQ ? qp->rq_dbrec : qp->sq_dbrec;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		bl_op_store_async(dbrec, doca_gpu_dev_verbs_prepare_dbr(prod_index));
		return;
	}
	/* WQEs before the record */
	bl_dev_release_to_nic<sync_scope>(qp);
	doca_gpu_dev_common_update_dbr(dbrec, prod_index);
}

/** doca_gpu_dev_common_prepare_db() - Value of the doorbell register; @qpn_ds is the queue pair << 8, in network byte order */
BL_DEVICE uint64_t doca_gpu_dev_common_prepare_db(uint32_t qpn_ds, uint64_t prod_index)
{
	uint32_t index = (uint32_t)(prod_index & DOCA_GPUNETIO_VERBS_WQE_PI_MASK) << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT;

	return (uint64_t)qpn_ds << 32 | bl_op_bswap32(index);
}

/** doca_gpu_dev_common_write_db() - WQEs, then the register. Without a queue pair the order is that of the system */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE void doca_gpu_dev_common_write_db(uint64_t *db_ptr, uint64_t db_val, uint32_t code_opt = 0)
{
	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		bl_op_store_async(db_ptr, db_val);
		return;
	}
	/* WQEs before the doorbell; THREAD: the caller has seen to that */
	if (sync_scope != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
		bl_op_fence_release<BL_DEV_SYS>();
	bl_op_store_mmio(db_ptr, db_val);
}

/** doca_gpu_dev_common_ring_db() - The same, from the parts of the value */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE void doca_gpu_dev_common_ring_db(uint64_t *db_ptr, uint32_t qpn_ds, uint64_t prod_index, uint32_t code_opt = 0)
{
	doca_gpu_dev_common_write_db<sync_scope>(db_ptr, doca_gpu_dev_common_prepare_db(qpn_ds, prod_index), code_opt);
}

/** doca_gpu_dev_verbs_prepare_db() - Value of the doorbell register for a count of WQEs */
BL_DEVICE uint64_t doca_gpu_dev_verbs_prepare_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
	return doca_gpu_dev_common_prepare_db(qp->sq_num_shift8_be, prod_index);
}

/** doca_gpu_dev_verbs_ring_db() - WQEs, then the register */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE void doca_gpu_dev_verbs_ring_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt = 0)
{
	uint64_t value = doca_gpu_dev_verbs_prepare_db(qp, prod_index);

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		bl_op_store_async(qp->sq_db, value);
		return;
	}
	/* WQEs, or the record, before the doorbell */
	bl_dev_release_to_nic<sync_scope>(qp);
	bl_op_store_mmio(qp->sq_db, value);
}

/** doca_gpu_dev_verbs_ring_bf() - Give the NIC a whole WQE; on a GPU it lies in shared memory */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE void doca_gpu_dev_verbs_ring_bf(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
	/* the WQE in the ring, and those before, before the register */
	bl_dev_release_to_nic<sync_scope>(qp);
	bl_op_store_bulk(qp->sq_db, wqe_ptr);
}

/** doca_gpu_dev_verbs_ring_bf_warp() - The same by all lanes of a warp, from any memory */
template <enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE void doca_gpu_dev_verbs_ring_bf_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
	unsigned int lane = bl_op_lane();

	/* the WQE in the ring, and those before, before the register */
	if (!lane)
		bl_dev_release_to_nic<sync_scope>(qp);
	bl_op_syncwarp();
	if (lane > 0 && lane < 8)
		bl_op_store_mmio(qp->sq_db + lane, bl_op_word(wqe_ptr->inl_data + lane * 8));
	bl_op_syncwarp();
	/* the first word is the doorbell and comes last */
	if (!lane)
		bl_op_store_mmio(qp->sq_db, bl_op_word(wqe_ptr->inl_data));
	bl_op_syncwarp();
}

/* Whether @prod_index is news for the NIC. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE bool bl_dev_advance(uint64_t *pi, uint64_t prod_index)
{
	return bl_op_fetch_max<bl_dev_scope<RS>::value>(pi, prod_index) < prod_index;
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> BL_DEVICE void bl_dev_show_count(uint64_t *word, uint64_t count)
{
	if (RS == BL_DEV_EXCLUSIVE)
		bl_op_store<BL_DEV_SYS>(word, count);
	else
		bl_op_fetch_max<BL_DEV_SYS>(word, count);
}

/** doca_gpu_dev_verbs_ring_proxy() - Show the count of WQEs to the CPU that rings for us; no fence */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode>
BL_DEVICE void doca_gpu_dev_verbs_ring_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_idx)
{
	bl_dev_show_count<resource_sharing_mode>(qp->sq_db, prod_idx);
}

/* A lock that was not needed is no failure. */
BL_DEVICE int bl_dev_lock_error(int ret)
{
	return ret == BL_DEV_LEFT ? 0 : ret;
}

/**
 * doca_gpu_dev_verbs_submit_db_no_dbr() - Ring the doorbell; the NIC reads no record, or a CPU writes it
 *
 * A NIC gets every store to its register and knows an old index. A CPU that polls the word sees the last one only, which
 * must not be the older of two: the lock sees to that where the queue does not lie in memory of the GPU.
 *
 * Return: 0, or how the wait for the lock ended.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_submit_db_no_dbr(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt = 0)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<DOCA_GPUNETIO_VERBS_QP_SQ>(qp);
	bool polled = qp->mem_type != DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
	int ret = 0;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING || bl_dev_is_old<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index))
		return 0;
	/* WQEs before the count, which a CPU polls when it writes the record for us, and before the doorbell */
	bl_op_fence_release<BL_DEV_SYS>();
	if (polled)
		ret = bl_dev_lock<resource_sharing_mode>(&qp->sq_lock, &qp->sq_wqe_pi, prod_index, &limit);
	if (ret)
		return bl_dev_lock_error(ret);
	if (bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index))
		bl_op_store_mmio(qp->sq_db, doca_gpu_dev_verbs_prepare_db(qp, prod_index));
	if (polled)
		bl_dev_unlock<resource_sharing_mode>(&qp->sq_lock);
	return 0;
}

/* What a submission needs of the queue pair: loaded before its fences, after which loads miss the cache of the SM. */
struct bl_dev_bell {
	uint64_t *db;
	uint32_t *record;
	uint64_t value;
	uint32_t prod_index;
	bool on_gpu;
};

BL_DEVICE struct bl_dev_bell bl_dev_bell_of(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
	return {qp->sq_db, qp->sq_dbrec, doca_gpu_dev_verbs_prepare_db(qp, prod_index), (uint32_t)prod_index,
		qp->mem_type == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU};
}

/* As doca_gpu_dev_verbs_ring_db(). */
template <enum doca_gpu_dev_verbs_sync_scope SS> BL_DEVICE void bl_dev_ring(const struct bl_dev_bell &bell, uint32_t code_opt)
{
	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) {
		bl_op_store_async(bell.db, bell.value);
		return;
	}
	/* WQEs, or the record, before the doorbell */
	bl_dev_release_to<SS>(bell.on_gpu);
	bl_op_store_mmio(bell.db, bell.value);
}

/* Record and doorbell by whoever brings the highest index; the lock keeps the record from going back. */
template <enum doca_gpu_dev_verbs_sync_scope SS>
BL_DEVICE void bl_dev_record_and_db(const struct bl_dev_bell &bell, uint32_t code_opt)
{
	constexpr auto again = SS == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS ? SS : DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;

	doca_gpu_dev_common_update_dbr(bell.record, bell.prod_index);
	/* the record before the doorbell: at least GPU scope */
	bl_dev_ring<again>(bell, code_opt);
}

/*
 * Shows a count to a NIC that is a CPU: that polls the record, and a doorbell is nothing to it. There is no lock, so of two
 * threads' stores the older one may be the last: who has stored looks at the count again, and shows what is newer. The WQEs
 * that this covers were released to this thread when it learned of them.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_type QT>
BL_DEVICE void bl_dev_show(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
	constexpr auto S = bl_dev_scope<RS>::value;
	uint64_t *pi = QT == DOCA_GPUNETIO_VERBS_QP_RQ ? &qp->rq_wqe_pi : &qp->sq_wqe_pi, now = prod_index;

	if (bl_dev_is_old<RS>(pi, prod_index) || !bl_dev_advance<RS>(pi, prod_index))
		return;
	if (RS == BL_DEV_EXCLUSIVE) {
		/* WQEs before the record */
		bl_op_fence_release<BL_DEV_SYS>();
		doca_priv_gpu_dev_verbs_update_dbr<QT>(qp, (uint32_t)prod_index);
		return;
	}
	do {
		prod_index = now;
		/* WQEs, and the count, before the record */
		bl_op_fence_full<BL_DEV_SYS>();
		doca_priv_gpu_dev_verbs_update_dbr<QT>(qp, (uint32_t)prod_index);
		/* the record before the look at the count: of two threads one sees the other's */
		bl_op_fence_full<BL_DEV_SYS>();
		now = bl_op_load_acquire<S>(pi);
	} while (now != prod_index);
}

/* The record alone: a receive queue has no doorbell. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_submit_rq(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<DOCA_GPUNETIO_VERBS_QP_RQ>(qp);
	int ret;

	if (qp->polled) {
		bl_dev_show<RS, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, prod_index);
		return 0;
	}
	ret = bl_dev_lock<RS>(&qp->sq_lock, &qp->rq_wqe_pi, prod_index, &limit);
	if (ret)
		return bl_dev_lock_error(ret);
	if (bl_dev_advance<RS>(&qp->rq_wqe_pi, prod_index)) {
		/* receive WQEs before the record */
		bl_op_fence_release<BL_DEV_SYS>();
		doca_priv_gpu_dev_verbs_update_dbr<DOCA_GPUNETIO_VERBS_QP_RQ>(qp, (uint32_t)prod_index);
	}
	bl_dev_unlock<RS>(&qp->sq_lock);
	return 0;
}

/**
 * doca_gpu_dev_verbs_submit_db() - Doorbell, record, doorbell; the record alone where a CPU is the NIC
 *
 * A NIC that has to recover reads the record; the first doorbell is early so that it starts while the record is under
 * way. Return: 0, or how the wait for the lock ended.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_submit_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt = 0)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<qp_type>(qp);
	struct bl_dev_bell bell;
	int ret;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return 0;
	if (qp_type == DOCA_GPUNETIO_VERBS_QP_RQ)
		return bl_dev_submit_rq<resource_sharing_mode>(qp, prod_index);
	if (qp->polled) {
		bl_dev_show<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, prod_index);
		return 0;
	}
	bell = bl_dev_bell_of(qp, prod_index);
	ret = bl_dev_lock<resource_sharing_mode>(&qp->sq_lock, &qp->sq_wqe_pi, prod_index, &limit);
	if (ret)
		return bl_dev_lock_error(ret);
	if (bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index)) {
		bl_dev_ring<sync_scope>(bell, code_opt);
		bl_dev_record_and_db<sync_scope>(bell, code_opt);
	}
	bl_dev_unlock<resource_sharing_mode>(&qp->sq_lock);
	return 0;
}

/** doca_gpu_dev_verbs_submit_bf() - A WQE into the register, then as submit_db; the same WQE must be in the ring */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_bf(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
					   struct doca_gpu_dev_verbs_wqe *smem_wqe, uint32_t code_opt = 0)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<DOCA_GPUNETIO_VERBS_QP_SQ>(qp);
	int ret;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return 0;
	if (!bl_op_has_bulk() || qp->polled)
		return doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope>(qp, prod_index, code_opt);
	ret = bl_dev_lock<resource_sharing_mode>(&qp->sq_lock, &qp->sq_wqe_pi, prod_index, &limit);
	if (ret)
		return bl_dev_lock_error(ret);
	if (bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index)) {
		doca_gpu_dev_verbs_ring_bf<sync_scope>(qp, smem_wqe);
		bl_dev_record_and_db<sync_scope>(bl_dev_bell_of(qp, prod_index), code_opt);
	}
	bl_dev_unlock<resource_sharing_mode>(&qp->sq_lock);
	return 0;
}

/** doca_gpu_dev_verbs_submit_bf_warp() - The same by all lanes of a warp, from any memory */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_bf_warp(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
						struct doca_gpu_dev_verbs_wqe *wqe, uint32_t code_opt = 0)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<DOCA_GPUNETIO_VERBS_QP_SQ>(qp);
	bool leader = bl_op_lane() == 0;
	constexpr uint64_t ring = 2;
	uint64_t state = 0;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)
		return 0;
	if (leader) {
		state = (uint64_t)(int64_t)bl_dev_lock<resource_sharing_mode>(&qp->sq_lock, &qp->sq_wqe_pi, prod_index, &limit);
		if (!state && bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index))
			state = ring;
	}
	state = bl_op_shfl(state, 0);
	if (state == BL_DEV_LEFT || state >= BL_DEV_FIRST_ERROR)
		return bl_dev_lock_error((int)(int64_t)state);
	if (state)
		doca_gpu_dev_verbs_ring_bf_warp<sync_scope>(qp, wqe);
	if (leader) {
		if (state)
			bl_dev_record_and_db<sync_scope>(bl_dev_bell_of(qp, prod_index), code_opt);
		bl_dev_unlock<resource_sharing_mode>(&qp->sq_lock);
	}
	bl_op_syncwarp();
	return 0;
}

/**
 * doca_gpu_dev_verbs_submit_proxy() - Let a CPU ring the doorbell
 *
 * sq_wqe_pi is kept as well, so that what reads it works here too: DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_CPU_PROXY_UPDATE_PI
 * is always on. Return: 0.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt = 0)
{
	/* loaded before the fence, after which it would come from far */
	uint64_t *word = qp->sq_db;

	if (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING ||
	    !bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index))
		return 0;
	/* WQEs before the count that the CPU polls; also those of threads that leave it to this one, which has seen them ready */
	bl_op_fence_release<BL_DEV_SYS>();
	bl_dev_show_count<resource_sharing_mode>(word, prod_index);
	return 0;
}

/**
 * doca_gpu_dev_verbs_submit() - Tell the NIC about WQEs
 * @qp:		queue pair
 * @prod_index: index of the last WQE, plus one; all up to it are ready
 * @code_opt:	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_*
 *
 * nic_handler AUTO takes what the queue pair was made with; another value is taken as it is. A queue pair with
 * BlueFlame rings its doorbell here: doca_gpu_dev_verbs_submit_bf() takes the WQE. With CPU_PROXY_FREE_FLOW nothing is left to be
 * told: doca_gpu_dev_verbs_mark_wqes_ready() has told it.
 *
 * Return: 0, or how the wait for the lock ended; -EINVAL: @prod_index comes from a failed reservation.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ>
BL_DEVICE int doca_gpu_dev_verbs_submit(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt = 0)
{
	uint32_t handler = nic_handler;

	if (nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)
		handler = qp->nic_handler;
	if (prod_index >= BL_DEV_FIRST_ERROR)
		return -EINVAL;
	if (qp_type == DOCA_GPUNETIO_VERBS_QP_RQ)
		return doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope, qp_type>(qp, prod_index, code_opt);
	if (handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB || handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF)
		return doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope, qp_type>(qp, prod_index, code_opt);
	if (handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR)
		return doca_gpu_dev_verbs_submit_db_no_dbr<resource_sharing_mode, sync_scope, qp_type>(qp, prod_index, code_opt);
	if (handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW) {
		/* for who reads it */
		bl_dev_advance<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index);
		return 0;
	}
	return doca_gpu_dev_verbs_submit_proxy<resource_sharing_mode, sync_scope>(qp, prod_index, code_opt);
}

/** struct bl_dev_whole - a WQE of one slot as it is given whole: each word with the mark of the slot that it is of */
struct bl_dev_whole {
	uint64_t words[BL_GPUNETIO_EXPRESS_WORDS];
};

BL_DEVICE struct bl_dev_whole bl_dev_whole_of(const struct doca_gpu_dev_verbs_wqe *wqe, uint64_t prod_index)
{
	uint64_t tag = prod_index << 32;
	struct bl_dev_whole whole;

	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i += 2) {
		uint64_t bytes = bl_op_word(wqe->inl_data + i * 4);

		whole.words[i] = tag | (uint32_t)bytes;
		whole.words[i + 1] = tag | bytes >> 32;
	}
	return whole;
}

/* No order among the words: of each it is seen whether it is this WQE's. */
BL_DEVICE void bl_dev_give_words(uint64_t *line, const struct bl_dev_whole &whole)
{
	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i += 2)
		bl_op_store_pair(line + i, whole.words[i], whole.words[i + 1]);
}

BL_DEVICE void bl_dev_give_whole(uint64_t *line, const struct doca_gpu_dev_verbs_wqe *wqe, uint64_t prod_index)
{
	bl_dev_give_words(line, bl_dev_whole_of(wqe, prod_index));
}

/**
 * bl_gpu_dev_verbs_submit_express() - As doca_gpu_dev_verbs_submit(), with the last WQE given whole first
 * @qp:		queue pair
 * @prod_index: index of the last WQE, plus one; all up to it are ready
 * @wqe:	copy of that WQE, of one slot, which this thread has written; on a GPU best in shared memory
 * @code_opt:	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_*
 *
 * A NIC that is a CPU needs no fence to know a WQE whose words say themselves what they are of, so that the fence of the
 * submission, and the way from doorbell to ring, are not waited for. With @sync_scope THREAD it may carry the WQE out before
 * anything that this thread has written earlier is seen by it or by the peer, but for what lies in the WQE itself: inline data,
 * that tells of nothing else. With any other scope all that was written earlier is seen first, for the price of that
 * fence. Where there is no such NIC this is doca_gpu_dev_verbs_submit(). Any number of threads may share the queue.
 *
 * Return: as doca_gpu_dev_verbs_submit().
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int bl_gpu_dev_verbs_submit_express(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
					      const struct doca_gpu_dev_verbs_wqe *wqe, uint32_t code_opt = 0)
{
	if (qp->sq_express && prod_index < BL_DEV_FIRST_ERROR && !(code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING)) {
		/* what was written earlier before the words of the WQE */
		if (sync_scope != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
			bl_op_fence_release<BL_DEV_SYS>();
		bl_dev_give_whole(qp->sq_express, wqe, prod_index);
	}
	return doca_gpu_dev_verbs_submit<resource_sharing_mode, sync_scope>(qp, prod_index, code_opt);
}

#endif
