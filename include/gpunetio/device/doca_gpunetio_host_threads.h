/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_host_threads.h - what device code needs from threads of a CPU that stand for a GPU's
 *
 * Used where the device headers are compiled by a host compiler. The functions are those of emu/grid, in a library of
 * their own and in the emulated libcuda.so.1.
 */
#ifndef DOCA_GPUNETIO_HOST_THREADS_H
#define DOCA_GPUNETIO_HOST_THREADS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bl_dim3 {
	unsigned int x, y, z;
};

/**
 * struct bl_thread - who calls
 * @thread, @block, @block_dim, @grid_dim: CUDA's threadIdx, blockIdx, blockDim, gridDim
 * @lane: in its warp of 32, by the linear index in the block
 */
struct bl_thread {
	struct bl_dim3 thread, block, block_dim, grid_dim;
	unsigned int lane;
};

/* The calling thread; outside of a grid one that is alone: one block of one thread. Never NULL. */
const struct bl_thread *bl_thread_self(void);

/* In every turn of a wait. */
void bl_thread_yield(void);

/* Before an access that other threads may see: under a seeded scheduler another thread may run first. */
void bl_thread_step(void);

/* As __syncwarp(mask), __syncthreads(), __shfl_sync(mask, value, lane), __ballot_sync(mask, predicate). */
void bl_thread_syncwarp(uint32_t mask);
void bl_thread_syncblock(void);
uint64_t bl_thread_shfl(uint32_t mask, uint64_t value, unsigned int lane);
uint32_t bl_thread_ballot(uint32_t mask, int predicate);

/* Memory of the calling thread's block, the same for all its threads; zero at first. NULL: more than the grid has. */
void *bl_thread_shared(uint64_t off, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
