// SPDX-License-Identifier: MIT
/* What finding a pin by its handle costs, by the number of pins that a file has. */
#include "gdrdrv_bed.h"

#include <stdio.h>
#include <unistd.h>

#include "common/stats.h"

#define NR_FILES 5
#define MOST_PINS 10000
#define LOOKUPS 64 /* in one sample: one alone is too short for the clock */

struct pins_file {
	int drv;
	unsigned int nr;
	uint64_t handles[MOST_PINS];
	double same[MAX_ROUNDS];
	double random[MAX_ROUNDS];
};

static struct pins_file files[NR_FILES] = { { .nr = 1 }, { .nr = 10 }, { .nr = 100 }, { .nr = 1000 }, { .nr = MOST_PINS } };

static uint64_t va_of(const struct gdrdrv_bed *bed, unsigned int pin)
{
	return bed->va + pin % (2 * MIB / GPU_PAGE) * GPU_PAGE;
}

static void begin(const struct gdrdrv_bed *bed, struct pins_file *file)
{
	file->drv = bed_drv_open();
	for (unsigned int i = 0; i < file->nr; i++)
		file->handles[i] = bed_pin(file->drv, va_of(bed, i), GPU_PAGE);
}

/* Many look-ups of pins at random, or of one pin, which stays in the caches of the CPU. */
static double look_up(const struct gdrdrv_bed *bed, const struct pins_file *file, bool random)
{
	static unsigned int state = 1;
	unsigned int pin = file->nr - 1;
	uint64_t start = tool_now_ns();

	for (unsigned int i = 0; i < LOOKUPS; i++) {
		if (random) {
			state = state * 1664525 + 1013904223;
			pin = (state >> 8) % file->nr;
		}
		bed_info(file->drv, file->handles[pin], va_of(bed, pin));
	}
	return (double)(tool_now_ns() - start) / LOOKUPS;
}

static void show(struct pins_file *file, size_t rounds, const char *what, double *samples, double *first_p)
{
	struct tool_stats stats;

	tool_stats_fill(samples, rounds, &stats);
	if (*first_p == 0)
		*first_p = stats.p50;
	printf("%10u %-8s %10.0f %10.0f %10.0f %6.2f\n", file->nr, what, stats.min, stats.p50, stats.p99,
	       stats.p50 / *first_p);
}

void bench_lookups(const struct gdrdrv_bed *bed, size_t rounds)
{
	double first_same = 0, first_random = 0;

	for (size_t f = 0; f < NR_FILES; f++)
		begin(bed, &files[f]);
	for (size_t i = 0; i < rounds; i++) {
		for (size_t f = 0; f < NR_FILES; f++) {
			files[f].same[i] = look_up(bed, &files[f], false);
			files[f].random[i] = look_up(bed, &files[f], true);
		}
	}
	printf("\n# one look-up (GET_INFO_V2) on files with so many pins, all open: of the last pin again and again, or at\n"
	       "# random; %zu rounds of %d in turn, ns\n"
	       "# %8s %-8s %10s %10s %10s %6s\n", rounds, LOOKUPS, "pins", "which", "min", "p50", "p99", "ratio");
	for (size_t f = 0; f < NR_FILES; f++)
		show(&files[f], rounds, "last", files[f].same, &first_same);
	for (size_t f = 0; f < NR_FILES; f++) {
		show(&files[f], rounds, "random", files[f].random, &first_random);
		close(files[f].drv);
	}
}
