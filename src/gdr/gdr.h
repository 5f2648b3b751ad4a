/* SPDX-License-Identifier: MIT */
/*
 * gdr.h - what the files of libgdrapi share
 *
 * The library is a thin edge: it turns the original's handles, structs and positive error numbers into barlane.h's and
 * back, and decides nothing.
 */
#ifndef BL_GDR_GDR_H
#define BL_GDR_GDR_H

#include "barlane.h"
#include "gdrapi.h"

#define GDR_API __attribute__((visibility("default")))

/* A gdr_t is the number of a context dressed as a pointer; it points to nothing. */
static inline bl_ctx_t gdr_ctx(gdr_t g)
{
	return (bl_ctx_t)(uintptr_t)g;
}

_Static_assert(sizeof(gdr_t) == sizeof(bl_ctx_t), "a context's handle fits a pointer");
_Static_assert(sizeof(gdr_mh_t) == sizeof(bl_pin_t), "a pin's handle fits gdr_mh_t");
_Static_assert(sizeof(gdr_info_v2_t) == 48, "size of version 2 of the info struct");
_Static_assert((int)GDR_MAP_FLAG_REQ_WC_MAPPING == BL_MAP_WC && (int)GDR_MAPPING_TYPE_WC == BL_MAP_WC, "types agree");
_Static_assert((int)GDR_MAP_FLAG_REQ_CACHE_MAPPING == BL_MAP_CACHED && (int)GDR_MAPPING_TYPE_CACHING == BL_MAP_CACHED,
	       "types agree");
_Static_assert((int)GDR_MAP_FLAG_REQ_DEVICE_MAPPING == BL_MAP_DEVICE && (int)GDR_MAPPING_TYPE_DEVICE == BL_MAP_DEVICE,
	       "types agree");
_Static_assert((int)GDR_PIN_FLAG_FORCE_PCIE == BL_PIN_FORCE_PCIE, "flags agree");

#endif
