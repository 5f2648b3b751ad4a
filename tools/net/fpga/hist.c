// SPDX-License-Identifier: MIT
#include "net/fpga/hist.h"

#include <string.h>

#define BAR    50
#define HALF   (FPGA_HIST_PARTS / 2)
#define HALVES (FPGA_HIST_CELLS / HALF)

void fpga_hist_begin(struct fpga_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min = UINT64_MAX;
}

/* Below FPGA_HIST_PARTS each value has its own; from there on the upper bits and the position of the first count. */
static unsigned int cell_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < FPGA_HIST_PARTS)
		return (unsigned int)ns;
	shift = 63U - (unsigned int)__builtin_clzll(ns) - FPGA_HIST_SHIFT;
	return (shift << FPGA_HIST_SHIFT) + (unsigned int)(ns >> shift);
}

/* The largest value that belongs to a cell. */
static uint64_t last_of(unsigned int cell)
{
	unsigned int shift;

	if (cell < 2 * FPGA_HIST_PARTS)
		return cell;
	shift = (cell >> FPGA_HIST_SHIFT) - 1;
	return ((uint64_t)(FPGA_HIST_PARTS + (cell & (FPGA_HIST_PARTS - 1))) << shift) + ((1ULL << shift) - 1);
}

void fpga_hist_add(struct fpga_hist *hist, uint64_t ns)
{
	hist->cells[cell_of(ns)]++;
	hist->nr++;
	if (ns < hist->min)
		hist->min = ns;
	if (ns > hist->max)
		hist->max = ns;
}

uint64_t fpga_hist_share(const struct fpga_hist *hist, unsigned int per_mille)
{
	uint64_t wanted = (hist->nr * per_mille + 999) / 1000, sum = 0;

	for (unsigned int cell = 0; cell < FPGA_HIST_CELLS && hist->nr; cell++) {
		sum += hist->cells[cell];
		if (sum >= wanted)
			return last_of(cell) < hist->max ? last_of(cell) : hist->max;
	}
	return 0;
}

/* Half a power of two. */
static uint64_t count_half(const struct fpga_hist *hist, unsigned int half)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < HALF; i++)
		sum += hist->cells[half * HALF + i];
	return sum;
}

static uint64_t below_half(unsigned int half)
{
	uint64_t last = last_of(half * HALF + HALF - 1);

	return last == UINT64_MAX ? last : last + 1;
}

void fpga_hist_print(const struct fpga_hist *hist, FILE *out)
{
	uint64_t most = 1;

	for (unsigned int half = 0; half < HALVES; half++) {
		uint64_t count = count_half(hist, half);

		if (count > most)
			most = count;
	}
	for (unsigned int half = 0; half < HALVES; half++) {
		uint64_t count = count_half(hist, half);
		int len = (int)((count * BAR + most - 1) / most);

		if (count)
			fprintf(out, "#   below %12.3f us: %10llu %.*s\n", (double)below_half(half) / 1000,
				(unsigned long long)count, len, "##################################################");
	}
}

struct json_object *fpga_hist_json(const struct fpga_hist *hist)
{
	struct json_object *array = tool_json_array();

	for (unsigned int half = 0; half < HALVES; half++) {
		uint64_t count = count_half(hist, half);
		struct json_object *bucket;

		if (!count)
			continue;
		bucket = tool_json_object();
		tool_json_int(bucket, "below_ns", (int64_t)below_half(half));
		tool_json_int(bucket, "count", (int64_t)count);
		tool_json_append(array, bucket);
	}
	return array;
}
