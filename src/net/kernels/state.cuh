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

#endif
