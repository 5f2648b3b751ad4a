// SPDX-License-Identifier: MIT
#include "api.h"
#include "capture.h"
#include "queue.h"
#include "state.h"

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_stream *created;

	if (!ret)
		ret = emu_cuda_fault("cuda.newstream", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	created = emu_stream_create(ctx, flags ? EMU_STREAM_NON_BLOCKING : EMU_STREAM_BLOCKING);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*stream = (CUstream)created;
	return CUDA_SUCCESS;
}

/* Priorities are accepted and mean nothing, as on a GPU that is not busy. */
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	return cuStreamCreate(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_stream *stream;

	if (ret)
		return ret;
	if ((uintptr_t)handle <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	if (stream)
		emu_stream_close(stream);
	emu_queue_unlock();
	return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static int all_done(const struct emu_stream *stream)
{
	if (stream->last && !stream->last->done)
		return 0;
	if (stream->kind != EMU_STREAM_LEGACY)
		return 1;
	for (struct emu_stream *other = emu_streams(); other; other = other->next) {
		if (other->ctx == stream->ctx && other->kind == EMU_STREAM_BLOCKING && other->last &&
		    !other->last->done)
			return 0;
	}
	return 1;
}

CUresult cuStreamQuery(CUstream handle)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_stream *stream;

	if (!ret)
		ret = emu_cuda_fault("cuda.stream", CUDA_ERROR_UNKNOWN);
	if (ret)
		return ret;
	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	ret = stream ? emu_capture_check_wait(stream) : CUDA_ERROR_INVALID_HANDLE;
	if (!ret && !all_done(stream))
		ret = CUDA_ERROR_NOT_READY;
	emu_queue_unlock();
	return ret ? ret : emu_ctx_error(ctx);
}

/* The ops to wait for are held, since the stream may be destroyed meanwhile. */
static void wait_stream(struct emu_stream *stream)
{
	struct emu_op *op = stream->last ? emu_op_get(stream->last) : NULL;

	if (!op)
		return;
	emu_op_wait(op);
	emu_op_put(op);
}

static CUresult wait_legacy(struct emu_ctx *ctx)
{
	struct emu_op *op = NULL;
	CUresult ret = emu_submit_mark(ctx, NULL, &op);

	if (ret)
		return ret;
	emu_queue_lock();
	emu_op_wait(op);
	emu_op_put(op);
	emu_queue_unlock();
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_stream *stream;
	int legacy = 0;

	if (!ret)
		ret = emu_cuda_fault("cuda.stream", CUDA_ERROR_UNKNOWN);
	if (ret)
		return ret;
	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	ret = stream ? emu_capture_check_wait(stream) : CUDA_ERROR_INVALID_HANDLE;
	if (!ret) {
		legacy = stream->kind == EMU_STREAM_LEGACY;
		if (!legacy)
			wait_stream(stream);
	}
	emu_queue_unlock();
	if (!ret && legacy)
		ret = wait_legacy(ctx);
	if (ret)
		return ret;
	emu_pools_trim();
	return emu_ctx_error(ctx);
}

/*
 * A stream to ask about: of any context, the default streams are those of the current one. On success the queue is
 * locked.
 */
static CUresult enter_any(CUstream handle, const char *fault, const void *out, struct emu_stream **stream_p)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault(fault, CUDA_ERROR_INVALID_CONTEXT);
	if (ret)
		return ret;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	emu_queue_lock();
	*stream_p = emu_stream_find_any(ctx, handle);
	if (*stream_p)
		return CUDA_SUCCESS;
	emu_queue_unlock();
	return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx_p)
{
	struct emu_stream *stream;
	CUresult ret = enter_any(handle, "cuda.streamctx", ctx_p, &stream);

	if (ret)
		return ret;
	*ctx_p = (CUcontext)stream->ctx;
	emu_queue_unlock();
	return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	struct emu_stream *stream;
	CUresult ret = enter_any(handle, "cuda.streamid", id, &stream);

	if (ret)
		return ret;
	*id = stream->id;
	emu_queue_unlock();
	return CUDA_SUCCESS;
}
