// SPDX-License-Identifier: MIT
#include "capture.h"

#include <stdlib.h>

#include "api.h"
#include "queue.h"

struct emu_graph {
	struct emu_graph *next;
};

static struct emu_graph *graphs;

static int capturing(const struct emu_stream *stream)
{
	return stream->capture.status != EMU_CAPTURE_NONE && !stream->closing;
}

static void invalidate(struct emu_stream *stream)
{
	stream->capture.status = EMU_CAPTURE_INVALID;
}

/* Work on the legacy stream would wait for, and so become part of, captures on blocking streams. */
static CUresult check_legacy(const struct emu_stream *legacy)
{
	CUresult ret = CUDA_SUCCESS;

	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (stream->ctx != legacy->ctx || stream->kind != EMU_STREAM_BLOCKING || !capturing(stream))
			continue;
		invalidate(stream);
		ret = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return ret;
}

CUresult emu_capture_check_submit(struct emu_stream *stream)
{
	if (stream->capture.status == EMU_CAPTURE_INVALID)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return stream->kind == EMU_STREAM_LEGACY ? check_legacy(stream) : CUDA_SUCCESS;
}

/* The rules that cuThreadExchangeStreamCaptureMode() documents. */
static int forbids(const struct emu_stream *stream, int thread_mode, pid_t tid)
{
	if (!capturing(stream) || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return 0;
	if (stream->capture.thread == tid)
		return stream->capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && stream->capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

static CUresult check_unsafe(void)
{
	int mode = emu_thread()->capture_mode;
	pid_t tid = emu_tid();
	CUresult ret = CUDA_SUCCESS;

	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (!forbids(stream, mode, tid))
			continue;
		invalidate(stream);
		ret = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return ret;
}

CUresult emu_capture_check_unsafe(void)
{
	CUresult ret;

	emu_queue_lock();
	ret = check_unsafe();
	emu_queue_unlock();
	return ret;
}

CUresult emu_capture_check_wait(struct emu_stream *stream)
{
	CUresult ret;

	if (capturing(stream)) {
		invalidate(stream);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	ret = stream->kind == EMU_STREAM_LEGACY ? check_legacy(stream) : CUDA_SUCCESS;
	return ret ? ret : check_unsafe();
}

CUresult emu_capture_check_callback(struct emu_ctx *ctx, CUstream handle)
{
	CUresult ret = CUDA_SUCCESS;
	struct emu_stream *stream;

	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	if (!stream) {
		ret = CUDA_ERROR_INVALID_HANDLE;
	} else if (capturing(stream)) {
		invalidate(stream);
		ret = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	emu_queue_unlock();
	return ret;
}

CUresult emu_capture_check_ctx(struct emu_ctx *ctx)
{
	CUresult ret = CUDA_SUCCESS;

	emu_queue_lock();
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (stream->ctx != ctx || !capturing(stream))
			continue;
		invalidate(stream);
		ret = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	emu_queue_unlock();
	return ret;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
	struct emu_thread *thread = emu_thread();
	CUresult ret = emu_enter();
	int old;

	if (ret)
		return ret;
	if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	old = thread->capture_mode;
	thread->capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static CUresult begin(struct emu_stream *stream, int mode)
{
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->kind == EMU_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture.status != EMU_CAPTURE_NONE)
		return CUDA_ERROR_ILLEGAL_STATE;
	stream->capture.status = EMU_CAPTURE_ACTIVE;
	stream->capture.mode = mode;
	stream->capture.thread = emu_tid();
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	emu_queue_lock();
	ret = begin(emu_stream_find(ctx, handle), mode);
	emu_queue_unlock();
	return ret;
}

/* Whatever is returned but ILLEGAL_STATE and INVALID_HANDLE, the capture is over. */
static CUresult end(struct emu_stream *stream, struct emu_graph *graph)
{
	enum emu_capture_status status;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	status = stream->capture.status;
	if (status == EMU_CAPTURE_NONE)
		return CUDA_ERROR_ILLEGAL_STATE;
	stream->capture.status = EMU_CAPTURE_NONE;
	if (stream->capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->capture.thread != emu_tid())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (status == EMU_CAPTURE_INVALID)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	graph->next = graphs;
	graphs = graph;
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph_p)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_graph *graph;

	if (ret)
		return ret;
	if (!graph_p)
		return CUDA_ERROR_INVALID_VALUE;
	*graph_p = NULL;
	graph = calloc(1, sizeof(*graph));
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	emu_queue_lock();
	ret = end(emu_stream_find(ctx, handle), graph);
	emu_queue_unlock();
	if (ret)
		free(graph);
	else
		*graph_p = (CUgraph)graph;
	return ret;
}

CUresult cuStreamIsCapturing(CUstream handle, int *status)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_stream *stream;

	if (!ret)
		ret = emu_cuda_fault("cuda.capturing", CUDA_ERROR_UNKNOWN);
	if (ret)
		return ret;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	if (stream) {
		*status = (int)stream->capture.status;
		ret = stream->kind == EMU_STREAM_LEGACY ? check_legacy(stream) : CUDA_SUCCESS;
	} else {
		ret = CUDA_ERROR_INVALID_HANDLE;
	}
	emu_queue_unlock();
	return ret;
}

/* A graph can be had and destroyed; there is no instantiation. */
CUresult cuGraphDestroy(CUgraph handle)
{
	CUresult ret = emu_enter();
	struct emu_graph **link;
	struct emu_graph *graph;

	if (ret)
		return ret;
	emu_queue_lock();
	for (link = &graphs; *link && (CUgraph)*link != handle; link = &(*link)->next)
		;
	graph = *link;
	if (graph)
		*link = graph->next;
	emu_queue_unlock();
	free(graph);
	return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
