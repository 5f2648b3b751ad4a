// SPDX-License-Identifier: MIT
/*
 * Writes in pieces, in the order of the file: the copy engine fills the slots ahead while this thread writes. The CPU never
 * reads the GPU's memory.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include <errno.h>

#include "fio.h"
#include "staged.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"

/* Where in a slot the bytes of a piece lie, so that their address is aligned as their place in the file is. */
static char *place_of(const struct bl_lane *lane, unsigned int slot, const struct bl_piece *piece)
{
	return bl_lane_slot(lane, slot) + bl_fio_lead(piece->pos);
}

/**
 * struct cut - pieces of a write
 * @pieces: where it stopped; all pieces, where @first is 0
 * @first:  bytes of the first one; the others, cut from there on, are of @pieces.size
 * @nr:     how many
 *
 * Nothing is written until the GPU has delivered the first piece, and each call of the file system has a price of its own. So
 * the first piece of a write that is cut is a small one, and the others are large.
 */
struct cut {
	struct bl_pieces pieces;
	size_t first;
	size_t nr;
};

/* Up to a whole page of the file, so that each piece fits a slot with its lead; 0: all are alike. */
static size_t first_piece(const struct bl_io *io, size_t slot)
{
	size_t first = bl_file_tune()->write_first;
	off_t pos = io->pos + (off_t)io->done, past;

	if (!first || io->direct || io->len - io->done < 2 * first || io->len - io->done <= bl_staged_piece(io))
		return 0;
	past = (pos + (off_t)(first < slot ? first : slot)) & ~(off_t)(BL_ALIGN_MAX - 1);
	return past > pos ? (size_t)(past - pos) : 0;
}

static void cut_init(struct cut *cut, const struct bl_io *io)
{
	size_t len = io->len - io->done, slot = 1UL << (31 - __builtin_clz(bl_file_tune()->piece));

	cut->first = first_piece(io, slot);
	bl_pieces_init(&cut->pieces, cut->first ? slot : bl_staged_piece(io), len, io->pos + (off_t)io->done);
	cut->nr = cut->pieces.nr;
	if (cut->first)
		cut->nr = 1 + (len - cut->first + cut->pieces.size - 1) / cut->pieces.size;
}

static struct bl_piece piece_at(const struct cut *cut, size_t i)
{
	size_t from = i ? cut->first + (i - 1) * cut->pieces.size : 0, past = cut->first + i * cut->pieces.size;

	if (!cut->first)
		return bl_pieces_at(&cut->pieces, i);
	if (past > cut->pieces.len)
		past = cut->pieces.len;
	return (struct bl_piece){ .off = from, .len = past - from, .pos = cut->pieces.pos + (off_t)from };
}

static int fetch(const struct bl_io *io, struct bl_lane *lane, const struct cut *cut, size_t i)
{
	struct bl_piece piece = piece_at(cut, i);
	unsigned int slot = (unsigned int)(i % lane->nr);

	return bl_lane_post(lane, slot, BL_COPY_FROM, io->mem.va + io->done + piece.off, place_of(lane, slot, &piece),
			    piece.len);
}

/* One piece, when the GPU has delivered it; its slot is free again afterwards. */
static int put(const struct bl_io *io, struct bl_lane *lane, struct cut *cut, size_t i)
{
	struct bl_pieces *pieces = &cut->pieces;
	struct bl_piece piece = piece_at(cut, i);
	unsigned int slot = (unsigned int)(i % lane->nr);
	size_t done;
	int err, ret;

	ret = bl_lane_wait(lane, slot);
	if (!ret && bl_now_ns() > io->deadline_ns)
		ret = fail(ETIMEDOUT, "fd %d: not done in time", io->file->fd);
	if (ret) {
		bl_pieces_stop(pieces, piece.off, ret);
		return ret;
	}
	done = bl_fio_write(io->file, place_of(lane, slot, &piece), piece.len, piece.pos, &err);
	if (done == piece.len)
		return 0;
	bl_pieces_stop(pieces, piece.off + done, bl_staged_error(err));
	return err;
}

static void put_all(const struct bl_io *io, struct bl_lane *lane, struct cut *cut)
{
	size_t fetched = 0;
	int ret = 0;

	for (size_t i = 0; i < cut->nr && !ret; i++) {
		for (; !ret && fetched < cut->nr && fetched < i + lane->nr; fetched++)
			ret = fetch(io, lane, cut, fetched);
		if (ret)
			bl_pieces_stop(&cut->pieces, piece_at(cut, i).off, ret);
		else
			ret = put(io, lane, cut, i);
	}
}

int bl_staged_write(struct bl_io *io)
{
	struct bl_lane *lane;
	struct cut cut;
	int ret, err;

	cut_init(&cut, io);
	ret = bl_staged_lane(io, io->mem.target, cut.pieces.size, &lane);
	if (ret) {
		bl_pieces_end(&cut.pieces, &err);
		return ret;
	}
	bl_ce_flush(lane->ce, io->mem.mapped);
	put_all(io, lane, &cut);
	bl_fail_hush(1);
	err = bl_lane_drain(lane);
	bl_fail_hush(-1);
	bl_lane_put(lane, !err);
	io->done += bl_pieces_end(&cut.pieces, &ret);
	return ret;
}
