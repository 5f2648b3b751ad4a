/* SPDX-License-Identifier: MIT */
/* map.h - objects by number; open addressing, so that a look-up touches one or two cache lines */
#ifndef SOFTNIC_MAP_H
#define SOFTNIC_MAP_H

#include <stddef.h>
#include <stdint.h>

struct bl_snic_map_slot {
	uint32_t number; /* 0: free */
	void *object;
};

/* All zero is an empty map. */
struct bl_snic_map {
	struct bl_snic_map_slot *slots;
	unsigned int bits; /* of the number of slots */
	uint32_t nr;
};

/* Where the search for a number begins: numbers that follow each other are spread. */
static inline uint32_t bl_snic_map_home(const struct bl_snic_map *map, uint32_t number)
{
	return number * 0x9e3779b1U >> (32 - map->bits);
}

/* Return: the object, or NULL. */
static inline void *bl_snic_map_find(const struct bl_snic_map *map, uint32_t number)
{
	uint32_t mask, i;

	if (!map->nr || !number)
		return NULL;
	mask = (1U << map->bits) - 1;
	for (i = bl_snic_map_home(map, number); map->slots[i].number; i = (i + 1) & mask) {
		if (map->slots[i].number == number)
			return map->slots[i].object;
	}
	return NULL;
}

/**
 * bl_snic_map_add() - Add an object
 * @map:    map
 * @number: not zero, not in the map
 * @object: not NULL
 *
 * Return: 0 or -ENOMEM.
 */
int bl_snic_map_add(struct bl_snic_map *map, uint32_t number, void *object);

/* Nothing happens when the number is not there. */
void bl_snic_map_remove(struct bl_snic_map *map, uint32_t number);

/* Some object, to empty a map one by one; NULL when there is none. */
void *bl_snic_map_any(const struct bl_snic_map *map);

/* Frees what the map itself has. */
void bl_snic_map_free(struct bl_snic_map *map);

#endif
