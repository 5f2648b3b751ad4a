// SPDX-License-Identifier: MIT
/*
 * Writes in pieces, in the order of the file: the copy engine fills the slots ahead while this thread writes. The CPU never
 * reads the GPU's memory.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include <errno.h>

#include "fio.h"
#include "staged.h"
#include "util/clock.h"
#include "util/log.h"

/* Where in a slot the bytes of a piece lie, so that their address is aligned as their place in the file is. */
static char *place_of(const struct bl_lane *lane, unsigned int slot, const struct bl_piece *piece)
{
	return bl_lane_slot(lane, slot) + bl_fio_lead(piece->pos);
}

static int fetch(const struct bl_io *io, struct bl_lane *lane, const struct bl_pieces *pieces, size_t i)
{
	struct bl_piece piece = bl_pieces_at(pieces, i);
	unsigned int slot = (unsigned int)(i % lane->nr);

	return bl_lane_post(lane, slot, BL_COPY_FROM, io->mem.va + io->done + piece.off, place_of(lane, slot, &piece),
			    piece.len);
}

/* One piece, when the GPU has delivered it; its slot is free again afterwards. */
static int put(const struct bl_io *io, struct bl_lane *lane, struct bl_pieces *pieces, size_t i)
{
	struct bl_piece piece = bl_pieces_at(pieces, i);
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

static void put_all(const struct bl_io *io, struct bl_lane *lane, struct bl_pieces *pieces)
{
	size_t fetched = 0;
	int ret = 0;

	for (size_t i = 0; i < pieces->nr && !ret; i++) {
		for (; !ret && fetched < pieces->nr && fetched < i + lane->nr; fetched++)
			ret = fetch(io, lane, pieces, fetched);
		if (ret)
			bl_pieces_stop(pieces, bl_pieces_at(pieces, i).off, ret);
		else
			ret = put(io, lane, pieces, i);
	}
}

int bl_staged_write(struct bl_io *io)
{
	struct bl_pieces pieces;
	struct bl_lane *lane;
	int ret, err;

	bl_pieces_init(&pieces, bl_staged_piece(io), io->len - io->done, io->pos + (off_t)io->done);
	ret = bl_staged_lane(io, io->mem.target, pieces.size, &lane);
	if (ret) {
		bl_pieces_end(&pieces, &err);
		return ret;
	}
	bl_ce_flush(lane->ce, io->mem.mapped);
	put_all(io, lane, &pieces);
	bl_fail_hush(1);
	err = bl_lane_drain(lane);
	bl_fail_hush(-1);
	bl_lane_put(lane, !err);
	io->done += bl_pieces_end(&pieces, &ret);
	return ret;
}
