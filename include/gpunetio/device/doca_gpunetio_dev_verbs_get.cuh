/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_get.cuh - reading memory of the peer, and waiting for the send queue
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_GET_CUH
#define DOCA_GPUNETIO_DEV_VERBS_GET_CUH

#include "doca_gpunetio_dev_verbs_post.cuh"

/**
 * doca_gpu_dev_verbs_wait() - Wait for a ticket of the send queue
 *
 * Also where not every WQE makes a CQE: a later one's says it too. Return: 0, DOCA_GPUNETIO_VERBS_WAIT_ERROR, _TIMEOUT,
 * _STOPPED, or the reason that the ticket holds.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket)
{
	struct bl_dev_limit limit = bl_dev_limit_qp<DOCA_GPUNETIO_VERBS_QP_SQ>(qp);

	return bl_dev_wait_wqe<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, ticket, &limit);
}

/** doca_gpu_dev_verbs_wait_until() - The same until a time */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_wait_until(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket,
					    uint64_t deadline_ns, const uint32_t *stop_flag = nullptr)
{
	struct bl_dev_limit limit = bl_dev_limit_qp_until<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, deadline_ns, stop_flag);

	return bl_dev_wait_wqe<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, ticket, &limit);
}

/* For everything that is reserved so far. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp)
{
	uint64_t end = bl_op_load<bl_dev_scope<resource_sharing_mode>::value>(&qp->sq_rsvd_index);

	return end ? doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, end - 1) : 0;
}

BL_DEVICE void bl_dev_fill_dump(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, struct doca_gpu_dev_verbs_addr daddr)
{
	doca_gpu_dev_verbs_wqe_prepare_dump(qp, bl_dev_slot(qp, index), (uint16_t)index, BL_DEV_ALWAYS_CQE, daddr.addr, daddr.key, 1);
}

/** doca_gpu_dev_verbs_get_thread() - As doca_gpu_dev_verbs_get(), by one thread */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED,
	  enum doca_gpu_dev_verbs_blocking_mode blocking_mode = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					    struct doca_gpu_dev_verbs_addr laddr, size_t size,
					    struct doca_gpu_dev_verbs_addr daddr,
					    doca_gpu_dev_verbs_ticket_t *out_ticket, uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, 0};
	constexpr uint64_t extra = mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED;
	struct bl_dev_post post;
	int ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, extra, code_opt,
		&post);

	if (!ret && extra)
		bl_dev_fill_dump(qp, post.first + post.nr - 1, daddr);
	ret = bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, out_ticket,
		code_opt);
	if (!ret && blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED)
		ret = doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, *out_ticket);
	return ret;
}

/** doca_gpu_dev_verbs_get_warp() - As doca_gpu_dev_verbs_get(), by a warp */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED,
	  enum doca_gpu_dev_verbs_blocking_mode blocking_mode = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					  struct doca_gpu_dev_verbs_addr laddr, size_t size,
					  struct doca_gpu_dev_verbs_addr daddr, doca_gpu_dev_verbs_ticket_t *out_ticket,
					  uint32_t code_opt = 0)
{
	const struct bl_dev_range range = {raddr, laddr, size};
	constexpr uint64_t extra = mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED;
	struct bl_dev_post post;
	int ret = 0;

	if (!bl_dev_warp_fits<DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1 + extra, size)) {
		BL_DEV_LANE_BY_LANE(ret, (doca_gpu_dev_verbs_get_thread<resource_sharing_mode, nic_handler, mcst_mode,
			blocking_mode>(qp, raddr, laddr, size, daddr, out_ticket, code_opt)));
		return ret;
	}
	ret = bl_dev_warp_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1 + extra, code_opt, &post);
	if (!ret) {
		bl_dev_fill_piece(qp, post.first, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, 0, &range, (uint32_t)size, code_opt);
		if (extra)
			bl_dev_fill_dump(qp, post.first + post.nr - 1, daddr);
	}
	ret = bl_dev_warp_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret,
		out_ticket, code_opt);
	if (!ret && blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED)
		ret = doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, *out_ticket);
	return ret;
}

/**
 * doca_gpu_dev_verbs_get() - Read memory of the peer
 * @raddr:	from where
 * @laddr:	to where
 * @size:	bytes; 0: a NOP, which has a ticket all the same
 * @daddr:	a byte of local memory, for MCST_ENABLED: a DUMP of it comes last, for GPUs that see inbound bytes in no
 *		order without it
 * @out_ticket: receives the ticket
 *
 * BLOCKING_MODE_ENABLED waits for it as well, and returns what doca_gpu_dev_verbs_wait() does.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED,
	  enum doca_gpu_dev_verbs_blocking_mode blocking_mode = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
				     struct doca_gpu_dev_verbs_addr laddr, size_t size,
				     struct doca_gpu_dev_verbs_addr daddr, doca_gpu_dev_verbs_ticket_t *out_ticket,
				     uint32_t code_opt = 0)
{
	if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
		return doca_gpu_dev_verbs_get_warp<resource_sharing_mode, nic_handler, mcst_mode, blocking_mode>(qp,
			raddr, laddr, size, daddr, out_ticket, code_opt);
	return doca_gpu_dev_verbs_get_thread<resource_sharing_mode, nic_handler, mcst_mode, blocking_mode>(qp, raddr,
		laddr, size, daddr, out_ticket, code_opt);
}

/* Posts the DUMP that orders what was read before, when the mode asks for one; @ticket is raised to it. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int bl_dev_order_reads(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
				 doca_gpu_dev_verbs_ticket_t *ticket)
{
	struct bl_dev_post post;
	uint64_t dump;
	int ret;

	if (mcst_mode == DOCA_GPUNETIO_VERBS_MCST_DISABLED || bl_dev_index_error(*ticket))
		return 0;
	ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, 0, &post);
	if (!ret)
		bl_dev_fill_dump(qp, post.first, daddr);
	ret = bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, &dump, 0);
	if (!ret && dump > *ticket)
		*ticket = dump;
	return ret;
}

/** doca_gpu_dev_verbs_get_wait() - Wait for a get; with MCST_ENABLED a DUMP is posted first */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
					  doca_gpu_dev_verbs_ticket_t ticket)
{
	int ret = bl_dev_order_reads<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, &ticket);

	return ret ? ret : doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, ticket);
}

/** doca_priv_gpu_dev_verbs_get_wait() - The same */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int doca_priv_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
					       doca_gpu_dev_verbs_ticket_t ticket)
{
	return doca_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, ticket);
}

/** doca_gpu_dev_verbs_get_wait_until() - The same until a time, which the slot of the DUMP does not count for */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get_wait_until(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
						doca_gpu_dev_verbs_ticket_t ticket, uint64_t deadline_ns,
						const uint32_t *stop_flag = nullptr)
{
	int ret = bl_dev_order_reads<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, &ticket);

	return ret ? ret : doca_gpu_dev_verbs_wait_until<resource_sharing_mode, nic_handler>(qp, ticket, deadline_ns,
		stop_flag);
}

/* For everything that is reserved so far. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
	  enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED>
BL_DEVICE int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr)
{
	uint64_t end = bl_op_load<bl_dev_scope<resource_sharing_mode>::value>(&qp->sq_rsvd_index);

	return end ? doca_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, end - 1) : 0;
}

/* The mode FENCE would wait for reads and atomics only. */
#define BL_DEV_CQE_AND_STRONG_ORDER                                                                                    \
	((enum doca_gpu_dev_verbs_wqe_ctrl_flags)(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE |                           \
						  DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_STRONG_ORDERING))

/**
 * doca_gpu_dev_verbs_fence() - What is posted later starts after all that was posted before has ended
 *
 * Posts a NOP that waits for all before it: which of the WQEs that threads fill side by side is next is not the caller's
 * to say. Return: 0, or why there was no slot for it.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_fence(struct doca_gpu_dev_verbs_qp *qp)
{
	struct bl_dev_post post;
	uint64_t ticket;
	int ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, 0, &post);

	if (!ret)
		doca_gpu_dev_verbs_wqe_prepare_nop(qp, bl_dev_slot(qp, post.first), (uint16_t)post.first,
			BL_DEV_CQE_AND_STRONG_ORDER);
	return bl_dev_finish<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, &post, ret, &ticket, 0);
}

#endif
