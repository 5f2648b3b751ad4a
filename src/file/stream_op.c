// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/stream: " fmt
#include "stream_op.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cufile.h"
#include "error.h"
#include "file.h"
#include "io.h"
#include "stats.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/slots.h"

/* How much longer than for the deadline of an operation a thread waits for its end, which the watch brings about. */
#define GRACE_NS 5000000000ULL

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* an operation that is awaited has ended */
static struct bl_slots table;

void bl_stream_ops_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&ended, NULL);
	bl_slots_forget(&table);
}

static struct bl_stream_op *get(uint64_t id)
{
	struct bl_stream_op *op;

	pthread_mutex_lock(&lock);
	op = bl_slots_object(&table, id);
	if (op)
		atomic_fetch_add(&op->refs, 1);
	pthread_mutex_unlock(&lock);
	return op;
}

/*
 * File, memory and slots are in use until nobody works on the operation any more, also if it was given up long before; the
 * slots then until the stream is past it.
 */
void bl_stream_op_put(struct bl_stream_op *op)
{
	if (atomic_fetch_sub(&op->refs, 1) != 1)
		return;
	for (unsigned int i = 0; op->way == BL_WAY_BOUNCE && i < op->nr_parts; i++)
		bl_bounce_put(&op->parts[i].slot, op->touched ? op->stream : NULL, op->last);
	if (op->has_mem)
		bl_mem_put(&op->mem);
	if (op->args.file)
		bl_file_put(op->args.file);
	bl_stream_put(op->stream);
	bl_stream_watch_end();
	pthread_mutex_destroy(&op->lock);
	free(op);
}

void bl_stream_op_forget(struct bl_stream_op *op)
{
	bool known;

	pthread_mutex_lock(&lock);
	known = bl_slots_object(&table, op->id) == op;
	if (known)
		bl_slots_remove(&table, op->id);
	pthread_mutex_unlock(&lock);
	if (known)
		bl_stream_op_put(op);
}

bool bl_stream_op_claim(struct bl_stream_op *op, int from, int to)
{
	return atomic_compare_exchange_strong(&op->state, &from, to);
}

static bool is_held(const struct bl_stream_op *op)
{
	return op->way == BL_WAY_HELD || atomic_load(&op->missed);
}

static enum bl_stream_count way_of(const struct bl_stream_op *op)
{
	if (is_held(op))
		return BL_STREAM_HELD;
	if (op->way == BL_WAY_BOUNCE)
		return op->kernel ? BL_STREAM_KERNEL : BL_STREAM_CUDA;
	return BL_STREAM_CPU;
}

static void count(const struct bl_stream_op *op, ssize_t result)
{
	struct bl_io io;

	io.file = op->args.file;
	io.path = atomic_load(&op->path);
	io.write = op->args.write;
	io.len = op->size;
	io.pos = op->pos;
	io.mem.ordinal = op->has_mem ? op->mem.ordinal : -1;
	bl_io_count(&io, result, bl_now_ns() - op->start_ns);
}

/*
 * The word, and what the kernel is told: nothing more is written of an operation that is given up. Under its lock, so that
 * whoever still works on it does not set the word back.
 */
static void let_go(struct bl_stream_op *op)
{
	pthread_mutex_lock(&op->lock);
	for (unsigned int i = 0; op->kernel && op->args.write && i < op->nr_parts; i++)
		__atomic_store_n(&op->parts[i].slot.job->len, 0, __ATOMIC_RELAXED);
	if (op->last != op->first)
		atomic_store_explicit(op->stream->word, op->last, memory_order_release);
	pthread_mutex_unlock(&op->lock);
}

/* *bytes before the word: whoever the word lets go on sees the result. */
void bl_stream_op_end(struct bl_stream_op *op, ssize_t result)
{
	if (!bl_stream_op_claim(op, BL_OP_RUNG, BL_OP_ENDING))
		return;
	/* one that is held is counted by who carries it out */
	if (!is_held(op))
		count(op, result);
	bl_stats_stream(way_of(op), op->args.write);
	*op->args.bytes = bl_error_event(result);
	bl_stream_unwatch(op);
	let_go(op);
	pthread_mutex_lock(&lock);
	atomic_store(&op->state, BL_OP_ENDED);
	if (op->awaited)
		pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
	bl_stream_op_forget(op);
}

void bl_stream_op_read(struct bl_stream_op *op, bool now)
{
	if (!!(op->fixed & CU_FILE_STREAM_FIXED_FILE_SIZE) == now)
		op->size = *op->args.size;
	if (!!(op->fixed & CU_FILE_STREAM_FIXED_FILE_OFFSET) == now)
		op->pos = *op->args.pos;
	if (!!(op->fixed & CU_FILE_STREAM_FIXED_BUF_OFFSET) == now)
		op->buf_off = *op->args.buf_off;
}

/* Of an operation that was taken back, or of a context that failed, nothing is left to be found. */
void bl_stream_op_bell(void *arg)
{
	struct bl_stream_op *op = get((uint64_t)(uintptr_t)arg);

	if (!op)
		return;
	bl_stream_ring(op);
	bl_stream_op_put(op);
}

void bl_stream_op_await(struct bl_stream_op *op)
{
	uint64_t until_ns = bl_now_ns() + bl_stream_timeout_ns() + GRACE_NS;
	struct timespec until = { (time_t)(until_ns / 1000000000U), (long)(until_ns % 1000000000U) };
	int ret = 0;

	pthread_mutex_lock(&lock);
	op->awaited = true;
	while (atomic_load(&op->state) != BL_OP_ENDED && ret != ETIMEDOUT)
		ret = pthread_cond_clockwait(&ended, &lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&lock);
	if (ret == ETIMEDOUT)
		fail(ETIMEDOUT, "an operation of stream %p does not end", (void *)op->stream->handle);
}

void bl_stream_op_hold(void *arg)
{
	struct bl_stream_op *op = get((uint64_t)(uintptr_t)arg);

	if (!op)
		return;
	bl_stream_op_await(op);
	bl_stream_op_put(op);
}

void bl_stream_drop(const struct bl_stream *stream)
{
	for (;;) {
		struct bl_stream_op *found = NULL;

		pthread_mutex_lock(&lock);
		for (uint32_t i = 0; i < table.nr_used && !found; i++) {
			struct bl_slot *slot = bl_slots_find(&table, i + 1);
			struct bl_stream_op *op = slot && atomic_load(&slot->id) ? slot->object : NULL;

			if (op && op->stream == stream && bl_stream_op_claim(op, BL_OP_QUEUED, BL_OP_ENDED))
				found = op;
		}
		pthread_mutex_unlock(&lock);
		if (!found)
			return;
		log_info("stream %p failed or is gone: an operation on it is dropped", (void *)stream->handle);
		bl_stream_op_forget(found);
	}
}

/* Errors of this range are the context's, and stay: nothing on its streams will run any more. */
int bl_stream_op_failed(const struct bl_stream *stream, CUresult err)
{
	if (err >= 700 && err < 800)
		bl_stream_drop(stream);
	return bl_fail(-BL_CUFILE_CUDA(err), log_fmt("stream %p: %s"), (void *)stream->handle, bl_cuda_strerror(err));
}

static int check_capture(const struct bl_cuda *cuda, CUstream handle)
{
	int status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult err = cuda->cuStreamIsCapturing ? cuda->cuStreamIsCapturing(handle, &status) : CUDA_SUCCESS;

	if (err && err != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
		return bl_fail(-BL_CUFILE_CUDA(err), log_fmt("stream %p: %s"), (void *)handle, bl_cuda_strerror(err));
	if (err || status != CU_STREAM_CAPTURE_STATUS_NONE)
		return bl_fail(-BL_CUFILE(CU_FILE_ASYNC_NOT_SUPPORTED),
			       log_fmt("stream %p is being captured: file operations cannot be part of a graph"),
			       (void *)handle);
	return 0;
}

static struct bl_stream_op *op_alloc(struct bl_stream *stream, const struct bl_stream_args *args)
{
	struct bl_stream_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->stream = stream;
	op->args = *args;
	op->fixed = atomic_load(&stream->flags);
	op->limit = SIZE_MAX;
	pthread_mutex_init(&op->lock, NULL);
	for (unsigned int i = 0; i < BL_OP_PARTS; i++)
		op->parts[i].op = op;
	atomic_store(&op->refs, 2);
	atomic_store(&op->state, BL_OP_QUEUED);
	atomic_store(&op->path, BL_PATH_PLAIN);
	bl_stream_op_read(op, true);
	return op;
}

/* Takes over the stream's reference, on success also the file's. Two references: the table's and the caller's. */
static int op_new(struct bl_stream *stream, const struct bl_stream_args *args, struct bl_stream_op **op_p)
{
	struct bl_stream_op *op = op_alloc(stream, args);
	int ret = -ENOMEM;

	if (!op)
		goto put_stream;
	ret = bl_stream_watch_begin();
	if (ret)
		goto free_op;
	pthread_mutex_lock(&lock);
	ret = bl_slots_add(&table, op, &op->id);
	pthread_mutex_unlock(&lock);
	if (ret)
		goto end_watch;
	*op_p = op;
	return 0;
end_watch:
	bl_stream_watch_end();
free_op:
	pthread_mutex_destroy(&op->lock);
	free(op);
put_stream:
	bl_stream_put(stream);
	return ret == -ENOMEM ? fail(ENOMEM, "an operation of a stream") : ret;
}

static int submit(const struct bl_cuda *cuda, CUcontext context, const struct bl_stream_args *args)
{
	struct bl_stream_op *op = NULL;
	struct bl_stream *stream;
	int ret;

	ret = bl_stream_get(cuda, args->stream, context, &stream);
	if (!ret)
		ret = op_new(stream, args, &op);
	if (ret)
		return ret;
	ret = bl_stream_plan(cuda, op);
	if (!ret) {
		pthread_mutex_lock(&stream->submit);
		ret = bl_stream_steps(cuda, op);
		pthread_mutex_unlock(&stream->submit);
	}
	/* on an error the caller keeps the file; what has failed here is in nobody else's hands */
	if (ret) {
		bl_stream_op_forget(op);
		op->args.file = NULL;
	}
	bl_stream_op_put(op);
	return ret;
}

int bl_stream_submit(const struct bl_stream_args *args)
{
	const struct bl_cuda *cuda;
	CUcontext context;
	int ret;

	ret = bl_stream_enter(args->stream, &cuda, &context);
	if (ret)
		return ret;
	ret = check_capture(cuda, args->stream);
	if (!ret)
		ret = submit(cuda, context, args);
	bl_stream_leave(cuda);
	return ret;
}
