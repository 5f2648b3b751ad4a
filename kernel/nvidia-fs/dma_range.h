/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dma_range.h - pieces of GPU memory become ranges for a device, one at a time
 *
 * A driver of Linux 6.17 or later asks for one range after the other and keeps its place itself. A range is as many
 * pieces as follow each other, in the memory and in the device's addresses, within the limits of the queue.
 */
#ifndef BL_NVFS_DMA_RANGE_H
#define BL_NVFS_DMA_RANGE_H

#include "joiner.h"

/**
 * struct bl_dma_piece - memory that follows itself
 * @pa:  physical address
 * @dma: the device's address
 * @len: bytes
 */
struct bl_dma_piece {
	u64 pa;
	u64 dma;
	u32 len;
};

/**
 * struct bl_dma_source - pieces of a request
 * @peek: the piece that comes next. Return: 1, 0 (there is none), or -errno
 * @skip: go on by so many bytes, not more than that piece has
 * @arg:  for both
 */
struct bl_dma_source {
	int (*peek)(void *arg, struct bl_dma_piece *piece);
	void (*skip)(void *arg, u32 len);
	void *arg;
};

/**
 * struct bl_dma_range - a range
 * @dma: the device's address
 * @len: bytes
 */
struct bl_dma_range {
	u64 dma;
	u32 len;
};

/**
 * bl_dma_range_next() - Take the next range out of a request
 * @source:   pieces; goes on behind the range
 * @max_len:  bytes that a range may have, not 0
 * @boundary: no range may cross a multiple of this, plus one; all ones: none
 * @range:    receives it; only written when there is one
 *
 * Return: 1, 0 (there is none), or -errno of a piece at its beginning. One that comes later ends the range before it.
 */
static inline int bl_dma_range_next(const struct bl_dma_source *source, u32 max_len, u64 boundary,
				    struct bl_dma_range *range)
{
	struct bl_joiner joiner = { .max_len = max_len, .boundary = boundary };
	struct bl_dma_piece piece;
	int ret;

	for (;;) {
		struct bl_joiner longer = joiner;
		u32 part;

		ret = source->peek(source->arg, &piece);
		if (ret <= 0)
			break;
		part = bl_joiner_fits(&longer, piece.dma, piece.len);
		if (!bl_joiner_add(&longer, piece.pa, piece.dma, part) && joiner.len)
			break;
		joiner = longer;
		source->skip(source->arg, part);
	}
	if (!joiner.len)
		return ret;
	range->dma = joiner.start;
	range->len = joiner.len;
	return 1;
}

#endif
