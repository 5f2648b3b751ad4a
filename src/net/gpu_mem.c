// SPDX-License-Identifier: MIT
/* The table of a GPU's memory, and looking at and changing that memory. */
#define log_fmt(fmt) "gpu memory: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/gpu.h"
#include "net/log.h"

/* No GPU has, and no process has addresses for, as much; what is added to it below does not overflow. */
#define MOST ((size_t)1 << 47)

static struct bl_gpu_block **bucket_of(struct doca_gpu *gpu, uint64_t va)
{
	return &gpu->blocks[(va * 0x9e3779b97f4a7c15ULL) >> 56];
}

_Static_assert(BL_GPU_BUCKETS == 256, "bucket_of() gives 8 bits");

static void list(struct doca_gpu *gpu, struct bl_gpu_block *block)
{
	struct bl_gpu_block **place = bucket_of(gpu, block->va);

	pthread_mutex_lock(&gpu->lock);
	block->next = *place;
	*place = block;
	gpu->nr_blocks++;
	pthread_mutex_unlock(&gpu->lock);
}

/* Take the block of an address out of the table; NULL: there is none. */
static struct bl_gpu_block *unlist(struct doca_gpu *gpu, uint64_t va)
{
	struct bl_gpu_block **place = bucket_of(gpu, va), *block;

	pthread_mutex_lock(&gpu->lock);
	while (*place && (*place)->va != va)
		place = &(*place)->next;
	block = *place;
	if (block) {
		*place = block->next;
		gpu->nr_blocks--;
	}
	pthread_mutex_unlock(&gpu->lock);
	return block;
}

int bl_gpu_alloc(struct doca_gpu *gpu, size_t size, size_t align, enum doca_gpu_mem_type type,
		 struct bl_gpu_block **block_p)
{
	struct bl_gpu_scope scope;
	struct bl_gpu_block *block;
	int ret;

	if (!size)
		return fail(EINVAL, "gpu %s: 0 bytes", gpu->bus_id);
	if (align & (align - 1))
		return fail(EINVAL, "gpu %s: alignment 0x%zx: not a power of two", gpu->bus_id, align);
	if (size > MOST || align > MOST)
		return fail(EINVAL, "gpu %s: 0x%zx bytes aligned to 0x%zx: more than there are addresses", gpu->bus_id, size,
			    align);
	if (!align)
		align = (size_t)sysconf(_SC_PAGESIZE);
	block = malloc(sizeof(*block));
	if (!block)
		return fail(ENOMEM, "gpu %s: out of memory", gpu->bus_id);
	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		goto free_block;
	ret = bl_gpu_block_make(gpu, size, align, type, block);
	bl_gpu_leave(gpu, &scope);
	if (ret)
		goto free_block;
	list(gpu, block);
	*block_p = block;
	return 0;
free_block:
	free(block);
	return ret;
}

static int drop(struct doca_gpu *gpu, struct bl_gpu_block *block)
{
	struct bl_gpu_scope scope;
	int ret;

	ret = bl_gpu_enter(gpu, &scope);
	if (!ret) {
		ret = bl_gpu_block_drop(gpu, block);
		bl_gpu_leave(gpu, &scope);
	}
	free(block);
	return ret ? -EIO : 0;
}

int bl_gpu_free(struct doca_gpu *gpu, struct bl_gpu_block *block)
{
	if (!block)
		return 0;
	unlist(gpu, block->va);
	return drop(gpu, block);
}

/* By the address that a program has. */
static int free_address(struct doca_gpu *gpu, uint64_t va)
{
	struct bl_gpu_block *block = unlist(gpu, va);

	if (!block)
		return fail(EINVAL, "gpu %s: nothing was allocated at 0x%" PRIx64 ", or it was freed", gpu->bus_id, va);
	return drop(gpu, block);
}

void *bl_gpu_block_cpu(struct doca_gpu *gpu, uint64_t va)
{
	struct bl_gpu_block *block;
	void *cpu = NULL;

	pthread_mutex_lock(&gpu->lock);
	for (size_t i = 0; i < BL_GPU_BUCKETS && !cpu; i++) {
		for (block = gpu->blocks[i]; block && !cpu; block = block->next) {
			if (va >= block->va && va - block->va < block->size && block->cpu)
				cpu = (char *)block->cpu + (va - block->va);
		}
	}
	pthread_mutex_unlock(&gpu->lock);
	return cpu;
}

doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
				void **memptr_gpu, void **memptr_cpu)
{
	struct bl_gpu_block *block;
	int ret;

	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	if (!memptr_gpu || (!memptr_cpu && mtype != DOCA_GPU_MEM_TYPE_GPU))
		ret = fail(EINVAL, "gpu %s: no place for an address", gpu_dev->bus_id);
	else
		ret = bl_gpu_alloc(gpu_dev, size, alignment, mtype, &block);
	if (!ret) {
		*memptr_gpu = (void *)(uintptr_t)block->va;
		if (memptr_cpu)
			*memptr_cpu = block->cpu;
	}
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu_dev, void *memptr_gpu)
{
	int ret;

	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	ret = free_address(gpu_dev, (uintptr_t)memptr_gpu);
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}
