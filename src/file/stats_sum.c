// SPDX-License-Identifier: MIT
#include <string.h>

#include "stats_shm.h"

/* All is numbers of 64 bits, up to the padding behind the last GPU. */
#define NUMBERS ((offsetof(struct bl_stats_block, gpu) + sizeof(((struct bl_stats_block *)NULL)->gpu)) / sizeof(bl_stats_number))

void bl_stats_add(struct bl_stats_block *sum, const struct bl_stats_block *more, bool subtract)
{
	bl_stats_number *to = (bl_stats_number *)sum;
	const bl_stats_number *from = (const bl_stats_number *)more;

	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value = atomic_load_explicit(&from[i], memory_order_relaxed);

		atomic_fetch_add_explicit(&to[i], subtract ? 0 - value : value, memory_order_relaxed);
	}
}

void bl_stats_sum(const struct bl_stats_block *blocks, int nr, struct bl_stats_block *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < nr; i++)
		bl_stats_add(sum, &blocks[i], false);
}
