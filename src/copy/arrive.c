// SPDX-License-Identifier: MIT
#include "arrive.h"

#include <stdatomic.h>
#include <string.h>

#include "cpu_features.h"

#define LINE  64U
#define BLOCK (4 * LINE)
#define AHEAD 1024U /* lines of the destination are asked for this far ahead; measured on an H200's host */

/* A device writes what is read here: no tool that knows only threads can see the order. */
#define RACING __attribute__((no_sanitize("thread")))
#define INLINE static inline __attribute__((always_inline)) RACING

/* Each look at a word is a load of its own. */
INLINE void reload(void)
{
	__asm__ volatile("" ::: "memory");
}

typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint32_t quad_unaligned __attribute__((vector_size(16), aligned(1), may_alias));

/* Instruction sets with registers of 16 bytes: what the compiler makes of it for x86-64 and arm64 alike. */
INLINE int take_line_base(uint8_t *dst, quad *line, quad mark)
{
	quad a = line[0], b = line[1], c = line[2], d = line[3];
	pair same = (pair)((a == mark) | (b == mark) | (c == mark) | (d == mark));

	reload();
	if (same[0] | same[1])
		return 0;
	*(quad_unaligned *)dst = a;
	*(quad_unaligned *)(dst + 16) = b;
	*(quad_unaligned *)(dst + 32) = c;
	*(quad_unaligned *)(dst + 48) = d;
	line[0] = mark;
	line[1] = mark;
	line[2] = mark;
	line[3] = mark;
	return 1;
}

static RACING size_t lines_base(uint8_t *dst, uint8_t *land, size_t len, uint32_t word)
{
	const quad mark = { word, word, word, word };
	size_t done = 0;

	for (; done + LINE <= len; done += LINE) {
		if (done + AHEAD < len)
			__builtin_prefetch(dst + done + AHEAD, 1);
		if (!take_line_base(dst + done, (quad *)(land + done), mark))
			break;
	}
	return done;
}

static RACING size_t look_base(const uint8_t *land, size_t from, size_t len, uint32_t word)
{
	const quad mark = { word, word, word, word };

	for (; from + LINE <= len; from += LINE) {
		const quad *line = (const quad *)(land + from);
		pair same = (pair)((line[0] == mark) | (line[1] == mark) | (line[2] == mark) | (line[3] == mark));

		reload();
		if (same[0] | same[1])
			break;
	}
	return from;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))

AVX512 INLINE int take_block_avx512(uint8_t *dst, uint8_t *block, __m512i mark)
{
	__m512i a = _mm512_load_si512(block), b = _mm512_load_si512(block + LINE);
	__m512i c = _mm512_load_si512(block + 2 * LINE), d = _mm512_load_si512(block + 3 * LINE);

	reload();
	if (_mm512_cmpeq_epi32_mask(a, mark) | _mm512_cmpeq_epi32_mask(b, mark) | _mm512_cmpeq_epi32_mask(c, mark) |
	    _mm512_cmpeq_epi32_mask(d, mark))
		return 0;
	_mm512_storeu_si512(dst, a);
	_mm512_storeu_si512(dst + LINE, b);
	_mm512_storeu_si512(dst + 2 * LINE, c);
	_mm512_storeu_si512(dst + 3 * LINE, d);
	_mm512_store_si512(block, mark);
	_mm512_store_si512(block + LINE, mark);
	_mm512_store_si512(block + 2 * LINE, mark);
	_mm512_store_si512(block + 3 * LINE, mark);
	return 1;
}

AVX512 static RACING size_t lines_avx512(uint8_t *dst, uint8_t *land, size_t len, uint32_t word)
{
	__m512i mark = _mm512_set1_epi32((int)word), line;
	size_t done = 0;

	for (; done + BLOCK <= len; done += BLOCK) {
		for (size_t i = 0; i < BLOCK && done + AHEAD + i < len; i += LINE)
			__builtin_prefetch(dst + done + AHEAD + i, 1);
		if (!take_block_avx512(dst + done, land + done, mark))
			break;
	}
	/* the rest, or the block that has not arrived as a whole */
	for (; done + LINE <= len; done += LINE) {
		line = _mm512_load_si512(land + done);
		reload();
		if (_mm512_cmpeq_epi32_mask(line, mark))
			break;
		_mm512_storeu_si512(dst + done, line);
		_mm512_store_si512(land + done, mark);
	}
	_mm256_zeroupper();
	return done;
}

AVX512 static RACING size_t look_avx512(const uint8_t *land, size_t from, size_t len, uint32_t word)
{
	__m512i mark = _mm512_set1_epi32((int)word), line;

	for (; from + LINE <= len; from += LINE) {
		line = _mm512_load_si512(land + from);
		reload();
		if (_mm512_cmpeq_epi32_mask(line, mark))
			break;
	}
	_mm256_zeroupper();
	return from;
}

static bool has_avx512(void)
{
	return bl_cpu_features() & BL_CPU_AVX512;
}
#endif

static bool always(void)
{
	return true;
}

const struct bl_arrive_isa bl_arrive_isas[] = {
#if defined(__x86_64__)
	{ "avx512", has_avx512, lines_avx512, look_avx512 },
#endif
	{ "base", always, lines_base, look_base },
	{ NULL, NULL, NULL, NULL },
};

static const struct bl_arrive_isa *choose(void)
{
	static _Atomic(const struct bl_arrive_isa *) chosen;
	const struct bl_arrive_isa *isa = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (isa)
		return isa;
	for (isa = bl_arrive_isas; !isa->supported(); isa++)
		;
	atomic_store_explicit(&chosen, isa, memory_order_relaxed);
	return isa;
}

/* The words behind the last whole line: all of them, or none. */
static RACING size_t take_tail(uint8_t *dst, uint32_t *land, size_t len, uint32_t mark)
{
	uint32_t words[LINE / 4] = { 0 };
	size_t nr = len / 4;

	for (size_t i = 0; i < nr; i++) {
		words[i] = land[i];
		reload();
		if (words[i] == mark)
			return 0;
	}
	memcpy(dst, words, len);
	for (size_t i = 0; i < nr; i++)
		land[i] = mark;
	return len;
}

RACING size_t bl_arrive(void *dst, void *land, size_t len, uint32_t mark)
{
	size_t done = choose()->lines(dst, land, len, mark);

	if (done < len && len - done < LINE)
		done += take_tail((uint8_t *)dst + done, (uint32_t *)((uint8_t *)land + done), len - done, mark);
	return done;
}

void bl_arrive_all(void *dst, void *land, size_t len, uint32_t mark)
{
	memcpy(dst, land, len);
	bl_arrive_reset(land, len, mark);
}

/* Whether the words behind the last whole line are all there. */
static RACING bool has_tail(const uint32_t *land, size_t len, uint32_t mark)
{
	for (size_t i = 0; i < len / 4; i++) {
		if (*(const volatile uint32_t *)&land[i] == mark)
			return false;
	}
	return true;
}

RACING size_t bl_arrive_look(const void *land, size_t from, size_t len, uint32_t mark)
{
	size_t done = choose()->look(land, from, len, mark);

	if (len - done < LINE && has_tail((const uint32_t *)((const uint8_t *)land + done), len - done, mark))
		return len;
	return done;
}

RACING void bl_arrive_reset(void *land, size_t len, uint32_t word)
{
	const quad mark = { word, word, word, word };
	uint32_t *words = land;
	quad *quads = land;

	for (size_t i = 0; i < len / sizeof(quad); i++)
		quads[i] = mark;
	for (size_t i = len / sizeof(quad) * 4; i < len / 4; i++)
		words[i] = word;
}
