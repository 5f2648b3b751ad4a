/* SPDX-License-Identifier: MIT */
/* stream_ways.h - which way operations of streams went, as this project's libcufile counts them */
#ifndef BL_BENCH_STREAM_WAYS_H
#define BL_BENCH_STREAM_WAYS_H

#include <stdbool.h>

#include "file/stats_shm.h"

/**
 * struct ways - operations that have ended in this process
 * @known: the library counts them so that others can look: ours, at a statistics level of 1 or more
 * @nr:    by enum bl_stream_count and direction
 */
struct ways {
	bool known;
	uint64_t nr[BL_STREAM_NR][2];
};

void ways_count(struct ways *ways);

/* Those of one direction that were taken, with "+" between, and "-" for none; "?" where they are not known. */
const char *ways_text(const struct ways *ways, bool write, char *text, size_t size);

#endif
