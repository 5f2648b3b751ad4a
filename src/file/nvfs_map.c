// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/mmap.h"
#include "gpu/sys.h"
#include "util/log.h"

size_t bl_nvfs_map_shadow_len(const struct bl_nvfs_range *range, size_t most)
{
	uint64_t head = range->va % NVIDIA_FS_GPU_PAGE;
	uint64_t span;

	/* a range that wraps is the module's to refuse; no sum of it may wrap here */
	if (range->len > NVIDIA_FS_MAX_SHADOW)
		span = NVIDIA_FS_MAX_SHADOW;
	else
		span = (head + range->len + NVIDIA_FS_GPU_PAGE - 1) / NVIDIA_FS_GPU_PAGE * NVIDIA_FS_GPU_PAGE;
	if (span > most)
		span = most;
	return span < NVIDIA_FS_GPU_PAGE ? NVIDIA_FS_GPU_PAGE : (size_t)span;
}

/* The module pins the page when memory is bound. Until then a child may copy it, so a fork in between does no harm. */
static int new_meta(struct bl_nvfs_map *map)
{
	const struct bl_sys *sys = bl_sys();
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *addr;
	int ret;

	addr = sys->mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return -errno;
	if (sys->madvise(addr, len, MADV_DONTFORK)) {
		ret = -errno;
		sys->munmap(addr, len);
		return ret;
	}
	map->meta = addr;
	map->meta_len = len;
	return 0;
}

/* With the page for reports that the module has already, if the mapping had memory before. */
static int bind_memory(const struct bl_nvfs_map *map, bool again)
{
	union nvidia_fs_arg arg = {0};

	arg.map = (struct nvidia_fs_map){
		.size = (int64_t)map->range.len,
		.pdevinfo = map->range.pdev,
		.cpuvaddr = (uintptr_t)map->shadow,
		.gpuvaddr = map->range.va,
		.end_fence_addr = again ? 0 : (uintptr_t)map->meta,
		.sbuf_block = (uint32_t)(map->shadow_len / NVIDIA_FS_BLOCK),
	};
	return bl_nvfs_dev_call(map->dev, map->fd, NVIDIA_FS_IOC_MAP, &arg);
}

/* Whether the module's side is gone; the page for reports must not go before it. */
static bool unmap_shadow(const struct bl_nvfs_map *map)
{
	if (!bl_sys()->munmap(map->shadow, map->shadow_len))
		return true;
	log_warn("unmap the shadow of va 0x%" PRIx64 " len 0x%" PRIx64
		 ": %s; the memory stays pinned until the process ends",
		 map->range.va, map->range.len, strerror(errno));
	return false;
}

static void destroy(struct bl_nvfs_map *map)
{
	if (unmap_shadow(map) && bl_sys()->munmap(map->meta, map->meta_len))
		log_warn("unmap a page for reports: %s", strerror(errno));
	free(map);
}

static struct bl_nvfs_map *take_kept(struct bl_nvfs_dev *dev, size_t shadow_len)
{
	struct bl_nvfs_map **link = &dev->kept, *map;

	pthread_mutex_lock(&dev->lock);
	while (*link && (*link)->shadow_len != shadow_len)
		link = &(*link)->next;
	map = *link;
	if (map) {
		*link = map->next;
		dev->kept_bytes -= shadow_len;
	}
	pthread_mutex_unlock(&dev->lock);
	return map;
}

static bool reserve(struct bl_nvfs_dev *dev, size_t bytes)
{
	bool room;

	pthread_mutex_lock(&dev->lock);
	room = dev->kept_bytes + bytes <= BL_NVFS_KEPT_MOST;
	if (room)
		dev->kept_bytes += bytes;
	pthread_mutex_unlock(&dev->lock);
	return room;
}

/* Its bytes are counted already. */
static void put_kept(struct bl_nvfs_dev *dev, struct bl_nvfs_map *map)
{
	pthread_mutex_lock(&dev->lock);
	map->next = dev->kept;
	dev->kept = map;
	pthread_mutex_unlock(&dev->lock);
}

static void unreserve(struct bl_nvfs_dev *dev, size_t bytes)
{
	pthread_mutex_lock(&dev->lock);
	dev->kept_bytes -= bytes;
	pthread_mutex_unlock(&dev->lock);
}

/* A mapping with a request in flight is refused by the module, and goes as it always did. */
static bool keep(struct bl_nvfs_map *map)
{
	struct bl_nvfs_dev *dev = map->dev;

	if (!dev->own || !reserve(dev, map->shadow_len))
		return false;
	if (bl_nvfs_dev_unmap(dev, map->fd, map->shadow)) {
		unreserve(dev, map->shadow_len);
		return false;
	}
	*map->meta = (struct nvidia_fs_meta){.state = NVIDIA_FS_CLEAN};
	map->fence = 0;
	put_kept(dev, map);
	return true;
}

void bl_nvfs_map_drop_kept(struct bl_nvfs_dev *dev)
{
	struct bl_nvfs_map *next;

	for (struct bl_nvfs_map *map = dev->kept; map; map = next) {
		next = map->next;
		destroy(map);
	}
	dev->kept = NULL;
	dev->kept_bytes = 0;
}

static int bind_kept(struct bl_nvfs_map *map, const struct bl_nvfs_range *range)
{
	int ret;

	map->range = *range;
	ret = bind_memory(map, true);
	if (!ret)
		return 0;
	log_debug("bind va 0x%" PRIx64 " len 0x%" PRIx64 " again: %s", range->va, range->len, strerror(-ret));
	/* it may have been the shadow's fault: the next one is a new one */
	destroy(map);
	return ret;
}

int bl_nvfs_map_new(struct bl_nvfs_dev *dev, const struct bl_nvfs_range *range, size_t shadow_len,
		    struct bl_nvfs_map **map_p)
{
	struct bl_nvfs_map *map = take_kept(dev, shadow_len);
	int ret;

	if (map) {
		ret = bind_kept(map, range);
		if (!ret)
			*map_p = map;
		return ret;
	}
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	map->dev = dev;
	map->fd = bl_nvfs_dev_fd(dev);
	map->range = *range;
	map->shadow_len = shadow_len;
	ret = new_meta(map);
	if (ret)
		goto free_map;
	ret = bl_device_mmap(map->fd, shadow_len, 0, &map->shadow);
	if (ret)
		goto free_meta;
	ret = bind_memory(map, false);
	if (ret) {
		log_debug("bind va 0x%" PRIx64 " len 0x%" PRIx64 ": %s", range->va, range->len, strerror(-ret));
		goto unmap;
	}
	*map_p = map;
	return 0;
unmap:
	/* a module may hold on to the page until the shadow goes, also when it could not bind */
	if (!unmap_shadow(map))
		goto free_map;
free_meta:
	bl_sys()->munmap(map->meta, map->meta_len);
free_map:
	free(map);
	return ret;
}

void bl_nvfs_map_free(struct bl_nvfs_map *map)
{
	if (!keep(map))
		destroy(map);
}
