/* SPDX-License-Identifier: MIT */
/*
 * rings.h - rings of io_uring for memory of all kinds, kept for the next request
 *
 * A ring is one thread's while it has it. One whose requests have not ended when it is given back, after a deadline, is
 * late: nobody gets it, and it goes when they have. Until then the memory of these requests stays where it is, since
 * the kernel may not have looked for it yet. Those that want a ring look for late ones.
 */
#ifndef BL_FILE_RINGS_H
#define BL_FILE_RINGS_H

#include "uring.h"

struct bl_buffer;

/**
 * struct bl_ring - a ring
 * @next:   list of idle or late ones
 * @uring:  it
 * @buffer: that a late one's requests are about, referenced
 */
struct bl_ring {
	struct bl_ring *next;
	struct bl_uring uring;
	struct bl_buffer *buffer;
};

/* Take one. 0; -EBUSY (as many as there may be are in use or late), -ENOMEM, or as bl_uring_open(). */
int bl_ring_get(struct bl_ring **ring_p);

/* Give it back; @buffer: what its requests were about, which the caller holds. */
void bl_ring_put(struct bl_ring *ring, struct bl_buffer *buffer);

/* Close all that are neither in use nor late, as the last cuFileDriverClose() does. */
void bl_ring_drop_idle(void);

/* Forget all that was inherited, in a child that starts anew. */
void bl_ring_forget(void);

#endif
