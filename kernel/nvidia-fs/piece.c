// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * One piece of a request: slots are bound to GPU pages, and the file system reads into them or writes them as if
 * they were memory of the kernel. It ends where the drive's completion comes, or at once.
 */
#include "core.h"
#include "io.h"
#include "stats.h"

#include "bl_compat.h"

#include <linux/slab.h>
#include <linux/uio.h>

/* What a bio takes at most; a slot whose pages are no neighbours needs one for each of them. */
#define MAX_VECTORS 256

/* Of a request that is larger than its shadow, so many pieces are under way. */
#define OVERLAP 4

static u64 slots_for(u64 goff, u64 len)
{
	return (goff + len - 1) / BL_GPU_PAGE - goff / BL_GPU_PAGE + 1;
}

static u32 most_slots(const struct bl_io *io)
{
	const struct bl_shadow *shadow = io->shadow;
	u64 want = slots_for(io->goff, io->left);
	u32 max = shadow->whole ? MAX_VECTORS : MAX_VECTORS / BL_SLOT_PAGES;

	if (want > shadow->nr_slots)
		want = DIV_ROUND_UP(shadow->nr_slots, OVERLAP);
	return min_t(u64, want, max);
}

/**
 * bl_piece_new() - Make room for a piece of what is left of a request
 * @io: the request
 *
 * Context: may sleep.
 * Return: the piece, or NULL.
 */
struct bl_piece *bl_piece_new(struct bl_io *io)
{
	u32 max = most_slots(io), nr_bv = max * (io->shadow->whole ? 1 : BL_SLOT_PAGES);
	size_t size = struct_size_t(struct bl_piece, bv, nr_bv);
	struct bl_piece *piece = kmalloc(size + max * sizeof(piece->slot[0]), GFP_KERNEL_ACCOUNT);

	if (!piece)
		return NULL;
	piece->io = io;
	piece->max = max;
	piece->slot = (void *)piece + size;
	return piece;
}

/**
 * bl_piece_free() - Undo bl_piece_new()
 * @piece: a piece that is not under way, or NULL
 *
 * Context: any.
 */
void bl_piece_free(struct bl_piece *piece)
{
	kfree(piece);
}

static void add_vector(struct bl_piece *piece, struct page *page, u32 off, u32 len)
{
	piece->bv[piece->nr_bv++] = (struct bio_vec){
		.bv_page = page,
		.bv_offset = offset_in_page(off),
		.bv_len = len,
	};
}

/* Bytes of a slot. */
static void add_vectors(const struct bl_shadow *shadow, struct bl_piece *piece, u32 id, u32 off, u32 len)
{
	while (len) {
		u32 part = shadow->whole ? len : min_t(u32, len, PAGE_SIZE - offset_in_page(off));

		add_vector(piece, shadow->pages[id * BL_SLOT_PAGES + (off >> PAGE_SHIFT)], off, part);
		off += part;
		len -= part;
	}
}

/* The memory of the map and the addresses of the peer stay until leave(). */
static void bind(struct bl_piece *piece)
{
	const struct bl_io *io = piece->io;
	u64 page = round_down(piece->goff, BL_GPU_PAGE);
	u32 left = piece->len, off = piece->first, i;

	piece->nr_bv = 0;
	for (i = 0; i < piece->nr; i++) {
		struct bl_slot *slot = &io->shadow->slots[piece->slot[i].id];
		u32 len = min_t(u32, left, BL_GPU_PAGE - off);

		slot->dma = bl_peer_dma(io->map, io->peer, page + i * BL_GPU_PAGE, &slot->pa);
		atomic_long_set(&slot->seen, 0);
		WRITE_ONCE(slot->peer, io->peer);
		add_vectors(io->shadow, piece, piece->slot[i].id, off, len);
		left -= len;
		off = 0;
	}
}

static void leave(struct bl_piece *piece)
{
	const struct bl_io *io = piece->io;
	u32 i;

	for (i = 0; i < piece->nr; i++)
		WRITE_ONCE(io->shadow->slots[piece->slot[i].id].peer, NULL);
	bl_peer_leave(io->map, io->peer);
	bl_slots_give(io->shadow, piece->slot, piece->nr);
}

/**
 * bl_piece_is_whole() - Whether the bytes behind a piece that has ended count
 * @piece: piece
 *
 * Return: true when it has all of its bytes, and none of them is left for user space to zero.
 */
bool bl_piece_is_whole(const struct bl_piece *piece)
{
	return piece->result == piece->len && !piece->sparse;
}

static void end(struct bl_piece *piece, bool moved)
{
	struct bl_io *io = piece->io;

	/* the CPU may have put bytes into the pages */
	if (!moved || piece->result != piece->len)
		WRITE_ONCE(io->shadow->touched, true);
	leave(piece);
	if (!bl_piece_is_whole(piece))
		WRITE_ONCE(io->stop, true);
	/* who sees that it has ended reads its result, and may free it */
	smp_store_release(&piece->ended, true);
	bl_io_put(io);
}

static void judge_and_end(struct work_struct *work)
{
	struct bl_piece *piece = container_of(work, struct bl_piece, work);

	piece->result = bl_judge(piece);
	end(piece, false);
}

/* The end of a piece, also in an interrupt. */
static void complete_piece(struct kiocb *iocb, long ret)
{
	struct bl_piece *piece = container_of(iocb, struct bl_piece, iocb);

	if (piece->io->write)
		bl_write_queued_end(iocb);
	piece->result = ret;
	if (ret > 0 && !bl_judge_is_moved(piece))
		queue_work(bl_queue, &piece->work);
	else
		end(piece, true);
}

static ssize_t call_file(struct bl_piece *piece)
{
	struct kiocb *iocb = &piece->iocb;
	struct file *file = piece->io->file;
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_bvec(&iter, piece->io->write ? WRITE : READ, piece->bv, piece->nr_bv, piece->len);
	if (!piece->io->write)
		return vfs_iocb_iter_read(file, iocb, &iter);
	ret = vfs_iocb_iter_write(file, iocb, &iter);
	/* of one that was queued all may be over by now */
	if (ret != -EIOCBQUEUED)
		bl_write_end(iocb);
	return ret;
}

static void run(struct bl_piece *piece, bool wait)
{
	bool moved;
	ssize_t ret;

	if (!wait)
		piece->iocb.ki_complete = complete_piece;
	bind(piece);
	ret = call_file(piece);
	if (ret == -EIOCBQUEUED)
		return;
	piece->result = ret;
	moved = ret <= 0 || bl_judge_is_moved(piece);
	if (!moved)
		piece->result = bl_judge(piece);
	end(piece, moved);
}

static void prepare(struct bl_piece *piece)
{
	struct bl_io *io = piece->io;

	INIT_WORK(&piece->work, judge_and_end);
	init_sync_kiocb(&piece->iocb, io->file);
	piece->iocb.ki_pos = io->pos;
	piece->pos = io->pos;
	piece->goff = io->goff;
	piece->first = io->goff % BL_GPU_PAGE;
	piece->ended = false;
	piece->sparse = false;
}

/* A file system that is frozen is waited for before the gate, so that memory can still be taken back. */
static int enter(struct bl_piece *piece)
{
	struct bl_io *io = piece->io;
	int ret;

	if (io->write)
		bl_write_begin(&piece->iocb);
	ret = bl_peer_enter(io->map, io->peer);
	if (!ret)
		return 0;
	atomic64_inc(&bl_stats_of(io->write)->state_err);
	if (io->write)
		bl_write_end(&piece->iocb);
	return ret;
}

/**
 * bl_piece_start() - Start the next piece of a request
 * @piece: the piece, which is in the request's list
 * @may_wait: nothing else will be started before the request has ended: the last piece may be waited for here
 *
 * The request moves on. The piece ends by itself, perhaps before the return, and drops a reference of the request.
 *
 * Context: may sleep until there is a slot.
 * Return: 0, or why it could not be started: -EINTR, -EIO (the memory has gone), -ENODEV (the device has).
 */
int bl_piece_start(struct bl_piece *piece, bool may_wait)
{
	struct bl_io *io = piece->io;
	int ret;

	prepare(piece);
	ret = bl_slots_take(io->shadow, min_t(u64, slots_for(io->goff, io->left), piece->max), piece->slot, &piece->nr);
	if (ret)
		return ret;
	piece->len = min_t(u64, io->left, piece->nr * BL_GPU_PAGE - piece->first);
	ret = enter(piece);
	if (ret) {
		bl_slots_give(io->shadow, piece->slot, piece->nr);
		return ret;
	}
	io->pos += piece->len;
	io->goff += piece->len;
	io->left -= piece->len;
	atomic_inc(&io->refs);
	run(piece, may_wait && !io->left);
	return 0;
}
