/* SPDX-License-Identifier: MIT */
/*
 * sse41_put.h - stores by lines, with pieces of 16 bytes around them; who includes this has defined put_line()
 */
#ifndef BL_COPY_SSE41_PUT_H
#define BL_COPY_SSE41_PUT_H

#include "x86.h"

X86_TARGET BL_INLINE void put_lines4(uint8_t *dst, const uint8_t *src)
{
	put_line(dst, src);
	put_line(dst + BL_LINE, src + BL_LINE);
	put_line(dst + 2 * BL_LINE, src + 2 * BL_LINE);
	put_line(dst + 3 * BL_LINE, src + 3 * BL_LINE);
}

X86_TARGET BL_INLINE void put_by_lines(struct bl_run run)
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

#endif
