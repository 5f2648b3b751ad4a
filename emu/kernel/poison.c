// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Memory that was given back is filled with a pattern, and looked at when it is taken again or when
 * somebody asks: what a CPU or a device wrote late shows. The card keeps no mapping of its own
 * between these times, so that the kernel's list of memory types has only what clients asked for.
 */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/string.h>

#include "card.h"

static void forget(struct bl_card *card, unsigned long block)
{
	if (__test_and_clear_bit(block, card->poisoned))
		card->counts.poisoned -= BL_CARD_BLOCK_SIZE;
}

static void remember(struct bl_card *card, unsigned long block)
{
	if (!__test_and_set_bit(block, card->poisoned))
		card->counts.poisoned += BL_CARD_BLOCK_SIZE;
}

static bool fill_block(struct bl_card *card, unsigned long block)
{
	void __iomem *io = ioremap_wc(bl_block_pa(card, block), BL_CARD_BLOCK_SIZE);

	if (!io)
		return false;
	memset_io(io, BL_CARD_POISON, BL_CARD_BLOCK_SIZE);
	iounmap(io);
	remember(card, block);
	return true;
}

void bl_poison_fill(struct bl_card *card, unsigned long block, unsigned long nr)
{
	unsigned long i;

	if (!card->pdev)
		return;
	if (((u64)nr * BL_CARD_BLOCK_SIZE) >> 20 > READ_ONCE(bl_knobs.poison_max_mib)) {
		card->counts.unpoisoned++;
		return;
	}
	for (i = 0; i < nr; i++) {
		if (!fill_block(card, block + i))
			break;
		cond_resched();
	}
	if (i < nr) {
		pr_err("offset 0x%llx given back: cannot be mapped to be filled\n",
		       (u64)(block + i) * BL_CARD_BLOCK_SIZE);
		card->counts.unpoisoned++;
	}
}

/*
 * @pos: of the GPU page in video memory. Whether all of it is as it was filled; says where it is
 * not.
 */
static bool page_is_intact(const void __iomem *io, u64 pos)
{
	u8 line[256];

	for (unsigned int off = 0; off < BL_CARD_PAGE_SIZE; off += sizeof(line)) {
		const u8 *bad;

		memcpy_fromio(line, (const u8 __iomem *)io + off, sizeof(line));
		bad = memchr_inv(line, BL_CARD_POISON, sizeof(line));
		if (!bad)
			continue;
		pr_err("late write at offset 0x%llx: 0x%02x\n", pos + off + (bad - line), *bad);
		return false;
	}
	return true;
}

static void check_block(struct bl_card *card, unsigned long block)
{
	u64 start = (u64)block * BL_CARD_BLOCK_SIZE;
	void __iomem *io = ioremap_wc(bl_block_pa(card, block), BL_CARD_BLOCK_SIZE);

	if (!io) {
		pr_err("offset 0x%llx: cannot be mapped to be looked at\n", start);
		card->counts.unpoisoned++;
		return;
	}
	for (u32 off = 0; off < BL_CARD_BLOCK_SIZE; off += BL_CARD_PAGE_SIZE) {
		if (page_is_intact(io + off, start + off))
			continue;
		card->counts.late_writes++;
		/* counted once */
		memset_io(io + off, BL_CARD_POISON, BL_CARD_PAGE_SIZE);
	}
	iounmap(io);
}

/* Look at what was filled of these blocks; they stay filled. */
static void check_blocks(struct bl_card *card, unsigned long block, unsigned long nr)
{
	unsigned long i = block;

	for_each_set_bit_from(i, card->poisoned, block + nr) {
		check_block(card, i);
		cond_resched();
	}
}

/* These blocks get an owner. */
void bl_poison_take(struct bl_card *card, unsigned long block, unsigned long nr)
{
	if (!card->pdev)
		return;
	check_blocks(card, block, nr);
	for (unsigned long i = block; i < block + nr; i++)
		forget(card, i);
}

void bl_poison_check(struct bl_card *card)
{
	check_blocks(card, 0, card->nr_blocks);
}
