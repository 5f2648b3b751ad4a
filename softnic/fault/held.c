// SPDX-License-Identifier: MIT
#include "held.h"

#include <stdlib.h>
#include <string.h>

bool bl_held_add(struct bl_held_list *list, uint64_t due, const uint8_t *gid, const struct bl_packet *packet,
		 const void *payload)
{
	struct bl_held **place = &list->first, *held;

	if (list->nr >= BL_HELD_MAX)
		return false;
	held = malloc(sizeof(*held) + packet->len);
	if (!held)
		return false;
	*held = (struct bl_held){.due = due, .has_gid = gid, .packet = *packet};
	if (gid)
		memcpy(held->gid, gid, sizeof(held->gid));
	if (packet->len)
		memcpy(held->payload, payload, packet->len);
	while (*place)
		place = &(*place)->next;
	*place = held;
	list->nr++;
	return true;
}

struct bl_held *bl_held_take(struct bl_held_list *list, uint64_t now)
{
	for (struct bl_held **place = &list->first; *place; place = &(*place)->next) {
		struct bl_held *held = *place;

		if (held->due > now)
			continue;
		*place = held->next;
		list->nr--;
		return held;
	}
	return NULL;
}

void bl_held_clear(struct bl_held_list *list)
{
	struct bl_held *held;

	while ((held = bl_held_take(list, UINT64_MAX)))
		free(held);
}
