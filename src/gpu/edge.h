/* SPDX-License-Identifier: MIT */
/* edge.h - what the compatibility libraries get from the core beyond barlane.h; exported, but no interface */
#ifndef BL_GPU_EDGE_H
#define BL_GPU_EDGE_H

#include "barlane.h"

/*
 * bl_copy_to() and bl_copy_from() with positive error numbers, so that an edge whose originals have those can pass a copy
 * on with a jump.
 */
BL_API int bl_copy_to_positive(bl_pin_t pin, void *dst, const void *src, size_t len);
BL_API int bl_copy_from_positive(bl_pin_t pin, void *dst, const void *src, size_t len);

#endif
