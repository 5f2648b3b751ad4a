// SPDX-License-Identifier: MIT
/*
 * The shapes of bench/net_litmus in orders that a seed draws: one access at a time, so that what is seen is what some order
 * of the accesses gives, fences or not. What this tests is the shapes: accesses in their order never give what is
 * forbidden, accesses in the wrong order do, and everything that may be comes up. BL_TEST_SEED sets the seed.
 */
#include "emu/grid/cuda_host.h"

#include "src/net/kernels/litmus.cu"

#include "bench/net_litmus/litmus.h"
extern "C" {
#include "tap.h"
}

#define RUNS 24
/* Of all cases, and of what is to come up at least once. */
#define SEEDS	   8
#define MORE_SEEDS 30

alignas(256) static unsigned char memory[BL_LITMUS_AT_LOG];
static uint8_t logs[BL_LITMUS_NR_ACTORS][RUNS];
static struct bl_litmus_end ends[2];
static struct doca_gpu_dev_verbs_qp qp;
static struct bl_litmus_run job;
static struct litmus_nic nic;
static struct bl_grid_result result;

static uint32_t nic_is_done;

/* The NIC would end with the grid, and in the last run it may be behind. */
static void kernel(void *arg)
{
	bl_litmus(*(struct bl_litmus_run *)arg);
	while (!__atomic_load_n(&nic_is_done, __ATOMIC_RELAXED))
		bl_thread_yield();
}

static void act(void *arg)
{
	litmus_nic_play((struct litmus_nic *)arg);
	__atomic_store_n(&nic_is_done, 1, __ATOMIC_RELAXED);
}

static int yield(void *arg, uint64_t nr)
{
	(void)arg;
	(void)nr;
	bl_thread_yield();
	return 0;
}

static uint64_t at(size_t off)
{
	return (uint64_t)(uintptr_t)(memory + off);
}

static void prepare(const struct litmus_case *test, uint64_t seed)
{
	memset(memory, 0, sizeof(memory));
	memset(logs, 0, sizeof(logs));
	memset(ends, 0, sizeof(ends));
	if (test->shape == BL_LITMUS_CQE)
		litmus_nic_clear_cqes(memory + BL_LITMUS_AT_Y);
	qp = {};
	qp.sq_wqe_num = BL_LITMUS_CELLS;
	qp.sq_wqe_mask = BL_LITMUS_CELLS - 1;
	qp.sq_wqe_daddr = memory + BL_LITMUS_AT_X;
	qp.sq_dbrec = (uint32_t *)(void *)(memory + BL_LITMUS_AT_Z);
	qp.sq_db = (uint64_t *)(void *)(memory + BL_LITMUS_AT_Y);
	qp.polled = !test->handler;
	qp.nic_handler = test->handler ? (uint32_t)test->handler : (uint32_t)DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
	qp.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	qp.cq_sq.cqe_daddr = memory + BL_LITMUS_AT_Y;
	qp.cq_sq.cqe_num = BL_LITMUS_CELLS;
	qp.cq_sq.cqe_mask = BL_LITMUS_CELLS - 1;
	job = {at(BL_LITMUS_AT_X), at(BL_LITMUS_AT_Y), at(BL_LITMUS_AT_Z), at(BL_LITMUS_AT_MEET), at(BL_LITMUS_AT_STOP), &qp, ends,
	       logs[0], RUNS, seed, 0, 60000000000ULL, test->shape, test->how, litmus_shape_of(test).actors, test->gpu_scope};
	nic = {test, memory + BL_LITMUS_AT_X, memory + BL_LITMUS_AT_Y, memory + BL_LITMUS_AT_Z, memory + BL_LITMUS_AT_MEET, RUNS, seed,
	       0, logs[BL_LITMUS_NIC], bl_thread_step, yield, nullptr};
}

static int run_grid(enum bl_grid_order order, uint64_t seed, unsigned int nr_actors)
{
	struct bl_grid_actor actor = {act, &nic};
	struct bl_grid grid = {};

	grid.grid = {2, 1, 1};
	grid.block = {1, 1, 1};
	grid.run = kernel;
	grid.arg = &job;
	grid.timeout_ms = 60000;
	grid.order = order;
	grid.seed = seed;
	grid.actors = &actor;
	grid.nr_actors = nr_actors;
	nic_is_done = !nr_actors;
	return bl_grid_run(&grid, &result);
}

static uint64_t base_seed(void)
{
	const char *text = getenv("BL_TEST_SEED");
	uint64_t seed = text ? strtoull(text, nullptr, 0) : 20261130;

	printf("# seed %llu\n", (unsigned long long)seed);
	return seed;
}

static void run_case(const struct litmus_case *test, uint64_t seed, unsigned int nr_seeds, struct litmus_counts *counts)
{
	const uint8_t *all[] = {logs[0], logs[1], logs[2]};

	for (unsigned int i = 0; i < nr_seeds; i++) {
		prepare(test, seed + i);
		if (run_grid(i % 2 ? BL_GRID_PCT : BL_GRID_UNIFORM, seed + i, 1))
			tap_end(TAP_FAILED, "%s: %.600s", test->name, result.text);
		for (unsigned int gpu = 0; gpu < 2; gpu++) {
			if (job.actors >> gpu & 1)
				check_eq(ends[gpu].end, BL_LITMUS_DONE);
		}
		litmus_count(counts, all, RUNS);
	}
}

static void order_gives_nothing_forbidden(void)
{
	uint64_t seed = base_seed();

	for (const struct litmus_case *test = litmus_cases; test->name; test++) {
		struct litmus_counts counts = {};

		run_case(test, seed, SEEDS, &counts);
		if (litmus_forbidden(test, &counts))
			tap_end(TAP_FAILED, "%s, how %u: %llu forbidden", test->name, test->how,
				(unsigned long long)litmus_forbidden(test, &counts));
	}
}

static void disorder_is_found(void)
{
	uint64_t seed = base_seed();

	for (const struct litmus_case *test = litmus_cases; test->name; test++) {
		struct litmus_case swapped = *test;
		struct litmus_counts counts = {};

		if (!test->judged || test->shape == BL_LITMUS_SUBMIT)
			continue;
		swapped.how = BL_LITMUS_SWAPPED;
		run_case(&swapped, seed, SEEDS, &counts);
		if (!litmus_forbidden(test, &counts))
			tap_end(TAP_FAILED, "%s: nothing forbidden was seen", test->name);
		check_eq(counts.broken, 0);
	}
}

/* Outcomes that an order of all accesses can give; one more of BL_LITMUS_CQE takes a NIC between two loads. */
static void all_that_may_be_comes_up(void)
{
	static const struct {
		uint32_t shape;
		unsigned int outcomes;
	} wanted[] = {
		{BL_LITMUS_OUT, 1U << 0 | 1U << 2 | 1U << 3},	  {BL_LITMUS_HANDED, 1U << 0 | 1U << 2 | 1U << 3},
		{BL_LITMUS_IN, 1U << 0 | 1U << 2 | 1U << 3},	  {BL_LITMUS_CQE, 1U << 0 | 1U << 2 | 1U << 6 | 1U << 7},
		{BL_LITMUS_SB, 1U << 1 | 1U << 2 | 1U << 3},	  {BL_LITMUS_SB_GPUS, 1U << 1 | 1U << 2 | 1U << 3},
		{BL_LITMUS_GPUS, 1U << 0 | 1U << 2 | 1U << 3},	  {BL_LITMUS_WQE, 1U << 0 | 1U << 4 | 1U << 6 | 1U << 7},
		{BL_LITMUS_WHOLE, 1U << 0 | 1U << 2 | 1U << 3},	  {BL_LITMUS_BROUGHT, 1U << 0 | 1U << 3},
	};
	uint64_t seed = base_seed();

	for (const auto &want : wanted) {
		const struct litmus_case test = {"", want.shape, LITMUS_HOST, LITMUS_HOST, 0, 0, BL_LITMUS_FENCED, true, false};
		struct litmus_counts counts = {};
		unsigned int seen = 0;

		run_case(&test, seed, MORE_SEEDS, &counts);
		for (unsigned int outcome = 0; outcome < LITMUS_OUTCOMES; outcome++)
			seen |= counts.outcomes[outcome] ? 1U << outcome : 0;
		if (want.shape == BL_LITMUS_CQE)
			seen &= ~(1U << 4);
		if (seen != want.outcomes)
			tap_end(TAP_FAILED, "shape %u: outcomes 0x%x, not 0x%x", want.shape, seen, want.outcomes);
	}
}

static void words_are_old_new_or_neither(void)
{
	check_eq(bl_litmus_seen(70, 70, 64), BL_LITMUS_NEW);
	check_eq(bl_litmus_seen(6, 70, 64), BL_LITMUS_OLD);
	check_eq(bl_litmus_seen(0, 70, 64), BL_LITMUS_OLD);
	check_eq(bl_litmus_seen(69, 70, 64), BL_LITMUS_BROKEN);
	check_eq(bl_litmus_seen(134, 70, 64), BL_LITMUS_BROKEN);
	check_eq(bl_litmus_seen(UINT64_MAX, 70, 64), BL_LITMUS_BROKEN);
	check_eq(bl_litmus_seen(70, 0x100000046ULL, 32), BL_LITMUS_NEW);
	check_eq(bl_litmus_seen(71, 70, 32), BL_LITMUS_BROKEN);
}

static void what_nobody_stored_is_never_allowed(void)
{
	const struct litmus_case test = litmus_cases[0];
	const uint8_t mine[] = {bl_litmus_bits(0, BL_LITMUS_NEW), bl_litmus_bits(0, BL_LITMUS_BROKEN), 0, 0};
	const uint8_t theirs[] = {0, 0, bl_litmus_bits(1, BL_LITMUS_NEW), bl_litmus_bits(1, BL_LITMUS_BROKEN)};
	const uint8_t *all[] = {mine, nullptr, theirs};
	struct litmus_counts counts = {};

	litmus_count(&counts, all, 4);
	check_eq(counts.broken, 2);
	check_eq(counts.outcomes[1], 1);
	check_eq(counts.outcomes[2], 1);
	check_eq(litmus_forbidden(&test, &counts), 3);
}

/* A NIC that never comes: the kernel ends by itself, or when it is told to. */
static void waits_end(void)
{
	prepare(&litmus_cases[0], 1);
	job.limit_ns = 1000000;
	check_eq(run_grid(BL_GRID_FREE, 0, 0), 0);
	check_eq(ends[0].end, BL_LITMUS_TIMEOUT);
	check_eq(ends[0].run, 1);
	check_eq(ends[1].end, BL_LITMUS_NOT_RUN);
	prepare(&litmus_cases[0], 1);
	memory[BL_LITMUS_AT_STOP] = 1;
	check_eq(run_grid(BL_GRID_FREE, 0, 0), 0);
	check_eq(ends[0].end, BL_LITMUS_STOPPED);
}

static int leave(void *arg, uint64_t nr)
{
	return *(int *)arg += nr == 1 ? -1 : -2;
}

/* The other way round: no kernel. */
static void nic_leaves_when_told_to(void)
{
	int told = 0;

	prepare(&litmus_cases[0], 1);
	nic.idle = leave;
	nic.arg = &told;
	nic.step = nullptr;
	check_eq(litmus_nic_play(&nic), -1);
}

static const struct tap_test tests[] = {
	{"accesses in their order give nothing that is forbidden", order_gives_nothing_forbidden},
	{"accesses in the wrong order are found in every shape", disorder_is_found},
	{"every outcome that may be comes up", all_that_may_be_comes_up},
	{"words are old, new or neither", words_are_old_new_or_neither},
	{"what nobody stored is never allowed", what_nobody_stored_is_never_allowed},
	{"a kernel without a NIC ends", waits_end},
	{"a NIC without a kernel ends", nic_leaves_when_told_to},
};

TAP_MAIN(tests)
