// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What really happened to a piece that the file system calls done: which blocks a device has moved. A block of a read
 * that none has moved, and whose stand-in is zero, is a hole of the file. Any other went through the page cache.
 */
#include "core.h"
#include "io.h"
#include "stats.h"

#include <linux/highmem.h>

/* Blocks of a slot that [first, end) bytes of it touch. */
static u16 blocks_of(u32 first, u32 end)
{
	return GENMASK(DIV_ROUND_UP(end, NVIDIA_FS_BLOCK) - 1, first / NVIDIA_FS_BLOCK);
}

static u16 seen_of(const struct bl_piece *piece, u32 nr)
{
	return atomic_long_read(&piece->io->shadow->slots[piece->slot[nr].id].seen);
}

/**
 * bl_judge_is_moved() - Whether a device has moved all that the file system says
 * @piece: a piece that has ended well
 *
 * Context: any. Return: true if so: then there is nothing else to look at.
 */
bool bl_judge_is_moved(const struct bl_piece *piece)
{
	u32 at = piece->first, left = piece->result, i;

	for (i = 0; left; i++) {
		u32 len = min_t(u32, left, BL_GPU_PAGE - at);

		if (blocks_of(at, at + len) & ~seen_of(piece, i))
			return false;
		left -= len;
		at = 0;
	}
	return true;
}

/* A block that no device moved. What the CPU put there does not stay. Whether it is a hole. */
static bool is_hole(const struct bl_piece *piece, u32 id, u32 off)
{
	struct page *page = piece->io->shadow->pages[id * BL_SLOT_PAGES + (off >> PAGE_SHIFT)];
	u8 *at = kmap_local_page(page) + offset_in_page(off);
	bool hole = !memchr_inv(at, 0, BL_BLOCK);

	if (!hole)
		memset(at, 0, BL_BLOCK);
	kunmap_local(at);
	return hole;
}

/* Bytes of the piece from @from on are zero in the file, up to @to. */
static int zero(const struct bl_piece *piece, u32 from, u32 to)
{
	atomic64_inc(&bl_stats.sparse_holes);
	atomic64_add(DIV_ROUND_UP(to - from, NVIDIA_FS_BLOCK), &bl_stats.sparse_pages);
	return bl_zero(piece->io->map, piece->goff + from, to - from);
}

static bool has_missed(const struct bl_piece *piece, u32 block)
{
	u32 at = piece->first + block * NVIDIA_FS_BLOCK;

	return piece->slot[at / NVIDIA_FS_GPU_PAGE].missed & BIT(at % NVIDIA_FS_GPU_PAGE / NVIDIA_FS_BLOCK);
}

/* Zero what was missed: run by run. What comes before a run that cannot be zeroed counts. */
static ssize_t zero_missed(struct bl_piece *piece, u32 len)
{
	u32 nr = DIV_ROUND_UP(len, NVIDIA_FS_BLOCK), block, first;
	int ret;

	for (block = 0; block < nr; block++) {
		if (!has_missed(piece, block))
			continue;
		first = block;
		while (block < nr && has_missed(piece, block))
			block++;
		ret = zero(piece, first * NVIDIA_FS_BLOCK, min_t(u32, len, block * NVIDIA_FS_BLOCK));
		if (ret)
			return first ? first * NVIDIA_FS_BLOCK : ret;
	}
	atomic64_inc(&bl_stats.sparse_n);
	return len;
}

/* Note the blocks that are holes. 0, or -EIO when one is none. */
static int find_missed(struct bl_piece *piece, u32 len)
{
	const struct bl_io *io = piece->io;
	u32 nr = DIV_ROUND_UP(len, NVIDIA_FS_BLOCK), block, i;
	int ret = 0;

	for (i = 0; i < piece->nr; i++)
		piece->slot[i].missed = 0;
	for (block = 0; block < nr; block++) {
		u32 at = piece->first + block * NVIDIA_FS_BLOCK, off = at % NVIDIA_FS_GPU_PAGE;
		struct bl_piece_slot *slot = &piece->slot[at / NVIDIA_FS_GPU_PAGE];

		if (seen_of(piece, at / NVIDIA_FS_GPU_PAGE) & BIT(off / NVIDIA_FS_BLOCK))
			continue;
		if (!is_hole(piece, slot->id, off) || io->write) {
			ret = -EIO;
			continue;
		}
		slot->missed |= BIT(off / NVIDIA_FS_BLOCK);
		piece->sparse = true;
	}
	if (ret)
		piece->sparse = false;
	return ret;
}

/**
 * bl_judge() - Look at blocks that no device has moved
 * @piece: a piece that has ended well, inside of its gates
 *
 * Holes are noted in the piece if the request tells them, else they are zeroed in the memory.
 *
 * Context: may sleep.
 * Return: how many bytes count, or -EIO (some went through the page cache), or why holes cannot be zeroed.
 */
ssize_t bl_judge(struct bl_piece *piece)
{
	u32 len = piece->result;

	if (find_missed(piece, len))
		return fault(EIO, "inode %llu at %lld len %u: bytes went through the page cache",
			     (u64)file_inode(piece->io->file)->i_ino, piece->pos, len);
	if (!piece->sparse || piece->io->tells)
		return len;
	piece->sparse = false;
	return zero_missed(piece, len);
}
