// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Where user space has the shadows of an open node: from a process and an address to a shadow's file, without a walk of
 * the process's mappings and their lock, which each request would need to take.
 *
 * A place is known from mmap() until its VMA goes. The VMA holds the file so long.
 */
#include "core.h"

#include <linux/file.h>
#include <linux/hash.h>

static struct hlist_head *head_of(struct bl_shelf *shelf, u64 addr)
{
	return &shelf->places[hash_64(addr, BL_PLACE_BITS)];
}

/**
 * bl_place_add() - Tell where a shadow is
 * @vma: its mapping, that has the shadow's file already
 */
void bl_place_add(const struct vm_area_struct *vma)
{
	struct bl_shadow *shadow = bl_shadow_of(vma->vm_file);
	struct bl_place *place = &shadow->place;

	place->mm = vma->vm_mm;
	place->addr = vma->vm_start;
	place->file = vma->vm_file;
	spin_lock(&shadow->shelf->lock);
	hlist_add_head(&place->node, head_of(shadow->shelf, place->addr));
	spin_unlock(&shadow->shelf->lock);
}

/**
 * bl_place_remove() - A mapping goes
 * @vma: a mapping of a shadow; nothing is done for one that the kernel made to move it, and gives up
 */
void bl_place_remove(const struct vm_area_struct *vma)
{
	struct bl_shadow *shadow = bl_shadow_of(vma->vm_file);
	struct bl_place *place = &shadow->place;

	spin_lock(&shadow->shelf->lock);
	if (place->mm == vma->vm_mm && place->addr == vma->vm_start)
		hlist_del_init(&place->node);
	spin_unlock(&shadow->shelf->lock);
}

/**
 * bl_place_find() - Find a shadow of the calling process that was mapped through this open node
 * @shelf: of the open node
 * @addr:  where its VMA begins
 *
 * Return: the shadow's file with a reference for the caller, or NULL.
 */
struct file *bl_place_find(struct bl_shelf *shelf, u64 addr)
{
	struct mm_struct *mm = current->mm;
	struct file *file = NULL;
	struct bl_place *place;

	spin_lock(&shelf->lock);
	hlist_for_each_entry(place, head_of(shelf, addr), node) {
		if (place->addr != addr || place->mm != mm)
			continue;
		file = get_file(place->file);
		break;
	}
	spin_unlock(&shelf->lock);
	return file;
}
