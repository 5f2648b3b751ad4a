/* SPDX-License-Identifier: MIT */
/* rm_target.h - from a device address to an RM memory object of ours */
#ifndef BL_GPU_RM_TARGET_H
#define BL_GPU_RM_TARGET_H

#include "gpu/cuda_ptr.h"
#include "rm_blob.h"
#include "rm_client.h"

/**
 * struct rm_target - an RM memory object that holds a device address
 * @memory: our own handle of it; holds the memory until freed
 * @va:     device address of the object's first byte
 * @size:   bytes of the object
 */
struct rm_target {
	uint32_t memory;
	uint64_t va;
	uint64_t size;
};

/**
 * rm_target_plain() - Object of cuMemAlloc memory, by libcuda's IPC blob
 * @conn:   client
 * @gpu:    GPU of the memory
 * @cuda:   driver library; the context of @ptr is current
 * @layout: layout of the blob
 * @ptr:    allocation
 * @target: receives the object, to be freed with rm_target_free()
 *
 * Return: 0; -EPROTO when blob, CUDA and RM disagree; -EOPNOTSUPP; or RM's error.
 */
int rm_target_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		    const struct rm_blob_layout *layout, const struct bl_cuda_ptr *ptr, struct rm_target *target);

/**
 * rm_target_vmm() - Object of exportable VMM memory, by an exported descriptor
 * @conn:   client
 * @gpu:    GPU of the memory
 * @cuda:   driver library; a context of the GPU is current
 * @ptr:    allocation
 * @target: receives the object
 *
 * Return: as above; -EOPNOTSUPP for memory that was not created exportable.
 */
int rm_target_vmm(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct bl_cuda *cuda,
		  const struct bl_cuda_ptr *ptr, struct rm_target *target);

/**
 * rm_target_same() - Whether two duplicates of ours are of one object, mapped at one device address
 * @conn: client
 * @a:    one
 * @b:    another
 *
 * RM answers: neither an address, nor the handle that libcuda has for the memory, is proof, since both come back with
 * other memory. Where RM cannot be asked (branches before 525, a sandbox that forbids it) the answer is no.
 */
bool rm_target_same(const struct rm_conn *conn, const struct rm_target *a, const struct rm_target *b);

int rm_target_free(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct rm_target *target);

#endif
