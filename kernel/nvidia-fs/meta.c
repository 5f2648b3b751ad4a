// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The page of user space that requests report to. It is pinned as long as the map lives, since a free callback
 * reports too, and may do so in any process.
 */
#include "core.h"
#include "holes.h"
#include "io.h"
#include "stats.h"

#include <linux/highmem.h>

/**
 * bl_meta_pin() - Hold the page
 * @meta: receives it; not written on error
 * @addr: its address in the calling process, aligned to a block
 *
 * Context: may sleep.
 * Return: 0, or -EFAULT (no page that can be written), -ENOMEM.
 */
int bl_meta_pin(struct bl_meta *meta, u64 addr)
{
	struct page *page;
	int ret;

	ret = pin_user_pages_fast(addr & PAGE_MASK, 1, FOLL_WRITE | FOLL_LONGTERM, &page);
	if (ret != 1)
		return ret < 0 ? ret : -EFAULT;
	meta->page = page;
	meta->off = offset_in_page(addr);
	return 0;
}

/**
 * bl_meta_unpin() - Let go of the page
 * @meta: a page that is held, or none
 */
void bl_meta_unpin(struct bl_meta *meta)
{
	if (meta->page)
		unpin_user_pages_dirty_lock(&meta->page, 1, true);
	meta->page = NULL;
}

static struct nvidia_fs_meta *show(struct bl_meta *meta)
{
	return kmap_local_page(meta->page) + meta->off;
}

static void hide(struct nvidia_fs_meta *at)
{
	kunmap_local(at);
}

/**
 * bl_meta_set_state() - Say what became of the memory, or of the last request
 * @meta:  page
 * @state: NVIDIA_FS_CLEAN, which leaves a page that says DIED alone, or NVIDIA_FS_DIED
 */
void bl_meta_set_state(struct bl_meta *meta, u32 state)
{
	struct nvidia_fs_meta *at = show(meta);

	if (state != NVIDIA_FS_CLEAN)
		WRITE_ONCE(at->state, state);
	else
		cmpxchg(&at->state, NVIDIA_FS_SPARSE, NVIDIA_FS_CLEAN);
	hide(at);
}

static const struct bl_piece *first_sparse(const struct bl_io *io)
{
	const struct bl_piece *piece;

	list_for_each_entry(piece, &io->pieces, node) {
		if (piece->sparse)
			break;
	}
	return piece;
}

/* Holes of a piece, counted from @start. How many bytes of it are told: fewer when there are too many. */
static u32 add_holes(struct bl_holes *holes, const struct bl_piece *piece, loff_t start)
{
	u32 nr = DIV_ROUND_UP(piece->result, NVIDIA_FS_BLOCK), block;
	u32 base = (piece->pos - start) / NVIDIA_FS_BLOCK;

	for (block = 0; block < nr; block++) {
		u32 at = piece->first + block * NVIDIA_FS_BLOCK;

		if (!(piece->slot[at / NVIDIA_FS_GPU_PAGE].missed & BIT(at % NVIDIA_FS_GPU_PAGE / NVIDIA_FS_BLOCK)))
			continue;
		if (base + block > U16_MAX || !bl_holes_add(holes, base + block))
			return block * NVIDIA_FS_BLOCK;
	}
	return piece->result;
}

static u64 add_all(struct bl_holes *holes, const struct bl_io *io, loff_t start)
{
	const struct bl_piece *piece;
	u64 done = io->done;
	u32 len;

	list_for_each_entry(piece, &io->pieces, node) {
		if (piece->result < 0)
			break;
		len = piece->sparse ? add_holes(holes, piece, start) : piece->result;
		done += len;
		if (len < piece->len)
			break;
	}
	return done;
}

/**
 * bl_meta_tell_holes() - Say which blocks of a read are to be zeroed by user space
 * @meta: page
 * @io:   a read that has ended, of which a piece has such blocks
 *
 * Context: any.
 * Return: how many bytes of the read count: it ends before more holes than can be told.
 */
u64 bl_meta_tell_holes(struct bl_meta *meta, const struct bl_io *io)
{
	struct nvidia_fs_meta *at = show(meta);
	struct bl_holes holes = { .hole = at->hole };
	loff_t start = first_sparse(io)->pos;
	u64 done = add_all(&holes, io, start);

	at->start_magic = NVIDIA_FS_SPARSE_MAGIC;
	at->meta_version = NVIDIA_FS_SPARSE_VERSION;
	at->nholes = holes.nr;
	at->start_fd_offset = start;
	/* who reads the state reads the holes after it; memory that died in this moment keeps its mark */
	smp_wmb();
	if (holes.nr) {
		cmpxchg(&at->state, NVIDIA_FS_CLEAN, NVIDIA_FS_SPARSE);
		atomic64_inc(&bl_stats.sparse_n);
	}
	hide(at);
	atomic64_add(holes.nr, &bl_stats.sparse_holes);
	atomic64_add(holes.blocks, &bl_stats.sparse_pages);
	return done;
}

/**
 * bl_meta_tell_end() - Say that an asynchronous request has ended
 * @meta:   page
 * @result: bytes or a negative errno value
 * @fence:  number that user space waits for
 */
void bl_meta_tell_end(struct bl_meta *meta, s64 result, u64 fence)
{
	struct nvidia_fs_meta *at = show(meta);

	WRITE_ONCE(at->result, result);
	/* who sees the fence reads the result after it */
	smp_store_release(&at->end_fence_val, fence);
	hide(at);
}
