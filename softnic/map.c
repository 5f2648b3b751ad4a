// SPDX-License-Identifier: MIT
#include "map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_BITS 6

static void put(struct bl_snic_map *map, uint32_t number, void *object)
{
	uint32_t mask = (1U << map->bits) - 1, i = bl_snic_map_home(map, number);

	while (map->slots[i].number)
		i = (i + 1) & mask;
	map->slots[i] = (struct bl_snic_map_slot){number, object};
}

/* At most half full: searches stay short, and always meet a free slot. */
static int grow(struct bl_snic_map *map)
{
	struct bl_snic_map larger = {.bits = map->slots ? map->bits + 1 : FIRST_BITS, .nr = map->nr};

	if (map->slots && map->nr < 1U << (map->bits - 1))
		return 0;
	if (larger.bits > 30)
		return -ENOMEM;
	larger.slots = calloc(1UL << larger.bits, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; map->slots && i < 1UL << map->bits; i++) {
		if (map->slots[i].number)
			put(&larger, map->slots[i].number, map->slots[i].object);
	}
	free(map->slots);
	*map = larger;
	return 0;
}

int bl_snic_map_add(struct bl_snic_map *map, uint32_t number, void *object)
{
	int ret = grow(map);

	if (ret)
		return ret;
	put(map, number, object);
	map->nr++;
	return 0;
}

/* What lies behind the hole and would be searched for across it moves into it. */
static void close_hole(struct bl_snic_map *map, uint32_t hole)
{
	uint32_t mask = (1U << map->bits) - 1, i, home;

	for (i = (hole + 1) & mask; map->slots[i].number; i = (i + 1) & mask) {
		home = bl_snic_map_home(map, map->slots[i].number);
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole] = (struct bl_snic_map_slot){0, NULL};
}

void bl_snic_map_remove(struct bl_snic_map *map, uint32_t number)
{
	uint32_t mask, i;

	if (!map->nr || !number)
		return;
	mask = (1U << map->bits) - 1;
	for (i = bl_snic_map_home(map, number); map->slots[i].number; i = (i + 1) & mask) {
		if (map->slots[i].number != number)
			continue;
		close_hole(map, i);
		map->nr--;
		return;
	}
}

void *bl_snic_map_any(const struct bl_snic_map *map)
{
	for (size_t i = 0; map->nr && i < 1UL << map->bits; i++) {
		if (map->slots[i].number)
			return map->slots[i].object;
	}
	return NULL;
}

void bl_snic_map_free(struct bl_snic_map *map)
{
	free(map->slots);
	*map = (struct bl_snic_map){.slots = NULL};
}
