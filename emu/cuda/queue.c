// SPDX-License-Identifier: MIT
#include "queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "env.h"
#include "util/thread.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* something was queued, done or closed */

void emu_queue_lock(void)
{
	pthread_mutex_lock(&queue_lock);
}

void emu_queue_unlock(void)
{
	pthread_mutex_unlock(&queue_lock);
}

void emu_queue_wake(void)
{
	pthread_cond_broadcast(&changed);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

struct emu_op *emu_op_get(struct emu_op *op)
{
	op->refs++;
	return op;
}

void emu_op_put(struct emu_op *op)
{
	if (!op || --op->refs)
		return;
	for (unsigned int i = 0; i < op->nr_deps; i++)
		emu_op_put(op->deps[i]);
	free(op->deps);
	free(op);
}

void emu_op_wait(struct emu_op *op)
{
	while (!op->done)
		pthread_cond_wait(&changed, &queue_lock);
}

static void wait_for_deps(struct emu_op *op)
{
	for (unsigned int i = 0; i < op->nr_deps; i++)
		emu_op_wait(op->deps[i]);
}

/* What it waits for, and its turn in the channel. */
static void wait_for_turn(struct emu_op *op)
{
	wait_for_deps(op);
	while (!emu_channel_free(op))
		pthread_cond_wait(&changed, &queue_lock);
}

static void op_complete(struct emu_op *op)
{
	op->done = 1;
	op->done_ns = now_ns();
	/* otherwise each op would keep all those before it */
	for (unsigned int i = 0; i < op->nr_deps; i++)
		emu_op_put(op->deps[i]);
	op->nr_deps = 0;
	pthread_cond_broadcast(&changed);
}

static void run_one(struct emu_stream *stream)
{
	struct emu_op *op = stream->head;
	unsigned int delay = emu_env()->async_us;

	wait_for_turn(op);
	stream->running = op;
	stream->head = op->next;
	if (!stream->head)
		stream->tail = NULL;
	emu_queue_unlock();
	if (delay && op->run)
		usleep(delay);
	if (op->run)
		op->run(op->arg);
	free(op->arg);
	emu_queue_lock();
	stream->running = NULL;
	op_complete(op);
	emu_op_put(op);
}

static void *stream_thread(void *arg)
{
	struct emu_stream *stream = arg;

	emu_queue_lock();
	for (;;) {
		if (stream->head)
			run_one(stream);
		else if (stream->closing)
			break;
		else
			pthread_cond_wait(&changed, &queue_lock);
	}
	emu_stream_free(stream);
	pthread_cond_broadcast(&changed);
	emu_queue_unlock();
	return NULL;
}

static int start_worker(struct emu_stream *stream)
{
	if (!stream->worker)
		stream->worker = !bl_thread_start(stream_thread, stream);
	return stream->worker ? 0 : -1;
}

static void add_dep(struct emu_op *op, struct emu_op *dep)
{
	if (dep && !dep->done)
		op->deps[op->nr_deps++] = emu_op_get(dep);
}

static int collect_deps(struct emu_op *op, struct emu_stream *stream)
{
	struct emu_stream *legacy = emu_stream_legacy(stream->ctx);
	unsigned int max = 2;

	for (struct emu_stream *other = emu_streams(); other; other = other->next)
		max++;
	op->deps = calloc(max, sizeof(struct emu_op *));
	if (!op->deps)
		return -1;
	add_dep(op, stream->last);
	if (stream->kind == EMU_STREAM_BLOCKING && legacy)
		add_dep(op, legacy->last);
	if (stream->kind != EMU_STREAM_LEGACY)
		return 0;
	for (struct emu_stream *other = emu_streams(); other; other = other->next) {
		if (other->ctx == stream->ctx && other->kind == EMU_STREAM_BLOCKING)
			add_dep(op, other->last);
	}
	return 0;
}

/* New op that is the last of its stream from now on, with a reference for the caller. */
static struct emu_op *op_new(struct emu_stream *stream)
{
	static uint64_t last_seq;
	struct emu_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->refs = 1;
	op->stream = stream;
	op->seq = ++last_seq;
	if (collect_deps(op, stream)) {
		free(op);
		return NULL;
	}
	emu_op_put(stream->last);
	stream->last = emu_op_get(op);
	return op;
}

static CUresult submit_locked(struct emu_stream *stream, void (*run)(void *arg), void **arg, int host)
{
	CUresult ret;
	struct emu_op *op;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	ret = emu_capture_check_submit(stream);
	if (ret)
		return ret;
	if (stream->capture.status == EMU_CAPTURE_ACTIVE)
		return CUDA_SUCCESS;
	if (start_worker(stream))
		return CUDA_ERROR_OUT_OF_MEMORY;
	op = op_new(stream);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->run = run;
	op->host = host;
	op->arg = *arg;
	*arg = NULL;
	if (stream->tail)
		stream->tail->next = op;
	else
		stream->head = op;
	stream->tail = op;
	pthread_cond_broadcast(&changed);
	return CUDA_SUCCESS;
}

/* A mark that waits for @dep besides its stream: what follows on the stream waits for the mark. */
CUresult emu_stream_add_wait(struct emu_stream *stream, struct emu_op *dep)
{
	struct emu_op **deps;
	struct emu_op *op;
	void *none = NULL;
	CUresult ret;

	if (dep->done)
		return CUDA_SUCCESS;
	ret = submit_locked(stream, NULL, &none, 0);
	if (ret)
		return ret;
	op = stream->tail;
	deps = realloc(op->deps, (op->nr_deps + 1) * sizeof(struct emu_op *));
	if (!deps)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->deps = deps;
	op->deps[op->nr_deps++] = emu_op_get(dep);
	return CUDA_SUCCESS;
}

static CUresult submit(struct emu_ctx *ctx, CUstream handle, void (*run)(void *arg), void *arg, int host)
{
	CUresult ret;

	emu_queue_lock();
	ret = submit_locked(emu_stream_find(ctx, handle), run, &arg, host);
	emu_queue_unlock();
	free(arg);
	return ret;
}

CUresult emu_submit(struct emu_ctx *ctx, CUstream handle, void (*run)(void *arg), void *arg)
{
	return submit(ctx, handle, run, arg, 0);
}

CUresult emu_submit_host(struct emu_ctx *ctx, CUstream handle, void (*run)(void *arg), void *arg)
{
	return submit(ctx, handle, run, arg, 1);
}

CUresult emu_submit_mark(struct emu_ctx *ctx, CUstream handle, struct emu_op **op_p)
{
	struct emu_stream *stream;
	void *none = NULL;
	CUresult ret;

	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	ret = submit_locked(stream, NULL, &none, 0);
	if (!ret)
		*op_p = stream->capture.status == EMU_CAPTURE_ACTIVE ? NULL : emu_op_get(stream->last);
	emu_queue_unlock();
	return ret;
}

CUresult emu_begin(struct emu_ctx *ctx, struct emu_op **op_p)
{
	struct emu_stream *stream;
	CUresult ret;

	emu_queue_lock();
	stream = emu_stream_find(ctx, NULL);
	ret = stream ? emu_capture_check_submit(stream) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!ret) {
		*op_p = op_new(stream);
		if (!*op_p)
			ret = CUDA_ERROR_OUT_OF_MEMORY;
	}
	emu_queue_unlock();
	return ret;
}

void emu_perform(struct emu_op *op, void (*run)(void *arg), void *arg)
{
	emu_queue_lock();
	op->run = run;
	wait_for_turn(op);
	emu_queue_unlock();
	run(arg);
	emu_queue_lock();
	op_complete(op);
	emu_op_put(op);
	emu_queue_unlock();
}

/* Streams may go away while this waits, so the ops to wait for are found first. */
void emu_drain(struct emu_ctx *ctx)
{
	struct emu_op **ops;
	size_t nr = 0, room = 0;

	emu_queue_lock();
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next)
		room++;
	ops = calloc(room + 1, sizeof(struct emu_op *));
	if (!ops)
		abort(); /* memory would be freed under running work */
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if ((!ctx || stream->ctx == ctx) && stream->last && !stream->last->done)
			ops[nr++] = emu_op_get(stream->last);
	}
	for (size_t i = 0; i < nr; i++) {
		emu_op_wait(ops[i]);
		emu_op_put(ops[i]);
	}
	emu_queue_unlock();
	free(ops);
}

int emu_idle(void)
{
	int idle = 1;

	emu_queue_lock();
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (stream->last && !stream->last->done)
			idle = 0;
	}
	emu_queue_unlock();
	return idle;
}
