// SPDX-License-Identifier: MIT
/* GPUs that a program has, and working in the context of one. */
#define log_fmt(fmt) "gpu: " fmt
#include <errno.h>
#include <stdatomic.h>

#include "net/gpu.h"
#include "net/log.h"

static struct doca_gpu *gpus; /* the last one first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(unsigned int) listed_after; /* forks that were before the last doca_gpu_create() */

bool bl_gpu_forked(void)
{
	return bl_object_forks() != atomic_load(&listed_after);
}

int bl_gpu_get(struct doca_gpu *handle)
{
	struct bl_object *object;

	return bl_object_get(BL_GPU, handle, &object);
}

void bl_gpu_put(struct doca_gpu *gpu)
{
	bl_object_put(&gpu->object);
}

void bl_gpu_list(struct doca_gpu *gpu)
{
	/* in a child the lock may be in any state, and what is listed is its parent's */
	if (bl_gpu_forked()) {
		pthread_mutex_init(&lock, NULL);
		gpus = NULL;
		atomic_store(&listed_after, bl_object_forks());
	}
	pthread_mutex_lock(&lock);
	gpu->next = gpus;
	gpus = gpu;
	pthread_mutex_unlock(&lock);
	bl_object_add(&gpu->object, BL_GPU, gpu, NULL);
}

void bl_gpu_unlist(struct doca_gpu *gpu)
{
	struct doca_gpu **place = &gpus;

	pthread_mutex_lock(&lock);
	while (*place != gpu)
		place = &(*place)->next;
	*place = gpu->next;
	pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct doca_gpu *choose(void)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUdevice device;

	if (!cuda || cuda->cuCtxGetDevice(&device))
		return gpus;
	for (struct doca_gpu *gpu = gpus; gpu; gpu = gpu->next) {
		if (gpu->device == device)
			return gpu;
	}
	return gpus;
}

int bl_gpu_current(struct doca_gpu **gpu_p)
{
	struct doca_gpu *gpu;
	int ret;

	if (bl_gpu_forked())
		return fail(EACCES, "no GPU of this process: it was forked from the one that called doca_gpu_create()");
	pthread_mutex_lock(&lock);
	gpu = choose();
	ret = gpu ? bl_gpu_get(gpu) : fail(EINVAL, "no GPU: doca_gpu_create() comes first");
	pthread_mutex_unlock(&lock);
	if (!ret)
		*gpu_p = gpu;
	return ret;
}

int bl_gpu_enter(struct doca_gpu *gpu, struct bl_gpu_scope *scope)
{
	CUresult err;

	err = gpu->cuda->cuCtxPushCurrent(gpu->context);
	if (err)
		return fail(EIO, "gpu %s: primary context: %s", gpu->bus_id, bl_cuda_strerror(err));
	/* cannot fail with a valid mode; in relaxed mode "unsafe" calls of this thread leave captures alone */
	scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	gpu->cuda->cuThreadExchangeStreamCaptureMode(&scope->mode);
	return 0;
}

void bl_gpu_leave(struct doca_gpu *gpu, const struct bl_gpu_scope *scope)
{
	int mode = scope->mode;
	CUcontext context;

	gpu->cuda->cuThreadExchangeStreamCaptureMode(&mode);
	gpu->cuda->cuCtxPopCurrent(&context);
}
