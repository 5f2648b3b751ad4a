// SPDX-License-Identifier: MIT
#include "stream_ways.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[BL_STREAM_NR] = {
	[BL_STREAM_CPU] = "cpu",
	[BL_STREAM_CUDA] = "cuda",
	[BL_STREAM_KERNEL] = "kernel",
	[BL_STREAM_HELD] = "held",
};

void ways_count(struct ways *ways)
{
	const struct bl_stats_shm *shm;

	*ways = (struct ways){ .known = !bl_stats_shm_open(getpid(), &shm) };
	if (!ways->known)
		return;
	for (int block = 0; block < BL_STATS_BLOCKS; block++) {
		for (int way = 0; way < BL_STREAM_NR; way++) {
			ways->nr[way][0] += shm->block[block].streams[way][0];
			ways->nr[way][1] += shm->block[block].streams[way][1];
		}
	}
	bl_stats_shm_close(shm);
}

const char *ways_text(const struct ways *ways, bool write, char *text, size_t size)
{
	size_t len = 0;

	snprintf(text, size, "%s", ways->known ? "-" : "?");
	for (int way = 0; way < BL_STREAM_NR && len < size; way++) {
		if (ways->nr[way][write])
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "+" : "", names[way]);
	}
	return text;
}
