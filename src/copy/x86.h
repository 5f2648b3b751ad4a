/* SPDX-License-Identifier: MIT */
/*
 * x86.h - 16-byte pieces, which the routines of all x86-64 instruction sets share
 *
 * The including file says how to build them, so that a routine never mixes the old and the VEX encoding (that costs
 * dearly while the upper halves of the registers are in use):
 *
 *   X86_TARGET  function attribute
 *   X86_VEX     "v" for the VEX encoding, or ""
 *
 * Vectors of the mapped side are volatile asm: the compiler may reorder its own streaming intrinsics, and a
 * write-combining line wants its stores consecutive and in address order.
 */
#ifndef BL_COPY_X86_H
#define BL_COPY_X86_H

#include <immintrin.h>

#include "ladder.h"

X86_TARGET BL_INLINE __m128i host_load16(const uint8_t *src)
{
	return _mm_loadu_si128((const __m128i *)src);
}

X86_TARGET BL_INLINE void host_store16(uint8_t *dst, __m128i v)
{
	_mm_storeu_si128((__m128i *)dst, v);
}

X86_TARGET BL_INLINE void stream_store16(uint8_t *dst, __m128i v)
{
	__asm__ volatile(X86_VEX "movntdq %1, %0" : "=m"(*(__m128i *)dst) : "x"(v));
}

X86_TARGET BL_INLINE __m128i stream_load16(const uint8_t *src)
{
	__m128i v;

	__asm__ volatile(X86_VEX "movntdqa %1, %0" : "=x"(v) : "m"(*(const __m128i *)src));
	return v;
}

X86_TARGET BL_INLINE void put16(uint8_t *dst, const uint8_t *src)
{
	stream_store16(dst, host_load16(src));
}

X86_TARGET BL_INLINE void get16(uint8_t *dst, const uint8_t *src)
{
	host_store16(dst, stream_load16(src));
}

/* Climb to 16 (or less, if the copy ends before). */
X86_TARGET BL_INLINE void put_head16(struct bl_run *run)
{
	bl_put_head(run);
	bl_rung(run, dst, bl_put8, 8);
}

X86_TARGET BL_INLINE void get_head16(struct bl_run *run)
{
	bl_get_head(run);
	bl_rung(run, src, bl_get8, 8);
}

#endif
