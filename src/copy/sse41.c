// SPDX-License-Identifier: MIT
/*
 * sse41.c - x86-64: non-temporal stores and streaming loads of 16 bytes
 */
#define X86_TARGET __attribute__((target("sse4.1")))
#define X86_VEX	   ""

#include "cpu_features.h"
#include "isa.h"
#include "sse41_get.h"
#include "x86.h"

static bool supported(void)
{
	return bl_cpu_features() & BL_CPU_SSE41;
}

X86_TARGET BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	__m128i a = host_load16(src), b = host_load16(src + 16);
	__m128i c = host_load16(src + 32), d = host_load16(src + 48);

	stream_store16(dst, a);
	stream_store16(dst + 16, b);
	stream_store16(dst + 32, c);
	stream_store16(dst + 48, d);
}

#include "sse41_put.h"

X86_TARGET BL_INLINE void put_sse41(struct bl_run run)
{
	put_by_lines(run);
}

BL_ISA_DEFINE(sse41, "sse4.1", supported, X86_TARGET);
