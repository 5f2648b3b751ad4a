// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pages of a GPU for a map, by common/table.c. Those that are not persistent go when the memory is freed or its owner
 * dies: then the map is closed, which waits until no device uses them.
 */
#include "core.h"
#include "nvp2p.h"
#include "stats.h"

static void pin_revoke(struct bl_table *table)
{
	atomic64_inc(&bl_stats.callbacks);
	bl_map_close(container_of(table, struct bl_map, pin), "its owner has freed it");
}

static int check_table(const struct bl_map *map, const struct nv_p2p_page_table *table)
{
	u32 major = NV_P2P_MAJOR(table->version);

	if (major != 1 && major != 2)
		return refuse(EINVAL, "map va 0x%llx: page table of version 0x%x, known are 1 and 2", map->va,
			      table->version);
	if (table->page_size != NV_P2P_PAGE_64K)
		return refuse(EINVAL, "map va 0x%llx: GPU pages of type %u, not 64 KiB", map->va, table->page_size);
	if (!table->pages || table->entries != map->len >> NV_P2P_GPU_PAGE_SHIFT)
		return refuse(EINVAL, "map va 0x%llx len 0x%llx: the driver gave %u pages", map->va, map->len,
			      table->entries);
	return 0;
}

static int read_table(struct bl_map *map, const struct nv_p2p_page_table *table)
{
	int ret = check_table(map, table);

	if (ret)
		return ret;
	ret = bl_chunks_read(&map->chunks, table);
	if (ret)
		return refuse(-ret, "map va 0x%llx: the driver's table of pages", map->va);
	if (table->gpu_uuid)
		memcpy(map->uuid, table->gpu_uuid, sizeof(map->uuid));
	return 0;
}

/* A driver may have the functions and refuse a kind of GPU. */
static int call_get(struct bl_table *pin)
{
	const struct bl_nvp2p *fn = pin->fn;
	int ret;

	if (fn->get_pages_persistent && !(bl_use_legacy && fn->get_pages)) {
		ret = bl_table_call_get_persistent(pin, 0);
		if (ret != -ENOTSUPP || !fn->get_pages)
			return ret;
		pin->persistent = false;
		pin->by_put = false;
	}
	return bl_table_call_get(pin);
}

static void give_back(struct bl_map *map)
{
	int ret = bl_table_put(&map->pin);

	if (ret)
		refuse(-ret, "unmap va 0x%llx: the GPU driver does not take the pages back", map->va);
}

/**
 * bl_pin_get() - Hold the pages of a map
 * @map: one whose range is set; receives where they are
 *
 * From the moment of the call on bl_map_close() may be called for the map.
 *
 * Context: may sleep.
 * Return: 0 or -errno; the error was reported.
 */
int bl_pin_get(struct bl_map *map)
{
	struct bl_table *pin = &map->pin;
	int ret;

	ret = bl_nvp2p_take(&pin->fn);
	if (ret)
		return refuse(-ret, "map va 0x%llx: no GPU driver for GPL use is loaded", map->va);
	pin->va = map->va;
	pin->len = map->len;
	pin->revoke = pin_revoke;
	ret = bl_table_get(pin, call_get);
	if (ret) {
		refuse(-ret, "map va 0x%llx len 0x%llx: the GPU driver refuses", map->va, map->len);
		goto drop;
	}
	/* only a callback from inside of get_pages() can have come by now: others wait for us */
	ret = bl_table_is_freed(pin) ? refuse(EINVAL, "map va 0x%llx: freed meanwhile", map->va) :
				       read_table(map, pin->pages);
	bl_table_was_read(pin);
	if (ret)
		goto give_back;
	return 0;
give_back:
	give_back(map);
drop:
	bl_nvp2p_drop();
	return ret;
}

/**
 * bl_pin_put() - Give the pages of a map back
 * @map: one that no device reaches any more
 *
 * On return no callback is running and none will come.
 *
 * Context: may sleep, and wait for the GPU driver.
 */
void bl_pin_put(struct bl_map *map)
{
	give_back(map);
	bl_nvp2p_drop();
}
