// SPDX-License-Identifier: MIT
#include "grid_int.h"

#include <stdarg.h>
#include <stdio.h>

struct writer {
	char *text;
	size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *to, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(to->text + to->used, to->size - to->used, fmt, args);
	va_end(args);
	if (len > 0)
		to->used += (size_t)len;
	if (to->used >= to->size)
		to->used = to->size - 1;
}

static const char *name(int at)
{
	static const char *const names[] = {
		[GRID_AT_START] = "not begun",
		[GRID_AT_RUN] = "running",
		[GRID_AT_YIELD] = "polling",
		[GRID_AT_WARP] = "in syncwarp",
		[GRID_AT_SHFL] = "in shfl",
		[GRID_AT_BALLOT] = "in ballot",
		[GRID_AT_BLOCK] = "in syncblock",
		[GRID_AT_NEXT] = "done, its block is not",
		[GRID_AT_CRASH] = "faulted",
		[GRID_AT_END] = "done",
	};

	return names[at];
}

static int has_mask(int at)
{
	return at == GRID_AT_WARP || at == GRID_AT_SHFL || at == GRID_AT_BALLOT;
}

static int alike(const struct grid_thread *a, const struct grid_thread *b)
{
	int at = atomic_load(&a->at);

	return a->block == b->block && at == atomic_load(&b->at) && a->block &&
	       (!has_mask(at) || atomic_load(&a->mask) == atomic_load(&b->mask));
}

/* Threads @first to @last of one block. */
static void put_group(struct writer *to, const struct grid *grid, const struct grid_thread *first,
		      const struct grid_thread *last)
{
	struct bl_dim3 block = grid_place(atomic_load(&first->linear), &grid->what.grid);
	int at = atomic_load(&first->at);

	if (!first->block) {
		put(to, "actor %u: ", first->index - (grid->nr_threads - grid->what.nr_actors));
	} else {
		put(to, "block %u,%u,%u ", block.x, block.y, block.z);
		if (first == last)
			put(to, "thread %u: ", first->in_block);
		else
			put(to, "threads %u-%u: ", first->in_block, last->in_block);
	}
	put(to, "%s", name(at));
	if (has_mask(at))
		put(to, ", mask %08x", atomic_load(&first->mask));
	if (at == GRID_AT_CRASH)
		put(to, " by signal %d, address 0x%llx, instruction 0x%llx", first->sig,
		    (unsigned long long)first->addr, (unsigned long long)first->pc);
	put(to, "\n");
}

void grid_where(const struct grid *grid, struct bl_grid_result *result)
{
	struct writer to = { result->text, sizeof(result->text), 0 };
	const struct grid_thread *culprit = atomic_load(&grid->culprit);

	put(&to, "%s\n", atomic_load(&grid->reason));
	if (culprit)
		put_group(&to, grid, culprit, culprit);
	for (unsigned int i = 0; i < grid->nr_threads; i++) {
		const struct grid_thread *first = &grid->threads[i];
		unsigned int last = i;

		if (atomic_load(&first->at) == GRID_AT_END)
			continue;
		while (last + 1 < grid->nr_threads && alike(first, &grid->threads[last + 1]))
			last++;
		result->nr_unfinished += last - i + 1;
		if (!culprit || first != culprit || last != i)
			put_group(&to, grid, first, &grid->threads[last]);
		i = last;
	}
	if (result->nr_abandoned)
		put(&to, "%u threads could not be ended\n", result->nr_abandoned);
}
