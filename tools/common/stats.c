// SPDX-License-Identifier: MIT
#include "common/stats.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void tool_stats_fill(double *samples, size_t nr, struct tool_stats *stats)
{
	double sum = 0;

	qsort(samples, nr, sizeof(*samples), compare);
	for (size_t i = 0; i < nr; i++)
		sum += samples[i];
	stats->min = samples[0];
	stats->max = samples[nr - 1];
	stats->mean = sum / (double)nr;
	stats->p50 = nr % 2 ? samples[nr / 2] : (samples[nr / 2 - 1] + samples[nr / 2]) / 2;
	stats->p99 = samples[(nr * 99 + 99) / 100 - 1];
}
