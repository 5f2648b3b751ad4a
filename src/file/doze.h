/* SPDX-License-Identifier: MIT */
/*
 * doze.h - sleep while the GPU takes what a disk has read, instead of looking all the time
 *
 * Bytes that a disk's driver has just put into memory leave it slower than others: 1 MiB took 60 to 120 us on H200 hosts, and
 * looking for the end of that was most of a direct read's CPU time. How long it takes depends on the machine, so it is
 * learned. What is too short to be slept through is looked for, as ever.
 */
#ifndef BL_FILE_DOZE_H
#define BL_FILE_DOZE_H

#include <stddef.h>
#include <stdint.h>

#include "lane.h"

/**
 * struct bl_doze - transfers that the GPU does one after the other
 * @since: when the first of them was started, ns
 * @bytes: of all of them; 0: none
 */
struct bl_doze {
	uint64_t since;
	size_t bytes;
};

/* One more. Those before it have ended if @anew. */
void bl_doze_posted(struct bl_doze *doze, size_t len, bool anew);

/**
 * bl_doze_wait() - Wait until the last of them has ended
 * @doze: they; none afterwards
 * @lane: of them, with nothing else under way
 * @slot: of the last one
 *
 * Return: as bl_lane_wait().
 */
int bl_doze_wait(struct bl_doze *doze, struct bl_lane *lane, unsigned int slot);

#endif
