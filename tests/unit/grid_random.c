// SPDX-License-Identifier: MIT
/*
 * Random programs of meetings on a grid: in each round every warp falls into groups by chance, and each group meets by
 * its own mask. What comes out is known beforehand. BL_TEST_SEED sets the seed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/grid/grid.h"
#include "tests/tap.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#define NR_GROUPS 4U

struct program {
	uint64_t seed;
	unsigned int rounds;
	unsigned int threads;
	atomic_uint wrong;
};

static struct bl_grid_result result;

static uint64_t base_seed(void)
{
	const char *text = getenv("BL_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20260102;

	printf("# seed %llu\n", (unsigned long long)seed);
	return seed;
}

/* A number for what is asked: the same for all who ask. */
static uint64_t chance(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t z = seed + a * 0x9e3779b97f4a7c15ULL + b * 0xd1b54a32d192ed03ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static unsigned int group_of(const struct program *program, unsigned int round, unsigned int thread)
{
	return (unsigned int)(chance(program->seed, round, thread) % NR_GROUPS);
}

/* A thread leaves after some round, a few of them early. */
static unsigned int last_round(const struct program *program, unsigned int thread)
{
	uint64_t number = chance(program->seed, 1000000, thread);

	return number % 8 ? program->rounds : (unsigned int)(number / 8 % program->rounds);
}

/* Lanes of the caller's warp that are in its group, and not gone. */
static uint32_t group_mask(const struct program *program, unsigned int round, unsigned int me)
{
	unsigned int first = me / 32 * 32;
	uint32_t mask = 0;

	for (unsigned int lane = 0; lane < 32 && first + lane < program->threads; lane++) {
		if (last_round(program, first + lane) > round &&
		    group_of(program, round, first + lane) == group_of(program, round, me))
			mask |= 1U << lane;
	}
	return mask;
}

static uint64_t value_of(const struct program *program, unsigned int round, unsigned int thread)
{
	return chance(program->seed, round + 500000, thread);
}

static uint32_t votes_of(const struct program *program, unsigned int round, unsigned int me, uint32_t mask)
{
	uint32_t votes = 0;

	for (unsigned int lane = 0; lane < 32; lane++)
		votes |= (uint32_t)(value_of(program, round, me / 32 * 32 + lane) & 1) << lane;
	return votes & mask;
}

static int meet(const struct program *program, unsigned int round, unsigned int me)
{
	uint32_t mask = group_mask(program, round, me);
	uint64_t value = value_of(program, round, me);
	/* the same choice for the whole group */
	uint64_t choice = chance(program->seed, round + 700000, me / 32 * NR_GROUPS + group_of(program, round, me));
	unsigned int source = (unsigned int)__builtin_ctz(mask);

	switch (choice % 3) {
	case 0:
		bl_thread_syncwarp(mask);
		return 1;
	case 1:
		return bl_thread_shfl(mask, value, source) == value_of(program, round, me / 32 * 32 + source);
	default:
		return bl_thread_ballot(mask, value & 1) == votes_of(program, round, me, mask);
	}
}

static void run_program(void *arg)
{
	struct program *program = arg;
	unsigned int me = bl_thread_self()->thread.x, last = last_round(program, me);

	for (unsigned int round = 0; round < last; round++) {
		if (!meet(program, round, me))
			atomic_fetch_add(&program->wrong, 1);
		if (chance(program->seed, round, 999999) % 5 == 0)
			bl_thread_syncblock();
	}
}

static int run_seed(enum bl_grid_order order, uint64_t seed, unsigned int blocks, unsigned int threads)
{
	struct program program = { .seed = seed, .rounds = 40, .threads = threads };
	struct bl_grid grid = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .run = run_program,
				.arg = &program, .order = order, .seed = seed, .timeout_ms = 30000 };
	int ret = bl_grid_run(&grid, &result);

	if (ret || program.wrong)
		printf("# order %d seed %llu: %u wrong, %s\n", order, (unsigned long long)seed, program.wrong, result.text);
	return ret || program.wrong;
}

static void free_order(void)
{
	uint64_t seed = base_seed();

	for (uint64_t i = 0; i < 6; i++)
		check_eq(run_seed(BL_GRID_FREE, seed + i, 3, 20 + (unsigned int)(chance(seed, i, 0) % 60)), 0);
}

static void seeded_orders(void)
{
	uint64_t seed = base_seed();

	for (uint64_t i = 0; i < 4; i++) {
		check_eq(run_seed(BL_GRID_UNIFORM, seed + i, 1, 20 + (unsigned int)(chance(seed, i, 0) % 30)), 0);
		check_eq(run_seed(BL_GRID_PCT, seed + i, 1, 20 + (unsigned int)(chance(seed, i, 1) % 30)), 0);
	}
}

static void *run_grids(void *arg)
{
	uint64_t seed = *(const uint64_t *)arg;
	struct program program = { .seed = seed, .rounds = 20, .threads = 33 };
	struct bl_grid grid = { .grid = { 1, 1, 1 }, .block = { 33, 1, 1 }, .run = run_program, .arg = &program,
				.order = seed & 1 ? BL_GRID_FREE : BL_GRID_UNIFORM, .seed = seed };
	long bad = 0;

	for (int i = 0; i < 5; i++)
		bad |= bl_grid_run(&grid, NULL);
	return (void *)(bad | (long)program.wrong);
}

static void grids_side_by_side(void)
{
	uint64_t seeds[4], seed = base_seed();
	pthread_t threads[4];
	void *bad;

	for (int i = 0; i < 4; i++) {
		seeds[i] = seed + (uint64_t)i;
		check_eq(pthread_create(&threads[i], NULL, run_grids, &seeds[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		check_eq(pthread_join(threads[i], &bad), 0);
		check(!bad);
	}
}

static int run_in_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (!pid) {
		alarm(30);
		_exit(run_seed(BL_GRID_FREE, 1, 1, 40));
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void children_run_grids(void)
{
	uint64_t seed = base_seed() | 1;
	pthread_t thread;
	void *bad;
	int status = 0;

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
	skip("ThreadSanitizer forbids threads in children of programs that had some");
#endif
	/* seen: a child's threads that end spin for the lock of AddressSanitizer's quarantine, which the parent's other thread had */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
	skip("AddressSanitizer's locks stay locked in a child when another thread has them");
#endif
	check_eq(pthread_create(&thread, NULL, run_grids, &seed), 0);
	for (int i = 0; i < 5 && !status; i++)
		status = run_in_child();
	check_eq(pthread_join(thread, &bad), 0);
	check(!bad);
	check_eq(status, 0);
}

static const struct tap_test tests[] = {
	{ "random_meetings_give_what_they_must_in_free_order", free_order },
	{ "random_meetings_give_what_they_must_in_seeded_orders", seeded_orders },
	{ "grids_run_side_by_side", grids_side_by_side },
	{ "children_run_grids_while_their_parent_does", children_run_grids },
};

TAP_MAIN(tests)
