// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pieces of a pin. GPU pages that are neighbours in physical address space become one piece.
 */
#include "core.h"

#include <linux/slab.h>

#define FIRST_RUNS 4

static int grow(struct bl_runs *runs)
{
	size_t cap = runs->cap ? 2 * runs->cap : FIRST_RUNS;
	struct bl_run *run = kvmalloc_array(cap, sizeof(*run), GFP_KERNEL_ACCOUNT);

	if (!run)
		return -ENOMEM;
	if (runs->nr)
		memcpy(run, runs->run, runs->nr * sizeof(*run));
	kvfree(runs->run);
	runs->run = run;
	runs->cap = cap;
	return 0;
}

/**
 * bl_runs_len() - Bytes in all pieces
 * @runs: pieces
 *
 * Return: bytes.
 */
u64 bl_runs_len(const struct bl_runs *runs)
{
	const struct bl_run *last;

	if (!runs->nr)
		return 0;
	last = &runs->run[runs->nr - 1];
	return last->off + last->len;
}

/**
 * bl_runs_add() - Append bytes
 * @runs: pieces
 * @pa:   their physical address
 * @len:  how many
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL (not whole CPU pages, or beyond the address space), -ENOMEM.
 */
int bl_runs_add(struct bl_runs *runs, phys_addr_t pa, u64 len)
{
	struct bl_run *last = runs->nr ? &runs->run[runs->nr - 1] : NULL;

	if (!len || !PAGE_ALIGNED(pa) || !PAGE_ALIGNED(len) || pa + len - 1 < pa)
		return -EINVAL;
	if (last && last->pa + last->len == pa) {
		last->len += len;
		return 0;
	}
	if (runs->nr == runs->cap && grow(runs))
		return -ENOMEM;
	runs->run[runs->nr] = (struct bl_run){ .off = bl_runs_len(runs), .pa = pa, .len = len };
	runs->nr++;
	return 0;
}

/**
 * bl_runs_find() - Find the piece that holds a byte
 * @runs: pieces
 * @off:  offset of the byte in the pin
 *
 * Return: the piece, or NULL if there is none.
 */
const struct bl_run *bl_runs_find(const struct bl_runs *runs, u64 off)
{
	size_t low = 0, high = runs->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct bl_run *run = &runs->run[mid];

		if (off < run->off)
			high = mid;
		else if (off - run->off >= run->len)
			low = mid + 1;
		else
			return run;
	}
	return NULL;
}

/**
 * bl_runs_free() - Forget all pieces
 * @runs: pieces
 */
void bl_runs_free(struct bl_runs *runs)
{
	kvfree(runs->run);
	*runs = (struct bl_runs){ 0 };
}
