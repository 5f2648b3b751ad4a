// SPDX-License-Identifier: MIT
/*
 * movdir64b.c - x86-64: direct stores of 64 bytes
 *
 * Such a store is one write of a whole line that no interrupt can break up, which the gathering of smaller stores in a
 * write-combining buffer does not promise. There is no load of that kind: loads are streaming loads.
 */
#define X86_TARGET __attribute__((target("sse4.1")))
#define X86_VEX	   ""

#include "cpu_features.h"
#include "isa.h"
#include "line.h"
#include "sse41_get.h"
#include "x86.h"

static bool supported(void)
{
	return (bl_cpu_features() & BL_CPU_MOVDIR64B) && (bl_cpu_features() & BL_CPU_SSE41);
}

/* The instruction reads memory itself: there is no register to pass, and the host side may have any alignment. */
X86_TARGET BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	bl_store_line(dst, src);
}

#include "sse41_put.h"

X86_TARGET BL_INLINE void put_movdir64b(struct bl_run run)
{
	put_by_lines(run);
}

X86_TARGET BL_INLINE void get_movdir64b(struct bl_run run)
{
	get_sse41(run);
}

BL_ISA_DEFINE(movdir64b, "movdir64b", supported, X86_TARGET);
