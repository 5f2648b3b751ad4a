/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_twosided.cuh - operations that the peer takes part in: by a receive, or by an immediate
 *
 * The conventions are those of doca_gpunetio_dev_verbs_onesided.cuh. Immediates are in network byte order.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_TWOSIDED_CUH
#define DOCA_GPUNETIO_DEV_VERBS_TWOSIDED_CUH

#include "doca_gpunetio_dev_verbs_get.cuh"
#include "doca_gpunetio_dev_verbs_post.cuh"

/* A message is one WQE. */
BL_DEVICE int bl_dev_check_message(size_t size)
{
	return size > DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE ? -EINVAL : 0;
}

BL_DEVICE void bl_dev_fill_send(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint32_t opcode, uint32_t imm,
				struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t code_opt)
{
	struct doca_gpu_dev_verbs_wqe *wqe = bl_dev_slot(qp, index);

	if (bl_dev_may_bring<BL_DEV_SEND_SEGS>(qp, laddr, (uint32_t)size, code_opt))
		bl_dev_send_brought(qp, wqe, (uint16_t)index, opcode, imm, laddr, (uint32_t)size);
	else if (!size)
		doca_gpu_dev_verbs_wqe_prepare_send_empty(qp, wqe, (uint16_t)index, opcode, BL_DEV_ALWAYS_CQE, imm);
	else if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM)
		doca_gpu_dev_verbs_wqe_prepare_send_imm(qp, wqe, (uint16_t)index, BL_DEV_ALWAYS_CQE, imm, laddr.addr, laddr.key,
							(uint32_t)size);
	else
		doca_gpu_dev_verbs_wqe_prepare_send(qp, wqe, (uint16_t)index, BL_DEV_ALWAYS_CQE, laddr.addr, laddr.key,
						    (uint32_t)size);
}

BL_DEVICE void bl_dev_fill_recv(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, struct doca_gpu_dev_verbs_addr laddr, size_t size)
{
	doca_gpu_dev_verbs_wqe_prepare_recv(qp, doca_gpu_dev_verbs_get_rwqe_ptr(qp, index), laddr.addr, laddr.key, (uint32_t)size);
}

/** doca_gpu_dev_verbs_send_thread() - As doca_gpu_dev_verbs_send(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_send_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					     size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket,
					     uint32_t code_opt = 0)
{
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_check_message(size);

	if (!ret)
		ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_send(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, 0, laddr, size, code_opt);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_send_warp() - As doca_gpu_dev_verbs_send(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_send_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					   size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_send_thread<resource_sharing_mode, nic_handler>(qp, laddr,
			size, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_send(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, 0, laddr, size, code_opt);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/** doca_gpu_dev_verbs_send() - Send a message of at most 1 GiB; -EINVAL: it is longer */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_send(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
				      size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_send_warp<resource_sharing_mode, nic_handler>(qp, laddr, size, out_ticket,
			code_opt);
	return doca_gpu_dev_verbs_send_thread<resource_sharing_mode, nic_handler>(qp, laddr, size, out_ticket,
		code_opt);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_send(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
				      size_t size, uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_send<resource_sharing_mode, nic_handler, exec_scope>(qp, laddr, size, &ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_send_imm_thread() - As doca_gpu_dev_verbs_send_imm(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_send_imm_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
						 size_t size, uint32_t imm, doca_gpu_dev_verbs_ticket_t *out_ticket,
						 uint32_t code_opt = 0)
{
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_check_message(size);

	if (!ret)
		ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_send(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM, imm, laddr, size, code_opt);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_send_imm_warp() - As doca_gpu_dev_verbs_send_imm(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_send_imm_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					       size_t size, uint32_t imm, doca_gpu_dev_verbs_ticket_t *out_ticket,
					       uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_send_imm_thread<resource_sharing_mode, nic_handler>(qp,
			laddr, size, imm, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_send(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND_IMM, imm, laddr, size, code_opt);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/** doca_gpu_dev_verbs_send_imm() - Send a message with an immediate */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_send_imm(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					  size_t size, uint32_t imm, doca_gpu_dev_verbs_ticket_t *out_ticket,
					  uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_send_imm_warp<resource_sharing_mode, nic_handler>(qp, laddr, size, imm,
			out_ticket, code_opt);
	return doca_gpu_dev_verbs_send_imm_thread<resource_sharing_mode, nic_handler>(qp, laddr, size, imm, out_ticket,
		code_opt);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_send_imm(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					  size_t size, uint32_t imm, uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_send_imm<resource_sharing_mode, nic_handler, exec_scope>(qp, laddr, size, imm,
		&ticket, code_opt);
}

/** doca_gpu_dev_verbs_recv_thread() - As doca_gpu_dev_verbs_recv(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_recv_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					     size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket,
					     uint32_t code_opt = 0)
{
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_check_message(size);

	if (!ret)
		ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_recv(qp, post.first, laddr, size);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_recv_warp() - As doca_gpu_dev_verbs_recv(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_recv_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
					   size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_RQ>(qp, 1, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_recv_thread<resource_sharing_mode, nic_handler>(qp, laddr,
			size, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_recv(qp, post.first, laddr, size);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/**
 * doca_gpu_dev_verbs_recv() - Receive a message
 * @laddr: where to; address 0 and key 0x100 in network byte order, with @size 0, for an immediate without bytes
 *
 * The ticket is one of the receive queue: doca_gpu_dev_verbs_recv_wait() takes it.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_recv(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
				      size_t size, doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_recv_warp<resource_sharing_mode, nic_handler>(qp, laddr, size, out_ticket,
			code_opt);
	return doca_gpu_dev_verbs_recv_thread<resource_sharing_mode, nic_handler>(qp, laddr, size, out_ticket,
		code_opt);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_recv(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr laddr,
				      size_t size, uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_recv<resource_sharing_mode, nic_handler, exec_scope>(qp, laddr, size, &ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_put_imm_thread() - As doca_gpu_dev_verbs_put_imm(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_imm_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
						struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t imm,
						doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
					   DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM, imm};
	struct bl_dev_post post;
	int ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 0, code_opt,
		&post);

	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
}

/** doca_gpu_dev_verbs_put_imm_warp() - As doca_gpu_dev_verbs_put_imm(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_imm_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					      struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t imm,
					      doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range range = {raddr, laddr, size};
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_put_imm_thread<resource_sharing_mode, nic_handler>(qp,
			raddr, laddr, size, imm, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_piece(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM, imm, &range,
			(uint32_t)size, code_opt);
	return bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
}

/** doca_gpu_dev_verbs_put_imm() - Write memory of the peer, and end one of its receives with an immediate; also of 0 bytes */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put_imm(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					 struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t imm,
					 doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_put_imm_warp<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, imm,
			out_ticket, code_opt);
	return doca_gpu_dev_verbs_put_imm_thread<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, imm,
		out_ticket, code_opt);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
BL_DEVICE int doca_gpu_dev_verbs_put_imm(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					 struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t imm,
					 uint32_t code_opt = 0)
{
	doca_gpu_dev_verbs_ticket_t ticket;

	return doca_gpu_dev_verbs_put_imm<resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, laddr, size, imm,
		&ticket, code_opt);
}

/** doca_gpu_dev_verbs_recv_wait() - Wait for a receive. Return: as doca_gpu_dev_verbs_wait() */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_recv_wait(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket)
{
	return doca_gpu_dev_verbs_poll_cq_at<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, ticket);
}

/** doca_gpu_dev_verbs_recv_wait_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_recv_wait_until(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket,
						 uint64_t deadline_ns, const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<DOCA_GPUNETIO_VERBS_QP_RQ>(qp, deadline_ns, stop_flag);

	return bl_dev_poll<resource_sharing_mode>(&qp->cq_rq, ticket, &limit);
}

/* For all that were posted. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_recv_wait(struct doca_gpu_dev_verbs_qp *qp)
{
	uint64_t end = bl_op_load<bl_dev_scope<resource_sharing_mode>::value>(&qp->rq_rsvd_index);

	return end ? doca_gpu_dev_verbs_recv_wait<resource_sharing_mode, nic_handler>(qp, end - 1) : 0;
}

/**
 * doca_gpu_dev_verbs_recv_wait() - Wait for a receive on GPUs that see inbound bytes in no order
 * @daddr: a byte of local memory; with MCST_ENABLED a DUMP of it is posted to the send queue after the receive has ended,
 *	   and waited for
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_recv_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
					   doca_gpu_dev_verbs_ticket_t ticket)
{
	doca_gpu_dev_verbs_ticket_t dump = 0;
	int ret = doca_gpu_dev_verbs_recv_wait<resource_sharing_mode, nic_handler>(qp, ticket);

	if (ret || mcst_mode == DOCA_GPUNETIO_VERBS_MCST_DISABLED)
		return ret;
	ret = bl_dev_order_reads<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, &dump);
	return ret ? ret : doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, dump);
}

/**
 * doca_gpu_dev_verbs_repost() - Give the NIC receive WQEs again, as they stand in their slots
 * @qp:	   queue pair, whose whole receive queue was filled once
 * @count: receives that have ended, and were waited for
 *
 * A receive queue has no doorbell: the record says it. Return: 0, or why not, as doca_gpu_dev_verbs_recv().
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_repost(struct doca_gpu_dev_verbs_qp *qp, uint32_t count = 1)
{
	struct bl_dev_post post;
	int ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_RQ>(qp, count, 0, &post);

	if (ret)
		return ret;
	return bl_dev_commit<resource_sharing_mode, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_QP_RQ>(qp,
		&post, 0);
}

#endif
