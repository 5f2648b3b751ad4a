/* SPDX-License-Identifier: MIT */
/*
 * slots.h - generation-tagged handles
 *
 * An id is (generation << 32 | index + 1) of a slot in a table whose memory is never given back, so that a stale id is
 * found to be stale without a lock and without a fault. A slot's generation grows each time it is reused; a slot whose
 * generation would wrap is retired.
 */
#ifndef BL_UTIL_SLOTS_H
#define BL_UTIL_SLOTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct bl_slot - one handle
 * @id:     the id that is valid now, 0 while the slot is free
 * @object: what the id stands for; written under the table's lock. Who reads it without must have objects that are never
 *          freed, and look at @id again once it has a reference
 * @generation: of the last use
 * @next_free: index + 1 of the next free slot
 */
struct bl_slot {
	_Atomic(uint64_t) id;
	_Atomic(void *) object;
	uint32_t generation;
	uint32_t next_free;
};

#define BL_SLOT_CHUNK  256
#define BL_SLOT_CHUNKS 4096

/* Statically allocated and zeroed is a valid empty table, but for the lock of its owner. */
struct bl_slots {
	_Atomic(struct bl_slot *) chunks[BL_SLOT_CHUNKS];
	uint32_t nr_used;    /* slots handed out at least once */
	uint32_t free_first; /* index + 1; oldest free slot, so that reuse is as late as possible */
	uint32_t free_last;
};

#pragma GCC visibility push(default) /* exported to this project's other libraries, see barlane.map */

/**
 * bl_slots_add() - New handle; the caller holds the table's lock
 * @slots:  table
 * @object: what it stands for, not NULL
 * @id_p:   receives the id
 *
 * Return: 0, or -ENOMEM when memory or the table (1 Mi handles) is exhausted.
 */
int bl_slots_add(struct bl_slots *slots, void *object, uint64_t *id_p);

/* Retire an id that is valid; the caller holds the table's lock. */
void bl_slots_remove(struct bl_slots *slots, uint64_t id);

/* Object of an id, NULL when it is stale or was never given out; the caller holds the table's lock. */
void *bl_slots_object(struct bl_slots *slots, uint64_t id);

/* Retire every id, without touching the objects; in a child that starts anew. */
void bl_slots_forget(struct bl_slots *slots);

#pragma GCC visibility pop

/* Slot that an id would lie in, NULL when it names none. Lock-free; the caller compares ids. */
static inline struct bl_slot *bl_slots_find(struct bl_slots *slots, uint64_t id)
{
	uint32_t index = (uint32_t)id - 1;
	struct bl_slot *chunk;

	if (index >= BL_SLOT_CHUNK * BL_SLOT_CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&slots->chunks[index / BL_SLOT_CHUNK], memory_order_acquire);
	return chunk ? &chunk[index % BL_SLOT_CHUNK] : NULL;
}

#endif
