/* SPDX-License-Identifier: MIT */
/*
 * helper.h - more threads for long copies out of staging memory
 *
 * One core moves some 20 GB/s from memory that a device has just written to memory of the program; the GPU delivers 50.
 * So a long copy is split into blocks which the caller and a few threads of the library take in turn. The caller never
 * depends on those: when they are busy, slow to wake, or not to be had, the caller copies all of the blocks.
 *
 * They start at the first copies that want them, where the caller may run on two CPUs or more and no more of them than
 * it has others. Between copies they look for the next one for some microseconds, then they sleep.
 * BARLANE_COPY_HELPER=0 keeps them from being started.
 */
#ifndef BL_COPY_HELPER_H
#define BL_COPY_HELPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BL_HELPERS 3U /* most threads there ever are */

/**
 * struct bl_split - a copy in blocks
 * @run:    copies block @i of @copy; called by any of the threads, in any order, once for each block
 * @copy:   what it works on
 * @nr:     blocks
 * @ready:  blocks that may be copied, counted from the first; the caller raises it
 * @next:   the first block that nobody has taken
 * @inside: helpers that look at it
 * @ended:  nothing more is to be taken
 */
struct bl_split {
	void (*run)(void *copy, size_t i);
	void *copy;
	size_t nr;
	_Atomic(size_t) ready;
	_Atomic(size_t) next;
	_Atomic(unsigned int) inside;
	atomic_bool ended;
};

/* Take a block that is ready and copy it. False: there was none. */
bool bl_split_step(struct bl_split *split);

/* What a thread does that found no block @looks times in a row: be easy on the CPU, later give it away. */
void bl_split_relax(unsigned int looks);

/**
 * bl_helper_lend() - Let helpers take blocks too
 * @split: valid until bl_helper_return()
 * @nr:    at most so many, up to BL_HELPERS
 *
 * Those that are awake come at once. Does nothing when they have another copy, or cannot be had. Thread-safe; starts
 * threads, if need be.
 */
void bl_helper_lend(struct bl_split *split, unsigned int nr);

/*
 * Wake one of the others, if none is awake; helpers wake each other for copies that are long enough. That may take as long
 * as a transfer, so it comes when the device has enough to do.
 */
void bl_helper_wake(struct bl_split *split);

/* End a copy: no block is taken any more, and none is being copied when this returns. */
void bl_helper_return(struct bl_split *split);

/* Forget the threads, in a child that starts anew: they did not come along. */
void bl_helper_forget(void);

#endif
