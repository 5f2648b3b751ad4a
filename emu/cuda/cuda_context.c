// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdlib.h>

#include "api.h"
#include "capture.h"
#include "env.h"
#include "queue.h"
#include "state.h"

static struct emu_ctx *contexts;
static struct emu_ctx *primaries[EMU_MAX_GPUS];

/* Held until a released primary context is gone, so that retaining it again starts from nothing. Before emu_lock(). */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

struct emu_ctx *emu_ctx_find(CUcontext handle)
{
	for (struct emu_ctx *ctx = contexts; ctx; ctx = ctx->next) {
		if ((CUcontext)ctx == handle)
			return ctx;
	}
	return NULL;
}

/* Under emu_lock(). One that comes to life again has no access, and nobody has any to it. */
static void ctx_start(struct emu_ctx *ctx)
{
	static unsigned long long last;

	atomic_store(&ctx->id, ++last);
	ctx->nr_peers = 0;
	for (struct emu_ctx *other = contexts; other; other = other->next)
		emu_peer_forget(other, ctx);
	ctx->heap.keep = EMU_HEAP_KEEP_LAST;
	atomic_store(&ctx->sticky, CUDA_SUCCESS);
	atomic_store(&ctx->halt, 0);
	atomic_store(&ctx->alive, 1);
}

static struct emu_ctx *ctx_new(struct emu_gpu *gpu)
{
	struct emu_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->gpu = gpu;
	ctx->heap.gpu = gpu;
	ctx_start(ctx);
	ctx->next = contexts;
	contexts = ctx;
	return ctx;
}

/* The context is dead already: no new work can come. */
static void ctx_stop(struct emu_ctx *ctx)
{
	atomic_store(&ctx->halt, 1);
	emu_stream_destroy_all(ctx);
	emu_module_destroy_all(ctx);
	emu_alloc_destroy_all(ctx);
}

static CUresult primary_get(struct emu_gpu *gpu, CUcontext *ctx)
{
	struct emu_ctx **primary = &primaries[gpu->index];
	CUresult ret = CUDA_SUCCESS;

	emu_lock();
	if (!*primary)
		*primary = ctx_new(gpu);
	else if (!(*primary)->retains)
		ctx_start(*primary);
	if (*primary) {
		(*primary)->primary = 1;
		(*primary)->retains++;
		*ctx = (CUcontext)*primary;
	} else {
		ret = CUDA_ERROR_OUT_OF_MEMORY;
	}
	emu_unlock();
	return ret;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CUresult ret = emu_enter();
	struct emu_gpu *gpu;

	if (ret)
		return ret;
	gpu = emu_gpu(dev);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primary_lock);
	ret = primary_get(gpu, ctx);
	pthread_mutex_unlock(&primary_lock);
	return ret;
}

static CUresult primary_put(struct emu_gpu *gpu)
{
	struct emu_ctx *ctx = primaries[gpu->index];
	int last;

	emu_lock();
	if (!ctx || !ctx->retains) {
		emu_unlock();
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	last = !--ctx->retains;
	if (last)
		atomic_store(&ctx->alive, 0);
	emu_unlock();
	if (last)
		ctx_stop(ctx);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult ret = emu_enter();
	struct emu_gpu *gpu;

	if (ret)
		return ret;
	gpu = emu_gpu(dev);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	ret = primary_put(gpu);
	pthread_mutex_unlock(&primary_lock);
	return ret;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!emu_gpu(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	*flags = 0;
	*active = primaries[dev] && primaries[dev]->retains;
	emu_unlock();
	return CUDA_SUCCESS;
}

static CUresult push(struct emu_ctx *ctx)
{
	struct emu_thread *thread = emu_thread();

	if (thread->depth == EMU_CTX_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->stack[thread->depth++] = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	CUresult ret = emu_enter();
	struct emu_ctx *created;
	struct emu_gpu *gpu;

	if (ret)
		return ret;
	gpu = emu_gpu(dev);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ctx || flags & ~0xffU)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	created = ctx_new(gpu);
	emu_unlock();
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ret = push(created);
	if (ret) {
		atomic_store(&created->alive, 0);
		return ret;
	}
	*ctx = (CUcontext)created;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned int flags, CUdevice dev)
{
	return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(ctx, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
	struct emu_thread *thread = emu_thread();
	CUresult ret = emu_enter();
	struct emu_ctx *ctx;

	if (ret)
		return ret;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	ctx = emu_ctx_find(handle);
	if (!ctx || ctx->primary)
		ret = CUDA_ERROR_INVALID_CONTEXT;
	else if (!atomic_exchange(&ctx->alive, 0))
		ret = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	emu_unlock();
	if (ret)
		return ret;
	if (thread->depth && thread->stack[thread->depth - 1] == ctx)
		thread->depth--;
	ctx_stop(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	const struct emu_thread *thread = emu_thread();
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = thread->depth ? (CUcontext)thread->stack[thread->depth - 1] : NULL;
	return CUDA_SUCCESS;
}

static CUresult find_alive(CUcontext handle, struct emu_ctx **ctx_p)
{
	emu_lock();
	*ctx_p = emu_ctx_find(handle);
	emu_unlock();
	if (!*ctx_p)
		return CUDA_ERROR_INVALID_CONTEXT;
	return atomic_load(&(*ctx_p)->alive) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
	struct emu_thread *thread = emu_thread();
	struct emu_ctx *ctx = NULL;
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (handle) {
		ret = find_alive(handle, &ctx);
		if (ret)
			return ret;
	}
	if (thread->depth)
		thread->depth--;
	return ctx ? push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	ret = find_alive(handle, &ctx);
	return ret ? ret : push(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	struct emu_thread *thread = emu_thread();
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!thread->depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread->depth--;
	if (ctx)
		*ctx = (CUcontext)thread->stack[thread->depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	struct emu_ctx *ctx = NULL;
	CUresult ret = emu_enter_ctx(&ctx);

	/* the one call on a context that still answers after a kernel failed */
	if (ret && !(ctx && atomic_load(&ctx->alive)))
		return ret;
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = ctx->gpu->index;
	return CUDA_SUCCESS;
}

/* NULL: the current one. */
static CUresult enter_ctx_of(CUcontext handle, struct emu_ctx **ctx_p)
{
	CUresult ret;

	if (!handle)
		return emu_enter_ctx(ctx_p);
	ret = emu_enter();
	return ret ? ret : find_alive(handle, ctx_p);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_ctx_of(handle, &ctx);

	if (ret)
		return ret;
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = atomic_load(&ctx->id);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_ctx_of(handle, &ctx);

	if (ret)
		return ret;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	ret = emu_cuda_fault("cuda.stream", CUDA_ERROR_UNKNOWN);
	if (!ret)
		ret = emu_capture_check_ctx(ctx);
	if (ret)
		return ret;
	emu_drain(ctx);
	emu_pools_trim();
	return emu_ctx_error(ctx);
}
