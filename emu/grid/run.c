// SPDX-License-Identifier: MIT
#include "grid_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sanitizers keep more on a stack. gcc and clang each have a way to tell. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||               \
	__has_feature(thread_sanitizer)
#define STACK_SIZE (1UL << 20)
#else
#define STACK_SIZE (256UL << 10)
#endif

#define MAX_ACTORS 64U

static int volume(const struct bl_dim3 *dim, uint64_t *nr_p)
{
	uint64_t nr = dim->x;

	if (__builtin_mul_overflow(nr, dim->y, &nr) || __builtin_mul_overflow(nr, dim->z, &nr))
		return -EINVAL;
	*nr_p = nr;
	return nr ? 0 : -EINVAL;
}

static int check(const struct bl_grid *what, uint64_t *nr_blocks_p, unsigned int *block_nr_p)
{
	unsigned int max = what->max_threads ? what->max_threads : BL_GRID_MAX_THREADS;
	uint64_t nr;

	if (grid_current || !what->run || volume(&what->grid, nr_blocks_p) || volume(&what->block, &nr))
		return -EINVAL;
	if ((what->timeout_ms == BL_GRID_NO_TIMEOUT && !what->stop) || what->order > BL_GRID_PCT)
		return -EINVAL;
	if (what->nr_actors && !what->actors)
		return -EINVAL;
	if (nr > BL_GRID_BLOCK_THREADS || nr > max || what->shared > BL_GRID_MAX_SHARED || what->nr_actors > MAX_ACTORS)
		return -E2BIG;
	*block_nr_p = (unsigned int)nr;
	return 0;
}

struct bl_dim3 grid_place(uint64_t linear, const struct bl_dim3 *dim)
{
	struct bl_dim3 at;

	at.x = (unsigned int)(linear % dim->x);
	at.y = (unsigned int)(linear / dim->x % dim->y);
	at.z = (unsigned int)(linear / dim->x / dim->y);
	return at;
}

static void init_thread(struct grid *grid, struct grid_block *slot, unsigned int i)
{
	struct grid_thread *thread = &slot->threads[i];

	thread->block = slot;
	thread->in_block = i;
	thread->self.thread = grid_place(i, &grid->what.block);
	thread->self.block = grid_place(slot->linear, &grid->what.grid);
	thread->self.block_dim = grid->what.block;
	thread->self.grid_dim = grid->what.grid;
	thread->self.lane = i % GRID_WARP;
}

static int init_slot(struct grid *grid, unsigned int nr)
{
	struct grid_block *slot = &grid->slots[nr];

	pthread_mutex_init(&slot->lock, NULL);
	slot->linear = nr;
	slot->nr = grid->block_nr;
	slot->threads = &grid->threads[(size_t)nr * grid->block_nr];
	if (grid->what.shared) {
		slot->shared = calloc(1, grid->what.shared);
		if (!slot->shared)
			return -ENOMEM;
	}
	for (unsigned int i = 0; i < slot->nr; i++)
		init_thread(grid, slot, i);
	grid_block_begin(slot);
	return 0;
}

static void init_actors(struct grid *grid)
{
	unsigned int first = grid->nr_threads - grid->what.nr_actors;

	for (unsigned int i = first; i < grid->nr_threads; i++) {
		struct grid_thread *actor = &grid->threads[i];

		actor->self.block_dim = (struct bl_dim3){ 1, 1, 1 };
		actor->self.grid_dim = (struct bl_dim3){ 1, 1, 1 };
		actor->text = grid_text_of((const void *)grid->what.actors[i - first].run);
	}
}

/* All memory but that of the threads' stacks. What could not be ended goes on using it. */
static void grid_free(struct grid *grid)
{
	for (unsigned int i = 0; grid->slots && i < grid->nr_slots; i++) {
		free(grid->slots[i].shared);
		free(grid->slots[i].vars_mem);
	}
	free((void *)grid->what.actors);
	free(grid->slots);
	free(grid->threads);
	free(grid);
}

/* Threads that could not be ended have it, so it stays where leak checkers find it. */
static void grid_leave(struct grid *grid)
{
	static _Atomic(struct grid *) left;

	grid->next = atomic_load(&left);
	while (!atomic_compare_exchange_weak(&left, &grid->next, grid))
		;
}

static int copy_actors(struct grid *grid)
{
	size_t size = grid->what.nr_actors * sizeof(struct bl_grid_actor);
	const struct bl_grid_actor *from = grid->what.actors;
	struct bl_grid_actor *actors = malloc(size + 1);

	grid->what.actors = actors;
	if (!actors)
		return -ENOMEM;
	if (size)
		memcpy(actors, from, size);
	return 0;
}

static int init_threads(struct grid *grid)
{
	struct grid_text text = grid_text_of(grid->what.code ? grid->what.code : (const void *)grid->what.run);

	for (unsigned int i = 0; i < grid->nr_threads; i++) {
		grid->threads[i].grid = grid;
		grid->threads[i].index = i;
		grid->threads[i].can_run = 1;
		grid->threads[i].text = text;
	}
	for (unsigned int i = 0; i < grid->nr_slots; i++) {
		int ret = init_slot(grid, i);

		if (ret)
			return ret;
	}
	init_actors(grid);
	return 0;
}

static int grid_new(const struct bl_grid *what, struct grid **grid_p)
{
	unsigned int max = what->max_threads ? what->max_threads : BL_GRID_MAX_THREADS, block_nr;
	struct grid *grid;
	uint64_t nr_blocks;
	int ret = check(what, &nr_blocks, &block_nr);

	if (ret)
		return ret;
	grid = calloc(1, sizeof(*grid));
	if (!grid)
		return -ENOMEM;
	grid->what = *what;
	grid->nr_blocks = nr_blocks;
	grid->block_nr = block_nr;
	grid->nr_slots = nr_blocks < max / block_nr ? (unsigned int)nr_blocks : max / block_nr;
	atomic_init(&grid->next_block, grid->nr_slots);
	grid->nr_threads = grid->nr_slots * block_nr + what->nr_actors;
	grid->nr_cpus = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? (unsigned int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
	atomic_init(&grid->left, grid->nr_slots * block_nr);
	atomic_init(&grid->awake, grid->nr_slots * block_nr);
	grid->slots = calloc(grid->nr_slots, sizeof(*grid->slots));
	grid->threads = calloc(grid->nr_threads, sizeof(*grid->threads));
	ret = copy_actors(grid);
	if (!ret)
		ret = grid->slots && grid->threads ? init_threads(grid) : -ENOMEM;
	if (ret)
		grid_free(grid);
	else
		*grid_p = grid;
	return ret;
}

/* Signals are for the program's own threads, but for those that a thread brings upon itself. */
static int make_threads(struct grid *grid)
{
	pthread_attr_t attr;
	sigset_t mask, old;
	int ret = 0;

	sigfillset(&mask);
	sigdelset(&mask, SIGSEGV);
	sigdelset(&mask, SIGBUS);
	sigdelset(&mask, SIGILL);
	sigdelset(&mask, SIGFPE);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	while (grid->nr_made < grid->nr_threads && !ret) {
		struct grid_thread *thread = &grid->threads[grid->nr_made];

		ret = pthread_create(&thread->id, &attr, grid_thread_main, thread);
		if (!ret)
			grid->nr_made++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return ret ? -EAGAIN : 0;
}

static void open_gate(struct grid *grid, unsigned int how)
{
	/* release: threads see what was set up for them */
	atomic_store_explicit(&grid->begin, how, memory_order_release);
	grid_futex_wake(&grid->begin);
}

static void join(struct grid *grid)
{
	for (unsigned int i = 0; i < grid->nr_made; i++) {
		if (atomic_load(&grid->begin) != 1 || atomic_load(&grid->threads[i].ended))
			pthread_join(grid->threads[i].id, NULL);
		else
			pthread_detach(grid->threads[i].id);
	}
}

static int run(struct grid *grid, struct bl_grid_result *result)
{
	int ret = make_threads(grid);

	if (ret) {
		open_gate(grid, 2);
		join(grid);
		grid_free(grid);
		return ret;
	}
	if (grid_seeded(grid))
		grid_sched_init(grid);
	open_gate(grid, 1);
	if (grid_seeded(grid))
		grid_sched_begin(grid);
	result->nr_abandoned = grid_wait_end(grid);
	ret = atomic_load(&grid->error);
	join(grid);
	result->steps = grid->steps;
	result->trace = grid->trace;
	if (ret)
		grid_where(grid, result);
	/* told to stop, but all were done first */
	if ((ret == -ETIMEDOUT || ret == -ECANCELED) && !result->nr_unfinished) {
		result->text[0] = '\0';
		ret = 0;
	}
	if (result->nr_abandoned)
		grid_leave(grid);
	else
		grid_free(grid);
	return ret;
}

GRID_API int bl_grid_run(const struct bl_grid *what, struct bl_grid_result *result)
{
	struct bl_grid_result unused;
	struct grid *grid;
	int ret;

	if (!result)
		result = &unused;
	memset(result, 0, sizeof(*result));
	ret = grid_new(what, &grid);
	if (!ret) {
		grid_crash_init();
		ret = run(grid, result);
	}
	result->error = ret;
	if (ret && !result->text[0])
		snprintf(result->text, sizeof(result->text), "grid not started: %s\n", strerror(-ret));
	return ret;
}
