// SPDX-License-Identifier: MIT
/*
 * avx2.c - x86-64: non-temporal stores and streaming loads of 32 bytes
 *
 * vzeroupper is written out after the last wide register: some levels of optimization leave it to the programmer, and
 * the caller's older code would run slowly with upper halves in use.
 */
#define X86_TARGET __attribute__((target("avx2")))
#define X86_VEX	   "v"

#include "cpu_features.h"
#include "isa.h"
#include "x86.h"

static bool supported(void)
{
	return bl_cpu_features() & BL_CPU_AVX2;
}

X86_TARGET BL_INLINE __m256i host_load32(const uint8_t *src)
{
	return _mm256_loadu_si256((const __m256i *)src);
}

X86_TARGET BL_INLINE void host_store32(uint8_t *dst, __m256i v)
{
	_mm256_storeu_si256((__m256i *)dst, v);
}

X86_TARGET BL_INLINE void stream_store32(uint8_t *dst, __m256i v)
{
	__asm__ volatile("vmovntdq %1, %0" : "=m"(*(__m256i *)dst) : "x"(v));
}

X86_TARGET BL_INLINE __m256i stream_load32(const uint8_t *src)
{
	__m256i v;

	__asm__ volatile("vmovntdqa %1, %0" : "=x"(v) : "m"(*(const __m256i *)src));
	return v;
}

X86_TARGET BL_INLINE void put32(uint8_t *dst, const uint8_t *src)
{
	stream_store32(dst, host_load32(src));
}

X86_TARGET BL_INLINE void get32(uint8_t *dst, const uint8_t *src)
{
	host_store32(dst, stream_load32(src));
}

/* Two vectors are one line. */
struct lines2 {
	__m256i a, b, c, d;
};

X86_TARGET BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	__m256i a = host_load32(src), b = host_load32(src + 32);

	stream_store32(dst, a);
	stream_store32(dst + 32, b);
}

X86_TARGET BL_INLINE void put_lines2(uint8_t *dst, const uint8_t *src)
{
	struct lines2 lines = {host_load32(src), host_load32(src + 32), host_load32(src + 64), host_load32(src + 96)};

	stream_store32(dst, lines.a);
	stream_store32(dst + 32, lines.b);
	stream_store32(dst + 64, lines.c);
	stream_store32(dst + 96, lines.d);
}

X86_TARGET BL_INLINE void put_lines4(uint8_t *dst, const uint8_t *src)
{
	put_lines2(dst, src);
	put_lines2(dst + 2 * BL_LINE, src + 2 * BL_LINE);
}

X86_TARGET BL_INLINE void put_avx2(struct bl_run run)
{
	if (bl_put_single(&run))
		return;
	if (!bl_aligned(run.dst, BL_LINE)) {
		put_head16(&run);
		bl_rung(&run, dst, put16, 16);
		bl_rung(&run, dst, put32, 32);
	}
	bl_steps(&run, put_lines4, 4 * BL_LINE);
	bl_steps(&run, put_line, BL_LINE);
	bl_rest(&run, put32, 32);
	_mm256_zeroupper();
	bl_rest(&run, put16, 16);
	bl_put_tail(&run);
}

X86_TARGET BL_INLINE struct lines2 load_lines2(const uint8_t *src)
{
	struct lines2 lines;

	lines.a = stream_load32(src);
	lines.b = stream_load32(src + 32);
	lines.c = stream_load32(src + 64);
	lines.d = stream_load32(src + 96);
	return lines;
}

X86_TARGET BL_INLINE void host_store_lines2(uint8_t *dst, struct lines2 lines)
{
	host_store32(dst, lines.a);
	host_store32(dst + 32, lines.b);
	host_store32(dst + 64, lines.c);
	host_store32(dst + 96, lines.d);
}

X86_TARGET BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	__m256i a = stream_load32(src), b = stream_load32(src + 32);

	host_store32(dst, a);
	host_store32(dst + 32, b);
}

/* All 16 registers are asked for before the first one is stored, so that eight lines travel at the same time. */
X86_TARGET BL_INLINE void get_lines8(uint8_t *dst, const uint8_t *src)
{
	struct lines2 p = load_lines2(src);
	struct lines2 q = load_lines2(src + 2 * BL_LINE);
	struct lines2 r = load_lines2(src + 4 * BL_LINE);
	struct lines2 s = load_lines2(src + 6 * BL_LINE);

	host_store_lines2(dst, p);
	host_store_lines2(dst + 2 * BL_LINE, q);
	host_store_lines2(dst + 4 * BL_LINE, r);
	host_store_lines2(dst + 6 * BL_LINE, s);
}

X86_TARGET BL_INLINE void get_avx2(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	if (!bl_aligned(run.src, BL_LINE)) {
		get_head16(&run);
		bl_rung(&run, src, get16, 16);
		bl_rung(&run, src, get32, 32);
	}
	bl_steps(&run, get_lines8, 8 * BL_LINE);
	bl_steps(&run, get_line, BL_LINE);
	bl_rest(&run, get32, 32);
	_mm256_zeroupper();
	bl_rest(&run, get16, 16);
	bl_get_tail(&run);
}

BL_ISA_DEFINE(avx2, "avx2", supported, X86_TARGET);
