/* SPDX-License-Identifier: MIT */
/*
 * nvfs_map.h - one shadow mapping: pages that stand for a range of GPU memory, and the page that requests report to
 *
 * The module has one descriptor of a request for each mapping: one request at a time. A second one would get EBUSY, and
 * with NVIDIA's module damage the first. Whoever took a mapping from its pool (nvfs_pool.h) has it alone.
 */
#ifndef BL_FILE_NVFS_MAP_H
#define BL_FILE_NVFS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvfs_dev.h"

/**
 * struct bl_nvfs_range - GPU memory that is to be bound
 * @va:   device address of the first byte, any alignment
 * @len:  bytes, > 0
 * @pdev: NVIDIA_FS_PDEV() of the GPU
 */
struct bl_nvfs_range {
	uint64_t va;
	uint64_t len;
	uint64_t pdev;
};

/**
 * struct bl_nvfs_map - a shadow mapping with GPU memory bound to it
 * @dev:        the module; whoever has the mapping holds a reference
 * @fd:         node that it was made on, and that its requests go to
 * @shadow:     the pages; nobody looks into them
 * @shadow_len: bytes of it, whole GPU pages
 * @meta:       the page that requests report to
 * @meta_len:   bytes of it, one CPU page
 * @range:      what is bound
 * @fence:      value of the last asynchronous request
 * @next:       in the lists of the pool, or of those that are kept
 */
struct bl_nvfs_map {
	struct bl_nvfs_dev *dev;
	int fd;
	void *shadow;
	size_t shadow_len;
	struct nvidia_fs_meta *meta;
	size_t meta_len;
	struct bl_nvfs_range range;
	uint64_t fence;
	struct bl_nvfs_map *next;
};

/* Bytes of shadow that a range wants: all of its GPU pages, at least one, at most @most (whole GPU pages). */
size_t bl_nvfs_map_shadow_len(const struct bl_nvfs_range *range, size_t most);

/**
 * bl_nvfs_map_new() - Make a shadow mapping and bind GPU memory to it
 * @dev:        the module
 * @range:      GPU memory; the module pins all of it, whole GPU pages, which may take milliseconds
 * @shadow_len: from bl_nvfs_map_shadow_len(): the largest request
 * @map_p:      receives the mapping
 *
 * Neither the shadow nor the page for reports is inherited over fork(): a child's copy-on-write of a page that the
 * module writes to would hide the end of requests from the parent.
 * Return: 0 or -errno: -ENODEV (module gone), -ENOMEM, or why the module could not pin the memory.
 */
int bl_nvfs_map_new(struct bl_nvfs_dev *dev, const struct bl_nvfs_range *range, size_t shadow_len,
		    struct bl_nvfs_map **map_p);

/* Shadow mappings that are kept, in bytes of their shadows: enough for programs that register and forget all the time. */
#define BL_NVFS_KEPT_MOST (8UL << 20)

/*
 * Give the memory back. A module that can gives it back alone, and the rest is kept for the next mapping of that size: to
 * bind memory to it takes a call, no pages. Else it is taken apart: shadow, then the page for reports. With a request
 * still under way the module finishes that, and then lets go of the GPU memory by itself. What the kernel does not unmap
 * stays, page for reports included.
 */
void bl_nvfs_map_free(struct bl_nvfs_map *map);

/* Take apart what is kept; before the nodes are closed. */
void bl_nvfs_map_drop_kept(struct bl_nvfs_dev *dev);

/* The state that the module left: NVIDIA_FS_CLEAN, _SPARSE, _DIED, or a number that it does not have. */
static inline uint32_t bl_nvfs_map_state(const struct bl_nvfs_map *map)
{
	return __atomic_load_n(&map->meta->state, __ATOMIC_RELAXED);
}

/* Whether the last asynchronous request has ended; what it reported can be read then. */
static inline bool bl_nvfs_map_ended(const struct bl_nvfs_map *map)
{
	/* the module stores the fence last: acquire, so that result and holes are read after it */
	return __atomic_load_n(&map->meta->end_fence_val, __ATOMIC_ACQUIRE) == map->fence;
}

#endif
