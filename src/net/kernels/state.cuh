/* SPDX-License-Identifier: MIT */
/* state.cuh - how kernels say that something failed */
#ifndef BL_NET_KERNELS_STATE_CUH
#define BL_NET_KERNELS_STATE_CUH

#include "doca_gpunetio_device.h"

#include "kernels.h"

/* Keeps the first failure; its thread and round may be another's when two fail at the same moment. */
static __device__ inline void bl_net_failed(struct bl_net_state *state, int ret, uint32_t thread, uint64_t round)
{
	if (atomicCAS(&state->error, 0U, (uint32_t)-ret))
		return;
	state->thread = thread;
	state->round = round;
}

static __device__ inline bool bl_net_stopped(struct bl_net_state *state)
{
	return doca_gpu_dev_verbs_load_relaxed_sys_global(&state->stop) != 0;
}

/* Whether a CPU looks into the object while a kernel runs: at the producer index, or to count completions. */
static __device__ inline bool bl_net_is_watched(const struct doca_gpu_dev_verbs_qp *qp)
{
	return qp->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR ||
	       qp->cq_sq.cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST ||
	       qp->cq_rq.cq_type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST;
}

/*
 * A queue pair that one thread has for itself, at a place which it reaches fast: each acquire empties the cache of the SM,
 * and after that every field comes from the GPU's memory again. Until bl_net_give() nobody else looks at the object.
 */
static __device__ inline struct doca_gpu_dev_verbs_qp *bl_net_take(struct doca_gpu_dev_verbs_qp *place,
								   struct doca_gpu_dev_verbs_qp *qp)
{
	if (bl_net_is_watched(qp))
		return qp;
	*place = *qp;
	return place;
}

/* What has changed, indices and errors. */
static __device__ inline void bl_net_give(struct doca_gpu_dev_verbs_qp *qp, const struct doca_gpu_dev_verbs_qp *taken)
{
	if (taken != qp)
		*qp = *taken;
}

#endif
