// SPDX-License-Identifier: MIT
/* What a round costs by its size. Sizes take turns, so that what else the machine does meets all of them. */
#include "gdrdrv_bed.h"

#include <stdio.h>

#include "common/stats.h"

#define NR_SIZES 9
/* pages of a mapping come in with the first store to each so many bytes */
#define FAULT_WINDOW (2 * MIB)

struct size_row {
	uint64_t size;
	size_t every; /* runs in each so many rounds */
	size_t nr;
	double steps[NR_STEPS + 1][MAX_ROUNDS]; /* the last one is the sum */
};

static struct size_row rows[NR_SIZES];

static void prepare(uint64_t largest)
{
	uint64_t size = 64 * KIB;

	for (size_t i = 0; i < NR_SIZES; i++, size *= 4) {
		rows[i].size = size <= largest ? size : 0;
		rows[i].every = size > 256 * MIB ? 50 : size > 16 * MIB ? 20 : size > MIB ? 5 : 1;
		rows[i].nr = 0;
	}
}

static void run(const struct gdrdrv_bed *bed, struct size_row *row, bool touch)
{
	double ns[NR_STEPS], sum = 0;

	bed_round(bed, row->size, touch ? FAULT_WINDOW : 0, ns);
	for (size_t s = 0; s < NR_STEPS; s++) {
		row->steps[s][row->nr] = ns[s];
		sum += ns[s];
	}
	row->steps[NR_STEPS][row->nr] = sum;
	row->nr++;
}

/* @before: the row with a quarter of the size */
static void show(struct size_row *row, bool touch, double *before_p)
{
	double pages = (double)(row->size / GPU_PAGE), all;
	struct tool_stats stats[NR_STEPS + 1];

	for (size_t s = 0; s <= NR_STEPS; s++)
		tool_stats_fill(row->steps[s], row->nr, &stats[s]);
	all = stats[NR_STEPS].p50;
	printf("%10lu %-5s %6zu %10.0f %10.0f %10.0f %10.0f %10.0f %11.0f %11.0f %8.0f", row->size / KIB,
	       touch ? "yes" : "no", row->nr, stats[STEP_PIN].p50, stats[STEP_MAP].p50, stats[STEP_TOUCH].p50,
	       stats[STEP_UNMAP].p50, stats[STEP_UNPIN].p50, all, stats[NR_STEPS].p99, all / pages);
	if (*before_p > 0)
		printf(" %8.1f", (all - *before_p) / (pages * 3 / 4));
	printf("\n");
	*before_p = all;
}

static void sweep(const struct gdrdrv_bed *bed, bool touch, size_t rounds)
{
	double before = 0;

	prepare(bed->size);
	/* the first of each size is warm-up */
	for (size_t i = 0; i < NR_SIZES; i++) {
		if (rows[i].size)
			bed_round(bed, rows[i].size, touch ? FAULT_WINDOW : 0, NULL);
	}
	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < NR_SIZES; i++) {
			if (rows[i].size && r % rows[i].every == 0)
				run(bed, &rows[i], touch);
		}
	}
	for (size_t i = 0; i < NR_SIZES; i++) {
		if (rows[i].size)
			show(&rows[i], touch, &before);
	}
}

void bench_sizes(const struct gdrdrv_bed *bed, size_t rounds)
{
	printf("\n# by size, in turn: medians in ns; touch: one store into each 2 MiB, which brings all pages in\n"
	       "# page: all of it for each 64 KiB; more: for each 64 KiB more than in the line before\n"
	       "# %8s %-5s %6s %10s %10s %10s %10s %10s %11s %11s %8s %8s\n", "KiB", "touch", "rounds", "pin", "map",
	       "touching", "unmap", "unpin", "all", "all_p99", "page", "more");
	sweep(bed, false, rounds);
	sweep(bed, true, rounds / 4 + 1);
}
