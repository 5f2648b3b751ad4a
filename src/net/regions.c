// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/regions: " fmt
#include "regions.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "copy/fence.h"
#include "gpu/cuda_ptr.h"
#include "gpunetio/common/doca_gpunetio_verbs_dev.h"
#include "net/gpu.h"
#include "net/log.h"
#include "util/guard.h"

/* @context: of CUDA, that has the memory */
struct bl_region {
	struct bl_region *next;
	uint32_t lkey;
	uint64_t addr;
	size_t len;
	CUcontext context;
};

/**
 * struct bl_region_table - what a GPU is shown
 * @gpu:   the GPU; those who show the table use it
 * @block: struct bl_gpu_dev_region, in its memory
 * @keys:  what stands there, so that the mapping is not read for it
 * @users: queue pairs
 * @gone:  the mapping was taken away, with the GPU or its context: it is not touched again
 */
struct bl_region_table {
	struct bl_region_table *next;
	struct doca_gpu *gpu;
	struct bl_gpu_block *block;
	uint32_t keys[BL_GPUNETIO_REGIONS];
	unsigned int users;
	bool gone;
};

/* @region: what @entry is to be; of an access that is guarded */
struct change {
	struct bl_gpu_dev_region *entry;
	const struct bl_region *region;
};

static size_t place_of(uint32_t lkey)
{
	return lkey >> (32 - BL_GPUNETIO_REGIONS_SHIFT);
}

static struct bl_gpu_dev_region *entry_of(const struct bl_region_table *table, uint32_t lkey)
{
	return (struct bl_gpu_dev_region *)table->block->cpu + place_of(lkey);
}

static int write_entry(void *arg)
{
	const struct change *change = arg;

	__atomic_store_n(&change->entry->addr, change->region->addr, __ATOMIC_RELAXED);
	__atomic_store_n(&change->entry->len, change->region->len, __ATOMIC_RELAXED);
	/* the range before the key that makes it count */
	bl_fence_wc_store();
	__atomic_store_n(&change->entry->key, htobe32(change->region->lkey), __ATOMIC_RELAXED);
	bl_fence_wc_store();
	return 0;
}

static int clear_entry(void *arg)
{
	const struct change *change = arg;

	__atomic_store_n(&change->entry->key, 0, __ATOMIC_RELAXED);
	/* a store that is read back has arrived at the GPU */
	bl_fence_full();
	__atomic_load_n(&change->entry->key, __ATOMIC_RELAXED);
	bl_fence_wc_load();
	return 0;
}

/* A context that is reset takes the table along, and no thread of its GPU looks there any more. */
static void change_entry(struct bl_region_table *table, uint32_t lkey, int (*fn)(void *arg),
			 const struct bl_region *region)
{
	struct change change = { entry_of(table, lkey), region };

	if (!table->gone)
		table->gone = bl_guard_call(change.entry, sizeof(*change.entry), fn, &change);
}

/* Unless another region has the place: then the NIC goes on reading this one. */
static void show(struct bl_region_table *table, const struct bl_region *region)
{
	uint32_t *key = &table->keys[place_of(region->lkey)];

	if (*key || region->context != table->gpu->context)
		return;
	*key = region->lkey;
	change_entry(table, region->lkey, write_entry, region);
}

static void show_all(const struct bl_regions *regions, struct bl_region_table *table)
{
	for (const struct bl_region *region = regions->first; region; region = region->next)
		show(table, region);
}

static void unshow(const struct bl_regions *regions, struct bl_region_table *table, uint32_t lkey)
{
	uint32_t *key = &table->keys[place_of(lkey)];

	if (*key != lkey)
		return;
	change_entry(table, lkey, clear_entry, NULL);
	*key = 0;
	/* one that did not find room */
	show_all(regions, table);
}

void bl_regions_begin(struct bl_regions *regions)
{
	*regions = (struct bl_regions){ .first = NULL };
	pthread_mutex_init(&regions->lock, NULL);
}

/* Tables are those of queue pairs, which are gone before their context; a child leaves the GPU's memory alone. */
void bl_regions_end(struct bl_regions *regions)
{
	struct bl_region_table *table;
	struct bl_region *region;

	while ((region = regions->first)) {
		regions->first = region->next;
		free(region);
	}
	while ((table = regions->tables)) {
		regions->tables = table->next;
		free(table);
	}
	pthread_mutex_destroy(&regions->lock);
}

/* The CUDA context that has all of it, in one allocation of its own address space; NULL: none. */
static CUcontext context_of(uint64_t addr, size_t len)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_ptr ptr;
	int ret;

	if (!cuda)
		return NULL;
	bl_fail_hush(1);
	ret = bl_cuda_ptr_query(cuda, addr, &ptr);
	bl_fail_hush(-1);
	if (ret || addr - ptr.base >= ptr.size || len > ptr.size - (addr - ptr.base))
		return NULL;
	/* what a stream frees goes while kernels run */
	if (ptr.pool)
		return NULL;
	return ptr.context;
}

void bl_regions_add(struct bl_regions *regions, uint32_t lkey, uint64_t addr, size_t len)
{
	CUcontext context = context_of(addr, len);
	struct bl_region *region;

	if (!context)
		return;
	region = malloc(sizeof(*region));
	if (!region)
		return;
	*region = (struct bl_region){ .lkey = lkey, .addr = addr, .len = len, .context = context };
	pthread_mutex_lock(&regions->lock);
	region->next = regions->first;
	regions->first = region;
	for (struct bl_region_table *table = regions->tables; table; table = table->next)
		show(table, region);
	pthread_mutex_unlock(&regions->lock);
}

void bl_regions_remove(struct bl_regions *regions, uint32_t lkey)
{
	struct bl_region **at, *region;

	pthread_mutex_lock(&regions->lock);
	at = &regions->first;
	while (*at && (*at)->lkey != lkey)
		at = &(*at)->next;
	region = *at;
	if (region) {
		*at = region->next;
		for (struct bl_region_table *table = regions->tables; table; table = table->next)
			unshow(regions, table, lkey);
	}
	pthread_mutex_unlock(&regions->lock);
	free(region);
}

static struct bl_region_table **find(struct bl_regions *regions, const struct doca_gpu *gpu)
{
	struct bl_region_table **at = &regions->tables;

	while (*at && (*at)->gpu != gpu)
		at = &(*at)->next;
	return at;
}

/* In memory of the GPU that the CPU writes by itself: calls of CUDA may wait for kernels. */
static struct bl_region_table *make(struct bl_regions *regions, struct doca_gpu *gpu)
{
	const size_t size = BL_GPUNETIO_REGIONS * sizeof(struct bl_gpu_dev_region);
	struct bl_region_table *table;
	int ret;

	/* what the CPU does not reach is no news here: it is said of the objects that need it */
	if (!gpu->lane)
		return NULL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->gpu = gpu;
	bl_fail_hush(1);
	ret = bl_gpu_alloc(gpu, size, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &table->block);
	bl_fail_hush(-1);
	if (ret)
		goto free_table;
	if (table->block->made != BL_GPU_MADE_LANE)
		goto free_block;
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		__atomic_store_n((uint64_t *)table->block->cpu + i, 0, __ATOMIC_RELAXED);
	bl_fence_wc_store();
	show_all(regions, table);
	return table;
free_block:
	bl_gpu_free(gpu, table->block);
free_table:
	free(table);
	return NULL;
}

int bl_regions_show(struct bl_regions *regions, struct doca_gpu *gpu, uint64_t *va_p)
{
	struct bl_region_table *table;

	if (!bl_net_env_number("BARLANE_NET_BRING", 0, 1, 1))
		return -EOPNOTSUPP;
	pthread_mutex_lock(&regions->lock);
	table = *find(regions, gpu);
	if (!table) {
		table = make(regions, gpu);
		if (table) {
			table->next = regions->tables;
			regions->tables = table;
		}
	}
	if (table) {
		table->users++;
		*va_p = table->block->va;
	}
	pthread_mutex_unlock(&regions->lock);
	return table ? 0 : -EOPNOTSUPP;
}

void bl_regions_hide(struct bl_regions *regions, struct doca_gpu *gpu)
{
	struct bl_region_table **at, *table;

	pthread_mutex_lock(&regions->lock);
	at = find(regions, gpu);
	table = *at;
	if (table && --table->users)
		table = NULL;
	else if (table)
		*at = table->next;
	pthread_mutex_unlock(&regions->lock);
	if (!table)
		return;
	bl_gpu_free(gpu, table->block);
	free(table);
}
