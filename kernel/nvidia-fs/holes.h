/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * holes.h - blocks of a file that no device has written to GPU memory, because they are not on the drive
 */
#ifndef BL_NVFS_HOLES_H
#define BL_NVFS_HOLES_H

#include <linux/types.h>

#include "nvidia_fs.h"

/**
 * struct bl_holes - regions of blocks, in order
 * @hole:   the regions, with room for NVIDIA_FS_MAX_HOLES; written and never read, as user space may write there too
 * @nr:     how many
 * @blocks: blocks of all of them
 * @last:   the last one
 */
struct bl_holes {
	struct nvidia_fs_hole *hole;
	u32 nr;
	u32 blocks;
	struct nvidia_fs_hole last;
};

/**
 * bl_holes_add() - Add the next block that is a hole
 * @holes: regions
 * @block: its number; greater than all that were added, and less than 65536
 *
 * Return: true, or false when there is no room: what follows from this block on cannot be told.
 */
static inline bool bl_holes_add(struct bl_holes *holes, u32 block)
{
	struct nvidia_fs_hole *last = &holes->last;

	if (holes->nr && last->start + last->npages == block && last->npages < U16_MAX) {
		last->npages++;
	} else {
		if (holes->nr == NVIDIA_FS_MAX_HOLES)
			return false;
		holes->nr++;
		*last = (struct nvidia_fs_hole){ .start = (u16)block, .npages = 1 };
	}
	holes->hole[holes->nr - 1] = *last;
	holes->blocks++;
	return true;
}

#endif
