/* SPDX-License-Identifier: MIT */
/* mem.h - the memory side of a request: registered or not, on a GPU, managed, or the host's own */
#ifndef BL_FILE_MEM_H
#define BL_FILE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"

struct bl_buffer;

enum bl_mem_kind {
	BL_MEM_HOST,	/* pageable or pinned: files read and write it themselves */
	BL_MEM_DEVICE,	/* a GPU's */
	BL_MEM_MANAGED, /* reached through CUDA copies alone */
};

/**
 * struct bl_mem - where the bytes of a request are
 * @kind:    what it is
 * @va:      address of the first byte
 * @len:     bytes of the request
 * @buffer:  registered buffer that holds all of it, referenced; NULL: none
 * @pin:     pin of @buffer, 0: CUDA copies only
 * @pin_off: offset of @va in the pin, as bl_copy() wants it
 * @mapped:  CPU address of the first byte in the GPU's mapping, NULL: not mapped
 * @context: CUDA context to work in (CUcontext), NULL for host memory
 * @ordinal: GPU, -1 for host memory
 */
struct bl_mem {
	enum bl_mem_kind kind;
	uint64_t va;
	size_t len;
	struct bl_buffer *buffer;
	bl_pin_t pin;
	uint64_t pin_off;
	void *mapped;
	void *context;
	int ordinal;
};

/**
 * bl_mem_get() - Resolve an address
 * @base: registered base or any pointer
 * @off:  offset from it
 * @len:  bytes
 * @mem:  receives the answer, to be given to bl_mem_put()
 *
 * Return: 0, or a negative error of io.h: outside the registered length, outside the allocation, freed, no memory.
 */
int bl_mem_get(void *base, int64_t off, size_t len, struct bl_mem *mem);
void bl_mem_put(struct bl_mem *mem);

#endif
