// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Shadows that are unmapped wait here for the next mmap() through the same open node. A shadow of 1 MiB takes two hundred
 * times as long to make as to take back into use: its pages have to be found, cleared and charged.
 *
 * Only those come here whose pages are still zero, as they were made: nobody has touched the mapping, and every piece was
 * moved by a device. So there is nothing to clear, and nobody sees what another one left. They stay charged to the memory
 * control group of who made them, as long as the node is open at most.
 */
#include "core.h"
#include "stats.h"

#include <linux/slab.h>

/* Bytes of pages that one open node keeps. */
#define MOST (2UL << 20)

/**
 * bl_shelf_new() - Make a shelf
 *
 * Context: may sleep. Return: the shelf with one reference, or NULL.
 */
struct bl_shelf *bl_shelf_new(void)
{
	struct bl_shelf *shelf = kzalloc(sizeof(*shelf), GFP_KERNEL_ACCOUNT);

	if (!shelf)
		return NULL;
	kref_init(&shelf->ref);
	spin_lock_init(&shelf->lock);
	INIT_LIST_HEAD(&shelf->shadows);
	return shelf;
}

static void shelf_free(struct kref *ref)
{
	kfree(container_of(ref, struct bl_shelf, ref));
}

/**
 * bl_shelf_put() - Let go of a shelf
 * @shelf: the shelf
 */
void bl_shelf_put(struct bl_shelf *shelf)
{
	kref_put(&shelf->ref, shelf_free);
}

/**
 * bl_shelf_take() - Take a shadow
 * @shelf: the shelf
 * @len:   bytes that it is to have
 *
 * Return: a shadow as bl_shadow_new() makes it, or NULL.
 */
struct bl_shadow *bl_shelf_take(struct bl_shelf *shelf, unsigned long len)
{
	struct bl_shadow *shadow = NULL, *at;

	spin_lock(&shelf->lock);
	list_for_each_entry(at, &shelf->shadows, node) {
		if (at->len != len)
			continue;
		shadow = at;
		list_del(&shadow->node);
		shelf->bytes -= shadow->nr_slots * BL_GPU_PAGE;
		break;
	}
	spin_unlock(&shelf->lock);
	if (!shadow)
		return NULL;
	shadow->shared = false;
	atomic64_add(shadow->nr_slots * BL_GPU_PAGE, &bl_stats.shadow_bytes);
	return shadow;
}

/**
 * bl_shelf_give() - Keep a shadow for later
 * @shelf:  the shelf
 * @shadow: one that nobody holds any more
 *
 * Context: may sleep, and wait for the GPU driver.
 * Return: whether it was taken; what was bound to it has been given back then.
 */
bool bl_shelf_give(struct bl_shelf *shelf, struct bl_shadow *shadow)
{
	u64 bytes = shadow->nr_slots * BL_GPU_PAGE;
	bool taken;

	if (READ_ONCE(shadow->touched) || bytes > MOST)
		return false;
	bl_shadow_unbind(shadow);
	spin_lock(&shelf->lock);
	taken = !shelf->closed && shelf->bytes + bytes <= MOST;
	if (taken) {
		shelf->bytes += bytes;
		list_add(&shadow->node, &shelf->shadows);
		atomic64_sub(bytes, &bl_stats.shadow_bytes);
	}
	spin_unlock(&shelf->lock);
	return taken;
}

/**
 * bl_shelf_close() - Free what a shelf has, and keep nothing any more
 * @shelf: the shelf of a node that is closed; shadows that are still mapped have references
 */
void bl_shelf_close(struct bl_shelf *shelf)
{
	struct bl_shadow *shadow, *next;
	LIST_HEAD(all);

	spin_lock(&shelf->lock);
	shelf->closed = true;
	list_splice_init(&shelf->shadows, &all);
	spin_unlock(&shelf->lock);
	list_for_each_entry_safe(shadow, next, &all, node) {
		atomic64_add(shadow->nr_slots * BL_GPU_PAGE, &bl_stats.shadow_bytes);
		bl_shadow_free(shadow);
	}
}
