// SPDX-License-Identifier: MIT
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

#include "arena.h"
#include "rm.h"
#include "state.h"

static struct emu_table blocks; /* struct emu_block of all heaps */

struct emu_block *emu_block_find(uint64_t va)
{
	return emu_table_find(&blocks, va);
}

static int block_map(struct emu_block *block)
{
	int ret;

	block->node.size = block->mem->size;
	ret = emu_arena_take(block->node.size, EMU_BLOCK_SIZE, 0, &block->node.va);
	if (ret)
		return ret;
	ret = emu_arena_bind(block->node.va, block->mem, block->node.size, block->heap->keep != EMU_HEAP_KEEP_ALL);
	if (ret)
		goto give;
	ret = emu_table_add(&blocks, &block->node);
	if (ret)
		goto unbind;
	return 0;
unbind:
	emu_arena_unbind(block->node.va, block->node.size);
give:
	emu_arena_give(block->node.va, block->node.size);
	return ret;
}

static void block_unmap(struct emu_block *block)
{
	emu_table_remove(&blocks, &block->node);
	emu_arena_unbind(block->node.va, block->node.size);
	emu_arena_give(block->node.va, block->node.size);
}

/* Oldest first: that is where the next small allocation is looked for. */
static void append(struct emu_heap *heap, struct emu_block *block)
{
	struct emu_block **link = &heap->blocks;

	while (*link)
		link = &(*link)->next;
	*link = block;
}

static struct emu_block *block_new(struct emu_heap *heap, uint64_t size, int small)
{
	struct emu_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->heap = heap;
	block->small = small;
	block->id = emu_next_id();
	block->mem = emu_mem_alloc(heap->gpu, size);
	if (!block->mem)
		goto free_block;
	if (emu_rm_add(block->mem, &block->hclient, &block->hmemory))
		goto put_mem;
	if (block_map(block))
		goto remove_object;
	if (small && emu_extents_init(&block->free, 0, block->node.size))
		goto unmap;
	append(heap, block);
	return block;
unmap:
	block_unmap(block);
remove_object:
	emu_rm_remove(block->hmemory);
put_mem:
	emu_mem_put(block->mem);
free_block:
	free(block);
	return NULL;
}

static void block_destroy(struct emu_block *block)
{
	struct emu_block **link = &block->heap->blocks;

	while (*link != block)
		link = &(*link)->next;
	*link = block->next;
	emu_extents_destroy(&block->free);
	block_unmap(block);
	emu_rm_remove(block->hmemory);
	emu_mem_put(block->mem);
	free(block);
}

static uint64_t small_size(uint64_t size)
{
	return (size + EMU_HEAP_ALIGN - 1) & ~(EMU_HEAP_ALIGN - 1);
}

static int alloc_small(struct emu_heap *heap, uint64_t size, uint64_t *va_p, struct emu_block **block_p)
{
	struct emu_block *block;
	uint64_t off;

	for (block = heap->blocks; block; block = block->next) {
		if (block->small && !emu_extents_take(&block->free, small_size(size), EMU_HEAP_ALIGN, &off))
			goto found;
	}
	block = block_new(heap, EMU_BLOCK_SIZE, 1);
	if (!block)
		return -ENOMEM;
	if (emu_extents_take(&block->free, small_size(size), EMU_HEAP_ALIGN, &off)) {
		block_destroy(block);
		return -ENOMEM;
	}
found:
	block->nr_allocs++;
	*va_p = block->node.va + off;
	*block_p = block;
	return 0;
}

int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t *va_p, struct emu_block **block_p)
{
	struct emu_block *block;

	if (size <= EMU_HEAP_SHARE)
		return alloc_small(heap, size, va_p, block_p);
	for (block = heap->blocks; block; block = block->next) {
		if (!block->small && !block->nr_allocs && block->node.size - size < EMU_BLOCK_SIZE)
			break;
	}
	if (!block)
		block = block_new(heap, size, 0);
	if (!block)
		return -ENOMEM;
	block->nr_allocs = 1;
	*va_p = block->node.va;
	*block_p = block;
	return 0;
}

static int has_other_small(const struct emu_block *block)
{
	for (const struct emu_block *other = block->heap->blocks; other; other = other->next) {
		if (other != block && other->small)
			return 1;
	}
	return 0;
}

void emu_heap_free(struct emu_block *block, uint64_t va, uint64_t size)
{
	block->nr_allocs--;
	if (block->small)
		emu_extents_give(&block->free, va - block->node.va, small_size(size));
	if (block->nr_allocs || block->heap->keep == EMU_HEAP_KEEP_ALL)
		return;
	if (!block->small || block->heap->keep == EMU_HEAP_KEEP_NONE || has_other_small(block))
		block_destroy(block);
}

void emu_heap_trim(struct emu_heap *heap)
{
	struct emu_block *next;

	for (struct emu_block *block = heap->blocks; block; block = next) {
		next = block->next;
		if (!block->nr_allocs)
			block_destroy(block);
	}
}
