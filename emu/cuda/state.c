// SPDX-License-Identifier: MIT
#include "state.h"

#include <pthread.h>

#include "api.h"
#include "arena.h"
#include "counts.h"
#include "env.h"
#include "fault.h"
#include "loading.h"
#include "rm.h"

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready;  /* cuInit() succeeded */
static atomic_int forked; /* in a child of a process in which it had */
static __thread struct emu_thread self = { .capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL };

struct emu_thread *emu_thread(void)
{
	return &self;
}

void emu_lock(void)
{
	pthread_mutex_lock(&state_lock);
}

void emu_unlock(void)
{
	pthread_mutex_unlock(&state_lock);
}

/* The locks may be held by threads that the child does not have: nothing takes them there any more. */
static void state_forked(void)
{
	if (atomic_load(&ready))
		atomic_store(&forked, 1);
	pthread_mutex_init(&init_lock, NULL);
}

int emu_ready(void)
{
	return atomic_load(&ready) && !atomic_load(&forked);
}

CUresult emu_enter(void)
{
	atomic_fetch_add_explicit(&emu_cuda_calls, 1, memory_order_relaxed);
	if (self.in_host_func) {
		emu_violation("CUDA was called by a function that a stream had called");
		return CUDA_ERROR_NOT_PERMITTED;
	}
	return emu_ready() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult emu_ctx_error(struct emu_ctx *ctx)
{
	return atomic_load(&ctx->alive) ? atomic_load(&ctx->sticky) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult emu_enter_ctx(struct emu_ctx **ctx_p)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!self.depth || !self.stack[self.depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx_p = self.stack[self.depth - 1];
	emu_load_await(*ctx_p);
	return emu_ctx_error(*ctx_p);
}

CUresult emu_enter_locked(struct emu_ctx **ctx_p)
{
	CUresult ret = emu_enter_ctx(ctx_p);

	if (ret)
		return ret;
	emu_lock();
	ret = emu_ctx_error(*ctx_p);
	if (ret)
		emu_unlock();
	return ret;
}

CUresult emu_cuda_fault(const char *point, CUresult fallback)
{
	long value = fallback;

	return emu_fault(point, &value) ? (CUresult)value : CUDA_SUCCESS;
}

uint32_t emu_next_id(void)
{
	static _Atomic uint32_t last = 0x20;

	return atomic_fetch_add(&last, 1) + 1;
}

static CUresult init_once(void)
{
	static int reserved;

	if (emu_env()->error)
		return CUDA_ERROR_UNKNOWN;
	if (!emu_gpu_count())
		return CUDA_ERROR_NO_DEVICE;
	if (!reserved) {
		if (emu_arena_init())
			return CUDA_ERROR_OUT_OF_MEMORY;
		pthread_atfork(NULL, NULL, state_forked);
		reserved = 1;
	}
	atomic_store(&ready, 1);
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
	CUresult ret = CUDA_SUCCESS;

	emu_enter();
	if (atomic_load(&forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&ready))
		ret = init_once();
	pthread_mutex_unlock(&init_lock);
	return ret;
}

CUresult cuDriverGetVersion(int *version)
{
	emu_enter();
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = emu_env()->cuda_version;
	return CUDA_SUCCESS;
}
