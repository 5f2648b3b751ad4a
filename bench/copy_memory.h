/* SPDX-License-Identifier: MIT */
/*
 * copy_memory.h - the memory that is copied to and from: plain host memory, or mapped GPU memory
 */
#ifndef BENCH_COPY_MEMORY_H
#define BENCH_COPY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "copy_measure.h"

/**
 * struct copy_memory - memory with the library's copies for it
 * @kind:  "host", "gpu", or "emu" for an emulated GPU
 * @what:  device and routines, for the heading
 * @addr:  the mapping, page-aligned
 * @size:  bytes
 * @to:    the library's copy to it
 * @from:  the library's copy from it
 * @write: puts bytes there by another way than the CPU's stores through the mapping
 * @read:  gets bytes from there by another way
 *
 * @write and @read return 0 or -EIO; the message has been printed.
 */
struct copy_memory {
	const char *kind;
	char what[256];
	uint8_t *addr;
	size_t size;
	copy_fn to;
	copy_fn from;
	int (*write)(size_t off, const void *src, size_t len);
	int (*read)(void *dst, size_t off, size_t len);
};

/**
 * copy_memory_host() - Plain memory
 * @size:   bytes
 * @memory: filled in
 *
 * Return: 0 or -errno; the message has been printed.
 */
int copy_memory_host(size_t size, struct copy_memory *memory);

/* GPU memory, pinned and mapped with libgdrapi; @gpu is the CUDA ordinal. Otherwise as copy_memory_host(). */
int copy_memory_gpu(size_t size, int gpu, struct copy_memory *memory);

/* Give everything back; harmless when there is nothing. */
void copy_memory_free(struct copy_memory *memory);

#endif
