// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "api.h"
#include "capture.h"
#include "env.h"
#include "queue.h"
#include "rm.h"
#include "state.h"

/**
 * struct emu_pool - memory for stream-ordered allocation
 * @next:      list of all
 * @heap:      where allocations come from; empty blocks stay until the GPU is idle, see emu_pools_trim()
 * @nr_allocs: live allocations
 * @dying:     destroyed by its user; goes with the last allocation
 */
struct emu_pool {
	struct emu_pool *next;
	struct emu_heap heap;
	unsigned int nr_allocs;
	int dying;
};

static struct emu_pool *pools;
static struct emu_pool *defaults[EMU_MAX_GPUS];

static struct emu_pool *pool_new(struct emu_gpu *gpu)
{
	struct emu_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->heap.gpu = gpu;
	pool->heap.keep = EMU_HEAP_KEEP_ALL;
	pool->next = pools;
	pools = pool;
	return pool;
}

static struct emu_pool *pool_default(struct emu_gpu *gpu)
{
	if (!defaults[gpu->index])
		defaults[gpu->index] = pool_new(gpu);
	return defaults[gpu->index];
}

static struct emu_pool *pool_find(CUmemoryPool handle)
{
	for (struct emu_pool *pool = pools; pool; pool = pool->next) {
		if ((CUmemoryPool)pool == handle && !pool->dying)
			return pool;
	}
	return NULL;
}

static void pool_reap(struct emu_pool *pool)
{
	struct emu_pool **link = &pools;

	if (!pool->dying || pool->nr_allocs)
		return;
	emu_heap_trim(&pool->heap);
	while (*link != pool)
		link = &(*link)->next;
	*link = pool->next;
	free(pool);
}

/* Unused memory goes back at a synchronization, as with CUDA's default release threshold of 0. */
void emu_pools_trim(void)
{
	if (!emu_idle())
		return;
	emu_lock();
	for (struct emu_pool *pool = pools; pool; pool = pool->next)
		emu_heap_trim(&pool->heap);
	emu_unlock();
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	CUresult ret = emu_enter();
	struct emu_gpu *gpu;

	if (ret)
		return ret;
	gpu = emu_gpu(dev);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	*pool = (CUmemoryPool)pool_default(gpu);
	emu_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const struct emu_pool_props *props)
{
	CUresult ret = emu_enter();
	struct emu_gpu *gpu;

	if (ret)
		return ret;
	if (!pool || !props || props->alloc_type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handle_types || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	gpu = emu_gpu(props->location.id);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	emu_lock();
	*pool = (CUmemoryPool)pool_new(gpu);
	emu_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	CUresult ret = emu_enter();
	struct emu_pool *pool;

	if (ret)
		return ret;
	emu_lock();
	pool = pool_find(handle);
	if (!pool || defaults[pool->heap.gpu->index] == pool) {
		ret = CUDA_ERROR_INVALID_VALUE;
	} else {
		pool->dying = 1;
		pool_reap(pool);
	}
	emu_unlock();
	return ret;
}

/* Memory is there at once; that a use before the allocation's turn on the stream is wrong cannot be seen here. */
static CUresult pool_alloc(struct emu_pool *pool, size_t size, CUdeviceptr *ptr)
{
	struct emu_alloc *alloc;
	struct emu_block *block;
	uint64_t va;

	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_heap_alloc(&pool->heap, size, &va, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	alloc = emu_alloc_new(EMU_POOL, va, size);
	if (!alloc) {
		emu_heap_free(block, va, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	alloc->gpu = pool->heap.gpu;
	alloc->pool = pool;
	alloc->block = block;
	alloc->block_id = block->id;
	pool->nr_allocs++;
	*ptr = va;
	return CUDA_SUCCESS;
}

static CUresult check_stream(struct emu_ctx *ctx, CUstream handle)
{
	struct emu_stream *stream;
	CUresult ret;

	emu_queue_lock();
	stream = emu_stream_find(ctx, handle);
	if (!stream)
		ret = CUDA_ERROR_INVALID_HANDLE;
	else if (stream->capture.status != EMU_CAPTURE_NONE)
		ret = CUDA_ERROR_NOT_SUPPORTED; /* memory nodes of graphs are not emulated */
	else
		ret = emu_capture_check_submit(stream);
	emu_queue_unlock();
	return ret;
}

static CUresult alloc_async(CUdeviceptr *ptr, size_t size, CUmemoryPool handle, int use_default, CUstream stream)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	ret = check_stream(ctx, stream);
	if (!ret)
		ret = emu_capture_check_unsafe();
	if (!ret)
		ret = emu_cuda_fault("cuda.alloc", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!size) {
		*ptr = 0;
		return CUDA_SUCCESS;
	}
	emu_lock();
	ret = pool_alloc(use_default ? pool_default(ctx->gpu) : pool_find(handle), size, ptr);
	emu_unlock();
	return ret;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t size, CUstream stream)
{
	return alloc_async(ptr, size, NULL, 1, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t size, CUmemoryPool pool, CUstream stream)
{
	return alloc_async(ptr, size, pool, 0, stream);
}

struct free_job {
	CUdeviceptr ptr;
};

/* On the stream's thread: nothing is waited for, the order of the stream is what makes this safe. */
static void run_free(void *arg)
{
	const struct free_job *job = arg;
	struct emu_alloc *alloc;

	emu_lock();
	alloc = emu_alloc_find(job->ptr);
	if (alloc && alloc->freeing) {
		emu_table_remove(&emu_allocs, &alloc->node);
		emu_rm_freed(alloc->node.va, alloc->node.size);
		emu_alloc_release(alloc);
	}
	emu_unlock();
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct emu_alloc *alloc;
	struct free_job *job;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	ret = check_stream(ctx, stream);
	if (!ret)
		ret = emu_capture_check_unsafe();
	if (ret || !ptr)
		return ret;
	job = malloc(sizeof(*job));
	if (!job)
		return CUDA_ERROR_OUT_OF_MEMORY;
	job->ptr = ptr;
	emu_lock();
	alloc = emu_alloc_find(ptr);
	if (!alloc || alloc->node.va != ptr || alloc->freeing ||
	    (alloc->kind != EMU_POOL && alloc->kind != EMU_DEVICE)) {
		free(job);
		ret = CUDA_ERROR_INVALID_VALUE;
	} else {
		alloc->freeing = 1;
		ret = emu_submit(ctx, stream, run_free, job);
		if (ret)
			alloc->freeing = 0;
	}
	emu_unlock();
	return ret;
}

/* A pool's allocation is gone; lock held. */
void emu_pool_forget(struct emu_pool *pool)
{
	pool->nr_allocs--;
	pool_reap(pool);
}
