// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* NVIDIA's kernel interface for peers: addresses that a device uses for pinned pages. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/slab.h>

#include "card.h"

/**
 * struct bl_dma_map - a pin as one device reaches it
 * @node:   list of the pin
 * @peer:   the device, referenced
 * @public: what the client has
 */
struct bl_dma_map {
	struct list_head node;
	struct pci_dev *peer;
	struct nvidia_p2p_dma_mapping public;
};

static void unmap_pages(struct bl_dma_map *map, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		dma_unmap_resource(&map->peer->dev, map->public.dma_addresses[i], BL_CARD_PAGE_SIZE,
				   DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
}

/*
 * With the IOMMU off the answer is the bus address, with it on an address of the device's own
 * space.
 */
static int map_pages(struct bl_dma_map *map, const struct bl_pin *pin)
{
	struct device *dev = &map->peer->dev;

	for (u32 i = 0; i < map->public.entries; i++) {
		phys_addr_t pa = pin->pages[i].physical_address;
		dma_addr_t addr = dma_map_resource(dev, pa, BL_CARD_PAGE_SIZE, DMA_BIDIRECTIONAL,
						   DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(dev, addr)) {
			unmap_pages(map, i);
			return -EIO;
		}
		map->public.dma_addresses[i] = addr;
	}
	return 0;
}

static void map_free(struct bl_dma_map *map)
{
	kvfree(map->public.dma_addresses);
	pci_dev_put(map->peer);
	kfree(map);
}

static int map_new(struct pci_dev *peer, struct bl_pin *pin, struct bl_dma_map **map_p)
{
	struct bl_dma_map *map = kzalloc(sizeof(*map), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!map)
		return -ENOMEM;
	map->peer = pci_dev_get(peer);
	map->public.version = NVIDIA_P2P_DMA_MAPPING_VERSION;
	map->public.page_size_type = pin->table->page_size;
	map->public.entries = pin->table->entries;
	map->public.pci_dev = peer;
	map->public.dma_addresses = kvcalloc(map->public.entries, sizeof(u64), GFP_KERNEL);
	if (!map->public.dma_addresses)
		goto free_map;
	ret = map_pages(map, pin);
	if (ret)
		goto free_map;
	list_add_tail(&map->node, &pin->maps);
	pin->card->counts.dma_maps++;
	*map_p = map;
	return 0;
free_map:
	map_free(map);
	return ret;
}

static void map_remove(struct bl_pin *pin, struct bl_dma_map *map)
{
	unmap_pages(map, map->public.entries);
	list_del(&map->node);
	pin->card->counts.dma_maps--;
	map_free(map);
}

void bl_dma_unmap_all(struct bl_pin *pin)
{
	struct bl_dma_map *map, *next;

	list_for_each_entry_safe(map, next, &pin->maps, node)
		map_remove(pin, map);
}

/**
 * nvidia_p2p_dma_map_pages() - Make pinned pages reachable for a device
 * @peer:      the device
 * @table:     the pin's page table
 * @mapping_p: receives the addresses
 *
 * Goes with the page table at the latest. Context: may sleep; not from a free callback.
 * Return: 0, or -EINVAL (arguments, no live table), -ENOTSUPP (pinned with FORCE_BAR1), -ENOMEM,
 * -EIO (the device cannot reach the pages).
 */
int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
			     struct nvidia_p2p_dma_mapping **mapping_p)
{
	struct bl_dma_map *map;
	struct bl_pin *pin;
	int ret;

	if (bl_p2p_forbidden(__func__) || !peer || !table || !mapping_p)
		return -EINVAL;
	mutex_lock(&bl_rm);
	pin = bl_pin_find(table);
	if (!pin)
		ret = -EINVAL;
	else if (pin->flags & NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING)
		ret = -ENOTSUPP;
	else
		ret = bl_knob_fail(&bl_knobs.fail_dma_map);
	if (!ret)
		ret = map_new(peer, pin, &map);
	if (!ret)
		*mapping_p = &map->public;
	mutex_unlock(&bl_rm);
	return ret;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_dma_map_pages);

/**
 * nvidia_p2p_dma_unmap_pages() - Take the addresses back
 * @peer:    the device
 * @table:   the pin's page table
 * @mapping: what nvidia_p2p_dma_map_pages() gave; one that went with its table is no error
 *
 * Context: may sleep; not from a free callback.
 * Return: 0, or -EINVAL.
 */
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
			       struct nvidia_p2p_dma_mapping *mapping)
{
	struct bl_dma_map *map, *next;
	struct bl_pin *pin;

	if (bl_p2p_forbidden(__func__) || !peer || !table || !mapping)
		return -EINVAL;
	mutex_lock(&bl_rm);
	pin = bl_pin_find(table);
	if (pin) {
		list_for_each_entry_safe(map, next, &pin->maps, node) {
			if (&map->public == mapping && map->peer == peer)
				map_remove(pin, map);
		}
	}
	mutex_unlock(&bl_rm);
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_dma_unmap_pages);

/**
 * nvidia_p2p_free_dma_mapping() - What a callback calls; the driver frees the mapping with the page
 * table
 * @mapping: the mapping
 *
 * Return: 0.
 */
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *mapping)
{
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_free_dma_mapping);
