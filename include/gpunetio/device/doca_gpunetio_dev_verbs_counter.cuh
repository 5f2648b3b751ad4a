/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_counter.cuh - operations that count when they are done
 *
 * The companion waits for the operation's CQE and then adds to the counter: usually local memory, reached by a loopback
 * connection. Every WQE of the first queue pair must make a CQE, as those of the functions here do: the companion is told
 * the number of a completion.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH

#include "doca_gpunetio_dev_verbs_onesided.cuh"

/** doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr() - Several queue pairs, one after the other; the first error counts */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr(struct doca_gpu_dev_verbs_qp *qps[], uint64_t *prod_indices,
							    uint32_t code_opt = 0)
{
	int ret = 0, one;

	for (unsigned int i = 0; i < num_qps; i++) {
		one = doca_gpu_dev_verbs_submit_db_no_dbr<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i],
			code_opt);
		ret = ret ? ret : one;
	}
	return ret;
}

/** doca_gpu_dev_verbs_submit_db_multi_qps() - The same; never two locks at a time, so no order among them matters */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_db_multi_qps(struct doca_gpu_dev_verbs_qp *qps[], uint64_t *prod_indices,
						     uint32_t code_opt = 0)
{
	int ret = 0, one;

	for (unsigned int i = 0; i < num_qps; i++) {
		one = doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i],
			code_opt);
		ret = ret ? ret : one;
	}
	return ret;
}

/** doca_gpu_dev_verbs_submit_proxy_multi_qps() - The same by a CPU */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>
BL_DEVICE int doca_gpu_dev_verbs_submit_proxy_multi_qps(struct doca_gpu_dev_verbs_qp *qps[], uint64_t *prod_indices)
{
	int ret = 0, one;

	for (unsigned int i = 0; i < num_qps; i++) {
		one = doca_gpu_dev_verbs_submit_proxy<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i]);
		ret = ret ? ret : one;
	}
	return ret;
}

/** doca_gpu_dev_verbs_submit_multi_qps() - The same by each one's handler */
template <unsigned int num_qps,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_submit_multi_qps(struct doca_gpu_dev_verbs_qp *qps[], uint64_t *prod_indices,
						  uint32_t code_opt = 0)
{
	int ret = 0, one;

	for (unsigned int i = 0; i < num_qps; i++) {
		one = doca_gpu_dev_verbs_submit<resource_sharing_mode, sync_scope, nic_handler>(qps[i], prod_indices[i],
			code_opt);
		ret = ret ? ret : one;
	}
	return ret;
}

/* A counter, and two slots for it on the companion. */
struct bl_dev_counter {
	struct doca_gpu_dev_verbs_qp *qp;
	struct doca_gpu_dev_verbs_addr raddr;
	struct doca_gpu_dev_verbs_addr laddr;
	uint64_t value;
	struct bl_dev_post post;
};

/* The companion's slots come first: when there are none, nothing else is reserved yet. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS>
BL_DEVICE int bl_dev_counter_begin(struct bl_dev_counter *counter, uint32_t code_opt)
{
	return bl_dev_begin<RS, DOCA_GPUNETIO_VERBS_QP_SQ>(counter->qp, 2, code_opt, &counter->post);
}

/* Fills the companion's slots and tells the NIC about both. @ret: whether the operation has its slots; without it the
 * companion's are spent on nothing.
 */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH>
BL_DEVICE int bl_dev_counter_finish(struct doca_gpu_dev_verbs_qp *qp, const struct bl_dev_post *post, int ret,
				    struct bl_dev_counter *counter, uint32_t code_opt)
{
	constexpr auto SS = RS == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD :
										   DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
	struct doca_gpu_dev_verbs_qp *qps[2] = {qp, counter->qp};
	uint64_t first = counter->post.first, last = post->first + post->nr - 1;
	uint64_t ends[2] = {last + 1, first + 2};
	int marked;

	if (!ret)
		ret = bl_dev_mark<RS, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, post);
	if (ret) {
		for (uint64_t i = first; i < first + 2; i++)
			doca_gpu_dev_verbs_wqe_prepare_nop(counter->qp, bl_dev_slot(counter->qp, i), (uint16_t)i, BL_DEV_ALWAYS_CQE);
		bl_dev_commit<RS, NH, DOCA_GPUNETIO_VERBS_QP_SQ>(counter->qp, &counter->post, code_opt);
		return ret;
	}
	doca_gpu_dev_verbs_wqe_prepare_wait(counter->qp, bl_dev_slot(counter->qp, first), (uint16_t)first, BL_DEV_ALWAYS_CQE,
					    (uint32_t)(last + qp->cq_sq.cqe_rsvd), qp->cq_sq.cq_num);
	bl_dev_fill_add(counter->qp, first + 1, counter->raddr, counter->laddr, counter->value);
	marked = bl_dev_mark<RS, DOCA_GPUNETIO_VERBS_QP_SQ>(counter->qp, &counter->post);
	if (marked) {
		ret = doca_gpu_dev_verbs_submit<RS, SS, NH>(qp, last + 1, code_opt);
		return ret ? ret : marked;
	}
	return doca_gpu_dev_verbs_submit_multi_qps<2, RS, SS, NH>(qps, ends, code_opt);
}

/** doca_gpu_dev_verbs_put_counter() - As doca_gpu_dev_verbs_put(), and count */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					     struct doca_gpu_dev_verbs_addr laddr, size_t size,
					     struct doca_gpu_dev_verbs_qp *companion_qp,
					     struct doca_gpu_dev_verbs_addr counter_raddr,
					     struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
					     uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0};
	struct bl_dev_counter counter = {companion_qp, counter_raddr, counter_laddr, counter_val, {0, 0}};
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_counter_begin<resource_sharing_mode>(&counter, code_opt);

	if (ret)
		return ret;
	ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 0, code_opt, &post);
	return bl_dev_counter_finish<resource_sharing_mode, nic_handler>(qp, &post, ret, &counter, code_opt);
}

/** doca_gpu_dev_verbs_p_counter() - As doca_gpu_dev_verbs_p(), and count */
template <typename T,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_p_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					   T value, struct doca_gpu_dev_verbs_qp *companion_qp,
					   struct doca_gpu_dev_verbs_addr counter_raddr,
					   struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
					   uint32_t code_opt = 0)
{
	struct bl_dev_counter counter = {companion_qp, counter_raddr, counter_laddr, counter_val, {0, 0}};
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_counter_begin<resource_sharing_mode>(&counter, code_opt);

	if (ret)
		return ret;
	ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_value<T>(qp, post.first, raddr, value);
	return bl_dev_counter_finish<resource_sharing_mode, nic_handler>(qp, &post, ret, &counter, code_opt);
}

/** doca_gpu_dev_verbs_put_signal_counter() - As doca_gpu_dev_verbs_put_signal(), and count */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_put_signal_counter(struct doca_gpu_dev_verbs_qp *qp,
						    struct doca_gpu_dev_verbs_addr raddr,
						    struct doca_gpu_dev_verbs_addr laddr, size_t size,
						    struct doca_gpu_dev_verbs_addr sig_raddr,
						    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
						    struct doca_gpu_dev_verbs_qp *companion_qp,
						    struct doca_gpu_dev_verbs_addr counter_raddr,
						    struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
						    uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, 0};
	struct bl_dev_counter counter = {companion_qp, counter_raddr, counter_laddr, counter_val, {0, 0}};
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_counter_begin<resource_sharing_mode>(&counter, code_opt);

	if (ret)
		return ret;
	ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_add(qp, post.first + post.nr - 1, sig_raddr, sig_laddr, sig_val);
	return bl_dev_counter_finish<resource_sharing_mode, nic_handler>(qp, &post, ret, &counter, code_opt);
}

/** doca_gpu_dev_verbs_signal_counter() - As doca_gpu_dev_verbs_signal(), and count */
template <enum doca_gpu_dev_verbs_signal_op signal_op,
	  enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_signal_counter(struct doca_gpu_dev_verbs_qp *qp,
						struct doca_gpu_dev_verbs_addr sig_raddr,
						struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
						struct doca_gpu_dev_verbs_qp *companion_qp,
						struct doca_gpu_dev_verbs_addr counter_raddr,
						struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
						uint32_t code_opt = 0)
{
	struct bl_dev_counter counter = {companion_qp, counter_raddr, counter_laddr, counter_val, {0, 0}};
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_counter_begin<resource_sharing_mode>(&counter, code_opt);

	if (ret)
		return ret;
	ret = bl_dev_begin<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, 1, code_opt, &post);
	if (!ret)
		bl_dev_fill_add(qp, post.first, sig_raddr, sig_laddr, sig_val);
	return bl_dev_counter_finish<resource_sharing_mode, nic_handler>(qp, &post, ret, &counter, code_opt);
}

/** doca_gpu_dev_verbs_get_counter() - As doca_gpu_dev_verbs_get(), and count */
template <enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU,
	  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>
BL_DEVICE int doca_gpu_dev_verbs_get_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
					     struct doca_gpu_dev_verbs_addr laddr, size_t size,
					     struct doca_gpu_dev_verbs_qp *companion_qp,
					     struct doca_gpu_dev_verbs_addr counter_raddr,
					     struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
					     uint32_t code_opt = 0)
{
	const struct bl_dev_range_op op = {DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, 0};
	struct bl_dev_counter counter = {companion_qp, counter_raddr, counter_laddr, counter_val, {0, 0}};
	struct bl_dev_post post = {0, 0};
	int ret = bl_dev_counter_begin<resource_sharing_mode>(&counter, code_opt);

	if (ret)
		return ret;
	ret = bl_dev_begin_range<resource_sharing_mode, nic_handler>(qp, &op, {raddr, laddr, size}, 0, code_opt, &post);
	return bl_dev_counter_finish<resource_sharing_mode, nic_handler>(qp, &post, ret, &counter, code_opt);
}

#endif
