/* SPDX-License-Identifier: MIT */
/*
 * line.h - a line of 64 bytes that is written by one store
 *
 * On its way to a device it is one write of 64 bytes, as a device makes them. Stores of eight bytes each, gathered in a
 * write-combining buffer, may leave it one by one and in any order when something else needs the buffer.
 */
#ifndef BL_COPY_LINE_H
#define BL_COPY_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu_features.h"
#include "util/tsan.h"

#define BL_STORE_LINE 64U

/* Whether this CPU has such a store. Builds with ThreadSanitizer, which does not see it, have none. */
static inline bool bl_can_store_line(void)
{
#if defined(__x86_64__) && !BL_TSAN
	return bl_cpu_features() & BL_CPU_MOVDIR64B;
#else
	return false;
#endif
}

/*
 * @to is a multiple of 64. It has no order with other stores but by bl_fence_wc_store(). Only where bl_can_store_line()
 * says so.
 */
static inline void bl_store_line(void *to, const void *from)
{
#if defined(__x86_64__)
	__asm__ volatile("movdir64b %1, %2"
			 : "=m"(*(uint8_t(*)[BL_STORE_LINE])to)
			 : "m"(*(const uint8_t(*)[BL_STORE_LINE])from), "r"(to));
#else
	(void)to;
	(void)from;
#endif
}

#endif
