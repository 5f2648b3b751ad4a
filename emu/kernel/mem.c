// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Memory objects: whole blocks of video memory, side by side. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/bitmap.h>
#include <linux/slab.h>

#include "card.h"

static void mem_release(struct kref *ref)
{
	struct bl_mem *mem = container_of(ref, struct bl_mem, ref);

	kref_put(&mem->card->ref, bl_card_release);
	kfree(mem);
}

void bl_mem_get(struct bl_mem *mem)
{
	kref_get(&mem->ref);
}

void bl_mem_put(struct bl_mem *mem)
{
	kref_put(&mem->ref, mem_release);
}

/* The first free blocks side by side in a range, or its end. */
static unsigned long find(const struct bl_card *card, unsigned long from, unsigned long to,
			  unsigned long nr)
{
	unsigned long block = bitmap_find_next_zero_area(card->used, to, from, nr, 0);

	return min(block, to);
}

/*
 * First fit from the bottom: what was freed is used again at once, which is what shows stale users.
 * Memory with pages is for those alone who ask for it.
 */
static int take_blocks(struct bl_card *card, unsigned long nr, bool pages, unsigned long *block_p)
{
	unsigned long first = card->slice.first, end = first + card->slice.nr;
	unsigned long block = pages ? find(card, first, end, nr) : find(card, 0, first, nr);

	if (!pages && block == first)
		block = find(card, end, card->nr_blocks, nr);
	if (block == (pages ? end : card->nr_blocks))
		return -ENOMEM;
	bitmap_set(card->used, block, nr);
	bl_poison_take(card, block, nr);
	card->counts.used += (u64)nr * BL_CARD_BLOCK_SIZE;
	*block_p = block;
	return 0;
}

static void give_blocks(struct bl_card *card, unsigned long block, unsigned long nr)
{
	bl_poison_fill(card, block, nr);
	bitmap_clear(card->used, block, nr);
	card->counts.used -= (u64)nr * BL_CARD_BLOCK_SIZE;
}

int bl_mem_new(struct bl_space *space, u64 size, u32 flags, struct bl_mem **mem_p)
{
	struct bl_card *card = space->card;
	bool pages = flags & BL_CARD_ALLOC_PAGES;
	struct bl_mem *mem;
	int ret;

	if (!size || flags & ~BL_CARD_ALLOC_PAGES)
		return -EINVAL;
	if (pages && !card->slice.nr)
		return -EOPNOTSUPP;
	if (size > card->size)
		return -ENOMEM;
	ret = bl_knob_fail(&bl_knobs.fail_alloc);
	if (ret)
		return ret;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	mem->nr = DIV_ROUND_UP_ULL(size, BL_CARD_BLOCK_SIZE);
	ret = take_blocks(card, mem->nr, pages, &mem->block);
	if (ret) {
		kfree(mem);
		return ret;
	}
	kref_init(&mem->ref);
	kref_get(&card->ref);
	mem->card = card;
	mem->space = space;
	mem->holds = 1;
	mem->visible = true;
	mem->has_pages = pages;
	INIT_LIST_HEAD(&mem->bindings);
	*mem_p = mem;
	return 0;
}

void bl_mem_hold(struct bl_mem *mem)
{
	bl_mem_get(mem);
	mem->holds++;
}

void bl_mem_drop(struct bl_mem *mem)
{
	if (--mem->holds)
		bl_mem_put(mem);
	else if (!bl_slice_linger(mem))
		bl_mem_give(mem);
}

void bl_mem_give(struct bl_mem *mem)
{
	give_blocks(mem->card, mem->block, mem->nr);
	bl_mem_put(mem);
}

/*
 * The owner frees it. Peers first, then CPUs: from here on nobody but persistent pins and dma-bufs
 * reaches it.
 */
void bl_mem_disown(struct bl_mem *mem)
{
	struct bl_binding *binding, *next;

	list_for_each_entry_safe(binding, next, &mem->bindings, node)
		bl_binding_remove(binding);
	bl_view_hide(mem);
	mem->space = NULL;
	bl_mem_drop(mem);
}
