// SPDX-License-Identifier: MIT
#include "demo.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

uint64_t demo_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

double demo_clock_cost_ns(void)
{
	enum { NR = 1001 };
	uint64_t samples[NR];

	for (int i = 0; i < NR; i++) {
		uint64_t start = demo_now_ns();

		samples[i] = demo_now_ns() - start;
	}
	qsort(samples, NR, sizeof(samples[0]), compare);
	return (double)samples[NR / 2];
}

/* Nearest rank: the smallest sample that at least this share of all samples does not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t nr, double share)
{
	size_t rank = (size_t)ceil(share * (double)nr);

	return sorted[rank ? rank - 1 : 0];
}

static double one(uint64_t sample, size_t group, double clock_ns)
{
	return fmax((double)sample - clock_ns, 1) / (double)group;
}

void demo_stats_fill(struct demo_stats *stats, uint64_t *samples, size_t nr, size_t group, double clock_ns)
{
	double sum_ns = 0;

	qsort(samples, nr, sizeof(samples[0]), compare);
	for (size_t i = 0; i < nr; i++)
		sum_ns += one(samples[i], group, clock_ns);
	stats->nr = nr;
	stats->group = group;
	stats->min_ns = one(samples[0], group, clock_ns);
	stats->p50_ns = one(percentile(samples, nr, 0.5), group, clock_ns);
	stats->p99_ns = one(percentile(samples, nr, 0.99), group, clock_ns);
	stats->p999_ns = one(percentile(samples, nr, 0.999), group, clock_ns);
	stats->mean_ns = sum_ns / (double)nr;
}

double demo_stats_rate(const struct demo_stats *stats, size_t bytes)
{
	return (double)bytes / stats->mean_ns * 1e9;
}
