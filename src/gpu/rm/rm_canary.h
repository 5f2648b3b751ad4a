/* SPDX-License-Identifier: MIT */
/* rm_canary.h - an allocation of the self-test: known contents, checked from both sides */
#ifndef BL_GPU_RM_CANARY_H
#define BL_GPU_RM_CANARY_H

#include "rm_target.h"

/**
 * struct rm_canary - a test allocation
 * @va:   device address
 * @size: bytes
 * @buffer_id: CUDA's id of the allocation, by which it is known again
 */
struct rm_canary {
	CUdeviceptr va;
	size_t size;
	unsigned long long buffer_id;
};

/* Allocate plain memory; 0 or -errno with the reason. */
int rm_canary_plain(const struct bl_cuda *cuda, size_t size, struct rm_canary *canary);

/* Allocate exportable VMM memory on a device; 0 or -errno with the reason. */
int rm_canary_vmm(const struct bl_cuda *cuda, CUdevice device, struct rm_canary *canary);

/**
 * rm_canary_check() - Prove that an object holds a canary
 * @conn:   client
 * @gpu:    GPU
 * @cuda:   driver library; the canary's context is current
 * @stream: non-blocking stream
 * @target: the object that is said to hold it
 * @canary: test allocation, whose contents change
 *
 * Return: 0; -EPROTO when it does not; another -errno when that could not be found out.
 */
int rm_canary_check(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
		    const struct rm_target *target, const struct rm_canary *canary);

#endif
