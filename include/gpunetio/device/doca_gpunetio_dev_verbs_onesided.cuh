/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_onesided.cuh - operations on memory of the peer that it takes no part in
 *
 * Everything posts WQEs that make CQEs, and gives the ticket of the last one to wait for. Functions return 0, or why
 * nothing was posted: DOCA_GPUNETIO_VERBS_WAIT_* while there was no free slot, -EINVAL. The ticket holds the same value
 * then, and waits return it. At scope WARP all 32 lanes call, each with its own operation; the doorbell is rung once.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH
#define DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH

#include "doca_gpunetio_dev_verbs_get.cuh"
#include "doca_gpunetio_dev_verbs_post.cuh"

/** doca_gpu_dev_verbs_put_thread() - As doca_gpu_dev_verbs_put(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					    struct doca_gpu_dev_verbs_addr laddr, size_t size,
					    doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0};
	struct bl_dev_post post;
	int ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 0, code_opt,
		&post);

	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_put_warp() - As doca_gpu_dev_verbs_put(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					  struct doca_gpu_dev_verbs_addr laddr, size_t size,
					  doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range range = {raddr, laddr, size};
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_put_thread<resource_sharing_mode, nic_handler>(qp, raddr,
			laddr, size, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_piece(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0, &range,
			(uint32_t)size, code_opt);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/**
 * doca_gpu_dev_verbs_put() - Write memory of the peer
 * @raddr:	where; its key as the peer gave it, in network byte order
 * @laddr:	from where
 * @size:	bytes; 0: a NOP, which has a ticket all the same
 * @out_ticket: receives the ticket
 * @code_opt:	DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_*
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
				     struct doca_gpu_dev_verbs_addr laddr, size_t size,
				     doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_put_warp<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size,
			out_ticket, code_opt);
	return doca_gpu_dev_verbs_put_thread<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, out_ticket,
		code_opt);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
				     struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_put<resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, laddr, size, &ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_p_thread() - As doca_gpu_dev_verbs_p(), by one thread */
template <typename T,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_p_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					  T value, doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);

	if (!ret)
		bl_dev_fill_value<T>(qp, post.first, raddr, value);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_p_warp() - As doca_gpu_dev_verbs_p(), by a warp */
template <typename T,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_p_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
					doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, 0)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_p_thread<T, resource_sharing_mode, nic_handler>(qp, raddr,
			value, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_value<T>(qp, post.first, raddr, value);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/** doca_gpu_dev_verbs_p() - Write a value of 1, 2, 4 or 8 bytes to the peer, out of the WQE itself */
template <typename T,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
				   doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_p_warp<T, resource_sharing_mode, nic_handler>(qp, raddr, value, out_ticket,
			code_opt);
	return doca_gpu_dev_verbs_p_thread<T, resource_sharing_mode, nic_handler>(qp, raddr, value, out_ticket,
		code_opt);
}

template <typename T,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
				   uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_p<T, resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, value, &ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_put_signal_thread() - As doca_gpu_dev_verbs_put_signal(), by one thread */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_signal_thread(struct doca_gpu_dev_verbs_qp *qp,
						   struct doca_gpu_dev_verbs_addr raddr,
						   struct doca_gpu_dev_verbs_addr laddr, size_t size,
						   struct doca_gpu_dev_verbs_addr sig_raddr,
						   struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
						   doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0};
	struct bl_dev_post post;
	int ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 1, code_opt,
		&post);

	if (!ret)
		bl_dev_fill_add(qp, post.first + post.nr - 1, sig_raddr, sig_laddr, sig_val);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_put_signal_warp() - As doca_gpu_dev_verbs_put_signal(), by a warp */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_signal_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
						 struct doca_gpu_dev_verbs_addr laddr, size_t size,
						 struct doca_gpu_dev_verbs_addr sig_raddr,
						 struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
						 doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range range = {raddr, laddr, size};
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 2, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_put_signal_thread<signal_op, resource_sharing_mode,
			nic_handler>(qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 2, code_opt, &post);
	if (!ret) {
		bl_dev_fill_piece(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0, &range,
			(uint32_t)size, code_opt);
		bl_dev_fill_add(qp, post.first + post.nr - 1, sig_raddr, sig_laddr, sig_val);
	}
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/**
 * doca_gpu_dev_verbs_put_signal() - Write memory of the peer, then add to a word there
 * @sig_raddr: word of 8 bytes, aligned to 8; who sees its new value sees the bytes
 * @sig_laddr: 8 bytes that receive the old value
 * @sig_val:   what is added
 */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					    struct doca_gpu_dev_verbs_addr laddr, size_t size,
					    struct doca_gpu_dev_verbs_addr sig_raddr,
					    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					    doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_put_signal_warp<signal_op, resource_sharing_mode, nic_handler>(qp, raddr,
			laddr, size, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
	return doca_gpu_dev_verbs_put_signal_thread<signal_op, resource_sharing_mode, nic_handler>(qp, raddr, laddr,
		size, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					    struct doca_gpu_dev_verbs_addr laddr, size_t size,
					    struct doca_gpu_dev_verbs_addr sig_raddr,
					    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					    uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_put_signal<signal_op, resource_sharing_mode, nic_handler, exec_scope>(qp, raddr,
		laddr, size, sig_raddr, sig_laddr, sig_val, &ticket, code_opt);
}

/** doca_gpu_dev_verbs_p_signal() - Write a value to the peer, then add to a word there */
template <typename T, enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					  T value, struct doca_gpu_dev_verbs_addr sig_raddr,
					  struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					  doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 2, code_opt, &post);

	if (!ret) {
		bl_dev_fill_value<T>(qp, post.first, raddr, value);
		bl_dev_fill_add(qp, post.first + post.nr - 1, sig_raddr, sig_laddr, sig_val);
	}
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

template <typename T, enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					  T value, struct doca_gpu_dev_verbs_addr sig_raddr,
					  struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					  uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_p_signal<T, signal_op, resource_sharing_mode, nic_handler>(qp, raddr, value,
		sig_raddr, sig_laddr, sig_val, &ticket, code_opt);
}

/** doca_gpu_dev_verbs_signal_thread() - As doca_gpu_dev_verbs_signal(), by one thread */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_signal_thread(struct doca_gpu_dev_verbs_qp *qp,
					       struct doca_gpu_dev_verbs_addr sig_raddr,
					       struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					       doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);

	if (!ret)
		bl_dev_fill_add(qp, post.first, sig_raddr, sig_laddr, sig_val);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_signal_warp() - As doca_gpu_dev_verbs_signal(), by a warp */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_signal_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
					     struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					     doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, 0)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_signal_thread<signal_op, resource_sharing_mode,
			nic_handler>(qp, sig_raddr, sig_laddr, sig_val, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_add(qp, post.first, sig_raddr, sig_laddr, sig_val);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/** doca_gpu_dev_verbs_signal() - Add to a word of the peer */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
					struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_signal_warp<signal_op, resource_sharing_mode, nic_handler>(qp, sig_raddr,
			sig_laddr, sig_val, out_ticket, code_opt);
	return doca_gpu_dev_verbs_signal_thread<signal_op, resource_sharing_mode, nic_handler>(qp, sig_raddr, sig_laddr,
		sig_val, out_ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
					struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
					uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_signal<signal_op, resource_sharing_mode, nic_handler>(qp, sig_raddr, sig_laddr,
		sig_val, &ticket, code_opt);
}

#endif
