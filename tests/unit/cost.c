// SPDX-License-Identifier: MIT
/* The table of costs: lines between, below and above what was measured, and who is picked; no clock, no GPU. */
#include "gpu/cost.h"
#include "tap.h"

#define KIB 1024UL
#define MIB (1024 * KIB)

static struct bl_cost_table table;

static struct bl_cost_row *row(enum bl_engine engine)
{
	return &table.rows[engine][BL_COPY_FROM][1];
}

/* One measurement, at a power of two. */
static void measured(enum bl_engine engine, size_t len, uint64_t ns)
{
	row(engine)->ns[bl_cost_class(len)] = ns;
}

static uint64_t cost(enum bl_engine engine, size_t len)
{
	return bl_cost_estimate(row(engine), len);
}

static enum bl_engine choose(size_t len)
{
	return bl_cost_choose(&table, BL_COPY_FROM, true, len);
}

static enum bl_engine pick(size_t len)
{
	return bl_cost_pick(&table, BL_COPY_FROM, true, len);
}

static size_t first(void)
{
	return bl_cost_first(&table, BL_COPY_FROM, true);
}

static void begin(void)
{
	memset(&table, 0, sizeof(table));
}

static void classes_begin_at_powers_of_two(void)
{
	check_eq(bl_cost_class(0), 0);
	check_eq(bl_cost_class(1), 0);
	check_eq(bl_cost_class(63), 0);
	check_eq(bl_cost_class(64), 1);
	check_eq(bl_cost_class(127), 1);
	check_eq(bl_cost_class(2 * MIB - 1), BL_COST_NR - 2);
	check_eq(bl_cost_class(2 * MIB), BL_COST_NR - 1);
	check_eq(bl_cost_class(SIZE_MAX), BL_COST_NR - 1);
}

static void between_sizes_lies_a_straight_line(void)
{
	begin();
	measured(BL_ENGINE_CPU, 32, 100);
	measured(BL_ENGINE_CPU, 64, 164);
	measured(BL_ENGINE_CPU, 128, 36);
	bl_cost_finish(&table);
	check_eq(cost(BL_ENGINE_CPU, 32), 100);
	check_eq(cost(BL_ENGINE_CPU, 33), 102);
	check_eq(cost(BL_ENGINE_CPU, 63), 162);
	check_eq(cost(BL_ENGINE_CPU, 64), 164);
	/* downwards too: what was measured is not bent */
	check_eq(cost(BL_ENGINE_CPU, 65), 162);
	check_eq(cost(BL_ENGINE_CPU, 96), 100);
	check_eq(cost(BL_ENGINE_CPU, 128), 36);
}

static void below_the_smallest_size_nothing_gets_cheaper(void)
{
	begin();
	measured(BL_ENGINE_CPU, 512, 700);
	measured(BL_ENGINE_CPU, 1024, 900);
	bl_cost_finish(&table);
	check_eq(cost(BL_ENGINE_CPU, 0), 700);
	check_eq(cost(BL_ENGINE_CPU, 1), 700);
	check_eq(cost(BL_ENGINE_CPU, 32), 700);
	check_eq(cost(BL_ENGINE_CPU, 100), 700);
	check_eq(cost(BL_ENGINE_CPU, 512), 700);
	check_eq(cost(BL_ENGINE_CPU, 768), 800);
}

static void gaps_are_filled(void)
{
	begin();
	measured(BL_ENGINE_CE, 32, 1032);
	measured(BL_ENGINE_CE, 512, 1512);
	measured(BL_ENGINE_CE, 128 * KIB, 1000 + 128 * KIB);
	bl_cost_finish(&table);
	for (size_t len = 32; len <= 2 * MIB; len += len / 7 + 1)
		check_eq(cost(BL_ENGINE_CE, len), 1000 + len);
}

static void above_the_last_size_the_line_goes_on(void)
{
	begin();
	measured(BL_ENGINE_CPU, 32, 50);
	measured(BL_ENGINE_CPU, 32 * KIB, 5000);
	measured(BL_ENGINE_CPU, 64 * KIB, 9000);
	measured(BL_ENGINE_CE, MIB, 30000);
	measured(BL_ENGINE_CE, 2 * MIB, 50000);
	bl_cost_finish(&table);
	check_eq(cost(BL_ENGINE_CPU, 96 * KIB), 13000);
	check_eq(cost(BL_ENGINE_CPU, 128 * KIB), 17000);
	check_eq(cost(BL_ENGINE_CPU, 2 * MIB), 9000 + 62 * 4000);
	check_eq(cost(BL_ENGINE_CPU, 16 * MIB), 9000 + 510 * 4000);
	check_eq(cost(BL_ENGINE_CE, 2 * MIB + 1), 50000);
	check_eq(cost(BL_ENGINE_CE, 3 * MIB), 70000);
	check_eq(cost(BL_ENGINE_CE, 1024 * MIB), 50000 + 1022 * 20000);
}

static void huge_lengths_saturate(void)
{
	begin();
	measured(BL_ENGINE_CPU, MIB, 1);
	measured(BL_ENGINE_CPU, 2 * MIB, 1ULL << 39);
	measured(BL_ENGINE_CE, MIB, 1);
	measured(BL_ENGINE_CE, 2 * MIB, 1000001);
	bl_cost_finish(&table);
	check(cost(BL_ENGINE_CPU, SIZE_MAX) == UINT64_MAX);
	check(cost(BL_ENGINE_CPU, (size_t)1 << 50) == UINT64_MAX);
	check_eq(cost(BL_ENGINE_CPU, 3 * MIB), (1ULL << 40) - 1);
	check_eq(cost(BL_ENGINE_CE, SIZE_MAX), 1000001 + ((SIZE_MAX >> 20) - 2) * 1000000 + 999999);
	check_eq(choose(SIZE_MAX), BL_ENGINE_CE);
	check_eq(pick(SIZE_MAX), BL_ENGINE_CE);
}

static void a_falling_end_is_not_continued(void)
{
	begin();
	measured(BL_ENGINE_CPU, 512 * KIB, 9000);
	measured(BL_ENGINE_CPU, MIB, 8000);
	measured(BL_ENGINE_CE, MIB, 8000);
	measured(BL_ENGINE_CE, 2 * MIB, 7000);
	bl_cost_finish(&table);
	check_eq(cost(BL_ENGINE_CPU, 2 * MIB), 8000);
	check_eq(cost(BL_ENGINE_CPU, SIZE_MAX), 8000);
	check_eq(cost(BL_ENGINE_CE, 64 * MIB), 7000);
}

static void what_cannot_be_derived_is_unknown(void)
{
	begin();
	measured(BL_ENGINE_CPU, 32, 40);
	measured(BL_ENGINE_CPU, 32 * KIB, 900); /* latency hides the slope of short copies */
	measured(BL_ENGINE_CE, 64 * KIB, 5000); /* one point is no line */
	bl_cost_finish(&table);
	check_eq(cost(BL_ENGINE_CPU, 32 * KIB), 900);
	check_eq(cost(BL_ENGINE_CPU, 32 * KIB + 1), 0);
	check_eq(cost(BL_ENGINE_CPU, 64 * KIB), 0);
	check_eq(cost(BL_ENGINE_CPU, SIZE_MAX), 0);
	check_eq(cost(BL_ENGINE_CE, 64 * KIB), 5000);
	check_eq(cost(BL_ENGINE_CE, 64 * KIB + 1), 0);
	check_eq(cost(BL_ENGINE_AUTO, 4096), 0);
}

static void the_cheapest_is_chosen(void)
{
	begin();
	measured(BL_ENGINE_CPU, 32 * KIB, 10000);
	measured(BL_ENGINE_CPU, 64 * KIB, 20000);
	measured(BL_ENGINE_CE, 32 * KIB, 14000);
	measured(BL_ENGINE_CE, 64 * KIB, 15000);
	bl_cost_finish(&table);
	check_eq(pick(1), BL_ENGINE_CPU);
	check_eq(pick(32 * KIB), BL_ENGINE_CPU);
	check_eq(pick(40 * KIB), BL_ENGINE_CPU);
	check_eq(pick(50 * KIB), BL_ENGINE_CE);
	check_eq(pick(64 * KIB), BL_ENGINE_CE);
	check_eq(pick(SIZE_MAX), BL_ENGINE_CE);
	/* other kinds have tables of their own, in which nothing is known here */
	check_eq(bl_cost_pick(&table, BL_COPY_FROM, false, MIB), BL_ENGINE_CPU);
	check_eq(bl_cost_pick(&table, BL_COPY_TO, true, MIB), BL_ENGINE_CPU);
}

static void within_noise_the_cpu_is_preferred(void)
{
	static const struct {
		uint64_t cpu, ce;
		enum bl_engine want;
	} cases[] = {
		{ 3299, 3200, BL_ENGINE_CPU }, { 3300, 3200, BL_ENGINE_CPU }, { 3301, 3200, BL_ENGINE_CE },
		{ 120, 100, BL_ENGINE_CPU },   { 121, 100, BL_ENGINE_CE },    { 100, 100, BL_ENGINE_CPU },
		{ 1, 1, BL_ENGINE_CPU },       { 22, 1, BL_ENGINE_CE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		measured(BL_ENGINE_CPU, 4096, cases[i].cpu);
		measured(BL_ENGINE_CE, 4096, cases[i].ce);
		bl_cost_finish(&table);
		check_eq(choose(4096), cases[i].want);
		check_eq(pick(4096), cases[i].want);
	}
}

static void where_nothing_is_known_the_last_pick_stays(void)
{
	begin();
	measured(BL_ENGINE_CPU, 1024, 1000);
	measured(BL_ENGINE_CPU, 8192, 8000);
	measured(BL_ENGINE_CE, 1024, 2000);
	measured(BL_ENGINE_CE, 8192, 3000);
	bl_cost_finish(&table);
	check_eq(choose(MIB), BL_ENGINE_AUTO);
	check_eq(pick(1024), BL_ENGINE_CPU);
	check_eq(pick(8192), BL_ENGINE_CE);
	check_eq(pick(8193), BL_ENGINE_CE);
	check_eq(pick(SIZE_MAX), BL_ENGINE_CE);
	begin();
	bl_cost_finish(&table);
	check_eq(pick(0), BL_ENGINE_CPU);
	check_eq(pick(SIZE_MAX), BL_ENGINE_CPU);
	check_eq(choose(4096), BL_ENGINE_AUTO);
	check(first() == SIZE_MAX);
}

static void lines_that_cross_beyond_the_table_are_compared(void)
{
	begin();
	measured(BL_ENGINE_CPU, MIB, 10000);
	measured(BL_ENGINE_CPU, 2 * MIB, 20000);
	measured(BL_ENGINE_CE, MIB, 40000);
	measured(BL_ENGINE_CE, 2 * MIB, 45000);
	bl_cost_finish(&table);
	/* 10000 x against 35000 + 5000 x, and 3 % */
	check_eq(pick(2 * MIB), BL_ENGINE_CPU);
	check_eq(pick(7 * MIB), BL_ENGINE_CPU);
	check_eq(pick(8 * MIB), BL_ENGINE_CE);
	check(first() > 7 * MIB && first() < 8 * MIB);
}

static void the_first_length_of_another_engine_is_found(void)
{
	begin();
	measured(BL_ENGINE_CPU, 32 * KIB, 10000);
	measured(BL_ENGINE_CPU, 64 * KIB, 20000);
	measured(BL_ENGINE_CE, 32 * KIB, 14000);
	measured(BL_ENGINE_CE, 64 * KIB, 15000);
	bl_cost_finish(&table);
	check(first() > 46 * KIB && first() < 50 * KIB);
	check_eq(pick(first() - 1), BL_ENGINE_CPU);
	check_eq(pick(first()), BL_ENGINE_CE);
	measured(BL_ENGINE_CE, 32, 1);
	bl_cost_finish(&table);
	check_eq(first(), 1);
	begin();
	measured(BL_ENGINE_CPU, MIB, 1);
	measured(BL_ENGINE_CPU, 2 * MIB, 1);
	bl_cost_finish(&table);
	check(first() == SIZE_MAX);
}

/* Tables as they may come out of any machine, with what was not measured missing. */
static void random_table(unsigned int *seed)
{
	begin();
	for (int engine = BL_ENGINE_CPU; engine < BL_NR_ENGINES; engine++) {
		uint64_t ns = (uint64_t)rand_r(seed) % 9000 + 1;

		for (size_t len = 32; len <= 2 * MIB; len *= 2) {
			ns += ns * ((uint64_t)rand_r(seed) % 120) / 100;
			if (rand_r(seed) % 4 && (rand_r(seed) % 16 || len < 64 * KIB))
				measured((enum bl_engine)engine, len, ns);
		}
	}
	bl_cost_finish(&table);
}

static void no_pick_is_far_from_the_cheapest(void)
{
	unsigned int seed = 20261129;

	for (int round = 0; round < 2000; round++) {
		random_table(&seed);
		for (size_t len = 1; len < 1024 * MIB; len += len / 5 + 1) {
			uint64_t best = UINT64_MAX, slack, got = cost(pick(len), len);
			bool known = true;

			for (int engine = BL_ENGINE_CPU; engine < BL_NR_ENGINES; engine++) {
				uint64_t ns = cost((enum bl_engine)engine, len);

				best = ns && ns < best ? ns : best;
				known &= ns != 0;
			}
			check(pick(len) != BL_ENGINE_AUTO);
			slack = best / 10 > 50 ? best / 10 : 50;
			if (known && got > best + slack)
				tap_end(TAP_FAILED, "round %d len %zu: %llu ns, best %llu", round, len,
					(unsigned long long)got, (unsigned long long)best);
		}
	}
}

/* push between the two others, up to 64 KiB and not beyond. */
static void an_engine_that_is_added_has_its_sizes(void)
{
	struct bl_cost_row rows[2] = { 0 };
	enum bl_engine engine;
	uint64_t far;

	begin();
	for (size_t len = 32; len <= 2 * MIB; len *= 2) {
		measured(BL_ENGINE_CPU, len, len);
		measured(BL_ENGINE_CE, len, 7000 + len / 50);
	}
	bl_cost_finish(&table);
	far = cost(BL_ENGINE_CE, 4 * MIB);
	rows[1].ns[bl_cost_class(4 * KIB)] = 3000;
	rows[1].ns[bl_cost_class(64 * KIB)] = 4200;
	bl_cost_add(&table, BL_ENGINE_PUSH, BL_COPY_FROM, rows, 64 * KIB);
	check_eq(cost(BL_ENGINE_PUSH, 32), 3000);
	check_eq(cost(BL_ENGINE_PUSH, 34 * KIB), 3600);
	check_eq(cost(BL_ENGINE_PUSH, 64 * KIB), 4200);
	check_eq(cost(BL_ENGINE_PUSH, 64 * KIB + 1), 0);
	check_eq(cost(BL_ENGINE_PUSH, 4 * MIB), 0);
	for (size_t len = 1; len < 200 * KIB; len++) {
		/* 3 % from a crossing the lower number wins */
		engine = len < 3092 ? BL_ENGINE_CPU : len <= 64 * KIB ? BL_ENGINE_PUSH : BL_ENGINE_CE;
		if (len < 3085 || len > 3100)
			check_eq(pick(len), engine);
	}
	/* of the other kind nothing is known, and other engines keep their own */
	check_eq(bl_cost_pick(&table, BL_COPY_FROM, false, 8 * KIB), BL_ENGINE_CPU);
	check_eq(cost(BL_ENGINE_CE, 4 * MIB), far);
}

static const struct tap_test tests[] = {
	{ "classes begin at powers of two", classes_begin_at_powers_of_two },
	{ "between sizes lies a straight line", between_sizes_lies_a_straight_line },
	{ "below the smallest size nothing gets cheaper", below_the_smallest_size_nothing_gets_cheaper },
	{ "gaps are filled", gaps_are_filled },
	{ "above the last size the line goes on", above_the_last_size_the_line_goes_on },
	{ "huge lengths saturate", huge_lengths_saturate },
	{ "a falling end is not continued", a_falling_end_is_not_continued },
	{ "what cannot be derived is unknown", what_cannot_be_derived_is_unknown },
	{ "the cheapest is chosen", the_cheapest_is_chosen },
	{ "within noise the CPU is preferred", within_noise_the_cpu_is_preferred },
	{ "where nothing is known the last pick stays", where_nothing_is_known_the_last_pick_stays },
	{ "lines that cross beyond the table are compared", lines_that_cross_beyond_the_table_are_compared },
	{ "the first length of another engine is found", the_first_length_of_another_engine_is_found },
	{ "no pick is far from the cheapest", no_pick_is_far_from_the_cheapest },
	{ "an engine that is added has its sizes, and nothing beyond", an_engine_that_is_added_has_its_sizes },
};

TAP_MAIN(tests)
