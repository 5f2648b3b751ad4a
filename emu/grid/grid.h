/* SPDX-License-Identifier: MIT */
/*
 * grid.h - threads of the CPU as the threads of a GPU's grid
 *
 * Each thread of the grid is a thread of the process. Code that runs in it finds what it needs in
 * doca_gpunetio_host_threads.h. In free order the threads run side by side as the system lets them; in a seeded order
 * one runs at a time, and a generator draws at each step which one is next: the same seed gives the same order.
 *
 * A grid ends in every case: with its work, or early with an error that names the threads that were still there.
 * Early means that each of them leaves its function by siglongjmp() at its next call of this library, or when it makes
 * none, by a signal; what the function holds then (locks, memory) stays as it is.
 */
#ifndef EMU_GRID_GRID_H
#define EMU_GRID_GRID_H

#include <stdint.h>

#include "include/gpunetio/device/doca_gpunetio_host_threads.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BL_GRID_MAX_THREADS   2048U
#define BL_GRID_BLOCK_THREADS 1024U
#define BL_GRID_TIMEOUT_MS    60000U
#define BL_GRID_NO_TIMEOUT    UINT32_MAX
#define BL_GRID_MAX_STEPS     1000000U
#define BL_GRID_PCT_STEPS     1000U
#define BL_GRID_MAX_SHARED    (256UL << 10)
#define BL_GRID_STATIC_SHARED (48UL << 10)

enum bl_grid_order {
	BL_GRID_FREE,	 /* all at once */
	BL_GRID_UNIFORM, /* one at a time, each thread that can run is as likely */
	BL_GRID_PCT,	 /* one at a time, by priorities that change at few random steps; finds what needs few turns */
};

/* Runs beside the grid, a device for instance, and is drawn as its threads are. It may return; bl_thread_step() or
 * bl_thread_yield() end it when the grid has ended, and it must call them. */
struct bl_grid_actor {
	void (*run)(void *arg);
	void *arg;
};

/**
 * struct bl_grid - what to run
 * @grid:	 blocks; each dimension at least 1
 * @block:	 threads of a block; each dimension at least 1, BL_GRID_BLOCK_THREADS in all
 * @run:	 what each thread runs
 * @arg:	 its argument
 * @code:	 address in the object whose code @run runs, so that signals end no other; NULL: @run itself
 * @shared:	 bytes of bl_thread_shared() of each block, at most BL_GRID_MAX_SHARED
 * @max_threads: threads at a time, 0: BL_GRID_MAX_THREADS. A larger grid runs block after block, and its blocks
 *		 cannot wait for each other
 * @timeout_ms:	 longest run, 0: BL_GRID_TIMEOUT_MS; BL_GRID_NO_TIMEOUT needs @stop
 * @stop:	 ends the grid when it is not 0, may be NULL
 * @order:	 who runs when
 * @seed:	 seeded orders: where the generator begins
 * @max_steps:	 seeded orders: more is taken for an endless loop, 0: BL_GRID_MAX_STEPS
 * @pct_changes: BL_GRID_PCT: how often a priority changes, at most 8, 0: 3
 * @pct_steps:	 BL_GRID_PCT: among how many first steps, 0: BL_GRID_PCT_STEPS
 * @actors:	 what runs beside the grid, @nr_actors of them
 */
struct bl_grid {
	struct bl_dim3 grid, block;
	void (*run)(void *arg);
	void *arg;
	const void *code;
	uint64_t shared;
	unsigned int max_threads;
	uint32_t timeout_ms;
	const uint32_t *stop;
	enum bl_grid_order order;
	uint64_t seed;
	uint64_t max_steps;
	unsigned int pct_changes;
	uint64_t pct_steps;
	const struct bl_grid_actor *actors;
	unsigned int nr_actors;
};

/**
 * struct bl_grid_result - how it ended
 * @error:	   what bl_grid_run() returned
 * @steps:	   seeded orders: steps that were drawn
 * @trace:	   seeded orders: hash of the order; equal for equal runs
 * @nr_unfinished: threads that were ended early
 * @nr_abandoned:  of these, threads that could not be ended: they go on, and what they use must stay
 * @text:	   the reason and where the unfinished threads were, lines; "" on success
 */
struct bl_grid_result {
	int error;
	uint64_t steps;
	uint64_t trace;
	unsigned int nr_unfinished;
	unsigned int nr_abandoned;
	char text[2048];
};

/**
 * bl_grid_run() - Run a function on all threads of a grid
 * @grid:   what to run
 * @result: receives how it ended; may be NULL
 *
 * Context: not from a thread of a grid. Several grids may run at once. A child that is forked meanwhile has none of their
 * threads, and may run grids of its own. The first call makes SIGSEGV, SIGBUS, SIGILL and SIGFPE of threads of grids end
 * their grid; those of other threads go where they went before. Functions that a grid runs must come back in one piece
 * from a jump over them: no C++ objects with destructors, no locks across calls.
 * Return: 0, or
 * -EINVAL (dimensions, missing stop flag, from a thread of a grid; or in the grid: a lane that its own mask leaves out),
 * -E2BIG (too many threads in a block, too much shared memory),
 * -EAGAIN (not enough threads can be had; nothing has run), -ENOMEM,
 * -EDEADLK (all threads wait for each other),
 * -ELOOP (more than @max_steps), -ETIMEDOUT, -ECANCELED (the stop flag),
 * -EFAULT (a signal of those above).
 */
int bl_grid_run(const struct bl_grid *grid, struct bl_grid_result *result);

/**
 * bl_thread_shared_static() - Shared memory of a variable
 * @key:  address that stands for the variable
 * @size: bytes, the same in each call with @key
 *
 * As bl_thread_shared(), apart from it: for __shared__ variables. BL_GRID_STATIC_SHARED bytes in all; aligned to 16.
 * Return: the memory, or NULL: no more of it, or not in a grid.
 */
void *bl_thread_shared_static(const void *key, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
