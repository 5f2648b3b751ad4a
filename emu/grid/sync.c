// SPDX-License-Identifier: MIT
/*
 * Meetings. A lane that arrives leaves its part and looks whether all are there whom its mask names; the last one gives
 * all of them their answers. Lanes that have ended count as there. Different masks of one warp do not disturb each
 * other.
 */
#include "grid_int.h"

#include <errno.h>
#include <stdlib.h>

void grid_block_begin(struct grid_block *block)
{
	block->live = block->nr;
	block->arrived = 0;
	for (unsigned int i = 0; i * GRID_WARP < block->nr; i++) {
		unsigned int nr = block->nr - i * GRID_WARP;

		block->warps[i].lanes = &block->threads[(size_t)i * GRID_WARP];
		block->warps[i].here = nr < GRID_WARP ? (1U << nr) - 1 : UINT32_MAX;
	}
}

void grid_asleep(struct grid_thread *thread)
{
	struct grid *grid = thread->grid;

	thread->can_run = 0;
	/* only who is awake can bring a meeting about */
	if (atomic_fetch_sub(&grid->awake, 1) == 1 && atomic_load(&grid->left))
		grid_stop(grid, -EDEADLK, "deadlock: all threads that are left wait for each other", NULL);
}

void grid_awake(struct grid *grid, unsigned int nr)
{
	atomic_fetch_add(&grid->awake, nr);
}

void grid_wait_met(struct grid_thread *thread, atomic_uint *epoch, unsigned int seen)
{
	struct grid *grid = thread->grid;

	if (grid_seeded(grid)) {
		grid_sched_step(thread, 1);
		return;
	}
	/* acquire: what the others did before the meeting */
	while (!atomic_load_explicit(&thread->met, memory_order_acquire) && !atomic_load(&grid->stopping)) {
		grid_futex_wait(epoch, seen, 0);
		seen = atomic_load(epoch);
	}
}

static void met(struct grid_thread *thread)
{
	thread->waits = 0;
	thread->can_run = 1;
	/* release: the answer, and what all did before the meeting */
	atomic_store_explicit(&thread->met, 1, memory_order_release);
}

/* A lane that is not there gives no value; who asks for it keeps its own, where a GPU leaves it open. */
static uint64_t answer(const struct grid_warp *warp, const struct grid_thread *thread, uint32_t there, uint32_t votes)
{
	switch (thread->waits) {
	case GRID_AT_SHFL:
		return there >> thread->source & 1 ? warp->lanes[thread->source].value : thread->value;
	case GRID_AT_BALLOT:
		return votes;
	default:
		return 0;
	}
}

/* Returns how many have met: all lanes of the mask, or none as one is missing. Lock held. */
static unsigned int meet_warp(struct grid_warp *warp, int waits, uint32_t mask)
{
	uint32_t there = mask & warp->here, votes = 0;

	for (unsigned int lane = 0; lane < GRID_WARP; lane++) {
		struct grid_thread *thread = &warp->lanes[lane];

		if (!(there >> lane & 1))
			continue;
		if (thread->waits != waits || atomic_load(&thread->mask) != mask)
			return 0;
		votes |= (uint32_t)(thread->value != 0) << lane;
	}
	for (unsigned int lane = 0; lane < GRID_WARP; lane++) {
		if (there >> lane & 1)
			warp->lanes[lane].answer = answer(warp, &warp->lanes[lane], there, votes);
	}
	for (unsigned int lane = 0; lane < GRID_WARP; lane++) {
		if (there >> lane & 1)
			met(&warp->lanes[lane]);
	}
	atomic_fetch_add(&warp->epoch, 1);
	return (unsigned int)__builtin_popcount(there);
}

/* The same for the whole block. */
static unsigned int meet_block(struct grid_block *block)
{
	unsigned int nr = block->arrived;

	if (!nr || nr != block->live)
		return 0;
	for (unsigned int i = 0; i < block->nr; i++) {
		if (block->threads[i].waits == GRID_AT_BLOCK)
			met(&block->threads[i]);
	}
	block->arrived = 0;
	atomic_fetch_add(&block->epoch, 1);
	return nr;
}

/* Others may have waited for nobody else. */
void grid_block_left(struct grid_thread *thread)
{
	struct grid_block *block = thread->block;
	struct grid_warp *warp = &block->warps[thread->in_block / GRID_WARP];
	unsigned int nr = 0;

	warp->here &= ~(1U << thread->self.lane);
	block->live--;
	for (unsigned int lane = 0; lane < GRID_WARP; lane++) {
		const struct grid_thread *other = &warp->lanes[lane];

		if (warp->here >> lane & 1 && other->waits && other->waits != GRID_AT_BLOCK)
			nr += meet_warp(warp, other->waits, atomic_load(&other->mask));
	}
	if (nr)
		grid_futex_wake(&warp->epoch);
	grid_awake(thread->grid, nr);
	nr = meet_block(block);
	if (nr)
		grid_futex_wake(&block->epoch);
	grid_awake(thread->grid, nr);
}

/* The caller has arrived and @nr have met, or none: then it waits. Lock held, dropped on return. */
static void settle(struct grid_thread *thread, atomic_uint *epoch, unsigned int nr)
{
	unsigned int seen;

	if (nr)
		grid_awake(thread->grid, nr - 1);
	else
		grid_asleep(thread);
	seen = atomic_load(epoch);
	pthread_mutex_unlock(&thread->block->lock);
	if (nr)
		grid_futex_wake(epoch);
	else
		grid_wait_met(thread, epoch, seen);
}

static void arrive(struct grid_thread *thread, int waits, uint32_t mask)
{
	atomic_store(&thread->mask, mask);
	atomic_store(&thread->met, 0);
	atomic_store(&thread->at, waits);
	thread->waits = waits;
}

static uint64_t meet(int waits, uint32_t mask, uint64_t value, unsigned int source)
{
	struct grid_thread *thread = grid_current;
	struct grid_warp *warp = &thread->block->warps[thread->in_block / GRID_WARP];

	grid_enter(thread);
	if (grid_seeded(thread->grid))
		grid_sched_step(thread, 0);
	if (!(mask >> thread->self.lane & 1)) {
		grid_stop(thread->grid, -EINVAL, "a mask leaves its own lane out", thread);
		grid_exit(thread);
	}
	pthread_mutex_lock(&thread->block->lock);
	thread->value = value;
	thread->source = source % GRID_WARP;
	arrive(thread, waits, mask);
	settle(thread, &warp->epoch, meet_warp(warp, waits, mask));
	grid_exit(thread);
	return thread->answer;
}

/* Outside of a block there is nobody to meet. */
static int alone(void)
{
	return !grid_current || !grid_current->block;
}

GRID_API void bl_thread_syncwarp(uint32_t mask)
{
	if (!alone())
		meet(GRID_AT_WARP, mask, 0, 0);
}

GRID_API uint64_t bl_thread_shfl(uint32_t mask, uint64_t value, unsigned int lane)
{
	return alone() ? value : meet(GRID_AT_SHFL, mask, value, lane);
}

GRID_API uint32_t bl_thread_ballot(uint32_t mask, int predicate)
{
	return alone() ? mask & (predicate != 0) : (uint32_t)meet(GRID_AT_BALLOT, mask, predicate != 0, 0);
}

GRID_API void bl_thread_syncblock(void)
{
	struct grid_thread *thread = grid_current;
	struct grid_block *block;

	if (alone())
		return;
	block = thread->block;
	grid_enter(thread);
	if (grid_seeded(thread->grid))
		grid_sched_step(thread, 0);
	pthread_mutex_lock(&block->lock);
	arrive(thread, GRID_AT_BLOCK, 0);
	block->arrived++;
	settle(thread, &block->epoch, meet_block(block));
	grid_exit(thread);
}

/* Offset of a variable, or -1 when it finds no room. Lock held. */
static int64_t find_var(struct grid_block *block, const void *key, uint64_t size)
{
	uint64_t off = (block->static_used + 15) & ~15ULL;

	for (unsigned int i = 0; i < block->nr_vars; i++) {
		if (block->vars[i].key == key)
			return block->vars[i].size == size ? (int64_t)block->vars[i].off : -1;
	}
	if (block->nr_vars == GRID_STATIC_VARS || size > BL_GRID_STATIC_SHARED || off > BL_GRID_STATIC_SHARED - size)
		return -1;
	if (!block->vars_mem)
		block->vars_mem = calloc(1, BL_GRID_STATIC_SHARED);
	if (!block->vars_mem)
		return -1;
	block->vars[block->nr_vars].key = key;
	block->vars[block->nr_vars].off = off;
	block->vars[block->nr_vars++].size = size;
	block->static_used = off + size;
	return (int64_t)off;
}

GRID_API void *bl_thread_shared_static(const void *key, uint64_t size)
{
	struct grid_thread *thread = grid_current;
	void *var = NULL;
	int64_t off;

	if (alone())
		return NULL;
	grid_enter(thread);
	pthread_mutex_lock(&thread->block->lock);
	off = find_var(thread->block, key, size);
	if (off >= 0)
		var = thread->block->vars_mem + off;
	pthread_mutex_unlock(&thread->block->lock);
	grid_exit(thread);
	return var;
}
