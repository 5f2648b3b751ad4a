// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The life of a READ or WRITE: made from what user space asks for, started piece by piece, ended by the last of those
 * who have to do with it.
 */
#include "core.h"
#include "io.h"
#include "stats.h"

#include <linux/file.h>
#include <linux/slab.h>

/**
 * bl_io_user_error() - Make a result fit for user space
 * @ret: what a file system returned
 *
 * Return: bytes, or an error that user space knows.
 */
s64 bl_io_user_error(s64 ret)
{
	switch (ret) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return -EINTR;
	case -ENOTSUPP:
		return -EOPNOTSUPP;
	case -EIOCBQUEUED:
	case -ENOTBLK:
		return -EIO;
	default:
		return ret;
	}
}

static int get_memory(struct bl_io *io, struct file *node, const struct nvidia_fs_io *arg)
{
	io->shadow_file = bl_mmap_file(node, arg->cpuvaddr);
	if (!io->shadow_file)
		return refuse(EINVAL, "no shadow of this process begins at 0x%llx", arg->cpuvaddr);
	io->shadow = bl_shadow_of(io->shadow_file);
	io->map = bl_map_use(io->shadow);
	if (!io->map)
		return refuse(EBUSY, "shadow 0x%llx: no memory is bound to it", arg->cpuvaddr);
	return 0;
}

/*
 * There is one page for reports. A request that has it to itself tells holes there; one that begins while another is in
 * flight has them zeroed, and so have all that follow: who reads the page late must not take a report for another's.
 */
static void enter_shadow(struct bl_io *io)
{
	struct bl_shadow *shadow = io->shadow;
	bool first;

	spin_lock_irq(&shadow->lock);
	first = !shadow->nr_ios++;
	if (!first)
		shadow->shared = true;
	io->tells = !io->write && !shadow->shared;
	if (!io->sync)
		shadow->nr_held++;
	spin_unlock_irq(&shadow->lock);
	if (first)
		bl_meta_set_state(&io->map->meta, NVIDIA_FS_CLEAN);
}

/*
 * The end is told in the same moment, as seen by the next request: it neither begins before it, and takes this one's
 * report away, nor does one that user space begins after it meet this one.
 */
static void leave_shadow(struct bl_io *io, bool tell)
{
	struct bl_shadow *shadow = io->shadow;
	unsigned long flags;

	spin_lock_irqsave(&shadow->lock, flags);
	shadow->nr_ios--;
	if (tell)
		bl_meta_tell_end(&io->map->meta, io->result, io->fence);
	/* the last that is done with the map: user space may have it unmapped as soon as it knows */
	bl_map_unuse(shadow);
	spin_unlock_irqrestore(&shadow->lock, flags);
}

/* The shadow may be gone with the lock. */
static void let_go(struct bl_shadow *shadow)
{
	unsigned long flags;

	spin_lock_irqsave(&shadow->lock, flags);
	if (!--shadow->nr_held)
		wake_up_all(&shadow->wait);
	spin_unlock_irqrestore(&shadow->lock, flags);
}

static void drop_files(struct bl_io *io)
{
	if (io->file)
		fput(io->file);
	if (io->shadow_file)
		fput(io->shadow_file);
}

/**
 * bl_io_new() - Make a request
 * @node: the file that user space asks through
 * @arg:  what it asks for
 * @write: which of the two
 * @io_p: receives the request, for bl_io_start() and then bl_io_end(), or for bl_io_cancel(); not written on error
 *
 * Context: may sleep.
 * Return: 0 or -errno; the error was reported, but for want of memory.
 */
int bl_io_new(struct file *node, const struct nvidia_fs_io *arg, bool write, struct bl_io **io_p)
{
	struct bl_io *io = kzalloc(sizeof(*io), GFP_KERNEL_ACCOUNT);
	ktime_t begin = bl_stats_begin(write);
	int ret = -ENOMEM;

	if (!io)
		goto end;
	io->write = write;
	io->sync = arg->flags & NVIDIA_FS_IO_SYNC;
	io->fence = arg->end_fence_value;
	io->begin = begin;
	atomic_set(&io->refs, 1);
	INIT_LIST_HEAD(&io->pieces);
	init_completion(&io->ended);
	ret = bl_io_check_file(io, arg);
	if (!ret)
		ret = get_memory(io, node, arg);
	if (!ret)
		ret = bl_io_check(io, arg);
	if (ret)
		goto drop;
	if (!io->sync)
		io->node = get_file(node);
	enter_shadow(io);
	*io_p = io;
	return 0;
drop:
	if (io->map)
		bl_map_unuse(io->shadow);
	drop_files(io);
	kfree(io);
end:
	bl_stats_end(write, begin, ret);
	return ret;
}

/* Forget a piece that needs not be looked at again, for its successor. */
static struct bl_piece *reuse(struct bl_io *io)
{
	struct bl_piece *piece = list_first_entry_or_null(&io->pieces, struct bl_piece, node);

	/* pairs with the end of a piece: the result comes before it */
	if (!piece || !smp_load_acquire(&piece->ended) || !bl_piece_is_whole(piece))
		return NULL;
	io->done += piece->len;
	list_del(&piece->node);
	return piece;
}

/**
 * bl_io_start() - Start all pieces of a request
 * @io:    request
 * @alone: the caller waits for it, and starts no other before
 *
 * Context: may sleep until there are slots for the last piece.
 */
void bl_io_start(struct bl_io *io, bool alone)
{
	while (io->left && !io->error && !READ_ONCE(io->stop)) {
		struct bl_piece *piece = reuse(io);

		if (!piece)
			piece = bl_piece_new(io);
		if (!piece) {
			io->error = -ENOMEM;
			break;
		}
		list_add_tail(&piece->node, &io->pieces);
		io->error = bl_piece_start(piece, alone && io->sync);
		if (io->error) {
			list_del(&piece->node);
			bl_piece_free(piece);
		}
	}
}

/* All pieces have ended. Bytes count up to the first that are missing; an error only where none does. */
static s64 sum(const struct bl_io *io)
{
	const struct bl_piece *piece;
	s64 done = io->done;

	list_for_each_entry(piece, &io->pieces, node) {
		if (piece->result < 0)
			return done ? done : bl_io_user_error(piece->result);
		done += piece->result;
		if (piece->result < piece->len)
			return done;
	}
	return done || !io->error ? done : bl_io_user_error(io->error);
}

static bool is_sparse(const struct bl_io *io)
{
	const struct bl_piece *piece;

	list_for_each_entry(piece, &io->pieces, node) {
		if (piece->sparse)
			return true;
	}
	return false;
}

static void free_pieces(struct bl_io *io)
{
	struct bl_piece *piece, *next;

	list_for_each_entry_safe(piece, next, &io->pieces, node)
		bl_piece_free(piece);
}

/* The last one: nobody else touches the request. Tells the result, but to a thread that waits. */
static void finish(struct bl_io *io)
{
	io->result = sum(io);
	if (io->result > 0 && is_sparse(io))
		io->result = bl_meta_tell_holes(&io->map->meta, io);
	free_pieces(io);
	bl_stats_end(io->write, io->begin, io->result);
	fput(io->file);
	leave_shadow(io, !io->sync);
}

/*
 * The same of one that nobody waits for; it is freed. The file of the node goes last: it may be all that keeps this module
 * loaded, and the kernel ends a file only when who put it has left the module, or by a worker later.
 */
static s64 finish_async(struct bl_io *io)
{
	struct file *node = io->node;
	s64 result;

	finish(io);
	result = io->result;
	let_go(io->shadow);
	kfree(io);
	fput(node);
	return result;
}

/**
 * bl_io_put() - One of those who have to do with a request has done with it
 * @io: request, which is not touched after that
 *
 * Context: any.
 */
void bl_io_put(struct bl_io *io)
{
	if (!atomic_dec_and_test(&io->refs))
		return;
	if (io->sync) {
		complete(&io->ended);
		return;
	}
	finish_async(io);
}

static s64 end_sync(struct bl_io *io)
{
	s64 result;

	bl_io_put(io);
	wait_for_completion(&io->ended);
	finish(io);
	result = io->result;
	kfree(io);
	return result;
}

/* Bytes only of one that has ended by now. */
static s64 end_async(struct bl_io *io)
{
	return atomic_dec_and_test(&io->refs) ? max_t(s64, finish_async(io), 0) : 0;
}

/**
 * bl_io_end() - Have done with a request that was started
 * @io: request, which is not touched after that
 *
 * Context: may sleep; waits for the end of one that is to be waited for.
 * Return: bytes, or -errno; of one that is not waited for 0, or bytes if it has ended already.
 */
s64 bl_io_end(struct bl_io *io)
{
	struct file *shadow_file = io->shadow_file;
	s64 ret = io->sync ? end_sync(io) : end_async(io);

	fput(shadow_file);
	return ret;
}

/**
 * bl_io_cancel() - Undo bl_io_new()
 * @io: a request that was not started; nothing is told to anybody
 */
void bl_io_cancel(struct bl_io *io)
{
	bl_stats_end(io->write, io->begin, -ECANCELED);
	leave_shadow(io, false);
	if (!io->sync) {
		fput(io->node);
		let_go(io->shadow);
	}
	drop_files(io);
	kfree(io);
}
