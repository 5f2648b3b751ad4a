/* SPDX-License-Identifier: MIT */
/*
 * stats.h - a clock, and what a set of samples says
 */
#ifndef TOOLS_COMMON_STATS_H
#define TOOLS_COMMON_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that never goes back. */
static inline uint64_t tool_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/**
 * struct tool_stats - a summary; all fields have the samples' unit
 */
struct tool_stats {
	double min;
	double p50;
	double p99;
	double max;
	double mean;
};

/**
 * tool_stats_fill() - Summarize samples
 * @samples: values, sorted in place
 * @nr:      how many, > 0
 * @stats:   receives the summary
 *
 * A percentile is the smallest sample that at least that share of all samples does not exceed; the median of an even
 * number is the mean of the two in the middle.
 */
void tool_stats_fill(double *samples, size_t nr, struct tool_stats *stats);

#endif
