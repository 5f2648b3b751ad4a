// SPDX-License-Identifier: MIT
/* The streams of all contexts; what is on them is in queue.c. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "queue.h"

static struct emu_stream *streams;

struct emu_stream *emu_streams(void)
{
	return streams;
}

pid_t emu_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static struct emu_stream *stream_new(struct emu_ctx *ctx, enum emu_stream_kind kind, pid_t owner)
{
	static uint64_t last_id;
	struct emu_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->ctx = ctx;
	stream->id = ++last_id;
	stream->kind = kind;
	stream->owner = owner;
	stream->next = streams;
	streams = stream;
	return stream;
}

struct emu_stream *emu_stream_create(struct emu_ctx *ctx, enum emu_stream_kind kind)
{
	struct emu_stream *stream;

	emu_queue_lock();
	stream = stream_new(ctx, kind, 0);
	emu_queue_unlock();
	return stream;
}

void emu_stream_free(struct emu_stream *stream)
{
	struct emu_stream **link = &streams;

	while (*link != stream)
		link = &(*link)->next;
	*link = stream->next;
	emu_op_put(stream->last);
	free(stream);
}

struct emu_stream *emu_stream_legacy(const struct emu_ctx *ctx)
{
	for (struct emu_stream *stream = streams; stream; stream = stream->next) {
		if (stream->ctx == ctx && stream->kind == EMU_STREAM_LEGACY && !stream->closing)
			return stream;
	}
	return NULL;
}

static struct emu_stream *thread_stream(struct emu_ctx *ctx)
{
	pid_t tid = emu_tid();

	for (struct emu_stream *stream = streams; stream; stream = stream->next) {
		if (stream->ctx == ctx && stream->owner == tid && !stream->closing)
			return stream;
	}
	return stream_new(ctx, EMU_STREAM_BLOCKING, tid);
}

struct emu_stream *emu_stream_find_any(struct emu_ctx *ctx, CUstream handle)
{
	if ((uintptr_t)handle <= 2)
		return emu_stream_find(ctx, handle);
	for (struct emu_stream *stream = streams; stream; stream = stream->next) {
		if ((CUstream)stream == handle && !stream->closing && !stream->owner)
			return stream;
	}
	return NULL;
}

/* 0 and 1 are the legacy default stream, 2 the calling thread's own. */
struct emu_stream *emu_stream_find(struct emu_ctx *ctx, CUstream handle)
{
	struct emu_stream *stream;

	if ((uintptr_t)handle <= 1) {
		stream = emu_stream_legacy(ctx);
		return stream ? stream : stream_new(ctx, EMU_STREAM_LEGACY, 0);
	}
	if ((uintptr_t)handle == 2)
		return thread_stream(ctx);
	stream = emu_stream_find_any(ctx, handle);
	return stream && stream->ctx == ctx ? stream : NULL;
}

void emu_stream_close(struct emu_stream *stream)
{
	stream->closing = 1;
	if (stream->worker)
		emu_queue_wake();
	else
		emu_stream_free(stream);
}

void emu_stream_destroy_all(struct emu_ctx *ctx)
{
	struct emu_stream *next;

	emu_drain(ctx);
	emu_queue_lock();
	for (struct emu_stream *stream = streams; stream; stream = next) {
		next = stream->next;
		if (stream->ctx == ctx && !stream->closing)
			emu_stream_close(stream);
	}
	emu_queue_unlock();
}
