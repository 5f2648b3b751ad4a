/* SPDX-License-Identifier: MIT */
/*
 * helper.h - a second thread for long copies out of staging memory
 *
 * One core moves some 20 GB/s from memory that a device has just written to memory of the program; the GPU delivers 50.
 * So a long copy is split into blocks which the caller and one thread of the library take in turn. The caller never
 * depends on that thread: when it is busy, slow to wake, or not to be had, the caller copies all of the blocks.
 *
 * The thread starts at the first copy that wants it, where the caller may run on two CPUs or more, and sleeps between
 * copies. BARLANE_COPY_HELPER=0 keeps it from being started.
 */
#ifndef BL_COPY_HELPER_H
#define BL_COPY_HELPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct bl_split - a copy in blocks
 * @run:   copies block @i of @copy; called by either thread, in any order, once for each block
 * @copy:  what it works on
 * @nr:    blocks
 * @ready: blocks that may be copied, counted from the first; the caller raises it
 * @next:  the first block that nobody has taken
 * @ended: nothing more is to be taken
 */
struct bl_split {
	void (*run)(void *copy, size_t i);
	void *copy;
	size_t nr;
	_Atomic(size_t) ready;
	_Atomic(size_t) next;
	atomic_bool ended;
};

/* Take a block that is ready and copy it. False: there was none. */
bool bl_split_step(struct bl_split *split);

/* What a thread does that found no block @looks times in a row: be easy on the CPU, later give it away. */
void bl_split_relax(unsigned int looks);

/**
 * bl_helper_lend() - Let the helper take blocks too
 * @split: valid until bl_helper_return()
 *
 * Does nothing when the helper has another copy, or cannot be had. Thread-safe; starts the thread, if need be.
 */
void bl_helper_lend(struct bl_split *split);

/* End a copy: no block is taken any more, and none is being copied when this returns. */
void bl_helper_return(struct bl_split *split);

/* Forget the thread, in a child that starts anew: it did not come along. */
void bl_helper_forget(void);

#endif
