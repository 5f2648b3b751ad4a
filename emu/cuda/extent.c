// SPDX-License-Identifier: MIT
#include "extent.h"

#include <errno.h>
#include <stdlib.h>

static struct emu_extent *extent_new(uint64_t start, uint64_t len, struct emu_extent *next)
{
	struct emu_extent *extent = malloc(sizeof(*extent));

	if (!extent)
		return NULL;
	extent->next = next;
	extent->start = start;
	extent->len = len;
	return extent;
}

int emu_extents_init(struct emu_extents *extents, uint64_t start, uint64_t len)
{
	extents->first = extent_new(start, len, NULL);
	extents->free_bytes = len;
	return extents->first ? 0 : -ENOMEM;
}

void emu_extents_destroy(struct emu_extents *extents)
{
	struct emu_extent *next;

	for (struct emu_extent *extent = extents->first; extent; extent = next) {
		next = extent->next;
		free(extent);
	}
	extents->first = NULL;
	extents->free_bytes = 0;
}

/* Cut [start, start + len) out of *link, which contains it. */
static int extent_cut(struct emu_extents *extents, struct emu_extent **link, uint64_t start, uint64_t len)
{
	struct emu_extent *extent = *link;
	uint64_t before = start - extent->start;
	uint64_t after = extent->len - before - len;
	struct emu_extent *tail;

	if (before && after) {
		tail = extent_new(start + len, after, extent->next);
		if (!tail)
			return -ENOMEM;
		extent->next = tail;
		extent->len = before;
	} else if (before) {
		extent->len = before;
	} else if (after) {
		extent->start = start + len;
		extent->len = after;
	} else {
		*link = extent->next;
		free(extent);
	}
	extents->free_bytes -= len;
	return 0;
}

int emu_extents_take(struct emu_extents *extents, uint64_t len, uint64_t align, uint64_t *start_p)
{
	for (struct emu_extent **link = &extents->first; *link; link = &(*link)->next) {
		struct emu_extent *extent = *link;
		uint64_t start = (extent->start + align - 1) & ~(align - 1);
		uint64_t skip = start - extent->start;

		if (skip >= extent->len || extent->len - skip < len)
			continue;
		if (extent_cut(extents, link, start, len))
			return -ENOMEM;
		*start_p = start;
		return 0;
	}
	return -ENOMEM;
}

int emu_extents_take_at(struct emu_extents *extents, uint64_t start, uint64_t len)
{
	for (struct emu_extent **link = &extents->first; *link; link = &(*link)->next) {
		struct emu_extent *extent = *link;

		if (start < extent->start)
			break;
		if (start - extent->start < extent->len && extent->len - (start - extent->start) >= len)
			return extent_cut(extents, link, start, len);
	}
	return -EBUSY;
}

void emu_extents_give(struct emu_extents *extents, uint64_t start, uint64_t len)
{
	struct emu_extent *prev = NULL, *next = extents->first, *extent;

	while (next && next->start < start) {
		prev = next;
		next = next->next;
	}
	extents->free_bytes += len;
	if (prev && prev->start + prev->len == start) {
		prev->len += len;
		if (next && prev->start + prev->len == next->start) {
			prev->len += next->len;
			prev->next = next->next;
			free(next);
		}
		return;
	}
	if (next && start + len == next->start) {
		next->start = start;
		next->len += len;
		return;
	}
	extent = extent_new(start, len, next);
	if (!extent)
		abort(); /* a range that cannot be given back would be lost silently */
	if (prev)
		prev->next = extent;
	else
		extents->first = extent;
}
