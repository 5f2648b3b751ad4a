// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "api.h"
#include "capture.h"
#include "queue.h"
#include "state.h"

/**
 * struct emu_event - an event
 * @next:     list of all
 * @ctx:      its context
 * @flags:    CU_EVENT_*
 * @op:       mark that the last record left, with a reference; NULL before the first
 * @captured: last recorded in a capturing stream
 */
struct emu_event {
	struct emu_event *next;
	struct emu_ctx *ctx;
	unsigned int flags;
	struct emu_op *op;
	struct emu_stream *captured;
};

static struct emu_event *events; /* queue lock */

static struct emu_event *find(CUevent handle)
{
	for (struct emu_event *event = events; event; event = event->next) {
		if ((CUevent)event == handle)
			return event;
	}
	return NULL;
}

CUresult cuEventCreate(CUevent *event_p, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_event *event;

	if (ret)
		return ret;
	if (!event_p || flags & ~7U)
		return CUDA_ERROR_INVALID_VALUE;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ctx = ctx;
	event->flags = flags;
	emu_queue_lock();
	event->next = events;
	events = event;
	emu_queue_unlock();
	*event_p = (CUevent)event;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	CUresult ret = emu_enter();
	struct emu_event **link;
	struct emu_event *event;

	if (ret)
		return ret;
	emu_queue_lock();
	for (link = &events; *link && (CUevent)*link != handle; link = &(*link)->next)
		;
	event = *link;
	if (event) {
		*link = event->next;
		emu_op_put(event->op);
	}
	emu_queue_unlock();
	free(event);
	return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_event *event;
	struct emu_op *op = NULL;

	if (ret)
		return ret;
	emu_queue_lock();
	event = find(handle);
	ret = !event || event->ctx != ctx ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
	emu_queue_unlock();
	if (!ret)
		ret = emu_submit_mark(ctx, stream, &op);
	if (ret)
		return ret;
	emu_queue_lock();
	event = find(handle);
	if (event) {
		emu_op_put(event->op);
		event->op = op;
		event->captured = op ? NULL : emu_stream_find(ctx, stream);
	} else {
		emu_op_put(op);
	}
	emu_queue_unlock();
	return CUDA_SUCCESS;
}

/* Asking about an event that belongs to a capture breaks the capture. */
static CUresult check(const struct emu_event *event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event->captured)
		return CUDA_SUCCESS;
	for (struct emu_stream *stream = emu_streams(); stream; stream = stream->next) {
		if (stream == event->captured && stream->capture.status == EMU_CAPTURE_ACTIVE)
			stream->capture.status = EMU_CAPTURE_INVALID;
	}
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult cuEventQuery(CUevent handle)
{
	CUresult ret = emu_enter();
	const struct emu_event *event;

	if (ret)
		return ret;
	ret = emu_capture_check_unsafe();
	emu_queue_lock();
	event = find(handle);
	if (!event || event->captured)
		ret = check(event);
	if (!ret && event->op && !event->op->done)
		ret = CUDA_ERROR_NOT_READY;
	emu_queue_unlock();
	return ret;
}

CUresult cuEventSynchronize(CUevent handle)
{
	CUresult ret = emu_enter();
	const struct emu_event *event;
	struct emu_op *op;

	if (ret)
		return ret;
	ret = emu_capture_check_unsafe();
	emu_queue_lock();
	event = find(handle);
	if (!event || event->captured)
		ret = check(event);
	if (!ret && event->op) {
		op = emu_op_get(event->op);
		emu_op_wait(op);
		emu_op_put(op);
	}
	emu_queue_unlock();
	return ret;
}

static CUresult elapsed(const struct emu_event *start, const struct emu_event *end, float *ms)
{
	CUresult ret = check(start);

	if (!ret)
		ret = check(end);
	if (ret)
		return ret;
	if (!start->op || !end->op || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!start->op->done || !end->op->done)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(end->op->done_ns - start->op->done_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	emu_queue_lock();
	ret = elapsed(find(start), find(end), ms);
	emu_queue_unlock();
	return ret;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime(ms, start, end);
}

static CUresult wait_event(struct emu_stream *stream, const struct emu_event *event)
{
	CUresult ret;

	if (!stream || !event)
		return CUDA_ERROR_INVALID_HANDLE;
	/* forked captures are not emulated */
	if (event->captured || stream->capture.status != EMU_CAPTURE_NONE)
		return CUDA_ERROR_NOT_SUPPORTED;
	ret = emu_capture_check_submit(stream);
	if (ret || !event->op)
		return ret;
	return emu_stream_add_wait(stream, event->op);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	emu_queue_lock();
	ret = wait_event(emu_stream_find(ctx, stream), find(event));
	emu_queue_unlock();
	return ret;
}
