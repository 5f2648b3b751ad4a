// SPDX-License-Identifier: MIT
/*
 * Writes in pieces, in the order of the file: the copy engine fills the slots ahead while this thread writes. The CPU never
 * reads the GPU's memory. A write of one piece has nothing else to do meanwhile: where it can be, its bytes are watched
 * arriving, in memory from which they go to the file.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include <errno.h>

#include "fio.h"
#include "staged.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/tsan.h"

/* Pieces of a write that are shorter than the rest, at most. */
#define NR_FIRST 4

/* Where in a slot the bytes of a piece lie, so that their address is aligned as their place in the file is. */
static char *place_of(const struct bl_lane *lane, unsigned int slot, const struct bl_piece *piece)
{
	return bl_lane_slot(lane, slot) + bl_fio_lead(piece->pos);
}

/**
 * struct cut - pieces of a write
 * @pieces: where it stopped; all pieces, where @nr_first is 0
 * @first:  ends of the first ones, which grow; the others, cut from there on, are of @pieces.size
 * @nr_first: how many
 * @nr:     how many in all
 * @lands:  there is one, and it is watched arriving
 * @landing: where
 *
 * Nothing is written until the GPU has delivered the first piece, and each call of the file system has a price of its own. So
 * the first piece of a write that is cut is a small one, and the others are large: as large as what the GPU delivers while
 * the piece before is written.
 */
struct cut {
	struct bl_pieces pieces;
	size_t first[NR_FIRST];
	unsigned int nr_first;
	size_t nr;
	bool lands;
	struct bl_landing landing;
};

/* Where a piece of about @len ends that begins at @from: at a whole page of the file, so that it fits a slot with its lead. */
static size_t end_of(const struct bl_io *io, size_t from, size_t len)
{
	off_t pos = io->pos + (off_t)(io->done + from), past = (pos + (off_t)len) & ~(off_t)(BL_ALIGN_MAX - 1);

	return past > pos ? from + (size_t)(past - pos) : 0;
}

/* All are alike in direct writes, and in those that are one piece. */
static bool grows(const struct bl_io *io)
{
	size_t first = bl_file_tune()->write_first, len = io->len - io->done;

	return first && !io->direct && len >= 2 * first && len > bl_staged_piece(io);
}

/* None that would leave less than itself to those behind it. */
static void find_first(struct cut *cut, const struct bl_io *io, size_t slot)
{
	size_t len = bl_file_tune()->write_first, from = 0, past;

	while (cut->nr_first < NR_FIRST && len < slot) {
		past = end_of(io, from, len);
		if (!past || io->len - io->done < past + len)
			return;
		cut->first[cut->nr_first++] = from = past;
		len *= bl_file_tune()->write_growth;
	}
}

static void cut_init(struct cut *cut, const struct bl_io *io)
{
	size_t rest = io->len - io->done, slot = 1UL << (31 - __builtin_clz(bl_file_tune()->piece));

	cut->nr_first = 0;
	cut->lands = false;
	if (grows(io))
		find_first(cut, io, slot);
	bl_pieces_init(&cut->pieces, cut->nr_first ? slot : bl_staged_piece(io), rest, io->pos + (off_t)io->done);
	cut->nr = cut->pieces.nr;
	if (!cut->nr_first)
		return;
	rest -= cut->first[cut->nr_first - 1];
	cut->nr = cut->nr_first + (rest + cut->pieces.size - 1) / cut->pieces.size;
}

static size_t end_at(const struct cut *cut, size_t i)
{
	size_t past;

	if (i < cut->nr_first)
		return cut->first[i];
	past = cut->first[cut->nr_first - 1] + (i + 1 - cut->nr_first) * cut->pieces.size;
	return past < cut->pieces.len ? past : cut->pieces.len;
}

static struct bl_piece piece_at(const struct cut *cut, size_t i)
{
	size_t from, past;

	if (!cut->nr_first)
		return bl_pieces_at(&cut->pieces, i);
	from = i ? end_at(cut, i - 1) : 0;
	past = end_at(cut, i);
	return (struct bl_piece){ .off = from, .len = past - from, .pos = cut->pieces.pos + (off_t)from };
}

/*
 * Only in writes through the page cache. A drive takes bytes from one place again and again sooner than from places that take
 * turns; CUDA may have a CPU copy managed memory, in pieces of whatever size.
 */
static bool lands(const struct bl_io *io, struct bl_lane *lane, const struct cut *cut, uint64_t va, size_t len)
{
	return cut->nr == 1 && !io->direct && io->mem.kind == BL_MEM_DEVICE && len <= bl_file_tune()->watch_max &&
	       bl_lane_lands(lane, va, len);
}

static int fetch(const struct bl_io *io, struct bl_lane *lane, struct cut *cut, size_t i)
{
	struct bl_piece piece = piece_at(cut, i);
	uint64_t va = io->mem.va + io->done + piece.off;
	unsigned int slot = (unsigned int)(i % lane->nr);

	cut->lands = lands(io, lane, cut, va, piece.len);
	if (cut->lands)
		return bl_lane_land(lane, va, piece.len, &cut->landing);
	return bl_lane_post(lane, slot, BL_COPY_FROM, va, place_of(lane, slot, &piece), piece.len);
}

/* Where the bytes of a piece are, when the GPU has delivered them. */
static int await(struct bl_lane *lane, const struct cut *cut, size_t i, const struct bl_piece *piece, const char **at_p)
{
	unsigned int slot = (unsigned int)(i % lane->nr);

	if (cut->lands) {
		*at_p = (const char *)cut->landing.at;
		return bl_lane_landed(lane, &cut->landing);
	}
	*at_p = place_of(lane, slot, piece);
	return bl_lane_wait(lane, slot);
}

/* One piece, when the GPU has delivered it; its slot is free again afterwards. */
static int put(const struct bl_io *io, struct bl_lane *lane, struct cut *cut, size_t i)
{
	struct bl_pieces *pieces = &cut->pieces;
	struct bl_piece piece = piece_at(cut, i);
	const char *at;
	size_t done;
	int err, ret;

	ret = await(lane, cut, i, &piece, &at);
	if (!ret && bl_now_ns() > io->deadline_ns)
		ret = fail(ETIMEDOUT, "fd %d: not done in time", io->file->fd);
	if (ret) {
		bl_pieces_stop(pieces, piece.off, ret);
		return ret;
	}
	/* no tool that knows only threads can see that what a device wrote has arrived */
	BL_TSAN_READS_UNSEEN(cut->lands);
	done = bl_fio_write(io->file, at, piece.len, piece.pos, &err);
	BL_TSAN_READS_SEEN(cut->lands);
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
