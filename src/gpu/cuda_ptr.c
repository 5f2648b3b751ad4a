// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/cuda_ptr: " fmt
#include "cuda_ptr.h"

#include <errno.h>
#include <inttypes.h>

#include "util/log.h"

static int refuse_type(uint64_t va, unsigned int type)
{
	if (type == CU_MEMORYTYPE_HOST)
		return fail(EINVAL, "va 0x%" PRIx64 ": host memory, which the CPU reaches without a pin", va);
	return fail(EINVAL, "va 0x%" PRIx64 ": CUDA knows no device memory there (freed, or never allocated)", va);
}

int bl_cuda_ptr_query(const struct bl_cuda *cuda, uint64_t va, struct bl_cuda_ptr *ptr)
{
	unsigned int type = 0, managed = 0, legacy = 0;
	void *pool = NULL;
	size_t size = 0;
	int attrs[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_BUFFER_ID,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
		CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
	};
	void *values[] = {
		&type,	    &managed, &ptr->ordinal, &ptr->context,	   &ptr->buffer_id,
		&ptr->base, &size,    &legacy,	     &ptr->handle_types, &pool,
	};
	CUresult err;

	*ptr = (struct bl_cuda_ptr){ .va = va, .ordinal = -1 };
	err = cuda->cuPointerGetAttributes(sizeof(attrs) / sizeof(attrs[0]), attrs, values, va);
	if (err)
		return fail(bl_cuda_errno(err), "va 0x%" PRIx64 ": cuPointerGetAttributes: %s", va,
			    bl_cuda_strerror(err));
	ptr->known = type;
	if (managed)
		return fail(EOPNOTSUPP,
			    "va 0x%" PRIx64 ": managed memory moves between CPU and GPU and cannot be pinned; "
			    "allocate it with cuMemAlloc",
			    va);
	if (type != CU_MEMORYTYPE_DEVICE || ptr->ordinal < 0)
		return refuse_type(va, type);
	err = cuda->cuDeviceGet(&ptr->device, ptr->ordinal);
	if (err)
		return fail(ENODEV, "va 0x%" PRIx64 ": device %d: %s", va, ptr->ordinal, bl_cuda_strerror(err));
	ptr->size = size;
	ptr->legacy_ipc = legacy;
	ptr->pool = pool;
	return 0;
}

bool bl_cuda_ptr_holds(const struct bl_cuda *cuda, uint64_t va, uint64_t buffer_id)
{
	uint64_t id = 0;

	return !cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, va) && id == buffer_id;
}

/* Memory without a context of its own (VMM): the device's primary context sees it like any other. */
static int enter_primary(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, struct bl_cuda_scope *scope)
{
	CUcontext context;
	CUdevice current;
	CUresult err;

	if (!cuda->cuCtxGetDevice(&current) && current == ptr->device)
		return 0;
	err = cuda->cuDevicePrimaryCtxRetain(&context, ptr->device);
	if (err)
		return fail(bl_cuda_errno(err), "device %d: primary context: %s", ptr->ordinal, bl_cuda_strerror(err));
	scope->retained = ptr->device;
	err = cuda->cuCtxPushCurrent(context);
	if (err) {
		cuda->cuDevicePrimaryCtxRelease(ptr->device);
		return fail(bl_cuda_errno(err), "device %d: push context: %s", ptr->ordinal, bl_cuda_strerror(err));
	}
	scope->pushed = true;
	return 0;
}

static int enter_context(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, struct bl_cuda_scope *scope)
{
	CUcontext current = NULL;
	CUresult err;

	if (!ptr->context)
		return enter_primary(cuda, ptr, scope);
	if (!cuda->cuCtxGetCurrent(&current) && current == ptr->context)
		return 0;
	err = cuda->cuCtxPushCurrent(ptr->context);
	if (err)
		return fail(bl_cuda_errno(err), "va 0x%" PRIx64 ": push its context: %s", ptr->va,
			    bl_cuda_strerror(err));
	scope->pushed = true;
	return 0;
}

static const struct bl_cuda_scope outside = { .retained = -1, .mode = CU_STREAM_CAPTURE_MODE_RELAXED };

/* cannot fail with a valid mode; in relaxed mode "unsafe" calls of this thread leave captures alone */
void bl_cuda_relax(const struct bl_cuda *cuda, struct bl_cuda_scope *scope)
{
	*scope = outside;
	cuda->cuThreadExchangeStreamCaptureMode(&scope->mode);
}

int bl_cuda_enter(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, struct bl_cuda_scope *scope)
{
	int ret;

	*scope = outside;
	ret = enter_context(cuda, ptr, scope);
	if (ret)
		return ret;
	cuda->cuThreadExchangeStreamCaptureMode(&scope->mode);
	return 0;
}

void bl_cuda_leave(const struct bl_cuda *cuda, const struct bl_cuda_scope *scope)
{
	int mode = scope->mode;
	CUcontext context;

	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	if (scope->pushed)
		cuda->cuCtxPopCurrent(&context);
	if (scope->retained >= 0)
		cuda->cuDevicePrimaryCtxRelease(scope->retained);
}
