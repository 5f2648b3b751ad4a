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

X86_TARGET BL_INLINE void put_lines4(uint8_t *dst, const uint8_t *src)
{
	put_line(dst, src);
	put_line(dst + BL_LINE, src + BL_LINE);
	put_line(dst + 2 * BL_LINE, src + 2 * BL_LINE);
	put_line(dst + 3 * BL_LINE, src + 3 * BL_LINE);
}

X86_TARGET BL_INLINE void put_sse41(struct bl_run run)
{
	if (bl_put_single(&run))
		return;
	if (!bl_aligned(run.dst, 16))
		put_head16(&run);
	while (!bl_aligned(run.dst, BL_LINE) && run.len >= 16)
		bl_step(&run, put16, 16);
	bl_steps(&run, put_lines4, 4 * BL_LINE);
	bl_steps(&run, put_line, BL_LINE);
	bl_steps(&run, put16, 16);
	bl_put_tail(&run);
}

BL_ISA_DEFINE(sse41, "sse4.1", supported, X86_TARGET);
