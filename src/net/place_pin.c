// SPDX-License-Identifier: MIT
/*
 * Host memory that CUDA has pinned. What this pins is whole pages, so regions that share one share a pin; what a program
 * has pinned itself is left alone.
 */
#define log_fmt(fmt) "net/place: " fmt
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/cuda.h"
#include "gpu.h"
#include "place.h"
#include "net/log.h"

/**
 * struct bl_place_pinned - pages that are registered with CUDA
 * @next:   list of all
 * @start, @size: whole pages
 * @users:  regions
 * @device: GPU whose primary context is kept for it
 */
struct bl_place_pinned {
	struct bl_place_pinned *next;
	uintptr_t start;
	size_t size;
	unsigned int users;
	CUdevice device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_place_pinned *list;

void bl_place_pins_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	list = NULL;
}

/* The current one, one that messages are copied by, or one that the program has opened. */
static int some_device(const struct bl_cuda *cuda, CUdevice *device_p)
{
	struct doca_gpu *gpu;

	if (!cuda->cuCtxGetDevice(device_p) || bl_place_some_device(device_p))
		return 0;
	if (bl_gpu_current(&gpu))
		return fail_quiet(ENODEV, "there is no GPU to pin host memory for");
	*device_p = gpu->device;
	bl_gpu_put(gpu);
	return 0;
}

static int enter(const struct bl_cuda *cuda, CUdevice device, struct bl_cuda_scope *scope)
{
	struct bl_cuda_ptr ptr = { .device = device };

	return bl_cuda_enter(cuda, &ptr, scope);
}

static int register_pages(const struct bl_cuda *cuda, struct bl_place_pinned *pinned)
{
	struct bl_cuda_scope scope;
	CUcontext context;
	CUresult err;
	int ret;

	ret = some_device(cuda, &pinned->device);
	if (ret)
		return ret;
	err = cuda->cuDevicePrimaryCtxRetain(&context, pinned->device);
	if (err)
		return fail_quiet(bl_cuda_errno(err), "primary context: %s", bl_cuda_strerror(err));
	ret = enter(cuda, pinned->device, &scope);
	if (ret)
		goto release;
	err = cuda->cuMemHostRegister((void *)pinned->start, pinned->size, CU_MEMHOSTREGISTER_PORTABLE);
	bl_cuda_leave(cuda, &scope);
	if (!err)
		return 0;
	ret = fail_quiet(bl_cuda_errno(err), "cuMemHostRegister: %s", bl_cuda_strerror(err));
release:
	cuda->cuDevicePrimaryCtxRelease(pinned->device);
	return ret;
}

static struct bl_place_pinned *find(uintptr_t start, size_t size)
{
	struct bl_place_pinned *pinned = list;

	while (pinned && (start < pinned->start || start + size > pinned->start + pinned->size))
		pinned = pinned->next;
	return pinned;
}

static bool is_pinned(const struct bl_cuda *cuda, uint64_t va, size_t len)
{
	unsigned int type = 0;
	CUdeviceptr start = 0;
	size_t size = 0;
	int attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
			CU_POINTER_ATTRIBUTE_RANGE_SIZE };
	void *values[] = { &type, &start, &size };

	return !cuda->cuPointerGetAttributes(3, attrs, values, va) && type == CU_MEMORYTYPE_HOST && va - start <= size &&
	       len <= size - (va - start);
}

static int pin_locked(const struct bl_cuda *cuda, void *addr, size_t len, struct bl_place_pinned **pinned_p)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)addr & ~(page - 1);
	size_t size = ((uintptr_t)addr + len + page - 1 - start) & ~(page - 1);
	struct bl_place_pinned *pinned = find(start, size);
	int ret;

	*pinned_p = pinned;
	if (pinned) {
		pinned->users++;
		return 0;
	}
	if (is_pinned(cuda, (uintptr_t)addr, len))
		return 0;
	if (!cuda->cuMemHostRegister || !cuda->cuMemHostUnregister)
		return fail_quiet(EOPNOTSUPP, "libcuda.so.1 cannot register host memory");
	pinned = malloc(sizeof(*pinned));
	if (!pinned)
		return fail_quiet(ENOMEM, "out of memory");
	*pinned = (struct bl_place_pinned){ .next = list, .start = start, .size = size, .users = 1 };
	ret = register_pages(cuda, pinned);
	if (ret) {
		free(pinned);
		return ret;
	}
	list = *pinned_p = pinned;
	return 0;
}

int bl_place_pin(const struct bl_cuda *cuda, void *addr, size_t len, struct bl_place_pinned **pinned_p)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = pin_locked(cuda, addr, len, pinned_p);
	pthread_mutex_unlock(&lock);
	return ret;
}

static void unregister_pages(const struct bl_cuda *cuda, const struct bl_place_pinned *pinned)
{
	struct bl_cuda_scope scope;

	if (!enter(cuda, pinned->device, &scope)) {
		/* fails when the context in which it was done is gone, and so is its work */
		cuda->cuMemHostUnregister((void *)pinned->start);
		bl_cuda_leave(cuda, &scope);
	}
	cuda->cuDevicePrimaryCtxRelease(pinned->device);
}

void bl_place_unpin(const struct bl_cuda *cuda, struct bl_place_pinned *pinned)
{
	struct bl_place_pinned **place = &list;

	pthread_mutex_lock(&lock);
	while (*place && *place != pinned)
		place = &(*place)->next;
	/* in a child the list is empty: it has nothing of its parent's */
	if (*place && !--pinned->users) {
		*place = pinned->next;
		unregister_pages(cuda, pinned);
		free(pinned);
	}
	pthread_mutex_unlock(&lock);
}
