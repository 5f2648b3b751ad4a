// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pieces of a binding. GPU pages that are neighbours in physical address space become one piece, so that a device
 * needs one mapping for it and not one for each page.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "chunks.h"
#include "nv_p2p.h"

static u64 page_pa(const struct nv_p2p_page_table *table, u32 i)
{
	return table->pages[i]->physical_address;
}

static bool follows(const struct nv_p2p_page_table *table, u32 i)
{
	return i && page_pa(table, i) == page_pa(table, i - 1) + NV_P2P_GPU_PAGE_SIZE;
}

/* How many pieces there are; 0 when an address makes no sense. */
static u32 count(const struct nv_p2p_page_table *table)
{
	u64 next = U64_MAX, bits = 0;
	u32 nr = 0, i;

	for (i = 0; i < table->entries; i++) {
		u64 pa = page_pa(table, i);

		nr += pa != next;
		next = pa + NV_P2P_GPU_PAGE_SIZE;
		bits |= pa;
	}
	/* no CPU has addresses of 64 bits: what is lower does not wrap around */
	return bits % NV_P2P_GPU_PAGE_SIZE || bits >> 63 ? 0 : nr;
}

static void fill(struct bl_chunk *chunk, const struct nv_p2p_page_table *table)
{
	u32 at = 0, i;

	for (i = 0; i < table->entries; i++) {
		if (follows(table, i)) {
			chunk[at - 1].len += NV_P2P_GPU_PAGE_SIZE;
			continue;
		}
		chunk[at++] = (struct bl_chunk){
			.off = (u64)i << NV_P2P_GPU_PAGE_SHIFT,
			.pa = page_pa(table, i),
			.len = NV_P2P_GPU_PAGE_SIZE,
		};
	}
}

/**
 * bl_chunks_read() - Read a table of pages
 * @chunks: receives the pieces; not written on error
 * @table:  the table, with pages of 64 KiB
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL (no pages, or one that is not aligned to its size), -ENOMEM.
 */
int bl_chunks_read(struct bl_chunks *chunks, const struct nv_p2p_page_table *table)
{
	u32 nr = count(table);
	struct bl_chunk *chunk;

	if (!nr)
		return -EINVAL;
	if (nr == 1) {
		chunks->one = (struct bl_chunk){
			.pa = page_pa(table, 0),
			.len = (u64)table->entries << NV_P2P_GPU_PAGE_SHIFT,
		};
		chunk = &chunks->one;
	} else {
		chunk = kvcalloc(nr, sizeof(*chunk), GFP_KERNEL_ACCOUNT);
		if (!chunk)
			return -ENOMEM;
		fill(chunk, table);
	}
	chunks->chunk = chunk;
	chunks->nr = nr;
	return 0;
}

/**
 * bl_chunks_find() - Find the piece that holds a byte
 * @chunks: pieces
 * @off:    offset of the byte in the binding, inside of it
 *
 * Return: the number of the piece.
 */
u32 bl_chunks_find(const struct bl_chunks *chunks, u64 off)
{
	u32 low = 0, high = chunks->nr;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (off < chunks->chunk[mid].off)
			high = mid;
		else
			low = mid;
	}
	return low;
}

/**
 * bl_chunks_free() - Forget all pieces
 * @chunks: pieces
 */
void bl_chunks_free(struct bl_chunks *chunks)
{
	if (chunks->chunk != &chunks->one)
		kvfree(chunks->chunk);
	*chunks = (struct bl_chunks){ 0 };
}
