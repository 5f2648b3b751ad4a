// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How much memory of each GPU is bound, for /proc/driver/nvidia-fs/stats. A GPU is known from its first binding on,
 * by the identifier that its driver gives.
 */
#include "core.h"
#include "topo_pci.h"

#include <linux/seq_file.h>
#include <linux/string.h>

#define MAX_GPUS 64

/**
 * struct bl_gpu - a GPU; there for good
 * @uuid:   its identifier
 * @name:   its PCI address
 * @key:    the same; U64_MAX: not found
 * @events: bl_watch_events() when that was looked up
 * @bytes:  bound now: for user space, and for a library's own buffers
 * @most:   the most that both together were
 */
struct bl_gpu {
	u8 uuid[16];
	char name[32];
	u64 key;
	unsigned long events;
	u64 bytes[2];
	u64 most;
};

static DEFINE_SPINLOCK(gpus_lock);
static struct bl_gpu gpus[MAX_GPUS];
static unsigned int nr_gpus;

static struct bl_gpu *find(const u8 *uuid)
{
	unsigned int i;

	for (i = 0; i < nr_gpus; i++) {
		if (!memcmp(gpus[i].uuid, uuid, sizeof(gpus[i].uuid)))
			return &gpus[i];
	}
	return NULL;
}

/* There is no room for more than MAX_GPUS: those are not counted. */
static struct bl_gpu *find_or_add(const u8 *uuid)
{
	struct bl_gpu *gpu = find(uuid);

	if (gpu || nr_gpus == MAX_GPUS)
		return gpu;
	gpu = &gpus[nr_gpus++];
	memcpy(gpu->uuid, uuid, sizeof(gpu->uuid));
	strscpy(gpu->name, "0000:00:00.0", sizeof(gpu->name));
	gpu->key = U64_MAX;
	return gpu;
}

/* The lock is held. Memory that has gone already is counted no more: who closes a map comes here after that. */
static void count(struct bl_map *map, struct bl_gpu *gpu)
{
	if (READ_ONCE(map->gate.closed))
		return;
	gpu->bytes[map->is_bounce] += map->len;
	gpu->most = max(gpu->most, gpu->bytes[0] + gpu->bytes[1]);
	map->gpu = gpu;
}

/* Of one that is where it was: no device has gone since it was looked for. */
static bool add_known(struct bl_map *map, unsigned long events)
{
	struct bl_gpu *gpu;

	spin_lock(&gpus_lock);
	gpu = find(map->uuid);
	if (gpu && gpu->events != events)
		gpu = NULL;
	if (gpu)
		count(map, gpu);
	spin_unlock(&gpus_lock);
	return gpu;
}

/**
 * bl_gpu_add() - Count a map's memory
 * @map: a map that holds its pages
 *
 * Context: may sleep.
 */
void bl_gpu_add(struct bl_map *map)
{
	unsigned long events = bl_watch_events();
	struct pci_dev *pdev;
	struct bl_gpu *gpu;

	if (add_known(map, events))
		return;
	/* a walk over all devices takes longer than the rest of MAP */
	pdev = bl_device_of(map);
	spin_lock(&gpus_lock);
	gpu = find_or_add(map->uuid);
	if (gpu)
		count(map, gpu);
	if (gpu && pdev) {
		strscpy(gpu->name, pci_name(pdev), sizeof(gpu->name));
		gpu->key = bl_topo_key_of(pdev);
		gpu->events = events;
	}
	spin_unlock(&gpus_lock);
	pci_dev_put(pdev);
}

/**
 * bl_gpu_remove() - Count it no more
 * @map: a map; nothing is done for one that is not counted
 */
void bl_gpu_remove(struct bl_map *map)
{
	spin_lock(&gpus_lock);
	if (map->gpu)
		map->gpu->bytes[map->is_bounce] -= map->len;
	map->gpu = NULL;
	spin_unlock(&gpus_lock);
}

/**
 * bl_gpus_show() - Write a line for each GPU
 * @s: where to
 */
void bl_gpus_show(struct seq_file *s)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(nr_gpus); i++) {
		struct bl_gpu gpu;

		spin_lock(&gpus_lock);
		gpu = gpus[i];
		spin_unlock(&gpus_lock);
		seq_printf(s, "GPU %s  uuid:%pUb : Registered_MiB=%llu Cache_MiB=%llu max_pinned_MiB=%llu ", gpu.name,
			   gpu.uuid, gpu.bytes[0] >> 20, gpu.bytes[1] >> 20, gpu.most >> 20);
		if (READ_ONCE(bl_peer_stats_enabled))
			seq_printf(s, "cross_root_port(%%)=%u", bl_pair_cross_percent(gpu.key));
		seq_putc(s, '\n');
	}
}
