// SPDX-License-Identifier: MIT
#include "cost.h"

/* Differences up to one of these are noise of a median: 3 %, or 20 ns. */
#define NOISE_SHIFT 5U
#define NOISE_NS    20U

/* No copy is longer: the far end of the last class. */
#define FAR ((size_t)1 << 40)

/* Start of a class, which is the end of the one before it. */
static size_t size_of(unsigned int i)
{
	return i < BL_COST_NR ? (size_t)1 << (BL_COST_MIN_SHIFT + i) : FAR;
}

/* On the line from (x0, y0) that rises by @rise every @run; saturates. */
static uint64_t on_line(uint64_t y0, uint64_t rise, uint64_t run, uint64_t x)
{
	uint64_t whole, part, sum;

	/* @run is a power of two below 2^22, and no measured time comes near 2^40 ns: only whole runs can overflow */
	part = rise * (x % run) / run;
	if (__builtin_mul_overflow(rise, x / run, &whole) || __builtin_add_overflow(whole, part, &sum) ||
	    __builtin_add_overflow(sum, y0, &sum))
		return UINT64_MAX;
	return sum;
}

/* Between two points, wherever @y1 is. */
static uint64_t between(uint64_t y0, uint64_t y1, uint64_t run, uint64_t x)
{
	return y1 >= y0 ? y0 + (y1 - y0) * x / run : y0 - (y0 - y1) * x / run;
}

/* The next size that was measured, from @i on; BL_COST_NR when there is none. */
static unsigned int next_measured(const struct bl_cost_row *row, unsigned int i)
{
	while (i < BL_COST_NR && !row->ns[i])
		i++;
	return i;
}

static void fill_gap(struct bl_cost_row *row, unsigned int from, unsigned int to)
{
	for (unsigned int i = from + 1; i < to; i++)
		row->ns[i] = between(row->ns[from], row->ns[to], size_of(to) - size_of(from), size_of(i) - size_of(from));
}

/* Beyond the last measured size, along the line through the last two; copies do not get cheaper with their length. */
static void extend(struct bl_cost_row *row, unsigned int before, unsigned int last)
{
	uint64_t rise = row->ns[last] > row->ns[before] ? row->ns[last] - row->ns[before] : 0;

	if (before == last || size_of(last) < (size_t)1 << BL_COST_LINE_SHIFT)
		return;
	for (unsigned int i = last + 1; i < BL_COST_NR; i++)
		row->ns[i] = row->ns[last] + rise * (size_of(i) - size_of(last)) / (size_of(last) - size_of(before));
}

static void finish_row(struct bl_cost_row *row)
{
	unsigned int first = next_measured(row, 0), before = first, last = first;

	if (first == BL_COST_NR)
		return;
	for (unsigned int i = 0; i < first; i++)
		row->ns[i] = row->ns[first];
	for (unsigned int i = next_measured(row, first + 1); i < BL_COST_NR; i = next_measured(row, i + 1)) {
		fill_gap(row, last, i);
		before = last;
		last = i;
	}
	extend(row, before, last);
}

/*
 * An engine that is picked at both ends of a class is picked in between: its line cannot cross another twice. Where no
 * engine is known the pick of the sizes below stays.
 */
static void fill_picks(struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned)
{
	enum bl_engine engine = BL_ENGINE_CPU, low, high;

	for (unsigned int i = 0; i < BL_COST_NR; i++) {
		low = bl_cost_choose(table, dir, pinned, size_of(i));
		high = bl_cost_choose(table, dir, pinned, size_of(i + 1));
		if (low != BL_ENGINE_AUTO)
			engine = low;
		if (low == BL_ENGINE_AUTO || high == BL_ENGINE_AUTO || low == high)
			table->pick[dir][pinned][i] = engine;
		else
			table->pick[dir][pinned][i] = BL_ENGINE_AUTO;
	}
}

void bl_cost_finish(struct bl_cost_table *table)
{
	for (unsigned int engine = 0; engine < BL_NR_ENGINES; engine++) {
		for (unsigned int i = 0; i < BL_NR_DIRS * 2; i++)
			finish_row(&table->rows[engine][i / 2][i % 2]);
	}
	for (unsigned int i = 0; i < BL_NR_DIRS * 2; i++)
		fill_picks(table, (enum bl_copy_dir)(i / 2), i % 2);
}

void bl_cost_add(struct bl_cost_table *table, enum bl_engine engine, enum bl_copy_dir dir,
		 const struct bl_cost_row rows[2], size_t max_len)
{
	for (unsigned int pinned = 0; pinned < 2; pinned++) {
		struct bl_cost_row *row = &table->rows[engine][dir][pinned];

		*row = rows[pinned];
		finish_row(row);
		for (unsigned int i = bl_cost_class(max_len) + 1; i < BL_COST_NR; i++)
			row->ns[i] = 0;
		fill_picks(table, dir, pinned);
	}
}

uint64_t bl_cost_estimate(const struct bl_cost_row *row, size_t len)
{
	unsigned int i = bl_cost_class(len);
	const uint64_t *ns = row->ns;

	if (len <= size_of(0) || len == size_of(i) || !ns[i])
		return ns[i];
	if (i + 1 < BL_COST_NR)
		return ns[i + 1] ? between(ns[i], ns[i + 1], size_of(i), len - size_of(i)) : 0;
	return on_line(ns[i], ns[i] > ns[i - 1] ? ns[i] - ns[i - 1] : 0, size_of(i - 1), len - size_of(i));
}

enum bl_engine bl_cost_choose(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned, size_t len)
{
	uint64_t ns[BL_NR_ENGINES], best = UINT64_MAX, noise;

	for (unsigned int engine = 0; engine < BL_NR_ENGINES; engine++) {
		ns[engine] = bl_cost_estimate(&table->rows[engine][dir][pinned], len);
		if (ns[engine] && ns[engine] < best)
			best = ns[engine];
	}
	noise = best >> NOISE_SHIFT > NOISE_NS ? best >> NOISE_SHIFT : NOISE_NS;
	for (unsigned int engine = 0; engine < BL_NR_ENGINES; engine++) {
		if (ns[engine] && ns[engine] - best <= noise)
			return (enum bl_engine)engine;
	}
	return BL_ENGINE_AUTO;
}

/* The pick changes between the two: the first length that is not the CPU's. */
static size_t crossing(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned, size_t low, size_t high)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bl_cost_pick(table, dir, pinned, middle) == BL_ENGINE_CPU)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t bl_cost_first(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned)
{
	if (bl_cost_pick(table, dir, pinned, 1) != BL_ENGINE_CPU)
		return 1;
	for (unsigned int i = 1; i <= BL_COST_NR; i++) {
		if (bl_cost_pick(table, dir, pinned, size_of(i)) != BL_ENGINE_CPU)
			return crossing(table, dir, pinned, size_of(i - 1), size_of(i));
	}
	return SIZE_MAX;
}
