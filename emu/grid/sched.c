// SPDX-License-Identifier: MIT
/*
 * Seeded orders. One thread has the turn; at each step the next is drawn, by nothing but the seed and the state of the
 * threads, so that a run can be had again. What all of this touches is touched in turns and needs no lock.
 */
#include "grid_int.h"

#include <errno.h>

#define DEFAULT_CHANGES 3U
#define PRIORITY_START	(1ULL << 62)
#define PRIORITY_LATER	(1ULL << 61)

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void grid_sched_init(struct grid *grid)
{
	uint64_t steps = grid->what.pct_steps ? grid->what.pct_steps : BL_GRID_PCT_STEPS;
	unsigned int nr = grid->what.pct_changes ? grid->what.pct_changes : DEFAULT_CHANGES;
	unsigned int max = sizeof(grid->changes) / sizeof(grid->changes[0]);

	grid->random = grid->what.seed;
	grid->trace = 0xcbf29ce484222325ULL;
	if (!grid->what.max_steps)
		grid->what.max_steps = BL_GRID_MAX_STEPS;
	if (grid->what.order != BL_GRID_PCT)
		return;
	/* no two alike: the low bits are the number of the thread */
	for (unsigned int i = 0; i < grid->nr_threads; i++)
		grid->threads[i].priority = PRIORITY_START + (next_random(&grid->random) >> 32 << 16) + i;
	grid->lowest = PRIORITY_LATER;
	grid->nr_changes = nr < max ? nr : max;
	for (unsigned int i = 0; i < grid->nr_changes; i++)
		grid->changes[i] = 1 + next_random(&grid->random) % steps;
}

/* Anybody who can run; the caller only if nobody else can, when it gives way. NULL: nobody can. */
static struct grid_thread *draw_uniform(struct grid *grid, const struct grid_thread *self, int gives_way)
{
	struct grid_thread *last = NULL;
	uint64_t nr = 0, pick;

	for (unsigned int i = 0; i < grid->nr_threads; i++)
		nr += grid->threads[i].can_run && !(gives_way && &grid->threads[i] == self);
	pick = nr ? next_random(&grid->random) % nr : 0;
	for (unsigned int i = 0; i < grid->nr_threads; i++) {
		struct grid_thread *thread = &grid->threads[i];

		if (!thread->can_run)
			continue;
		if (gives_way && thread == self) {
			if (!nr)
				return thread;
			continue;
		}
		last = thread;
		if (!pick--)
			break;
	}
	return last;
}

static struct grid_thread *draw_pct(struct grid *grid, struct grid_thread *self, int gives_way)
{
	struct grid_thread *best = NULL;

	for (unsigned int i = 0; self && i < grid->nr_changes; i++) {
		if (grid->changes[i] == grid->steps)
			self->priority = grid->lowest--;
	}
	/* who waits would else keep those below from what it waits for */
	if (self && gives_way)
		self->priority = grid->lowest--;
	for (unsigned int i = 0; i < grid->nr_threads; i++) {
		struct grid_thread *thread = &grid->threads[i];

		if (thread->can_run && (!best || thread->priority > best->priority))
			best = thread;
	}
	return best;
}

static struct grid_thread *draw(struct grid *grid, struct grid_thread *self, int gives_way)
{
	struct grid_thread *next;

	if (++grid->steps > grid->what.max_steps) {
		grid_stop(grid, -ELOOP, "endless: the limit of steps is reached", NULL);
		return NULL;
	}
	if (grid->what.order == BL_GRID_PCT)
		next = draw_pct(grid, self, gives_way);
	else
		next = draw_uniform(grid, self, gives_way);
	if (next)
		grid->trace = (grid->trace ^ next->index) * 0x100000001b3ULL;
	return next;
}

/* release: the next sees what all before it did */
static void hand_over(struct grid_thread *next)
{
	atomic_store_explicit(&next->go, 1, memory_order_release);
	grid_futex_wake(&next->go);
}

void grid_sched_await(struct grid_thread *thread)
{
	/* acquire: see hand_over() */
	while (!atomic_load_explicit(&thread->go, memory_order_acquire))
		grid_futex_wait(&thread->go, 0, 0);
	atomic_store_explicit(&thread->go, 0, memory_order_relaxed);
}

void grid_sched_begin(struct grid *grid)
{
	struct grid_thread *next = draw(grid, NULL, 0);

	if (next)
		hand_over(next);
}

void grid_sched_step(struct grid_thread *thread, int gives_way)
{
	struct grid_thread *next;

	if (atomic_load(&thread->grid->stopping))
		return;
	next = draw(thread->grid, thread, gives_way);
	if (!next || next == thread)
		return;
	hand_over(next);
	grid_sched_await(thread);
}

void grid_sched_end(struct grid_thread *thread)
{
	struct grid_thread *next;

	/* then it may not be its turn, and others read */
	if (atomic_load(&thread->grid->stopping))
		return;
	thread->can_run = 0;
	next = draw(thread->grid, thread, 0);
	if (next)
		hand_over(next);
}
