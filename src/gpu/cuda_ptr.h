/* SPDX-License-Identifier: MIT */
/* cuda_ptr.h - what CUDA knows of a device address, and working in that address' context */
#ifndef BL_GPU_CUDA_PTR_H
#define BL_GPU_CUDA_PTR_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda.h"

#pragma GCC visibility push(default) /* exported to this project's other libraries, see barlane.map */

/**
 * struct bl_cuda_ptr - an allocation, found by an address in it
 * @va:        the address asked about
 * @known:     CUDA knows memory there, of whatever kind
 * @ordinal:   CUDA ordinal of the GPU that holds the memory
 * @device:    its device
 * @context:   context that allocated it; NULL for memory that belongs to none
 * @buffer_id: unique per allocation in this process
 * @base:      start of the allocation
 * @size:      bytes of it, as asked for
 * @legacy_ipc: plain cuMemAlloc memory
 * @handle_types: ways in which it may be exported (VMM memory), 0 none
 * @pool:      comes from a stream-ordered pool
 */
struct bl_cuda_ptr {
	uint64_t va;
	bool known;
	int ordinal;
	CUdevice device;
	CUcontext context;
	uint64_t buffer_id;
	uint64_t base;
	uint64_t size;
	bool legacy_ipc;
	uint64_t handle_types;
	bool pool;
};

/**
 * bl_cuda_ptr_query() - Look an address up
 * @cuda: driver library
 * @va:   device address
 * @ptr:  receives the answer
 *
 * Needs no current context.
 * Return: 0; -EINVAL for what is no device memory (host, freed, never allocated), -EOPNOTSUPP for managed memory,
 * -ENODEV when CUDA is not initialised; with the reason.
 */
int bl_cuda_ptr_query(const struct bl_cuda *cuda, uint64_t va, struct bl_cuda_ptr *ptr);

/**
 * bl_cuda_ptr_holds() - Whether an allocation is still there
 * @cuda:      driver library
 * @va:        an address in it
 * @buffer_id: its id, which is never given out again; memory that a context owns goes with it
 *
 * One call of the driver. Needs no current context.
 */
bool bl_cuda_ptr_holds(const struct bl_cuda *cuda, uint64_t va, uint64_t buffer_id);

/**
 * struct bl_cuda_scope - the state of the thread before bl_cuda_enter()
 * @pushed:   a context was pushed
 * @retained: device whose primary context was retained, -1 none
 * @mode:     the thread's stream capture mode
 */
struct bl_cuda_scope {
	bool pushed;
	CUdevice retained;
	int mode;
};

/**
 * bl_cuda_enter() - Make calls that need the context of an allocation
 * @cuda:  driver library
 * @ptr:   the allocation
 * @scope: receives what bl_cuda_leave() needs
 *
 * The context becomes current, the device's primary one when the memory belongs to none; the thread's stream capture
 * mode is relaxed, so that a capture of another thread is not disturbed.
 * Return: 0 or -errno with the reason.
 */
int bl_cuda_enter(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, struct bl_cuda_scope *scope);

/* The same where the context is current already: only the stream capture mode is relaxed. */
void bl_cuda_relax(const struct bl_cuda *cuda, struct bl_cuda_scope *scope);

void bl_cuda_leave(const struct bl_cuda *cuda, const struct bl_cuda_scope *scope);

#pragma GCC visibility pop

#endif
