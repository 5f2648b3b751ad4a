// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Slots of a shadow, for pieces of requests that run at the same time. A piece takes what is free, and at least one.
 */
#include "core.h"
#include "io.h"

#include <linux/bitmap.h>

static u32 grab(struct bl_shadow *shadow, u32 want, struct bl_piece_slot *slots)
{
	u32 nr = 0, id;

	spin_lock_irq(&shadow->lock);
	for_each_clear_bit(id, shadow->taken, shadow->nr_slots) {
		if (nr == want)
			break;
		slots[nr++].id = id;
	}
	for (id = 0; id < nr; id++)
		__set_bit(slots[id].id, shadow->taken);
	spin_unlock_irq(&shadow->lock);
	return nr;
}

/**
 * bl_slots_take() - Take slots
 * @shadow: shadow
 * @want:   how many at most, at least one
 * @slots:  receives which, with room for that many
 * @nr_p:   receives how many
 *
 * Context: may sleep until another piece has ended; a signal that kills ends it.
 * Return: 0, or -EINTR.
 */
int bl_slots_take(struct bl_shadow *shadow, u32 want, struct bl_piece_slot *slots, u32 *nr_p)
{
	u32 nr = 0;

	if (wait_event_killable(shadow->wait, (nr = grab(shadow, want, slots))))
		return -EINTR;
	*nr_p = nr;
	return 0;
}

/**
 * bl_slots_give() - Give slots back
 * @shadow: shadow
 * @slots:  which
 * @nr:     how many
 *
 * Context: any. The caller has another reason for the shadow to stay.
 */
void bl_slots_give(struct bl_shadow *shadow, const struct bl_piece_slot *slots, u32 nr)
{
	unsigned long flags;

	spin_lock_irqsave(&shadow->lock, flags);
	while (nr--)
		__clear_bit(slots[nr].id, shadow->taken);
	spin_unlock_irqrestore(&shadow->lock, flags);
	wake_up(&shadow->wait);
}
