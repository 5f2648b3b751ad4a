/* SPDX-License-Identifier: MIT */
/*
 * view.h - what a copy needs of a mapped pin, reached without a lock
 *
 * One entry per place of the pins' handle table, valid while it holds the handle that is asked for. The entries lie in
 * memory that the kernel wipes in forked children, so that a child finds nothing and copies need no check of their own.
 */
#ifndef BL_GPU_VIEW_H
#define BL_GPU_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/cpu.h"

/**
 * struct bl_view - a mapped pin
 * @id:   its handle, 0 while the place has no mapping
 * @addr: start of the mapping
 * @len:  bytes
 * @copy: routines of the mapping
 */
struct bl_view {
	_Atomic(uint64_t) id;
	_Atomic(uintptr_t) addr;
	_Atomic(size_t) len;
	_Atomic(const struct bl_cpu_copy *) copy;
};

#define BL_VIEW_CHUNK  4096U
#define BL_VIEW_CHUNKS 256U

/*
 * A load waits for an earlier store to the same offset in another page (the CPU compares low address bits first), and
 * most copies go to the start of a mapping. The first entries therefore lie in the middle of a page.
 */
#define BL_VIEW_SWIZZLE 64U

/* Chunks are made as handles are given out, and stay. */
extern _Atomic(struct bl_view *) bl_view_chunks[BL_VIEW_CHUNKS];

/* Make sure that a handle has its entry; the caller holds the handle table's lock. 0 or -ENOMEM. */
int bl_view_reserve(uint64_t id);

/* Let copies find a mapping; the caller holds the handle table's lock, as for bl_view_hide(). */
void bl_view_show(uint64_t id, void *addr, size_t len, const struct bl_cpu_copy *copy);

/* Keep new copies from finding it. */
void bl_view_hide(uint64_t id);

/*
 * Pin whose mapping holds an address, and the offset in it; 0 when there is none. Of several that share a mapping, the one
 * that has most bytes from the address on. Under the handle table's lock.
 */
uint64_t bl_view_at(const void *addr, uint64_t *off_p);

/* Entry of a handle, NULL when there can be none. */
static inline struct bl_view *bl_view_find(uint64_t id)
{
	uint32_t index = (uint32_t)id - 1;
	struct bl_view *chunk;

	if (__builtin_expect(index >= BL_VIEW_CHUNK * BL_VIEW_CHUNKS, 0))
		return NULL;
	chunk = atomic_load_explicit(&bl_view_chunks[index / BL_VIEW_CHUNK], memory_order_acquire);
	return __builtin_expect(chunk != NULL, 1) ? &chunk[index % BL_VIEW_CHUNK ^ BL_VIEW_SWIZZLE] : NULL;
}

/* Entry of a pin that is mapped, else NULL; in a forked child there is none. */
static inline struct bl_view *bl_view_live(uint64_t id)
{
	struct bl_view *view = bl_view_find(id);

	if (__builtin_expect(!view, 0))
		return NULL;
	/* pairs with the release in bl_view_show(): with the id come the fields it publishes */
	if (__builtin_expect(atomic_load_explicit(&view->id, memory_order_acquire) != id, 0))
		return NULL;
	return view;
}

/* Whether [addr, addr + len) lies in the mapping of a live view. */
static inline bool bl_view_holds(struct bl_view *view, const void *addr, size_t len)
{
	size_t off = (uintptr_t)addr - atomic_load_explicit(&view->addr, memory_order_relaxed);
	size_t map_len = atomic_load_explicit(&view->len, memory_order_relaxed);

	return __builtin_expect(off <= map_len && len <= map_len - off, 1);
}

#endif
