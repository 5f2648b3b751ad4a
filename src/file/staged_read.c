// SPDX-License-Identifier: MIT
/*
 * Reads in pieces, by the calling thread and, where the request is large enough (parallel_io, min_io_threshold_size_kb,
 * max_request_parallelism), by threads of the crew. Each reads into a slot of its own lane and has the copy engine take it
 * from there while it reads the next. What the CPU has just read lies in its cache, from where the GPU fetches it at some
 * 15 GB/s, all lanes together: so where a piece would have to wait for the copy engine, and at the end, where nothing would
 * overlap a transfer, the kernel reads to the mapping itself, if there is one.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"
#include "config.h"
#include "copy/fence.h"
#include "crew.h"
#include "fio.h"
#include "staged.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/ref.h"

#define MAX_HELPERS 31
#define SPIN_NS	    100000U /* of waiting for helpers, before sleeping */

/**
 * struct job - a read that several threads work on
 * @refs:      the caller, and each helper that was not taken back
 * @file:      referenced
 * @buffer:    referenced, or NULL: helpers may outlive a caller that gave up
 * @target:    the GPU memory
 * @va:        of the first byte
 * @mapped:    the first byte in the GPU's mapping, or NULL
 * @stored:    something was read to there
 * @direct:    past the page cache
 * @deadline_ns: after which it is given up
 * @cold:      a piece was not in the page cache: the kernel was asked to read ahead
 * @pieces:    what there is to do
 * @pending:   helpers that were not taken back and have not ended
 * @lock:      of @ended
 * @gate:      held for reading while GPU memory is written, or a transfer to it is started
 * @abandoned: the caller does not wait any more: the GPU memory must be left alone. Under @gate
 * @ended:     @pending went down
 * @helpers:   work for the crew
 */
struct job {
	atomic_int refs;
	struct bl_file *file;
	struct bl_buffer *buffer;
	struct bl_ce_target target;
	uint64_t va;
	char *mapped;
	atomic_bool stored;
	bool direct;
	uint64_t deadline_ns;
	atomic_bool cold;
	struct bl_pieces pieces;
	atomic_uint pending;
	pthread_mutex_t lock;
	pthread_rwlock_t gate;
	bool abandoned;
	pthread_cond_t ended;
	struct helper {
		struct bl_work work;
		struct job *job;
	} helpers[];
};

static void release(struct job *job)
{
	if (job->file)
		bl_file_put(job->file);
	if (job->buffer)
		bl_buffer_put(job->buffer);
	job->file = NULL;
	job->buffer = NULL;
}

static void job_put(struct job *job)
{
	if (!bl_ref_put(&job->refs))
		return;
	release(job);
	pthread_mutex_destroy(&job->lock);
	pthread_rwlock_destroy(&job->gate);
	pthread_cond_destroy(&job->ended);
	free(job);
}

static struct job *job_new(const struct bl_io *io, unsigned int helpers)
{
	struct job *job = calloc(1, sizeof(*job) + helpers * sizeof(job->helpers[0]));
	pthread_condattr_t attr;

	if (!job)
		return NULL;
	atomic_init(&job->refs, 1);
	job->file = io->file;
	bl_file_hold(io->file);
	job->buffer = io->mem.buffer;
	if (job->buffer)
		atomic_fetch_add(&job->buffer->refs, 1);
	bl_mem_target_copy(&job->target, io->mem.target);
	job->va = io->mem.va + io->done;
	job->mapped = io->mem.mapped ? (char *)io->mem.mapped + io->done : NULL;
	job->direct = io->direct;
	job->deadline_ns = io->deadline_ns;
	bl_pieces_init(&job->pieces, bl_staged_piece(io), io->len - io->done, io->pos + (off_t)io->done);
	pthread_mutex_init(&job->lock, NULL);
	pthread_rwlock_init(&job->gate, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&job->ended, &attr);
	pthread_condattr_destroy(&attr);
	return job;
}

static int post(struct job *job, struct bl_lane *lane, unsigned int slot, const struct bl_piece *piece, char *from,
		size_t len)
{
	int ret = -ETIMEDOUT;

	pthread_rwlock_rdlock(&job->gate);
	if (!job->abandoned)
		ret = bl_lane_post(lane, slot, BL_COPY_TO, job->va + piece->off, from, len);
	pthread_rwlock_unlock(&job->gate);
	return ret;
}

static atomic_uint nr_straight; /* threads that read to a mapping */

/* All of a piece, or false: it is not in the page cache, or the kernel does not write to the mapping. */
static bool read_straight(struct job *job, const struct bl_piece *piece)
{
	ssize_t got = 0;

	atomic_fetch_add_explicit(&nr_straight, 1, memory_order_relaxed);
	pthread_rwlock_rdlock(&job->gate);
	if (!job->abandoned) {
		atomic_store_explicit(&job->stored, true, memory_order_relaxed);
		got = bl_fio_read_cached(job->file, job->mapped + piece->off, piece->len, piece->pos);
		bl_fence_wc_store();
	}
	pthread_rwlock_unlock(&job->gate);
	atomic_fetch_sub_explicit(&nr_straight, 1, memory_order_relaxed);
	return got == (ssize_t)piece->len;
}

/* @before: the slot of this lane's piece before. */
static bool straight_is_sooner(struct job *job, struct bl_lane *lane, unsigned int before)
{
	if (!job->mapped || job->direct || atomic_load_explicit(&job->cold, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&nr_straight, memory_order_relaxed) >= bl_file_tune()->straight_most)
		return false;
	return atomic_load(&job->pieces.next) + 1 >= job->pieces.nr || bl_lane_look(lane, before) == -EAGAIN;
}

/* The first piece that is not in the page cache has the kernel read the rest ahead, while this thread waits for that piece. */
static size_t read_cached(struct job *job, char *memory, const struct bl_piece *piece, int *err_p)
{
	ssize_t got = 0;

	if (!atomic_load_explicit(&job->cold, memory_order_relaxed))
		got = bl_fio_read_cached(job->file, memory, piece->len, piece->pos);
	if (got == (ssize_t)piece->len) {
		*err_p = 0;
		return piece->len;
	}
	if (got == -EAGAIN && !atomic_exchange(&job->cold, true))
		bl_fio_read_ahead(job->file, job->pieces.len - piece->off, piece->pos, job->pieces.size);
	if (got < 0)
		got = 0;
	return (size_t)got + bl_fio_read(job->file, memory + got, piece->len - (size_t)got, piece->pos + got, err_p);
}

static int do_piece(struct job *job, struct bl_lane *lane, unsigned int slot, unsigned int before,
		    const struct bl_piece *piece)
{
	char *memory = bl_lane_slot(lane, slot);
	size_t got, skip = 0;
	int err, ret;

	if (straight_is_sooner(job, lane, before) && read_straight(job, piece))
		return 0;
	ret = bl_lane_wait(lane, slot);
	if (!ret && bl_now_ns() > job->deadline_ns)
		ret = fail(ETIMEDOUT, "fd %d: not done in time", job->file->fd);
	if (ret)
		return ret;
	if (job->direct)
		got = bl_fio_read_direct(job->file, memory, piece->len, piece->pos, &skip, &err);
	else
		got = read_cached(job, memory, piece, &err);
	if (got < piece->len)
		bl_pieces_stop(&job->pieces, piece->off + got, bl_staged_error(err));
	return got ? post(job, lane, slot, piece, memory + skip, got) : 0;
}

/* All pieces that are to be had. What a lane did is known when its last transfer has ended, and not which of them failed. */
static void take_part(struct job *job, struct bl_lane *lane)
{
	struct bl_piece piece;
	size_t first = SIZE_MAX;
	unsigned int slot = 0, before = 0;
	int ret = 0, err;

	bl_ce_flush(lane->ce, job->mapped);
	while (!ret && bl_pieces_take(&job->pieces, &piece)) {
		if (first == SIZE_MAX)
			first = piece.off;
		ret = do_piece(job, lane, slot, before, &piece);
		if (ret)
			bl_pieces_stop(&job->pieces, piece.off, ret);
		before = slot;
		slot = (slot + 1) % lane->nr;
	}
	err = bl_lane_drain(lane);
	if (err && first != SIZE_MAX)
		bl_pieces_stop(&job->pieces, first, err);
	bl_lane_put(lane, !err);
}

static void helper_ended(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	atomic_fetch_sub_explicit(&job->pending, 1, memory_order_release);
	pthread_cond_signal(&job->ended);
	pthread_mutex_unlock(&job->lock);
}

static void help(struct bl_work *work)
{
	struct job *job = ((struct helper *)work)->job;
	struct bl_lane *lane;

	/* who gets no lane leaves its share to the others */
	bl_fail_hush(1);
	if (!bl_lane_get(&job->target, job->pieces.size, &lane))
		take_part(job, lane);
	bl_fail_hush(-1);
	helper_ended(job);
	job_put(job);
}

static unsigned int nr_helpers(const struct bl_io *io)
{
	const struct bl_file_config *config = bl_file_config();
	unsigned int nr = config->max_request_parallelism;
	size_t left = io->len - io->done;

	if (!config->parallel_io || !config->max_io_threads || nr < 2)
		return 0;
	if (left < config->min_io_threshold_size_kb << 10)
		return !io->direct && left >= bl_file_tune()->help_from && !bl_io_crowded();
	nr = nr - 1 < config->max_io_threads ? nr - 1 : config->max_io_threads;
	if (bl_io_large() > 1 && nr > bl_file_tune()->helpers_many)
		nr = bl_file_tune()->helpers_many;
	return nr < MAX_HELPERS ? nr : MAX_HELPERS;
}

static void call_helpers(struct job *job, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		job->helpers[i].job = job;
		job->helpers[i].work.run = help;
		job->helpers[i].work.next = i + 1 < nr ? &job->helpers[i + 1].work : NULL;
	}
	atomic_store(&job->pending, nr);
	atomic_fetch_add(&job->refs, (int)nr);
	if (!nr || !bl_crew_submit(&job->helpers[0].work))
		return;
	atomic_store(&job->pending, 0);
	atomic_fetch_sub(&job->refs, (int)nr);
}

static void take_back(struct job *job, unsigned int nr)
{
	for (unsigned int i = 0; i < nr && atomic_load(&job->pending); i++) {
		if (!bl_crew_withdraw(&job->helpers[i].work))
			continue;
		atomic_fetch_sub(&job->pending, 1);
		atomic_fetch_sub(&job->refs, 1); /* never the last one: the caller has its own */
	}
}

/* For the pieces that helpers are at. False: they did not end in time, and will leave the GPU memory alone. */
static bool wait_helpers(struct job *job)
{
	struct timespec until = { .tv_sec = (time_t)(job->deadline_ns / 1000000000U),
				  .tv_nsec = (long)(job->deadline_ns % 1000000000U) };
	uint64_t start = bl_now_ns();
	int ret = 0;

	while (atomic_load_explicit(&job->pending, memory_order_acquire)) {
		if (bl_now_ns() - start > SPIN_NS)
			break;
	}
	pthread_mutex_lock(&job->lock);
	while (atomic_load(&job->pending) && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&job->ended, &job->lock, &until);
	pthread_mutex_unlock(&job->lock);
	if (!atomic_load(&job->pending))
		return true;
	pthread_rwlock_wrlock(&job->gate);
	job->abandoned = true;
	pthread_rwlock_unlock(&job->gate);
	return false;
}

int bl_staged_read(struct bl_io *io)
{
	unsigned int nr = nr_helpers(io);
	struct job *job = job_new(io, nr);
	struct bl_lane *lane;
	int ret;

	if (!job)
		return fail(ENOMEM, "out of memory");
	ret = bl_staged_lane(io, &job->target, job->pieces.size, &lane);
	if (ret)
		goto put_job;
	call_helpers(job, nr);
	take_part(job, lane);
	take_back(job, nr);
	if (wait_helpers(job))
		io->done += bl_pieces_end(&job->pieces, &ret);
	else
		ret = fail(ETIMEDOUT, "fd %d: a read did not end in time", io->file->fd);
	if (atomic_load(&job->stored)) {
		bl_ce_wrote();
		if (io->mem.flush && bl_flush(io->mem.pin))
			ret = -EIO;
	}
	/* a helper that has ended may yet have to give up its reference: nothing of the caller's is to wait for that */
	if (!job->abandoned)
		release(job);
put_job:
	job_put(job);
	return ret;
}
