/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * io.h - one READ or WRITE, and the pieces that it goes on in
 *
 * The thread that makes a request starts its pieces, as many as there are slots for, and does not wait for one before
 * it starts the next. A piece ends in the completion of the drive, which may be an interrupt. Blocks that no device
 * has moved are looked at where it may sleep. The last one of the thread and the pieces ends the request: it tells the
 * result to the page of user space, or to the thread that waits.
 *
 * A request that is not waited for holds its file, the file of the node, and a count of the shadow: its file is not
 * released before, so that memory goes back to the GPU driver in the process that had bound it.
 */
#ifndef BL_NVFS_IO_H
#define BL_NVFS_IO_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "nvidia_fs.h"

struct bl_io;
struct bl_map;
struct bl_peer;
struct bl_shadow;

/**
 * struct bl_piece_slot - a slot that a piece has
 * @id:     which
 * @missed: bit per block: a hole that is to be told
 */
struct bl_piece_slot {
	u16 id;
	u16 missed;
};

static_assert(NVIDIA_FS_GPU_PAGE / NVIDIA_FS_BLOCK == 16);

/**
 * struct bl_piece - a piece of a request
 * @node:   in bl_io.pieces, in the order of the file
 * @io:     its request
 * @iocb:   what the file system is asked with
 * @work:   looks at blocks that no device has moved
 * @pos:    its first byte in the file
 * @goff:   the same in the map
 * @result: bytes, or -errno; good once @ended is set
 * @len:    bytes
 * @first:  bytes of its first slot before it
 * @nr:     slots that it has
 * @max:    slots that there is room for
 * @nr_bv:  vectors
 * @ended:  nobody but who started it touches it any more
 * @sparse: a slot has blocks that were missed
 * @slot:   its slots
 * @bv:     its memory, for the file system
 */
struct bl_piece {
	struct list_head node;
	struct bl_io *io;
	struct kiocb iocb;
	struct work_struct work;
	loff_t pos;
	u64 goff;
	ssize_t result;
	u32 len;
	u32 first;
	u32 nr;
	u32 max;
	u32 nr_bv;
	bool ended;
	bool sparse;
	struct bl_piece_slot *slot;
	struct bio_vec bv[];
};

/**
 * struct bl_io - a READ or WRITE
 * @write:  direction
 * @sync:   somebody waits for it
 * @tells:  holes are reported; else they are zeroed in the memory
 * @stop:   a piece had not all of its bytes, or holes: nothing behind it is of use
 * @refs:   the thread that starts pieces, and each piece
 * @file:   referenced
 * @node:   file of the node, referenced unless @sync
 * @shadow_file: file of @shadow, referenced by the thread that starts pieces
 * @shadow: shadow
 * @map:    its map
 * @peer:   the device of @file
 * @pos:    next byte of the file to be started
 * @goff:   the same in the map
 * @left:   bytes still to be started
 * @done:   bytes of pieces that have ended and were forgotten
 * @error:  why no more could be started; 0 if all were
 * @fence:  what is stored at the end, unless @sync
 * @begin:  when, for statistics
 * @result: bytes, or -errno
 * @pieces: pieces that were started
 * @ended:  for who waits
 */
struct bl_io {
	bool write;
	bool sync;
	bool tells;
	bool stop;
	atomic_t refs;
	struct file *file;
	struct file *node;
	struct file *shadow_file;
	struct bl_shadow *shadow;
	struct bl_map *map;
	struct bl_peer *peer;
	loff_t pos;
	u64 goff;
	u64 left;
	u64 done;
	int error;
	u64 fence;
	ktime_t begin;
	s64 result;
	struct list_head pieces;
	struct completion ended;
};

/* check.c */
int bl_io_check_file(struct bl_io *io, const struct nvidia_fs_io *arg);
int bl_io_check(struct bl_io *io, const struct nvidia_fs_io *arg);

/* io.c */
int bl_io_new(struct file *node, const struct nvidia_fs_io *arg, bool write, struct bl_io **io_p);
void bl_io_start(struct bl_io *io, bool alone);
s64 bl_io_end(struct bl_io *io);
void bl_io_cancel(struct bl_io *io);
void bl_io_put(struct bl_io *io);
s64 bl_io_user_error(s64 ret);

/* piece.c */
struct bl_piece *bl_piece_new(struct bl_io *io);
void bl_piece_free(struct bl_piece *piece);
int bl_piece_start(struct bl_piece *piece, bool may_wait);
bool bl_piece_is_whole(const struct bl_piece *piece);

/* judge.c */
bool bl_judge_is_moved(const struct bl_piece *piece);
ssize_t bl_judge(struct bl_piece *piece);

/* zero.c */
int bl_zero(const struct bl_map *map, u64 off, u64 len);

/* batch.c */
int bl_batch_run(struct file *node, const struct nvidia_fs_batch *arg);

#endif
