/* SPDX-License-Identifier: MIT */
/*
 * copy_measure.h - times several copy functions against each other
 */
#ifndef BENCH_COPY_MEASURE_H
#define BENCH_COPY_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int (*copy_fn)(void *dst, const void *src, size_t len);

/**
 * struct copy_entry - one of the functions that are compared, and what was measured of it
 * @name:   for tables
 * @fn:     the function
 * @nr:     samples
 * @min_ns: fastest
 * @p50_ns: median
 * @p99_ns: 99 of 100 are not slower
 */
struct copy_entry {
	const char *name;
	copy_fn fn;
	size_t nr;
	double min_ns;
	double p50_ns;
	double p99_ns;
};

/*
 * CLOCK_MONOTONIC and not the time-stamp counter: it is read from user space as well, needs no calibration, and is the
 * same on every architecture. What reading it costs is subtracted from every sample.
 */
static inline uint64_t copy_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What two readings of the clock with nothing between them show, ns; the median. Measured once. */
double copy_clock_ns(void);

/**
 * copy_measure() - Time functions in turns
 * @entries:   functions; their results are filled in
 * @nr:        how many
 * @dst:       as the functions take it
 * @src:       as the functions take it
 * @len:       bytes
 * @budget_ns: time to spend, not counting what the smallest number of rounds takes
 *
 * Every round runs a short batch of each function, beginning with another one each time, so that what disturbs the
 * machine for a while disturbs all of them. A sample is one call, or the mean of a group of them when they are short.
 * Return: 0 or -ENOMEM.
 */
int copy_measure(struct copy_entry *entries, size_t nr, void *dst, const void *src, size_t len, uint64_t budget_ns);

/* Fill in min, p50 and p99 of @nr > 0 samples, which are sorted in place. */
void copy_summarize(struct copy_entry *entry, double *samples, size_t nr);

#endif
