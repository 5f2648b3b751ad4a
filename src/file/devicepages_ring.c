// SPDX-License-Identifier: MIT
/* Path "devicepages" by io_uring: one thread, many pieces under way, and an end of waiting. */
#define log_fmt(fmt) "file/devicepages: " fmt
#include <errno.h>

#include "config.h"
#include "devicepages.h"
#include "fio.h"
#include "pieces.h"
#include "rings.h"
#include "tune.h"

/**
 * struct flow - a request under way
 * @io:       the request
 * @off:      where in it the pieces begin
 * @uring:    ring
 * @fd:       descriptor with O_DIRECT
 * @pieces:   what there is to do
 * @next:     the next piece
 * @under_way: pieces that the kernel has
 * @busy:     which; a bit of each
 * @piece:    them
 */
struct flow {
	const struct bl_io *io;
	size_t off;
	struct bl_uring *uring;
	int fd;
	struct bl_pieces pieces;
	size_t next;
	unsigned int under_way;
	uint32_t busy;
	struct bl_piece piece[BL_URING_DEPTH];
};

/* Errors after which the same is done once more, by a plain call: it may work, and tells better. */
static bool worth_a_call(int32_t result)
{
	return result >= 0 || result == -EINTR || result == -EAGAIN || result == -ECANCELED || result == -EOPNOTSUPP;
}

static void post(struct flow *flow)
{
	unsigned int slot = (unsigned int)__builtin_ctz(~flow->busy);
	struct bl_piece *piece = &flow->piece[slot];

	*piece = bl_pieces_at(&flow->pieces, flow->next++);
	bl_uring_post(flow->uring, flow->io->write, flow->fd, (char *)flow->io->mem.mapped + flow->off + piece->off,
		      (uint32_t)piece->len, piece->pos, slot);
	flow->busy |= 1U << slot;
	flow->under_way++;
}

static void finish(struct flow *flow, const struct bl_uring_done *done)
{
	const struct bl_piece *piece = &flow->piece[done->tag];
	size_t got = done->result > 0 ? (size_t)done->result : 0;
	int err = done->result < 0 ? done->result : 0;

	flow->busy &= ~(1U << done->tag);
	flow->under_way--;
	/* where a call ended early the next begins with whole blocks; at the end of the file there are none */
	if (got < piece->len && worth_a_call(done->result) && !(got % flow->io->file->align))
		got += bl_devpages_call(flow->io, flow->off + piece->off + got, piece->len - got, &err);
	if (got < piece->len)
		bl_pieces_stop(&flow->pieces, piece->off + got, err);
}

static bool may_post(const struct flow *flow)
{
	return flow->next < flow->pieces.nr &&
	       bl_pieces_at(&flow->pieces, flow->next).off < atomic_load(&flow->pieces.stop);
}

/* What is under way may or may not have been moved: none of it counts. */
static void give_up(struct flow *flow, int err)
{
	for (unsigned int slot = 0; slot < BL_URING_DEPTH; slot++) {
		if (flow->busy >> slot & 1)
			bl_pieces_stop(&flow->pieces, flow->piece[slot].off, err);
	}
}

static void run(struct flow *flow)
{
	unsigned int depth = bl_file_config()->max_io_queue_depth;
	struct bl_uring_done done;
	int ret;

	if (depth > BL_URING_DEPTH - 1)
		depth = BL_URING_DEPTH - 1;
	while (flow->under_way || may_post(flow)) {
		while (flow->under_way < depth && may_post(flow))
			post(flow);
		ret = bl_uring_wait(flow->uring, true, flow->io->deadline_ns);
		if (ret) {
			give_up(flow, ret);
			return;
		}
		while (bl_uring_take(flow->uring, &done))
			finish(flow, &done);
	}
}

/* A power of two. */
static size_t piece_size(void)
{
	return 1UL << (31 - __builtin_clz(bl_file_tune()->pages_piece));
}

size_t bl_devpages_ring(const struct bl_io *io, size_t off, size_t len, int *err_p)
{
	struct flow flow = { .io = io, .off = off, .fd = bl_fio_direct_fd(io->file) };
	struct bl_ring *ring;

	if (flow.fd < 0 || bl_ring_get(&ring)) {
		*err_p = -EOPNOTSUPP;
		return 0;
	}
	flow.uring = &ring->uring;
	bl_pieces_init(&flow.pieces, piece_size(), len, io->pos + (off_t)off);
	run(&flow);
	bl_ring_put(ring, io->mem.buffer);
	return bl_pieces_end(&flow.pieces, err_p);
}
