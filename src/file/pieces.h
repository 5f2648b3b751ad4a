/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - a request cut into pieces, which may end out of order
 *
 * All cuts are at multiples of the piece's size in the file, so that each piece with the blocks around its ends fits a slot
 * of that size, and all but the first and the last are aligned.
 */
#ifndef BL_FILE_PIECES_H
#define BL_FILE_PIECES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct bl_piece - one
 * @off: from the start of the request
 * @len: bytes, > 0
 * @pos: offset in the file
 */
struct bl_piece {
	size_t off;
	size_t len;
	off_t pos;
};

/**
 * struct bl_pieces - all of them
 * @size: bytes of each, a power of two; the first and the last may be shorter
 * @len:  bytes in all
 * @pos:  offset of the first in the file
 * @nr:   how many
 * @next: the first that nobody has taken
 * @stop: from here on (offset in the request) nothing was or will be moved; @len: all of it
 * @lock: guards @err, and @stop when it is lowered
 * @err:  why it stops there; 0: the end of the file
 */
struct bl_pieces {
	size_t size;
	size_t len;
	off_t pos;
	size_t nr;
	_Atomic(size_t) next;
	_Atomic(size_t) stop;
	pthread_mutex_t lock;
	int err;
};

void bl_pieces_init(struct bl_pieces *pieces, size_t size, size_t len, off_t pos);

/* Piece @i of @nr. */
struct bl_piece bl_pieces_at(const struct bl_pieces *pieces, size_t i);

/* Take the next one; false: there is none, or it would lie behind the stop. */
bool bl_pieces_take(struct bl_pieces *pieces, struct bl_piece *piece);

/* Nothing from @off on; of several the first in the file counts. */
void bl_pieces_stop(struct bl_pieces *pieces, size_t off, int err);

/* When nobody works on it any more: bytes from the start on that were moved, and why not more. */
size_t bl_pieces_end(struct bl_pieces *pieces, int *err_p);

#endif
