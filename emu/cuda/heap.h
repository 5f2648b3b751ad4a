/* SPDX-License-Identifier: MIT */
/*
 * heap.h - memory objects, and small allocations cut from them
 *
 * As measured on a real driver: an allocation of more than 1 MiB has a memory object of its own, a multiple of 2 MiB;
 * smaller ones share objects of 2 MiB, aligned to 512 bytes, and the space of a freed one is used again. All functions
 * are called with emu_lock() held.
 */
#ifndef EMU_CUDA_HEAP_H
#define EMU_CUDA_HEAP_H

#include "extent.h"
#include "table.h"
#include "vram.h"

#define EMU_HEAP_ALIGN 512UL
#define EMU_HEAP_SHARE (1UL << 20) /* the largest allocation that shares an object */

/* Which blocks stay when they become empty. */
enum emu_heap_keep {
	EMU_HEAP_KEEP_NONE, /* none */
	EMU_HEAP_KEEP_LAST, /* the last shared one */
	EMU_HEAP_KEEP_ALL,  /* all, until emu_heap_trim() */
};

/**
 * struct emu_block - one memory object mapped on the device
 * @node:      device addresses
 * @next:      list of the heap
 * @heap:      owner
 * @mem:       storage
 * @hclient:   RM client handle
 * @hmemory:   RM handle of the object
 * @id:        number of the object, never used again
 * @nr_allocs: allocations in it
 * @small:     shared by small allocations
 * @shared:    other clients may duplicate it
 * @free:      small: free space, as offsets
 */
struct emu_block {
	struct emu_node node;
	struct emu_block *next;
	struct emu_heap *heap;
	struct emu_mem *mem;
	uint32_t hclient;
	uint32_t hmemory;
	uint32_t id;
	unsigned int nr_allocs;
	int small;
	int shared;
	struct emu_extents free;
};

/**
 * struct emu_heap - blocks of one owner on one GPU
 * @gpu:    where
 * @blocks: list
 * @keep:   which empty blocks stay
 */
struct emu_heap {
	struct emu_gpu *gpu;
	struct emu_block *blocks;
	enum emu_heap_keep keep;
};

/**
 * emu_heap_alloc() - Allocate device memory
 * @heap:    where
 * @size:    bytes, > 0
 * @va_p:    receives the device address
 * @block_p: receives the block that holds it
 *
 * Return: 0 or -ENOMEM.
 */
int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t *va_p, struct emu_block **block_p);
void emu_heap_free(struct emu_block *block, uint64_t va, uint64_t size);

/* Give empty blocks back. */
void emu_heap_trim(struct emu_heap *heap);

/* Block that contains a device address, or NULL. */
struct emu_block *emu_block_find(uint64_t va);

#endif
