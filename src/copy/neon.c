// SPDX-License-Identifier: MIT
/*
 * neon.c - arm64: pairs of 16-byte registers, 32 bytes a store or load
 */
#include <arm_neon.h>

#include "cpu_features.h"
#include "isa.h"
#include "ladder.h"

static bool supported(void)
{
	return bl_cpu_features() & BL_CPU_NEON;
}

/* Half a line. The mapped side is volatile asm: the compiler may reorder its own, and may merge them. */
struct pair {
	uint8x16_t a, b;
};

BL_INLINE struct pair host_load32(const uint8_t *src)
{
	return (struct pair){vld1q_u8(src), vld1q_u8(src + 16)};
}

BL_INLINE void host_store32(uint8_t *dst, struct pair pair)
{
	vst1q_u8(dst, pair.a);
	vst1q_u8(dst + 16, pair.b);
}

BL_INLINE void mapped_store32(uint8_t *dst, struct pair pair)
{
	__asm__ volatile("stp %q1, %q2, [%3]" : "=m"(*(uint8_t(*)[32])dst) : "w"(pair.a), "w"(pair.b), "r"(dst));
}

BL_INLINE struct pair mapped_load32(const uint8_t *src)
{
	struct pair pair;

	__asm__ volatile("ldp %q0, %q1, [%2]" : "=w"(pair.a), "=w"(pair.b) : "r"(src), "m"(*(const uint8_t(*)[32])src));
	return pair;
}

BL_INLINE void put16(uint8_t *dst, const uint8_t *src)
{
	uint8x16_t v = vld1q_u8(src);

	__asm__ volatile("str %q1, [%2]" : "=m"(*(uint8_t(*)[16])dst) : "w"(v), "r"(dst));
}

BL_INLINE void get16(uint8_t *dst, const uint8_t *src)
{
	uint8x16_t v;

	__asm__ volatile("ldr %q0, [%1]" : "=w"(v) : "r"(src), "m"(*(const uint8_t(*)[16])src));
	vst1q_u8(dst, v);
}

BL_INLINE void put32(uint8_t *dst, const uint8_t *src)
{
	mapped_store32(dst, host_load32(src));
}

BL_INLINE void get32(uint8_t *dst, const uint8_t *src)
{
	host_store32(dst, mapped_load32(src));
}

BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	struct pair p = host_load32(src), q = host_load32(src + 32);

	mapped_store32(dst, p);
	mapped_store32(dst + 32, q);
}

BL_INLINE void put_lines4(uint8_t *dst, const uint8_t *src)
{
	put_line(dst, src);
	put_line(dst + BL_LINE, src + BL_LINE);
	put_line(dst + 2 * BL_LINE, src + 2 * BL_LINE);
	put_line(dst + 3 * BL_LINE, src + 3 * BL_LINE);
}

BL_INLINE void put_neon(struct bl_run run)
{
	if (bl_put_single(&run))
		return;
	if (!bl_aligned(run.dst, BL_LINE)) {
		bl_put_head(&run);
		bl_rung(&run, dst, bl_put8, 8);
		bl_rung(&run, dst, put16, 16);
		bl_rung(&run, dst, put32, 32);
	}
	bl_steps(&run, put_lines4, 4 * BL_LINE);
	bl_steps(&run, put_line, BL_LINE);
	bl_rest(&run, put32, 32);
	bl_rest(&run, put16, 16);
	bl_put_tail(&run);
}

/* Two lines. */
struct pairs4 {
	struct pair a, b, c, d;
};

BL_INLINE struct pairs4 load_lines2(const uint8_t *src)
{
	struct pairs4 pairs;

	pairs.a = mapped_load32(src);
	pairs.b = mapped_load32(src + 32);
	pairs.c = mapped_load32(src + 64);
	pairs.d = mapped_load32(src + 96);
	return pairs;
}

BL_INLINE void host_store_lines2(uint8_t *dst, struct pairs4 pairs)
{
	host_store32(dst, pairs.a);
	host_store32(dst + 32, pairs.b);
	host_store32(dst + 64, pairs.c);
	host_store32(dst + 96, pairs.d);
}

BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	struct pair p = mapped_load32(src), q = mapped_load32(src + 32);

	host_store32(dst, p);
	host_store32(dst + 32, q);
}

/* 24 of the 32 registers are asked for before the first one is stored, so that six lines travel at the same time. */
BL_INLINE void get_lines6(uint8_t *dst, const uint8_t *src)
{
	struct pairs4 p = load_lines2(src);
	struct pairs4 q = load_lines2(src + 2 * BL_LINE);
	struct pairs4 r = load_lines2(src + 4 * BL_LINE);

	host_store_lines2(dst, p);
	host_store_lines2(dst + 2 * BL_LINE, q);
	host_store_lines2(dst + 4 * BL_LINE, r);
}

BL_INLINE void get_neon(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	if (!bl_aligned(run.src, BL_LINE)) {
		bl_get_head(&run);
		bl_rung(&run, src, bl_get8, 8);
		bl_rung(&run, src, get16, 16);
		bl_rung(&run, src, get32, 32);
	}
	bl_steps(&run, get_lines6, 6 * BL_LINE);
	bl_steps(&run, get_line, BL_LINE);
	bl_rest(&run, get32, 32);
	bl_rest(&run, get16, 16);
	bl_get_tail(&run);
}

BL_ISA_DEFINE(neon, "neon", supported, );
