// SPDX-License-Identifier: MIT
/*
 * ls64.c - arm64: single-copy atomic stores and loads of 64 bytes (LS64)
 *
 * These fault on memory whose device does not take 64-byte accesses, and the CPU cannot be asked about that: the
 * routines are never chosen by default, only with BARLANE_CPU_ISA=ls64.
 */
#include "cpu_features.h"
#include "isa.h"
#include "ladder.h"

static bool supported(void)
{
	return bl_cpu_features() & BL_CPU_LS64;
}

/* The eight registers of an access are consecutive: they are named, and the host side is moved in the same asm. */
BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	__asm__ volatile(".arch armv8.7-a+ls64\n\t"
			 "ldp x8, x9, [%2]\n\t"
			 "ldp x10, x11, [%2, #16]\n\t"
			 "ldp x12, x13, [%2, #32]\n\t"
			 "ldp x14, x15, [%2, #48]\n\t"
			 "st64b x8, [%1]"
			 : "=m"(*(uint8_t(*)[BL_LINE])dst)
			 : "r"(dst), "r"(src), "m"(*(const uint8_t(*)[BL_LINE])src)
			 : "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15");
}

BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	__asm__ volatile(".arch armv8.7-a+ls64\n\t"
			 "ld64b x8, [%2]\n\t"
			 "stp x8, x9, [%1]\n\t"
			 "stp x10, x11, [%1, #16]\n\t"
			 "stp x12, x13, [%1, #32]\n\t"
			 "stp x14, x15, [%1, #48]"
			 : "=m"(*(uint8_t(*)[BL_LINE])dst)
			 : "r"(dst), "r"(src), "m"(*(const uint8_t(*)[BL_LINE])src)
			 : "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15");
}

BL_INLINE void put_ls64(struct bl_run run)
{
	if (bl_put_single(&run))
		return;
	if (!bl_aligned(run.dst, 8))
		bl_put_head(&run);
	while (!bl_aligned(run.dst, BL_LINE) && run.len >= 8)
		bl_step(&run, bl_put8, 8);
	bl_steps(&run, put_line, BL_LINE);
	bl_steps(&run, bl_put8, 8);
	bl_put_tail(&run);
}

BL_INLINE void get_ls64(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	if (!bl_aligned(run.src, 8))
		bl_get_head(&run);
	while (!bl_aligned(run.src, BL_LINE) && run.len >= 8)
		bl_step(&run, bl_get8, 8);
	bl_steps(&run, get_line, BL_LINE);
	bl_steps(&run, bl_get8, 8);
	bl_get_tail(&run);
}

BL_ISA_DEFINE(ls64, "ls64", supported, );
