// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Zeroes for holes of files, written by the CPU through the device's window. They are a way out where a report would
 * not be understood, and no copies: nothing is read.
 */
#include "core.h"
#include "io.h"

#include <linux/io.h>

static int zero_range(u64 pa, u64 len)
{
	void __iomem *at = ioremap_wc(pa, len);

	if (!at)
		return fault(ENOMEM, "pa 0x%llx len 0x%llx: cannot be mapped for zeroes", pa, len);
	memset_io(at, 0, len);
	/* the zeroes leave the CPU, and the read below follows them to the device and comes back behind them */
	mb();
	readb(at + len - 1);
	iounmap(at);
	return 0;
}

/**
 * bl_zero() - Zero memory of a map
 * @map: a map whose gate the caller is inside of
 * @off: offset of the first byte
 * @len: bytes
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int bl_zero(const struct bl_map *map, u64 off, u64 len)
{
	while (len) {
		const struct bl_chunk *chunk = &map->chunks.chunk[bl_chunks_find(&map->chunks, off)];
		u64 in = off - chunk->off, part = min(len, chunk->len - in);
		int ret = zero_range(chunk->pa + in, part);

		if (ret)
			return ret;
		off += part;
		len -= part;
	}
	return 0;
}
