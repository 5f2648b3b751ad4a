/* SPDX-License-Identifier: MIT */
/*
 * pair.h - a second thread for reads from the page cache to the GPU's mapping
 *
 * One core copies cached pages at 7 to 9 GB/s. A thread that has to be woken comes too late for 64 KiB, so the helper, one in
 * a process and one of the crew, stays awake while such reads follow each other: it looks for the next one for pair_hot_us
 * after each, and then goes back to the crew. Reads that come with longer breaks in between have no helper, unless they
 * are large enough to wake one.
 */
#ifndef BL_FILE_PAIR_H
#define BL_FILE_PAIR_H

#include <stdbool.h>

#include "io.h"

/* Whether a read has a size for it, and the configuration allows for helpers. */
bool bl_pair_fits(const struct bl_io *io);

/* Whether the helper has a rest: it came too late, or many want it. */
bool bl_pair_rests(void);

/**
 * bl_pair_read() - Read with the helper, if it is to be had
 * @io: a read that bl_pair_fits(), into memory that is mapped and registered
 *
 * Advances @io->done by what was read without a gap; nothing, when the helper is another's or not worth to be woken. The rest,
 * and whatever ended it, is left to the caller.
 * Return: 0, or -ETIMEDOUT: the helper did not end in time; it may still store one piece.
 */
int bl_pair_read(struct bl_io *io);

/* Forget the parent's helper, in a child that starts anew. */
void bl_pair_forget(void);

#endif
