/* SPDX-License-Identifier: MIT */
/*
 * extent.h - first-fit allocator of ranges, used for video memory, device addresses and small allocations
 *
 * Free space is a list sorted by address. First fit from the bottom reuses freed ranges at once, which is what shows
 * stale pointers and mappings. Not thread-safe: the owner locks.
 */
#ifndef EMU_CUDA_EXTENT_H
#define EMU_CUDA_EXTENT_H

#include <stdint.h>

struct emu_extent {
	struct emu_extent *next;
	uint64_t start;
	uint64_t len;
};

struct emu_extents {
	struct emu_extent *first;
	uint64_t free_bytes;
};

/* Free space of one range. Returns 0 or -ENOMEM. */
int emu_extents_init(struct emu_extents *extents, uint64_t start, uint64_t len);
void emu_extents_destroy(struct emu_extents *extents);

/**
 * emu_extents_take() - Take the first fitting range
 * @extents: free space
 * @len:     bytes, > 0
 * @align:   power of two
 * @start_p: receives the start
 *
 * Return: 0, or -ENOMEM.
 */
int emu_extents_take(struct emu_extents *extents, uint64_t len, uint64_t align, uint64_t *start_p);

/* Take exactly [start, start + len). Returns 0, -EBUSY when not all of it is free, or -ENOMEM. */
int emu_extents_take_at(struct emu_extents *extents, uint64_t start, uint64_t len);

/* Give back a range that was taken whole. */
void emu_extents_give(struct emu_extents *extents, uint64_t start, uint64_t len);

#endif
