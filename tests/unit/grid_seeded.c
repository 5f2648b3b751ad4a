// SPDX-License-Identifier: MIT
/* Seeded orders of a grid: they can be had again, they differ, and they find what a race needs. BL_TEST_SEED sets the seed. */
#include <stdatomic.h>
#include <stdint.h>

#include "emu/grid/grid.h"
#include "tests/tap.h"

#define UNIFORM_TRACE 0xd92203a52db39675ULL
#define PCT_TRACE     0x5830766f3c0e2970ULL

static struct bl_grid_result result;

static uint64_t base_seed(void)
{
	const char *text = getenv("BL_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20260101;

	printf("# seed %llu\n", (unsigned long long)seed);
	return seed;
}

static struct bl_grid seeded(enum bl_grid_order order, uint64_t seed, unsigned int threads, void (*run)(void *),
			     void *arg)
{
	return (struct bl_grid){ .grid = { 2, 1, 1 }, .block = { threads, 1, 1 }, .run = run, .arg = arg,
				 .order = order, .seed = seed, .timeout_ms = 30000, .pct_steps = 60 };
}

struct log {
	atomic_uint nr;
	unsigned int who[4096];
};

static void write_log(void *arg)
{
	const struct bl_thread *self = bl_thread_self();
	unsigned int me = self->block.x * self->block_dim.x + self->thread.x;
	struct log *log = arg;

	for (int i = 0; i < 10; i++) {
		bl_thread_step();
		log->who[atomic_fetch_add(&log->nr, 1)] = me;
		if (i == 3)
			bl_thread_syncwarp(0xf);
		if (i == 6)
			bl_thread_syncblock();
		if (i == 8)
			bl_thread_yield();
	}
}

static void same_seed_same_order(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_UNIFORM, BL_GRID_PCT };
	static struct log first, second, other;
	uint64_t seed = base_seed(), trace;

	for (size_t i = 0; i < 2; i++) {
		struct bl_grid grid = seeded(orders[i], seed, 4, write_log, &first);

		memset(&first, 0, sizeof(first));
		memset(&second, 0, sizeof(second));
		memset(&other, 0, sizeof(other));
		check_eq(bl_grid_run(&grid, &result), 0);
		trace = result.trace;
		grid.arg = &second;
		check_eq(bl_grid_run(&grid, &result), 0);
		check(result.trace == trace);
		check(!memcmp(&first, &second, sizeof(first)));
		grid.arg = &other;
		grid.seed++;
		check_eq(bl_grid_run(&grid, &result), 0);
		check(result.trace != trace);
		check_eq(other.nr, 80);
		check(memcmp(&first, &other, sizeof(first)));
	}
}

/* The generator and the draws are part of what is promised: this order is the same on every machine. */
static void order_is_the_same_everywhere(void)
{
	static struct log log;
	struct bl_grid grid = seeded(BL_GRID_UNIFORM, 1, 4, write_log, &log);

	memset(&log, 0, sizeof(log));
	check_eq(bl_grid_run(&grid, &result), 0);
	printf("# uniform: steps %llu trace 0x%llx\n", (unsigned long long)result.steps,
	       (unsigned long long)result.trace);
	check(result.trace == UNIFORM_TRACE);
	grid.order = BL_GRID_PCT;
	memset(&log, 0, sizeof(log));
	check_eq(bl_grid_run(&grid, &result), 0);
	printf("# pct: steps %llu trace 0x%llx\n", (unsigned long long)result.steps, (unsigned long long)result.trace);
	check(result.trace == PCT_TRACE);
}

static void add_badly(void *arg)
{
	volatile unsigned int *sum = arg;
	unsigned int old;

	bl_thread_step();
	old = *sum;
	bl_thread_step();
	*sum = old + 1;
}

static void lost_update_is_found(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_UNIFORM, BL_GRID_PCT };
	uint64_t seed = base_seed();

	for (size_t i = 0; i < 2; i++) {
		unsigned int lost = 0, whole = 0;

		for (uint64_t s = seed; s < seed + 60; s++) {
			unsigned int sum = 0;
			struct bl_grid grid = seeded(orders[i], s, 1, add_badly, &sum);

			grid.pct_steps = 6;
			check_eq(bl_grid_run(&grid, &result), 0);
			lost += sum == 1;
			whole += sum == 2;
		}
		check(lost > 0);
		check(whole > 0);
		check_eq(lost + whole, 60);
	}
}

static void poll_for_ever(void *arg)
{
	while (!atomic_load((atomic_int *)arg))
		bl_thread_yield();
}

static void endless_polling_is_found(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_UNIFORM, BL_GRID_PCT };
	atomic_int never = 0;

	for (size_t i = 0; i < 2; i++) {
		struct bl_grid grid = seeded(orders[i], base_seed(), 3, poll_for_ever, &never);

		grid.max_steps = 500;
		check_eq(bl_grid_run(&grid, &result), -ELOOP);
		check_eq(result.steps, 501);
		check_eq(result.nr_unfinished, 6);
		check_has(result.text, "limit of steps");
		check_has(result.text, "polling");
	}
}

struct device {
	unsigned int doorbell, served; /* one thread at a time runs: plain words will do */
	int ended;
};

static void serve(void *arg)
{
	struct device *device = arg;

	for (;;) {
		if (device->served < device->doorbell)
			device->served++;
		bl_thread_yield();
	}
}

static void serve_twice_and_return(void *arg)
{
	struct device *device = arg;

	while (device->served < 2) {
		if (device->served < device->doorbell)
			device->served++;
		bl_thread_yield();
	}
	device->ended = 1;
}

static void ring_and_wait(void *arg)
{
	struct device *device = arg;
	unsigned int ticket;

	bl_thread_step();
	ticket = ++device->doorbell;
	while (device->served < ticket)
		bl_thread_yield();
}

static void actors_run_beside_the_grid(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_UNIFORM, BL_GRID_PCT };
	uint64_t seed = base_seed();

	for (uint64_t s = seed; s < seed + 20; s++) {
		struct device device = { 0 };
		struct bl_grid_actor actors[] = { { serve, &device }, { serve_twice_and_return, &device } };
		struct bl_grid grid = seeded(orders[s & 1], s, 3, ring_and_wait, &device);

		grid.actors = actors;
		grid.nr_actors = 2;
		check_eq(bl_grid_run(&grid, &result), 0);
		check_eq(device.served, 6);
		check_eq(device.ended, 1);
	}
}

/* An actor never ends what threads of a grid wait for in meetings. */
static void wait_apart(void *arg)
{
	if (bl_thread_self()->thread.x)
		bl_thread_syncwarp(3);
	else
		bl_thread_syncblock();
}

static void actor_does_not_hide_a_deadlock(void)
{
	struct device device = { 0 };
	struct bl_grid_actor actor = { serve, &device };
	struct bl_grid grid = seeded(BL_GRID_PCT, base_seed(), 2, wait_apart, NULL);

	grid.actors = &actor;
	grid.nr_actors = 1;
	check_eq(bl_grid_run(&grid, &result), -EDEADLK);
	check_eq(result.nr_unfinished, 5);
	check_has(result.text, "actor 0: ");
	grid.order = BL_GRID_FREE;
	check_eq(bl_grid_run(&grid, &result), -EDEADLK);
	check_has(result.text, "block 1,0,0 thread 1: in syncwarp, mask 00000003\n");
}

static const struct tap_test tests[] = {
	{ "the_same_seed_gives_the_same_order", same_seed_same_order },
	{ "the_order_of_a_seed_is_the_same_on_every_machine", order_is_the_same_everywhere },
	{ "seeds_find_a_lost_update", lost_update_is_found },
	{ "endless_polling_is_found_by_its_steps", endless_polling_is_found },
	{ "actors_run_beside_a_seeded_grid_and_end_with_it", actors_run_beside_the_grid },
	{ "an_actor_does_not_hide_a_deadlock", actor_does_not_hide_a_deadlock },
};

TAP_MAIN(tests)
