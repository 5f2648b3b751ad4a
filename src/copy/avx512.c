// SPDX-License-Identifier: MIT
/*
 * avx512.c - x86-64: non-temporal stores and streaming loads of a whole line of 64 bytes
 *
 * Loads of less than a line that are not one naturally aligned piece are one masked load of that line: each load from a
 * write-combining mapping is a round trip to the device, and a ladder is one for each piece. Bytes that are masked out
 * are not accessed. Stores do not need that, since the buffer gathers the pieces.
 */
#define X86_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))
#define X86_VEX	   "v"

#include "cpu_features.h"
#include "isa.h"
#include "x86.h"

static bool supported(void)
{
	return bl_cpu_features() & BL_CPU_AVX512;
}

X86_TARGET BL_INLINE __m512i host_load64(const uint8_t *src)
{
	return _mm512_loadu_si512(src);
}

X86_TARGET BL_INLINE void host_store64(uint8_t *dst, __m512i v)
{
	_mm512_storeu_si512(dst, v);
}

X86_TARGET BL_INLINE void stream_store64(uint8_t *dst, __m512i v)
{
	__asm__ volatile("vmovntdq %1, %0" : "=m"(*(__m512i *)dst) : "v"(v));
}

X86_TARGET BL_INLINE __m512i stream_load64(const uint8_t *src)
{
	__m512i v;

	__asm__ volatile("vmovntdqa %1, %0" : "=v"(v) : "m"(*(const __m512i *)src));
	return v;
}

X86_TARGET BL_INLINE void put32(uint8_t *dst, const uint8_t *src)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)src);

	__asm__ volatile("vmovntdq %1, %0" : "=m"(*(__m256i *)dst) : "v"(v));
}

X86_TARGET BL_INLINE void put_line(uint8_t *dst, const uint8_t *src)
{
	stream_store64(dst, host_load64(src));
}

struct lines4 {
	__m512i a, b, c, d;
};

X86_TARGET BL_INLINE void put_lines4(uint8_t *dst, const uint8_t *src)
{
	struct lines4 lines = {host_load64(src), host_load64(src + BL_LINE), host_load64(src + 2 * BL_LINE),
			       host_load64(src + 3 * BL_LINE)};

	stream_store64(dst, lines.a);
	stream_store64(dst + BL_LINE, lines.b);
	stream_store64(dst + 2 * BL_LINE, lines.c);
	stream_store64(dst + 3 * BL_LINE, lines.d);
}

X86_TARGET BL_INLINE void put_avx512(struct bl_run run)
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

X86_TARGET BL_INLINE struct lines4 load_lines4(const uint8_t *src)
{
	struct lines4 lines;

	lines.a = stream_load64(src);
	lines.b = stream_load64(src + BL_LINE);
	lines.c = stream_load64(src + 2 * BL_LINE);
	lines.d = stream_load64(src + 3 * BL_LINE);
	return lines;
}

X86_TARGET BL_INLINE void host_store_lines4(uint8_t *dst, struct lines4 lines)
{
	host_store64(dst, lines.a);
	host_store64(dst + BL_LINE, lines.b);
	host_store64(dst + 2 * BL_LINE, lines.c);
	host_store64(dst + 3 * BL_LINE, lines.d);
}

X86_TARGET BL_INLINE void get_line(uint8_t *dst, const uint8_t *src)
{
	host_store64(dst, stream_load64(src));
}

X86_TARGET BL_INLINE void get_lines4(uint8_t *dst, const uint8_t *src)
{
	host_store_lines4(dst, load_lines4(src));
}

/* 16 registers are asked for before the first one is stored, so that as many lines travel at the same time. */
X86_TARGET BL_INLINE void get_lines16(uint8_t *dst, const uint8_t *src)
{
	struct lines4 p = load_lines4(src);
	struct lines4 q = load_lines4(src + 4 * BL_LINE);
	struct lines4 r = load_lines4(src + 8 * BL_LINE);
	struct lines4 s = load_lines4(src + 12 * BL_LINE);

	host_store_lines4(dst, p);
	host_store_lines4(dst + 4 * BL_LINE, q);
	host_store_lines4(dst + 8 * BL_LINE, r);
	host_store_lines4(dst + 12 * BL_LINE, s);
}

/* 1 ... 63 bytes between host addresses; where the count is no power of two, two pieces overlap. */
X86_TARGET BL_INLINE void host_copy63(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (len >= 32) {
		__m256i a = _mm256_loadu_si256((const __m256i *)src);
		__m256i b = _mm256_loadu_si256((const __m256i *)(src + len - 32));

		_mm256_storeu_si256((__m256i *)dst, a);
		_mm256_storeu_si256((__m256i *)(dst + len - 32), b);
	} else if (len >= 16) {
		__m128i a = host_load16(src), b = host_load16(src + len - 16);

		host_store16(dst, a);
		host_store16(dst + len - 16, b);
	} else if (len >= 8) {
		bl_host_copy8(dst, src);
		bl_host_copy8(dst + len - 8, src + len - 8);
	} else if (len >= 4) {
		bl_host_copy4(dst, src);
		bl_host_copy4(dst + len - 4, src + len - 4);
	} else {
		if (len & 2)
			bl_host_copy2(dst, src);
		if (len & 1)
			dst[len - 1] = src[len - 1];
	}
}

/*
 * @len bytes, 1 ... 63, which lie in one line. They go through a buffer, since the register holds them shifted by their
 * place in the line, and a masked store that reaches over an unmapped host page is slow although it is correct.
 */
X86_TARGET BL_INLINE void get_part(struct bl_run *run, size_t len)
{
	size_t off = (uintptr_t)run->src % BL_LINE;
	__mmask64 lanes = _bzhi_u64(~0ULL, (unsigned int)len) << off;
	uint8_t line[BL_LINE] __attribute__((aligned(BL_LINE)));
	__m512i v;

	__asm__ volatile("vmovdqu8 %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const __m512i *)(run->src - off)), "Yk"(lanes));
	_mm512_store_si512(line, v);
	host_copy63(run->dst, line + off, len);
	run->dst += len;
	run->src += len;
	run->len -= len;
}

X86_TARGET BL_INLINE void get_avx512(struct bl_run run)
{
	if (bl_get_single(&run))
		return;
	if (!bl_aligned(run.src, BL_LINE)) {
		size_t head = BL_LINE - (uintptr_t)run.src % BL_LINE;

		get_part(&run, head < run.len ? head : run.len);
	}
	bl_steps(&run, get_lines16, 16 * BL_LINE);
	bl_steps(&run, get_lines4, 4 * BL_LINE);
	bl_steps(&run, get_line, BL_LINE);
	if (run.len)
		get_part(&run, run.len);
	_mm256_zeroupper();
}

BL_ISA_DEFINE(avx512, "avx512", supported, X86_TARGET);
