// SPDX-License-Identifier: MIT
/*
 * CRC by products without carry
 *
 * Sixteen bytes are a polynomial. Moved on by n bits they are the same, modulo that of the CRC, as the two products of
 * their halves with x^(n+64) and x^n modulo it, so that 64 bytes can be folded into the next 64 until 16 are left. What
 * those are worth the tables know. Constants are powers of x, bits reflected.
 */
#include <immintrin.h>

#include "crc_isa.h"

#define TARGET __attribute__((target("pclmul,sse4.1")))

/* Distances of 64 and of 16 bytes. */
#define BY_64_LOW  0x154442bd4LL
#define BY_64_HIGH 0x1c6e41596LL
#define BY_16_LOW  0x1751997d0LL
#define BY_16_HIGH 0x0ccaa009eLL

#define LEAST 64

TARGET static inline __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

TARGET static inline __m128i fold(__m128i value, __m128i by, __m128i into)
{
	return _mm_xor_si128(into, _mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00),
						 _mm_clmulepi64_si128(value, by, 0x11)));
}

/* At least LEAST bytes. */
TARGET static uint32_t fold_all(uint32_t reg, const uint8_t *at, size_t len)
{
	__m128i by = _mm_set_epi64x(BY_64_HIGH, BY_64_LOW), lanes[4];
	uint8_t rest[16];

	for (int i = 0; i < 4; i++)
		lanes[i] = load(at + 16 * i);
	lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)reg));
	for (at += 64, len -= 64; len >= 64; at += 64, len -= 64) {
		for (int i = 0; i < 4; i++)
			lanes[i] = fold(lanes[i], by, load(at + 16 * i));
	}
	by = _mm_set_epi64x(BY_16_HIGH, BY_16_LOW);
	for (int i = 0; i < 3; i++)
		lanes[i + 1] = fold(lanes[i], by, lanes[i + 1]);
	for (; len >= 16; at += 16, len -= 16)
		lanes[3] = fold(lanes[3], by, load(at));
	_mm_storeu_si128((__m128i *)(void *)rest, lanes[3]);
	reg = bl_roce_crc_table(0, rest, sizeof(rest));
	return bl_roce_crc_table(reg, at, len);
}

static uint32_t crc(uint32_t reg, const void *bytes, size_t len)
{
	return len < LEAST ? bl_roce_crc_table(reg, bytes, len) : fold_all(reg, bytes, len);
}

uint32_t (*bl_roce_crc_isa(void))(uint32_t reg, const void *bytes, size_t len)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1") ? crc : NULL;
}
