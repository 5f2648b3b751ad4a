/* SPDX-License-Identifier: MIT */
/* pinned.h - pinned memory of the library's own in large pages: a drive gets few long segments, a core needs few entries */
#ifndef BL_FILE_PINNED_H
#define BL_FILE_PINNED_H

#include <stddef.h>

#include "gpu/cuda.h"

/**
 * bl_pinned_new() - Get memory that all contexts may copy to and from
 * @cuda: driver library; a context is current
 * @size: bytes, a multiple of 2 MiB
 *
 * In large pages, aligned to them, where the kernel has some. Not inherited by children. Captures of other threads are left
 * alone.
 * Return: the memory; NULL: it cannot be had, or the driver is too old.
 */
void *bl_pinned_new(const struct bl_cuda *cuda, size_t size);

/* First half of giving it back, unless its context is gone; @memory may be NULL. A context is current. */
void bl_pinned_unregister(const struct bl_cuda *cuda, void *memory);

/* Second half. */
void bl_pinned_free(void *memory, size_t size);

#endif
