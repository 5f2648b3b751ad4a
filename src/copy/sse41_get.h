/* SPDX-License-Identifier: MIT */
/*
 * sse41_get.h - streaming loads of 16 bytes, the most that every CPU with a direct store has
 */
#ifndef BL_COPY_SSE41_GET_H
#define BL_COPY_SSE41_GET_H

#include "x86.h"

/* Four vectors are one line. */
struct line {
	__m128i a, b, c, d;
};

X86_TARGET BL_INLINE struct line load_line(const uint8_t *src)
{
	struct line line;

	line.a = stream_load16(src);
	line.b = stream_load16(src + 16);
	line.c = stream_load16(src + 32);
	line.d = stream_load16(src + 48);
	return line;
}

X86_TARGET BL_INLINE void host_store_line(uint8_t *dst, struct line line)
{
	host_store16(dst, line.a);
	host_store16(dst + 16, line.b);
	host_store16(dst + 32, line.c);
	host_store16(dst + 48, line.d);
}

X86_TARGET BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	host_store_line(dst, load_line(src));
}

/* All 16 registers are asked for before the first one is stored, so that four lines travel at the same time. */
X86_TARGET BL_INLINE void get_lines4(uint8_t *dst, const uint8_t *src)
{
	struct line p = load_line(src);
	struct line q = load_line(src + BL_LINE);
	struct line r = load_line(src + 2 * BL_LINE);
	struct line s = load_line(src + 3 * BL_LINE);

	host_store_line(dst, p);
	host_store_line(dst + BL_LINE, q);
	host_store_line(dst + 2 * BL_LINE, r);
	host_store_line(dst + 3 * BL_LINE, s);
}

X86_TARGET BL_INLINE void get_sse41(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	if (!bl_aligned(run.src, 16))
		get_head16(&run);
	while (!bl_aligned(run.src, BL_LINE) && run.len >= 16)
		bl_step(&run, get16, 16);
	bl_steps(&run, get_lines4, 4 * BL_LINE);
	bl_steps(&run, get_line, BL_LINE);
	bl_steps(&run, get16, 16);
	bl_get_tail(&run);
}

#endif
