/* SPDX-License-Identifier: MIT */
/* cost.h - how long requests take by paths that nobody knows a formula for, learned from those that were made */
#ifndef BL_FILE_COST_H
#define BL_FILE_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"

/**
 * bl_cost() - What a request would take
 * @path:  by which way
 * @len:   bytes, > 0
 * @write: direction
 *
 * Sizes are told apart by powers of two. One that was never tried, or that has lost against other paths for some hundred
 * times since it was, costs nothing, so that it is tried.
 * Return: ns.
 */
double bl_cost(enum bl_path path, size_t len, bool write);

/* What one has taken. Lock-free; of two threads at the same moment one may be lost. */
void bl_cost_note(enum bl_path path, size_t len, bool write, uint64_t ns);

#endif
