// SPDX-License-Identifier: MIT
#include "grid_int.h"

#include <errno.h>

/* How often the caller looks at its stop flag; and at threads that should leave. */
#define LOOK_NS	     5000000U
#define LOOK_LAST_NS 1000000U

/* How long threads may take to leave by themselves, and in all. */
#define GENTLE_NS 20000000ULL
#define GRACE_NS  2000000000ULL

/* Whoever waits looks again. */
static void wake_all(struct grid *grid)
{
	for (unsigned int i = 0; i < grid->nr_slots; i++) {
		struct grid_block *block = &grid->slots[i];

		atomic_fetch_add(&block->epoch, 1);
		grid_futex_wake(&block->epoch);
		for (unsigned int warp = 0; warp * GRID_WARP < block->nr; warp++) {
			atomic_fetch_add(&block->warps[warp].epoch, 1);
			grid_futex_wake(&block->warps[warp].epoch);
		}
	}
	if (!grid_seeded(grid))
		return;
	for (unsigned int i = 0; i < grid->nr_threads; i++) {
		atomic_store(&grid->threads[i].go, 1);
		grid_futex_wake(&grid->threads[i].go);
	}
}

void grid_stop(struct grid *grid, int error, const char *reason, struct grid_thread *culprit)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&grid->error, &none, error)) {
		atomic_store(&grid->reason, reason);
		atomic_store(&grid->culprit, culprit);
	}
	atomic_store(&grid->stopping, 1);
	wake_all(grid);
}

static unsigned int nr_running(const struct grid *grid)
{
	return grid->nr_threads - atomic_load(&grid->ended);
}

/* A turn may have been handed over in the moment when all were woken, and its receiver sleep again. */
static unsigned int take_out(struct grid *grid)
{
	uint64_t since = grid_now_ns();

	while (nr_running(grid) && grid_now_ns() - since < GRACE_NS) {
		grid_futex_wait(&grid->ended, atomic_load(&grid->ended), LOOK_LAST_NS);
		wake_all(grid);
		for (unsigned int i = 0; i < grid->nr_threads && grid_now_ns() - since > GENTLE_NS; i++)
			grid_crash_nudge(&grid->threads[i]);
	}
	return nr_running(grid);
}

unsigned int grid_wait_end(struct grid *grid)
{
	uint64_t since = grid_now_ns();
	uint64_t limit = (uint64_t)(grid->what.timeout_ms ? grid->what.timeout_ms : BL_GRID_TIMEOUT_MS) * 1000000U;

	while (nr_running(grid) && !atomic_load(&grid->stopping)) {
		grid_futex_wait(&grid->ended, atomic_load(&grid->ended), LOOK_NS);
		if (grid->what.stop && __atomic_load_n(grid->what.stop, __ATOMIC_ACQUIRE))
			grid_stop(grid, -ECANCELED, "the stop flag is set", NULL);
		else if (grid->what.timeout_ms != BL_GRID_NO_TIMEOUT && grid_now_ns() - since >= limit)
			grid_stop(grid, -ETIMEDOUT, "the deadline is over", NULL);
	}
	return take_out(grid);
}
