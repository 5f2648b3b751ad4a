// SPDX-License-Identifier: MIT
/* Statistics of barlane-demo (tools/demo/stats.c). */
#include "tap.h"

#include <math.h>

#include "demo.h"

static void percentiles_are_nearest_rank(void)
{
	struct demo_stats stats;
	uint64_t samples[1000];

	/* 1 .. 1000, out of order: 7 and 1000 have no common factor */
	for (uint64_t i = 0; i < 1000; i++)
		samples[i] = i * 7 % 1000 + 1;
	demo_stats_fill(&stats, samples, 1000, 1, 0);
	check_eq(stats.nr, 1000);
	check_eq(stats.min_ns, 1);
	check_eq(stats.p50_ns, 500);
	check_eq(stats.p99_ns, 990);
	check_eq(stats.p999_ns, 999);
	check(fabs(stats.mean_ns - 500.5) < 1e-9);
}

static void one_sample_is_every_percentile(void)
{
	uint64_t sample = 42;
	struct demo_stats stats;

	demo_stats_fill(&stats, &sample, 1, 1, 0);
	check_eq(stats.min_ns, 42);
	check_eq(stats.p50_ns, 42);
	check_eq(stats.p999_ns, 42);
}

static void groups_are_divided_after_the_clock_is_taken_off(void)
{
	uint64_t samples[] = {1020, 1020};
	struct demo_stats stats;

	demo_stats_fill(&stats, samples, 2, 10, 20);
	check_eq(stats.p50_ns, 100);
	check_eq(stats.group, 10);
	check(fabs(demo_stats_rate(&stats, 100) - 1e9) < 1);
}

static void a_sample_shorter_than_the_clock_is_not_negative(void)
{
	uint64_t samples[] = {5};
	struct demo_stats stats;

	demo_stats_fill(&stats, samples, 1, 1, 20);
	check_eq(stats.min_ns, 1);
}

static void clock_cost_is_plausible(void)
{
	double cost = demo_clock_cost_ns();

	check(cost >= 0);
	check(cost < 1e6);
}

static const struct tap_test tests[] = {
	{"percentiles_are_nearest_rank", percentiles_are_nearest_rank},
	{"one_sample_is_every_percentile", one_sample_is_every_percentile},
	{"groups_are_divided_after_the_clock_is_taken_off", groups_are_divided_after_the_clock_is_taken_off},
	{"a_sample_shorter_than_the_clock_is_not_negative", a_sample_shorter_than_the_clock_is_not_negative},
	{"clock_cost_is_plausible", clock_cost_is_plausible},
};
TAP_MAIN(tests)
