// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that go, by common/watch.c: a GPU, or a drive that reaches one. At the first notice, I/O that is under way can
 * still end well, and is waited for a little; at the second one the driver has ended what was left of it.
 */
#include "core.h"

#define GRACE	  (2 * HZ)
#define LOG_EVERY (10 * HZ)

static bool lies_on(const struct bl_map *map, const struct pci_dev *pdev)
{
	u32 i;

	for (i = 0; i < map->chunks.nr; i++) {
		if (bl_watch_covers(pdev, map->chunks.chunk[i].pa, map->chunks.chunk[i].len))
			return true;
	}
	return false;
}

/**
 * bl_device_of() - Find the device that a map's memory lies on
 * @map: a map that holds its pages
 *
 * Context: may sleep.
 * Return: the device with a reference for the caller, or NULL.
 */
struct pci_dev *bl_device_of(const struct bl_map *map)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		if (lies_on(map, pdev))
			break;
	}
	return pdev;
}

static struct bl_map *map_of(struct bl_watch *watch)
{
	return container_of(watch, struct bl_map, watch);
}

/**
 * bl_device_lose() - A device goes: the memory's own, or one that reaches it
 * @watched: struct bl_map by their @watch
 * @pdev:    the device
 * @last:    its driver has given it up
 *
 * Context: may sleep.
 */
void bl_device_lose(const struct list_head *watched, const struct pci_dev *pdev, bool last)
{
	unsigned long end = jiffies + GRACE;
	struct bl_watch *watch;

	/* nothing new begins anywhere, before the first one is waited for */
	bl_watch_for_each(watch, watched)
		bl_peer_lose(map_of(watch), pdev, 0);
	bl_watch_for_each(watch, watched) {
		struct bl_map *map = map_of(watch);
		unsigned long wait = time_before(jiffies, end) ? end - jiffies : 0;

		while (!bl_peer_lose(map, pdev, last ? LOG_EVERY : wait) && last)
			pr_warn("va 0x%llx: device %s is gone, and its I/O has not ended yet\n", map->va,
				pci_name(pdev));
		if (!lies_on(map, pdev))
			continue;
		pr_warn_ratelimited("va 0x%llx len 0x%llx: its device %s goes\n", map->va, map->len, pci_name(pdev));
		bl_map_close(map, "its device has gone");
	}
}
