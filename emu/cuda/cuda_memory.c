// SPDX-License-Identifier: MIT
#include "api.h"
#include "capture.h"
#include "heap.h"
#include "rm.h"
#include "state.h"

static CUresult device_alloc(struct emu_ctx *ctx, size_t size, CUdeviceptr *ptr)
{
	struct emu_alloc *alloc;
	struct emu_block *block;
	uint64_t va;

	if (emu_heap_alloc(&ctx->heap, size, &va, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	alloc = emu_alloc_new(EMU_DEVICE, va, size);
	if (!alloc) {
		emu_heap_free(block, va, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	alloc->ctx = ctx;
	alloc->gpu = ctx->gpu;
	alloc->block = block;
	alloc->block_id = block->id;
	*ptr = va;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (!ptr || !size)
		return CUDA_ERROR_INVALID_VALUE;
	ret = emu_capture_check_unsafe();
	if (!ret)
		ret = emu_cuda_fault("cuda.alloc", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	emu_lock();
	ret = emu_ctx_error(ctx);
	if (!ret)
		ret = device_alloc(ctx, size, ptr);
	emu_unlock();
	return ret;
}

/* Works without a current context, but not with one that is of no use. */
static CUresult enter_free(void)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	return ret == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : ret;
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult ret = enter_free();
	struct emu_alloc *alloc;

	if (ret)
		return ret;
	ret = emu_capture_check_unsafe();
	if (ret || !ptr)
		return ret;
	emu_lock();
	alloc = emu_alloc_find(ptr);
	if (!alloc || alloc->node.va != ptr || alloc->freeing ||
	    (alloc->kind != EMU_DEVICE && alloc->kind != EMU_POOL && alloc->kind != EMU_MANAGED)) {
		emu_unlock();
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_alloc_retire(alloc);
	emu_pools_trim();
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	emu_rm_reap();
	*total_bytes = ctx->gpu->vram_size;
	*free_bytes = ctx->gpu->vram_size - EMU_BLOCK_SIZE - emu_vram_used(ctx->gpu);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	const struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	alloc = emu_alloc_find(ptr);
	if (alloc && base)
		*base = alloc->node.va;
	if (alloc && size)
		*size = alloc->node.size;
	emu_unlock();
	return alloc ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
