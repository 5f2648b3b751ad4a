/* SPDX-License-Identifier: MIT */
/* mem.h - the memory side of a request: registered or not, on a GPU, managed, or the host's own */
#ifndef BL_FILE_MEM_H
#define BL_FILE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/ce.h"

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
 * @flush:   what the CPU wrote to the mapping has to be flushed before the GPU's work is sure to see it
 * @target:  the allocation, and the CUDA context to work in; NULL for host memory
 * @own:     what @target points to for memory that is not registered
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
	bool flush;
	struct bl_ce_target *target;
	struct bl_ce_target own;
	int ordinal;
};

/**
 * bl_mem_get() - Resolve an address
 * @base: registered base or any pointer
 * @off:  offset from it
 * @len:  bytes
 * @mem:  receives the answer, to be given to bl_mem_put()
 *
 * A range in a registered one is found without a lock, wherever it begins. What is not registered is asked of CUDA. That
 * the memory of a registered range is still there is asked each time. The struct must not be moved while it is in use.
 * Return: 0; -(CU_FILE_INVALID_MAPPING_RANGE): @base is registered, with fewer bytes; -EIO: beyond the allocation;
 * -(CU_FILE_CUDA_POINTER_INVALID): registered memory was freed; -ENODEV and others as bl_mem_query().
 */
int bl_mem_get(void *base, int64_t off, size_t len, struct bl_mem *mem);
void bl_mem_put(struct bl_mem *mem);

/**
 * bl_mem_query() - What CUDA knows of an address
 * @va:   any address
 * @len:  bytes
 * @mem:  receives @kind, @target, @ordinal; the rest is set as for memory that is not registered
 *
 * Return: 0; -EIO when the range leaves the allocation; -(CU_FILE_CUDA_MEMORY_TYPE_INVALID): host memory, which the
 * configuration does not allow; or as CUDA says.
 */
int bl_mem_query(uint64_t va, size_t len, struct bl_mem *mem);

/* A struct that others may be looking at is copied member by member: two of them are atomic. */
void bl_mem_target_copy(struct bl_ce_target *to, const struct bl_ce_target *from);

/* A part of a range, which shares what it holds and is not to be given to bl_mem_put(). */
void bl_mem_part(const struct bl_mem *mem, size_t off, size_t len, struct bl_mem *part);

/* Host memory to the range by the CPU, which must have it mapped; complete on return. 0 or -EIO. */
int bl_mem_store(const struct bl_mem *mem, size_t off, const void *host, size_t len);

/*
 * The bytes of a request to or from host memory with CUDA, complete on return; host memory of any kind. @off: from mem->va.
 * 0, or the error of the copy.
 */
int bl_mem_copy(const struct bl_mem *mem, size_t off, void *host, size_t len, enum bl_copy_dir dir);

#endif
