/* SPDX-License-Identifier: MIT */
/* nvfs_cost.h - how long requests through the module take, learned from those that were made */
#ifndef BL_FILE_NVFS_COST_H
#define BL_FILE_NVFS_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * bl_nvfs_cost() - What a request would take
 * @len:   bytes, > 0
 * @write: direction
 *
 * Sizes are told apart by powers of two. One that was never tried, or that has lost against other paths for some hundred
 * times since it was, costs nothing, so that it is tried.
 * Return: ns.
 */
double bl_nvfs_cost(size_t len, bool write);

/* What one has taken. Lock-free; of two threads at the same moment one may be lost. */
void bl_nvfs_cost_note(size_t len, bool write, uint64_t ns);

#endif
