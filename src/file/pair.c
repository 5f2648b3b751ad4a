// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/pair: " fmt
#include "pair.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "config.h"
#include "copy/fence.h"
#include "crew.h"
#include "fio.h"
#include "pieces.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"

#define PIECE	131072U
#define SPIN_NS 100000U /* of waiting for the other thread, before naps */
#define NAP_NS	20000
#define DEBT_NS 200000U	  /* time lost by waiting, less what was won, before there is no helper for a while */
#define REST_NS 50000000U /* which is this */
#define MANY_NS 1000000U  /* or this, when another caller has it: with many, each has a core to itself anyway */

enum state {
	ABSENT,	 /* no helper */
	READY,	 /* it looks for work, or was called and has not come yet */
	TAKEN,	 /* a caller fills in its read, or collects what came out */
	POSTED,	 /* the read is there for the helper */
	WORKING, /* the helper is at it */
	DONE,	 /* it has ended: the caller's */
	LEFT,	 /* the caller has given up: the helper's */
};

/**
 * struct pair - the helper, and the read that it is for
 * @state:   enum state; who changes it owns what follows, and in WORKING both threads take pieces
 * @work:    for the crew
 * @last_ns: when a read last ended
 * @rest_ns: until when there is no helper: it came too late, as on a machine that is busy
 * @file:    of the read; referenced by its caller, in LEFT by this
 * @buffer:  likewise
 * @mapped:  where its first byte goes
 * @hot:     reads follow each other: the helper is to look for the next one
 * @debt_ns: time that was lost by waiting for the helper, less what it has won
 * @pieces:  what there is to do
 */
static struct pair {
	_Alignas(64) atomic_int state;
	struct bl_work work;
	_Atomic(uint64_t) last_ns;
	_Atomic(uint64_t) rest_ns;
	_Alignas(64) struct bl_file *file;
	struct bl_buffer *buffer;
	char *mapped;
	bool hot;
	uint64_t debt_ns;
	struct bl_pieces pieces;
} pair;

static bool change(int from, int to)
{
	/* a look first, which leaves the cache line where it is; acquire and release: the struct goes to another owner */
	return atomic_load_explicit(&pair.state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong_explicit(&pair.state, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

static void set(int state)
{
	atomic_store_explicit(&pair.state, state, memory_order_release);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Spins first: the other thread is a few microseconds away unless it is not running. */
static void relax_since(uint64_t start)
{
	struct timespec nap = { 0, NAP_NS };

	if (bl_now_ns() - start < SPIN_NS)
		relax();
	else
		nanosleep(&nap, NULL);
}

static void read_pieces(void)
{
	struct bl_piece piece;
	ssize_t got;

	while (bl_pieces_take(&pair.pieces, &piece)) {
		got = bl_fio_read_cached(pair.file, pair.mapped + piece.off, piece.len, piece.pos);
		if (got < (ssize_t)piece.len)
			bl_pieces_stop(&pair.pieces, piece.off + (got > 0 ? (size_t)got : 0), got < 0 ? (int)got : 0);
	}
	/* these stores before the state that says they are over */
	bl_fence_wc_store();
}

/* One read. The caller may have given it up meanwhile. */
static void help(void)
{
	struct bl_buffer *buffer;
	struct bl_file *file;
	int err;

	read_pieces();
	if (change(WORKING, DONE))
		return;
	bl_pieces_end(&pair.pieces, &err);
	file = pair.file;
	buffer = pair.buffer;
	set(READY);
	bl_file_put(file);
	bl_buffer_put(buffer);
}

/* Until there was nothing to do for a while. */
static void look_for_work(struct bl_work *work)
{
	uint64_t hot_ns = bl_file_tune()->pair_hot_us * 1000ULL, since = bl_now_ns(), end = since + hot_ns;

	for (;;) {
		if (change(POSTED, WORKING)) {
			bool hot = pair.hot;

			help();
			since = bl_now_ns();
			end = since + (hot ? hot_ns : 0);
		} else if (bl_now_ns() >= end && change(READY, ABSENT)) {
			return;
		} else {
			relax_since(since);
		}
	}
}

bool bl_pair_fits(const struct bl_io *io)
{
	const struct bl_file_config *config = bl_file_config();
	const struct bl_file_tune *tune = bl_file_tune();

	return io->len >= tune->pair_min && io->len <= tune->pair_max && !io->write && !io->by_cpu && io->mem.buffer &&
	       config->parallel_io && config->max_io_threads && !bl_io_crowded();
}

bool bl_pair_rests(void)
{
	return bl_now_ns() < atomic_load_explicit(&pair.rest_ns, memory_order_relaxed);
}

static size_t piece_size(size_t len)
{
	size_t half = len / 2 < PIECE ? len / 2 : PIECE;

	return 1UL << (63 - __builtin_clzl(half));
}

/* Whoever has the helper is another caller. */
static void see_others(void)
{
	if (atomic_load_explicit(&pair.state, memory_order_relaxed) != ABSENT)
		atomic_store_explicit(&pair.rest_ns, bl_now_ns() + MANY_NS, memory_order_relaxed);
}

/* True: the read is the helper's too. It may have to be woken, which pays for large ones, and for one of a row. */
static bool post(const struct bl_io *io, bool hot)
{
	bool call = false;
	int err;

	if (!change(READY, TAKEN)) {
		call = (hot || io->len >= bl_file_tune()->pair_call) && change(ABSENT, TAKEN);
		if (!call) {
			see_others();
			return false;
		}
	}
	pair.file = io->file;
	pair.buffer = io->mem.buffer;
	pair.mapped = (char *)io->mem.mapped + io->done;
	pair.hot = hot;
	bl_pieces_init(&pair.pieces, piece_size(io->len - io->done), io->len - io->done, io->pos + (off_t)io->done);
	set(POSTED);
	if (!call)
		return true;
	pair.work.run = look_for_work;
	if (!bl_crew_submit(&pair.work))
		return true;
	/* nobody is there to have changed it */
	bl_pieces_end(&pair.pieces, &err);
	set(ABSENT);
	return false;
}

/* False: the helper is at a piece that does not end, and the read is its own now. */
static bool wait_for_helper(uint64_t deadline_ns)
{
	uint64_t start = bl_now_ns();

	/* it never came: what it was to have a part in is done */
	if (change(POSTED, TAKEN))
		return true;
	while (!change(DONE, TAKEN)) {
		if (bl_now_ns() < deadline_ns) {
			relax_since(start);
			continue;
		}
		bl_file_hold(pair.file);
		atomic_fetch_add(&pair.buffer->refs, 1);
		if (change(WORKING, LEFT))
			return false;
		bl_file_put(pair.file);
		bl_buffer_put(pair.buffer);
	}
	return true;
}

/* A helper that is not running when it is waited for costs more than it brings. Reading took @read_ns, the wait @wait_ns. */
static void settle(uint64_t read_ns, uint64_t wait_ns)
{
	uint64_t won_ns = read_ns / 2;

	pair.debt_ns += wait_ns;
	pair.debt_ns -= pair.debt_ns < won_ns ? pair.debt_ns : won_ns;
	if (pair.debt_ns < DEBT_NS)
		return;
	pair.debt_ns = 0;
	atomic_store_explicit(&pair.rest_ns, bl_now_ns() + REST_NS, memory_order_relaxed);
}

/* With the helper; the read is this thread's to end, unless it is left. */
static int read_both(struct bl_io *io)
{
	uint64_t start = bl_now_ns(), read;
	int err;

	read_pieces();
	read = bl_now_ns();
	if (!wait_for_helper(io->deadline_ns))
		return fail(ETIMEDOUT, "fd %d: a read did not end in time", io->file->fd);
	io->done += bl_pieces_end(&pair.pieces, &err);
	settle(read - start, bl_now_ns() - read);
	set(READY);
	return 0;
}

int bl_pair_read(struct bl_io *io)
{
	uint64_t start = bl_now_ns(), hot_ns = bl_file_tune()->pair_hot_us * 1000ULL;
	bool hot = start - atomic_load_explicit(&pair.last_ns, memory_order_relaxed) < hot_ns;
	int ret = 0;

	if (bl_pair_rests())
		return 0;
	if (post(io, hot))
		ret = read_both(io);
	atomic_store_explicit(&pair.last_ns, bl_now_ns(), memory_order_relaxed);
	return ret;
}

void bl_pair_forget(void)
{
	memset(&pair.work, 0, sizeof(pair.work));
	atomic_store(&pair.state, ABSENT);
}
