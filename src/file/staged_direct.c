// SPDX-License-Identifier: MIT
/*
 * Requests past the page cache by one thread with io_uring: as many pieces under way as the lane has slots, each slot used
 * by the disk and by the copy engine in turn.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include <errno.h>
#include <string.h>

#include "config.h"
#include "doze.h"
#include "fio.h"
#include "staged.h"
#include "util/log.h"

enum state {
	FREE,
	FETCHED, /* write: the copy engine fills it */
	READY,	 /* write: filled; the disk has enough to do */
	ON_DISK, /* the disk has it */
	TAKEN,	 /* read: the copy engine takes it away */
};

/**
 * struct flow - a request under way
 * @io:     the request
 * @lane:   its lane
 * @pieces: what there is to do
 * @fd:     descriptor with O_DIRECT
 * @limit:  pieces up to here are for the ring; the last of a write may be for later
 * @next:   the next piece
 * @state:  of each slot
 * @piece:  in each slot
 * @on_disk: slots that the disk has
 * @depth:  how many it may have: max_io_queue_depth, and what the ring takes
 * @doze:   read: what the copy engine has to take away
 */
struct flow {
	struct bl_io *io;
	struct bl_lane *lane;
	struct bl_pieces pieces;
	int fd;
	size_t limit;
	size_t next;
	enum state state[BL_LANE_SLOTS];
	struct bl_piece piece[BL_LANE_SLOTS];
	unsigned int on_disk;
	unsigned int depth;
	struct bl_doze doze;
};

static uint64_t va_of(const struct flow *flow, const struct bl_piece *piece)
{
	return flow->io->mem.va + flow->io->done + piece->off;
}

/* Errors after which the same is done once more, by a plain call: it may work, and tells better. */
static bool worth_a_call(int err)
{
	return err == -EINTR || err == -EAGAIN || err == -EINVAL || err == -EOPNOTSUPP || err == -ECANCELED;
}

/* All blocks that hold the piece; they fit the slot, see pieces.h. */
static void start_read(struct flow *flow, unsigned int slot)
{
	const struct bl_piece *piece = &flow->piece[slot];
	size_t mask = flow->io->file->align - 1, skip = (size_t)piece->pos & mask;

	bl_uring_post(&flow->lane->uring, false, flow->fd, bl_lane_slot(flow->lane, slot),
		      (uint32_t)((skip + piece->len + mask) & ~mask), piece->pos - (off_t)skip, slot);
	flow->state[slot] = ON_DISK;
	flow->on_disk++;
}

/* An error of the copy engine is seen by advance(). */
static bool gpu_is_idle(const struct flow *flow)
{
	for (unsigned int slot = 0; slot < flow->lane->nr; slot++) {
		if (flow->state[slot] == TAKEN && bl_lane_look(flow->lane, slot) == -EAGAIN)
			return false;
	}
	return true;
}

static void take_away(struct flow *flow, unsigned int slot, char *from, size_t len)
{
	const struct bl_piece *piece = &flow->piece[slot];
	bool idle = gpu_is_idle(flow);
	int ret = bl_lane_post(flow->lane, slot, BL_COPY_TO, va_of(flow, piece), from, len);

	if (ret) {
		bl_pieces_stop(&flow->pieces, piece->off, ret);
		return;
	}
	flow->state[slot] = TAKEN;
	bl_doze_posted(&flow->doze, len, idle);
}

static void finish_read(struct flow *flow, unsigned int slot, int32_t result)
{
	const struct bl_piece *piece = &flow->piece[slot];
	size_t skip = (size_t)piece->pos & (flow->io->file->align - 1), got;
	char *memory = bl_lane_slot(flow->lane, slot);
	int err = result < 0 ? result : 0;

	got = result > (int32_t)skip ? (size_t)result - skip : 0;
	if (got > piece->len)
		got = piece->len;
	if (got < piece->len && (result >= 0 || worth_a_call(result)))
		got = bl_fio_read_direct(flow->io->file, memory, piece->len, piece->pos, &skip, &err);
	if (got < piece->len)
		bl_pieces_stop(&flow->pieces, piece->off + got, bl_staged_error(err));
	flow->state[slot] = FREE;
	if (got)
		take_away(flow, slot, memory + skip, got);
}

static char *place_of(const struct flow *flow, unsigned int slot)
{
	return bl_lane_slot(flow->lane, slot) + bl_fio_lead(flow->piece[slot].pos);
}

static void start_fetch(struct flow *flow, unsigned int slot)
{
	const struct bl_piece *piece = &flow->piece[slot];
	int ret = bl_lane_post(flow->lane, slot, BL_COPY_FROM, va_of(flow, piece), place_of(flow, slot), piece->len);

	if (ret)
		bl_pieces_stop(&flow->pieces, piece->off, ret);
	else
		flow->state[slot] = FETCHED;
}

static void start_write(struct flow *flow, unsigned int slot)
{
	const struct bl_piece *piece = &flow->piece[slot];

	bl_uring_post(&flow->lane->uring, true, flow->fd, place_of(flow, slot), (uint32_t)piece->len, piece->pos, slot);
	flow->state[slot] = ON_DISK;
	flow->on_disk++;
}

static void write_now(struct flow *flow, unsigned int slot, size_t from)
{
	const struct bl_piece *piece = &flow->piece[slot];
	size_t done;
	int err;

	done = from + bl_fio_write(flow->io->file, place_of(flow, slot) + from, piece->len - from,
				   piece->pos + (off_t)from, &err);
	if (done < piece->len)
		bl_pieces_stop(&flow->pieces, piece->off + done, bl_staged_error(err));
}

static void finish_write(struct flow *flow, unsigned int slot, int32_t result)
{
	const struct bl_piece *piece = &flow->piece[slot];

	flow->state[slot] = FREE;
	if (result < 0 && !worth_a_call(result))
		bl_pieces_stop(&flow->pieces, piece->off, bl_staged_error(result));
	else if (result < (int64_t)piece->len)
		write_now(flow, slot, result > 0 ? (size_t)result : 0);
}

static void take_finished(struct flow *flow)
{
	struct bl_uring_done done;

	while (bl_uring_take(&flow->lane->uring, &done)) {
		flow->on_disk--;
		if (flow->io->write)
			finish_write(flow, (unsigned int)done.tag, done.result);
		else
			finish_read(flow, (unsigned int)done.tag, done.result);
	}
}

static bool may_start(const struct flow *flow)
{
	return flow->next < flow->limit &&
	       bl_pieces_at(&flow->pieces, flow->next).off < atomic_load(&flow->pieces.stop);
}

static bool uses_gpu(enum state state)
{
	return state == FETCHED || state == TAKEN;
}

/* What the copy engine is done with goes on. 0 or the engine's error, after which nothing is known of its transfers. */
static int advance(struct flow *flow)
{
	int ret;

	for (unsigned int slot = 0; slot < flow->lane->nr; slot++) {
		ret = uses_gpu(flow->state[slot]) ? bl_lane_look(flow->lane, slot) : -EAGAIN;
		if (ret && ret != -EAGAIN)
			return ret;
		if (!ret)
			flow->state[slot] = flow->state[slot] == FETCHED ? READY : FREE;
		if (flow->state[slot] == READY && flow->on_disk < flow->depth)
			start_write(flow, slot);
		if (flow->state[slot] != FREE || !may_start(flow) || (!flow->io->write && flow->on_disk >= flow->depth))
			continue;
		flow->piece[slot] = bl_pieces_at(&flow->pieces, flow->next++);
		if (flow->io->write)
			start_fetch(flow, slot);
		else
			start_read(flow, slot);
	}
	return 0;
}

/* The first or the last that was started, of those that have not ended; -1: there is none. */
static int find_on_gpu(const struct flow *flow, bool last)
{
	int found = -1;

	for (unsigned int slot = 0; slot < flow->lane->nr; slot++) {
		if (uses_gpu(flow->state[slot]) &&
		    (found < 0 || (flow->lane->busy[slot] < flow->lane->busy[found]) != last))
			found = (int)slot;
	}
	return found;
}

/* The first transfer that was started makes room for another piece; where there is none, all have to end. */
static int wait_gpu(struct flow *flow, int first)
{
	if (flow->io->write || may_start(flow))
		return bl_lane_wait(flow->lane, (unsigned int)first);
	return bl_doze_wait(&flow->doze, flow->lane, (unsigned int)find_on_gpu(flow, true));
}

/* Until nothing is under way. Whether the lane is fit for use afterwards; else the disk or the GPU still has memory of it. */
static int run_flow(struct flow *flow)
{
	int ret, slot;

	for (;;) {
		ret = advance(flow);
		slot = find_on_gpu(flow, false);
		if (!ret && !flow->on_disk && slot < 0)
			return 0;
		/* wait for one of them; writes are started as the GPU delivers, so it is asked first */
		if (!ret && (!flow->on_disk || (flow->io->write && slot >= 0))) {
			bl_uring_wait(&flow->lane->uring, false, flow->io->deadline_ns);
			ret = wait_gpu(flow, slot);
		} else if (!ret) {
			ret = bl_uring_wait(&flow->lane->uring, true, flow->io->deadline_ns);
		}
		if (ret)
			return ret;
		take_finished(flow);
	}
}

/* The pieces before the error are there as far as they were confirmed in order: none is taken for granted. */
static void give_up(struct flow *flow, int err)
{
	size_t first = SIZE_MAX;

	for (unsigned int slot = 0; slot < flow->lane->nr; slot++) {
		if (flow->state[slot] != FREE && flow->piece[slot].off < first)
			first = flow->piece[slot].off;
	}
	bl_pieces_stop(&flow->pieces, first == SIZE_MAX ? 0 : first, err);
	if (err == -ETIMEDOUT)
		fail(ETIMEDOUT, "fd %d: disk or GPU did not answer in time", flow->io->file->fd);
}

static int flow_init(struct flow *flow, struct bl_io *io)
{
	int ret;

	flow->io = io;
	flow->next = 0;
	flow->on_disk = 0;
	flow->doze = (struct bl_doze){ 0 };
	flow->depth = bl_file_config()->max_io_queue_depth;
	if (flow->depth > BL_URING_DEPTH)
		flow->depth = BL_URING_DEPTH;
	memset(flow->state, 0, sizeof(flow->state));
	flow->fd = bl_fio_direct_fd(io->file);
	if (flow->fd < 0)
		return -EAGAIN;
	bl_pieces_init(&flow->pieces, bl_staged_piece(io), io->len - io->done, io->pos + (off_t)io->done);
	flow->limit = flow->pieces.nr;
	ret = bl_staged_lane(io, io->mem.target, flow->pieces.size, &flow->lane);
	if (ret)
		return ret;
	bl_ce_flush(flow->lane->ce, io->mem.mapped);
	ret = bl_lane_uring(flow->lane);
	if (ret)
		bl_lane_put(flow->lane, true);
	return ret ? -ENOSYS : 0;
}

int bl_staged_read_direct(struct bl_io *io)
{
	struct flow flow;
	int ret, err;

	ret = flow_init(&flow, io);
	if (ret)
		return ret == -ENOSYS ? bl_staged_read(io) : ret;
	err = run_flow(&flow);
	if (err)
		give_up(&flow, err);
	bl_lane_put(flow.lane, !err);
	io->done += bl_pieces_end(&flow.pieces, &ret);
	return ret;
}

/* A piece whose ends are no whole blocks goes by calls: its ends share pages with its neighbours, which may not be under way. */
static int write_alone(struct flow *flow, size_t i)
{
	int ret;

	flow->piece[0] = bl_pieces_at(&flow->pieces, i);
	if (flow->piece[0].off >= atomic_load(&flow->pieces.stop))
		return 0;
	start_fetch(flow, 0);
	if (flow->state[0] != FETCHED)
		return 0;
	ret = bl_lane_wait(flow->lane, 0);
	if (ret)
		return ret;
	flow->state[0] = FREE;
	write_now(flow, 0, 0);
	return 0;
}

static bool is_whole(const struct flow *flow, size_t i)
{
	struct bl_piece piece = bl_pieces_at(&flow->pieces, i);

	return !(((size_t)piece.pos | piece.len) & (flow->io->file->align - 1));
}

static int run_write(struct flow *flow)
{
	size_t last = flow->pieces.nr - 1;
	bool tail = last && !is_whole(flow, last);
	int ret = 0;

	if (!is_whole(flow, 0)) {
		ret = write_alone(flow, 0);
		flow->next = 1;
	}
	flow->limit = tail ? last : last + 1;
	if (!ret)
		ret = run_flow(flow);
	if (!ret && tail)
		ret = write_alone(flow, last);
	return ret;
}

int bl_staged_write_direct(struct bl_io *io)
{
	struct flow flow;
	int ret, err;

	ret = flow_init(&flow, io);
	if (ret)
		return ret == -ENOSYS ? bl_staged_write(io) : ret;
	err = run_write(&flow);
	if (err)
		give_up(&flow, err);
	bl_lane_put(flow.lane, !err);
	io->done += bl_pieces_end(&flow.pieces, &ret);
	return ret;
}
