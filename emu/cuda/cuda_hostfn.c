// SPDX-License-Identifier: MIT
/* Functions of the program's that a stream calls on the CPU. They may not call CUDA. */
#include <stdlib.h>

#include "api.h"
#include "capture.h"
#include "queue.h"
#include "state.h"

/**
 * struct host_call - a call in a stream
 * @ctx:      context of the stream
 * @fn:       cuLaunchHostFunc(): the function, else NULL
 * @callback: cuStreamAddCallback(): the function, else NULL
 * @stream:   what @callback is told
 * @arg:      the program's
 */
struct host_call {
	struct emu_ctx *ctx;
	void (*fn)(void *arg);
	void (*callback)(CUstream stream, CUresult status, void *arg);
	CUstream stream;
	void *arg;
};

/* After a failure of the context callbacks are called and told so, host functions are not called. */
static void run_host_call(void *arg)
{
	const struct host_call *call = arg;
	struct emu_thread *thread = emu_thread();
	CUresult failed = atomic_load(&call->ctx->sticky);

	thread->in_host_func = 1;
	if (call->callback)
		call->callback(call->stream, failed, call->arg);
	else if (!failed)
		call->fn(call->arg);
	thread->in_host_func = 0;
}

static CUresult submit(struct emu_ctx *ctx, CUstream stream, struct host_call like)
{
	struct host_call *call = malloc(sizeof(*call));

	if (!call)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*call = like;
	call->ctx = ctx;
	return emu_submit_host(ctx, stream, run_host_call, call);
}

CUresult cuLaunchHostFunc(CUstream stream, void (*fn)(void *), void *arg)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.hostfn", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	return submit(ctx, stream, (struct host_call){ .fn = fn, .arg = arg });
}

CUresult cuStreamAddCallback(CUstream stream, void (*callback)(CUstream stream, CUresult status, void *arg), void *arg,
			     unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.hostfn", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	ret = emu_capture_check_callback(ctx, stream);
	if (ret)
		return ret;
	return submit(ctx, stream, (struct host_call){ .callback = callback, .stream = stream, .arg = arg });
}
