// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include "api.h"
#include "capture.h"
#include "queue.h"
#include "state.h"

/* Memory of this process that the device reaches under the same address: host and managed memory. */
static CUresult host_alloc(struct emu_ctx *ctx, enum emu_kind kind, size_t size, uint64_t *va_p)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct emu_alloc *alloc;

	if (addr == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	alloc = emu_alloc_new(kind, (uint64_t)addr, size);
	if (!alloc) {
		munmap(addr, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	alloc->ctx = ctx;
	alloc->gpu = ctx->gpu;
	alloc->block_id = emu_next_id();
	*va_p = (uint64_t)addr;
	return CUDA_SUCCESS;
}

static CUresult enter_host_alloc(struct emu_ctx **ctx_p)
{
	CUresult ret = emu_enter_ctx(ctx_p);

	if (!ret)
		ret = emu_capture_check_unsafe();
	if (ret)
		return ret;
	emu_lock();
	ret = emu_ctx_error(*ctx_p);
	if (ret)
		emu_unlock();
	return ret;
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t size, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_host_alloc(&ctx);
	uint64_t va;

	if (ret)
		return ret;
	if (!ptr || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		ret = host_alloc(ctx, EMU_MANAGED, size, &va);
	if (!ret)
		*ptr = va;
	emu_unlock();
	return ret;
}

CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_cuda_fault("cuda.host", CUDA_ERROR_OUT_OF_MEMORY);
	uint64_t va;

	if (!ret)
		ret = enter_host_alloc(&ctx);
	if (ret)
		return ret;
	if (!ptr || !size || flags & ~7U)
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		ret = host_alloc(ctx, EMU_HOST, size, &va);
	if (!ret)
		*ptr = (void *)va;
	emu_unlock();
	return ret;
}

CUresult cuMemAllocHost_v2(void **ptr, size_t size)
{
	return cuMemHostAlloc(ptr, size, 0);
}

static CUresult host_free(void *ptr, enum emu_kind kind, CUresult otherwise)
{
	struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = enter_host_alloc(&ctx);

	if (ret)
		return ret;
	alloc = emu_alloc_find((uint64_t)ptr);
	if (!alloc || alloc->node.va != (uint64_t)ptr || alloc->kind != kind) {
		emu_unlock();
		return otherwise;
	}
	emu_alloc_retire(alloc);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *ptr)
{
	return host_free(ptr, EMU_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostUnregister(void *ptr)
{
	return host_free(ptr, EMU_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static CUresult host_register(struct emu_ctx *ctx, void *ptr, size_t size)
{
	struct emu_alloc *alloc;

	if (emu_table_overlap(&emu_allocs, (uint64_t)ptr, size))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	alloc = emu_alloc_new(EMU_REGISTERED, (uint64_t)ptr, size);
	if (!alloc)
		return CUDA_ERROR_OUT_OF_MEMORY;
	alloc->ctx = ctx;
	alloc->gpu = ctx->gpu;
	alloc->block_id = emu_next_id();
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *ptr, size_t size, unsigned int flags)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_cuda_fault("cuda.register", CUDA_ERROR_OUT_OF_MEMORY);

	if (!ret)
		ret = enter_host_alloc(&ctx);
	if (ret)
		return ret;
	if (!ptr || !size || flags & ~3U || (uint64_t)ptr + size < (uint64_t)ptr)
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		ret = host_register(ctx, ptr, size);
	emu_unlock();
	return ret;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned int flags)
{
	const struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	alloc = emu_alloc_find((uint64_t)ptr);
	if (!dptr || flags || !alloc || (alloc->kind != EMU_HOST && alloc->kind != EMU_REGISTERED))
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		*dptr = (uint64_t)ptr;
	emu_unlock();
	return ret;
}

/* Managed memory does not move here; the arguments are checked all the same. */
static CUresult prefetch(CUdeviceptr ptr, size_t size, int device_ok, CUstream stream)
{
	const struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	alloc = emu_alloc_find(ptr);
	if (!size || !alloc || alloc->kind != EMU_MANAGED || alloc->node.va + alloc->node.size - ptr < size)
		ret = CUDA_ERROR_INVALID_VALUE;
	else if (!device_ok)
		ret = CUDA_ERROR_INVALID_DEVICE;
	emu_unlock();
	return ret ? ret : emu_submit(ctx, stream, NULL, NULL);
}

#define CPU_DEVICE -1

CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t size, CUdevice dev, CUstream stream)
{
	return prefetch(ptr, size, dev == CPU_DEVICE || emu_gpu(dev), stream);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t size, CUmemLocation location, unsigned int flags,
			       CUstream stream)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return prefetch(ptr, size, location.type != CU_MEM_LOCATION_TYPE_DEVICE || emu_gpu(location.id), stream);
}
