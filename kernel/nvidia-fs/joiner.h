/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * joiner.h - pieces of GPU memory become entries of a list for a device
 *
 * Pieces come in the order of the request. One that continues the entry before it joins it, as far as the queue's
 * limits let it.
 */
#ifndef BL_NVFS_JOINER_H
#define BL_NVFS_JOINER_H

#include <linux/types.h>

/**
 * struct bl_joiner - the entry that grows
 * @max_len:  bytes that an entry may have
 * @boundary: no entry may cross a multiple of this, plus one; all ones: none
 * @next_pa:  physical address behind the entry
 * @next:     the device's address behind it
 * @start:    the device's address of it
 * @len:      bytes of it; 0 when there is none yet
 */
struct bl_joiner {
	u32 max_len;
	u64 boundary;
	u64 next_pa;
	u64 next;
	u64 start;
	u32 len;
};

/**
 * bl_joiner_fits() - How much of a piece belongs to one entry
 * @joiner: limits
 * @dma:    the device's address of the piece
 * @len:    bytes of it, not 0
 *
 * Return: bytes from its beginning on, at least 1.
 */
static inline u32 bl_joiner_fits(const struct bl_joiner *joiner, u64 dma, u32 len)
{
	u64 room = joiner->boundary - (dma & joiner->boundary);

	/* room is one less than what is left, so that all ones do not overflow */
	if (room < len - 1)
		len = (u32)room + 1;
	return len < joiner->max_len ? len : joiner->max_len;
}

/**
 * bl_joiner_add() - Take a piece in
 * @joiner: the entry that grows
 * @pa:     physical address
 * @dma:    the device's address
 * @len:    bytes; bl_joiner_fits() of them
 *
 * Return: true when it joined the entry, false when it begins a new one.
 */
static inline bool bl_joiner_add(struct bl_joiner *joiner, u64 pa, u64 dma, u32 len)
{
	bool joins = joiner->len && joiner->next_pa == pa && joiner->next == dma &&
		     len <= joiner->max_len - joiner->len &&
		     (joiner->start | joiner->boundary) == ((dma + len - 1) | joiner->boundary);

	if (!joins) {
		joiner->start = dma;
		joiner->len = 0;
	}
	joiner->len += len;
	joiner->next_pa = pa + len;
	joiner->next = dma + len;
	return joins;
}

#endif
