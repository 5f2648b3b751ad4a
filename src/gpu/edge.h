/* SPDX-License-Identifier: MIT */
/* edge.h - what this project's libraries and tools get from the core beyond barlane.h; exported, but no interface */
#ifndef BL_GPU_EDGE_H
#define BL_GPU_EDGE_H

#include "barlane.h"

/*
 * bl_copy_to() and bl_copy_from() with positive error numbers, so that an edge whose originals have those can pass a copy
 * on with a jump.
 */
BL_API int bl_copy_to_positive(bl_pin_t pin, void *dst, const void *src, size_t len);
BL_API int bl_copy_from_positive(bl_pin_t pin, void *dst, const void *src, size_t len);

/**
 * bl_gpu_bar1() - Size of a GPU's BAR1, and how much of it is free
 * @ordinal: CUDA ordinal; the caller has called cuInit()
 * @size_p:  receives bytes
 * @avail_p: receives bytes. Where BAR1 maps all of video memory the driver derives it from free video memory.
 *
 * Asks the resource manager, whichever provider serves. Context: may block for a millisecond; thread-safe.
 * Return: 0, -ENODEV (no CUDA, no such GPU, node missing), -EOPNOTSUPP (driver too old), or
 * what opening the nodes gave, with the reason.
 */
BL_API int bl_gpu_bar1(int ordinal, uint64_t *size_p, uint64_t *avail_p);

/* Pins of a context that were not unpinned; -EINVAL when it is stale. */
BL_API int bl_ctx_pins(bl_ctx_t ctx);

/*
 * bl_map(), and GDRCOPY_ENGINE counts: if it names an engine other than cpu, bl_copy_to_positive() and
 * bl_copy_from_positive() use that one on this mapping, and so do bl_copy_to() and bl_copy_from(). bl_publish() writes
 * with the CPU all the same.
 */
BL_API int bl_map_for_edge(bl_ctx_t ctx, bl_pin_t pin, size_t len, enum bl_map_type type, void **addr_p);

#endif
