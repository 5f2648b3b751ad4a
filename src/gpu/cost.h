/* SPDX-License-Identifier: MIT */
/*
 * cost.h - what copies take with each engine, and which engine is the cheapest: a table, and functions on it alone
 *
 * A row holds nanoseconds at powers of two. Between them a copy's time is taken to be a straight line, as it is above
 * the last one: latency plus length over bandwidth.
 */
#ifndef BL_GPU_COST_H
#define BL_GPU_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/engine.h"

#define BL_COST_MIN_SHIFT  5U  /* shorter copies cost what this one does */
#define BL_COST_MAX_SHIFT  21U /* the largest size that is measured */
#define BL_COST_NR	   (BL_COST_MAX_SHIFT - BL_COST_MIN_SHIFT + 1)
#define BL_COST_LINE_SHIFT 16U /* from here on a slope can be told from noise, and continued */

/**
 * struct bl_cost_row - one engine, direction and kind of host memory
 * @ns: time at size 1 << (BL_COST_MIN_SHIFT + i), 0: not known; once finished, nothing is known behind a gap
 */
struct bl_cost_row {
	uint64_t ns[BL_COST_NR];
};

/**
 * struct bl_cost_table - one GPU
 * @rows: by engine, direction, and whether host memory is pinned
 * @pick: engine for sizes from 1 << (BL_COST_MIN_SHIFT + i) up to the next; BL_ENGINE_AUTO: compare at the length
 */
struct bl_cost_table {
	struct bl_cost_row rows[BL_NR_ENGINES][BL_NR_DIRS][2];
	uint8_t pick[BL_NR_DIRS][2][BL_COST_NR];
};

/**
 * bl_cost_finish() - Complete a table in which only measured sizes are set
 * @table: rows with measurements; receives the rest
 *
 * Gaps are filled along straight lines. Sizes above the last measured one lie on the line through the last two; where
 * that was below 1 << BL_COST_LINE_SHIFT, or there is one only, they stay unknown.
 */
void bl_cost_finish(struct bl_cost_table *table);

/**
 * bl_cost_add() - Add an engine to a finished table
 * @table:   the table
 * @engine:  whose times are added
 * @dir:     the direction that they are about
 * @rows:    measurements, by kind of host memory
 * @max_len: longest copy that it does, a power of two; nothing is known beyond
 */
void bl_cost_add(struct bl_cost_table *table, enum bl_engine engine, enum bl_copy_dir dir,
		 const struct bl_cost_row rows[2], size_t max_len);

/* Nanoseconds of a copy of @len bytes by the engine of a finished row; 0: not known. */
uint64_t bl_cost_estimate(const struct bl_cost_row *row, size_t len);

/**
 * bl_cost_choose() - Compare the engines at one length
 * @table:  rows finished
 * @dir:    direction
 * @pinned: kind of host memory
 * @len:    bytes
 *
 * Among those within noise of the cheapest, the one with the fewest side effects, which has the lowest number.
 * Return: engine, BL_ENGINE_AUTO where none is known.
 */
enum bl_engine bl_cost_choose(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned, size_t len);

/* Place in a row of the largest size that is not above @len. */
static inline unsigned int bl_cost_class(size_t len)
{
	unsigned int shift = len ? 63U - (unsigned int)__builtin_clzll(len) : 0;

	if (shift < BL_COST_MIN_SHIFT)
		return 0;
	return shift < BL_COST_MAX_SHIFT ? shift - BL_COST_MIN_SHIFT : BL_COST_NR - 1;
}

/* Engine for a copy, from a finished table: a look-up, and where two engines cross a comparison. */
static inline enum bl_engine bl_cost_pick(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned,
					  size_t len)
{
	enum bl_engine engine = (enum bl_engine)table->pick[dir][pinned][bl_cost_class(len)];

	return engine != BL_ENGINE_AUTO ? engine : bl_cost_choose(table, dir, pinned, len);
}

/* The smallest length at which another engine than the CPU is picked; SIZE_MAX: none ever is. */
size_t bl_cost_first(const struct bl_cost_table *table, enum bl_copy_dir dir, bool pinned);

#endif
