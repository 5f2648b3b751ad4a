// SPDX-License-Identifier: MIT
#include "view.h"

#include <errno.h>
#include <sys/mman.h>

#include "util/slots.h"

_Static_assert(BL_VIEW_CHUNK *BL_VIEW_CHUNKS == BL_SLOT_CHUNK * BL_SLOT_CHUNKS, "an entry for each handle");
_Static_assert(sizeof(struct bl_view) == 32, "two entries to a cache line, none across two");

_Atomic(struct bl_view *) bl_view_chunks[BL_VIEW_CHUNKS];

int bl_view_reserve(uint64_t id)
{
	_Atomic(struct bl_view *) *place = &bl_view_chunks[((uint32_t)id - 1) / BL_VIEW_CHUNK];
	size_t size = BL_VIEW_CHUNK * sizeof(struct bl_view);
	void *chunk;

	if (atomic_load(place))
		return 0;
	chunk = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return -ENOMEM;
	if (madvise(chunk, size, MADV_WIPEONFORK)) {
		munmap(chunk, size);
		return -ENOMEM;
	}
	atomic_store_explicit(place, chunk, memory_order_release);
	return 0;
}

void bl_view_show(uint64_t id, void *addr, size_t len, const struct bl_cpu_copy *copy)
{
	struct bl_view *view = bl_view_find(id);

	atomic_store_explicit(&view->addr, (uintptr_t)addr, memory_order_relaxed);
	atomic_store_explicit(&view->len, len, memory_order_relaxed);
	atomic_store_explicit(&view->copy, copy, memory_order_relaxed);
	/* a copy that sees the handle sees the rest: pairs with the acquire in bl_view_live() */
	atomic_store_explicit(&view->id, id, memory_order_release);
}

void bl_view_hide(uint64_t id)
{
	atomic_store_explicit(&bl_view_find(id)->id, 0, memory_order_release);
}

uint64_t bl_view_at(const void *addr, uint64_t *off_p)
{
	uint64_t id, found = 0, off, left, most = 0;
	struct bl_view *chunk, *view;

	for (size_t i = 0; i < BL_VIEW_CHUNKS; i++) {
		chunk = atomic_load_explicit(&bl_view_chunks[i], memory_order_acquire);
		for (view = chunk; chunk && view < chunk + BL_VIEW_CHUNK; view++) {
			id = atomic_load_explicit(&view->id, memory_order_relaxed);
			if (!id || !bl_view_holds(view, addr, 1))
				continue;
			off = (uintptr_t)addr - atomic_load_explicit(&view->addr, memory_order_relaxed);
			left = atomic_load_explicit(&view->len, memory_order_relaxed) - off;
			if (left <= most)
				continue;
			most = left;
			found = id;
			*off_p = off;
		}
	}
	return found;
}
