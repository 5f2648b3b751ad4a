/* SPDX-License-Identifier: MIT */
/* buffer.h - registered buffers: ranges of GPU memory that are pinned and mapped, and noted ranges of host memory */
#ifndef BL_FILE_BUFFER_H
#define BL_FILE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem.h"

/**
 * struct bl_buffer - a registered range
 * @refs:    its registration and every request under way; 0: not in use. The memory is never freed, see util/ref.h
 * @base:    first byte
 * @len:     bytes
 * @kind:    what memory it is
 * @ordinal: GPU, -1 for host memory
 * @pin:     0: could not be pinned
 * @pin_off: offset of @base in the pin
 * @mapped:  CPU address of @base, NULL: could not be mapped
 * @pages:   the kernel may have struct pages behind @mapped
 * @flush:   see struct bl_mem
 * @target:  the allocation, where it is not the host's
 * @next_free: list of unused ones
 */
struct bl_buffer {
	_Alignas(64) atomic_int refs;
	_Alignas(64) uint64_t base; /* what is only read is apart from what each request writes */
	size_t len;
	enum bl_mem_kind kind;
	int ordinal;
	bl_pin_t pin;
	uint64_t pin_off;
	void *mapped;
	atomic_bool pages;
	bool flush;
	struct bl_ce_target target;
	struct bl_buffer *next_free;
};

/**
 * bl_buffer_add() - Register a range
 * @base:  its start; one registration per base
 * @len:   bytes
 * @flags: as cuFileBufRegister() gets them
 *
 * Pins and maps GPU memory through the core. What cannot be pinned is registered all the same, and copied by CUDA; the
 * reason is logged and counted.
 * Return: 0; -(CU_FILE_INVALID_VALUE): NULL or no bytes; -(CU_FILE_MEMORY_ALREADY_REGISTERED);
 * -(CU_FILE_CUDA_POINTER_RANGE_ERROR): beyond the allocation; -ENOMEM.
 */
int bl_buffer_add(const void *base, size_t len, int flags);

/* Unregister; requests under way keep their mapping until they end. 0 or -(CU_FILE_MEMORY_NOT_REGISTERED). */
int bl_buffer_remove(const void *base);

/* All of them, as the last cuFileDriverClose() does, and the pinned memory that requests were staged in. */
void bl_buffer_remove_all(void);

/**
 * bl_buffer_lend() - Pin and map GPU memory for one request
 * @mem: memory of no registered range, from bl_mem_get(); becomes that of a buffer which nobody else finds
 *
 * Undone by bl_mem_put(). May be refused, as a registration may: @mem is as it was then. Return: whether it is mapped.
 */
bool bl_buffer_lend(struct bl_mem *mem);

void bl_buffer_put(struct bl_buffer *buffer);

/* Forget all that was inherited, in a child that starts anew. */
void bl_buffer_forget(void);

#endif
