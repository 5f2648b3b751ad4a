// SPDX-License-Identifier: MIT
#include "slots.h"

#include <errno.h>
#include <stdlib.h>

static struct bl_slot *slot_at(struct bl_slots *slots, uint32_t index)
{
	return &atomic_load(&slots->chunks[index / BL_SLOT_CHUNK])[index % BL_SLOT_CHUNK];
}

static int take_unused(struct bl_slots *slots, uint32_t *index_p)
{
	uint32_t index = slots->nr_used;
	struct bl_slot *chunk;

	if (index >= BL_SLOT_CHUNK * BL_SLOT_CHUNKS)
		return -ENOMEM;
	if (index % BL_SLOT_CHUNK == 0) {
		chunk = aligned_alloc(64, BL_SLOT_CHUNK * sizeof(*chunk));
		if (!chunk)
			return -ENOMEM;
		for (uint32_t i = 0; i < BL_SLOT_CHUNK; i++)
			chunk[i] = (struct bl_slot){ .generation = 0 };
		atomic_store_explicit(&slots->chunks[index / BL_SLOT_CHUNK], chunk, memory_order_release);
	}
	slots->nr_used++;
	*index_p = index;
	return 0;
}

int bl_slots_add(struct bl_slots *slots, void *object, uint64_t *id_p)
{
	struct bl_slot *slot;
	uint32_t index;
	int ret;

	if (slots->free_first) {
		index = slots->free_first - 1;
		slots->free_first = slot_at(slots, index)->next_free;
		if (!slots->free_first)
			slots->free_last = 0;
	} else {
		ret = take_unused(slots, &index);
		if (ret)
			return ret;
	}
	slot = slot_at(slots, index);
	slot->next_free = 0;
	slot->generation++;
	atomic_store_explicit(&slot->object, object, memory_order_relaxed);
	*id_p = (uint64_t)slot->generation << 32 | (index + 1);
	atomic_store_explicit(&slot->id, *id_p, memory_order_release);
	return 0;
}

static void put_free(struct bl_slots *slots, struct bl_slot *slot, uint32_t index)
{
	atomic_store(&slot->id, 0);
	atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
	if (slot->generation == UINT32_MAX)
		return;
	if (slots->free_last)
		slot_at(slots, slots->free_last - 1)->next_free = index + 1;
	else
		slots->free_first = index + 1;
	slots->free_last = index + 1;
}

void bl_slots_remove(struct bl_slots *slots, uint64_t id)
{
	struct bl_slot *slot = bl_slots_find(slots, id);

	if (slot && id && atomic_load(&slot->id) == id)
		put_free(slots, slot, (uint32_t)id - 1);
}

void *bl_slots_object(struct bl_slots *slots, uint64_t id)
{
	struct bl_slot *slot = bl_slots_find(slots, id);

	return slot && atomic_load(&slot->id) == id ? atomic_load(&slot->object) : NULL;
}

void bl_slots_forget(struct bl_slots *slots)
{
	/* the free list may be half-way through an update by a thread that no longer exists: build it anew */
	slots->free_first = slots->free_last = 0;
	for (uint32_t i = 0; i < slots->nr_used; i++) {
		slot_at(slots, i)->next_free = 0;
		put_free(slots, slot_at(slots, i), i);
	}
}
