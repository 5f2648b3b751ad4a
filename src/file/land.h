/* SPDX-License-Identifier: MIT */
/*
 * land.h - pinned memory in which bytes of the GPU are watched arriving, and from which they go to a file
 *
 * As copy/arrive.h has it, all words are set to a mark before a transfer. The memory is a ring as large as a core's own cache,
 * and what a transfer has used is marked again while the GPU is busy with the next one: when the ring comes round, most marks
 * have left that cache, and the GPU writes over them faster. One thread's at a time, as its lane is.
 */
#ifndef BL_FILE_LAND_H
#define BL_FILE_LAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cuda.h"

#define BL_LAND_SIZE (2UL << 20)
#define BL_LAND_MAX  (128UL << 10)
#define BL_LAND_LINE 64UL

/**
 * struct bl_land - landing ring
 * @memory: BL_LAND_SIZE bytes, NULL: none
 * @none:   it could not be had
 * @mark:   what all words are that no transfer has used
 * @next:   where the next transfer goes, a whole line
 * @used:   what the last transfer has used
 * @before: what the one before has used, and was not marked yet
 */
struct bl_land {
	unsigned char *memory;
	bool none;
	uint32_t mark;
	size_t next;
	struct bl_land_range {
		size_t at;
		size_t len;
	} used, before;
};

/* Have the memory, unless it is there. A context is current. False: there is none to be had. */
bool bl_land_open(const struct bl_cuda *cuda, struct bl_land *land);

/**
 * bl_land_take() - A place for a transfer
 * @land: open; nothing is under way in it
 * @len:  bytes, a multiple of 4, at most BL_LAND_MAX
 *
 * Return: where it is; at the start of a line, all words of it are marked. It is the caller's until the next call.
 */
unsigned char *bl_land_take(struct bl_land *land, size_t len);

/* Mark what the transfer before this one has used; for when there is time. */
void bl_land_tidy(struct bl_land *land);

/* Another mark. Nothing is under way, and what the last transfer brought stays. */
void bl_land_choose(struct bl_land *land);

#endif
