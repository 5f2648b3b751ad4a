// SPDX-License-Identifier: MIT
#include "copy_loops.h"

#include <stdint.h>
#include <string.h>

#include "copy/cpu.h"

static bool always(void)
{
	return true;
}

static void plain_to(void *dst, const void *src, size_t len)
{
	if (len >= 8) {
		for (size_t i = 0; i < len; i += 8)
			*(volatile uint64_t *)((char *)dst + i) = *(const uint64_t *)((const char *)src + i);
	} else if (len == 4) {
		*(volatile uint32_t *)dst = *(const uint32_t *)src;
	} else if (len == 2) {
		*(volatile uint16_t *)dst = *(const uint16_t *)src;
	} else {
		*(volatile uint8_t *)dst = *(const uint8_t *)src;
	}
}

static void plain_from(void *dst, const void *src, size_t len)
{
	if (len >= 8) {
		for (size_t i = 0; i < len; i += 8)
			*(uint64_t *)((char *)dst + i) = *(const volatile uint64_t *)((const char *)src + i);
	} else if (len == 4) {
		*(uint32_t *)dst = *(const volatile uint32_t *)src;
	} else if (len == 2) {
		*(uint16_t *)dst = *(const volatile uint16_t *)src;
	} else {
		*(uint8_t *)dst = *(const volatile uint8_t *)src;
	}
}

#if defined(__x86_64__)

#include <immintrin.h>

static bool isa_supported(const char *name)
{
	const struct bl_cpu_isa *isa = bl_cpu_isa_find(name);

	return isa && isa->supported();
}

static void fence_to(void)
{
	_mm_sfence();
}

static void fence_from(void)
{
	_mm_mfence();
}

static bool has_sse41(void)
{
	return isa_supported("sse4.1");
}

static bool has_avx2(void)
{
	return isa_supported("avx2");
}

static bool has_avx512(void)
{
	return isa_supported("avx512");
}

static bool has_movdir64b(void)
{
	return isa_supported("movdir64b");
}

static int loop_movntps(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	for (size_t i = 0; i + 16 <= len; i += 16)
		_mm_stream_ps((float *)((char *)dst + i), _mm_loadu_ps((const float *)((const char *)src + i)));
	fence_to();
	return 0;
}

static int loop_movntdq16(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	for (size_t i = 0; i + 16 <= len; i += 16)
		_mm_stream_si128((__m128i *)((char *)dst + i),
				 _mm_loadu_si128((const __m128i *)((const char *)src + i)));
	fence_to();
	return 0;
}

__attribute__((target("avx2"))) static int loop_movntdq32(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	else if (len == 16)
		_mm_stream_si128(dst, _mm_loadu_si128(src));
	for (size_t i = 0; i + 32 <= len; i += 32)
		_mm256_stream_si256((__m256i *)((char *)dst + i),
				    _mm256_loadu_si256((const __m256i *)((const char *)src + i)));
	fence_to();
	return 0;
}

__attribute__((target("avx512f,avx512vl"))) static int loop_movntdq64(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	else if (len == 16)
		_mm_stream_si128(dst, _mm_loadu_si128(src));
	else if (len == 32)
		_mm256_stream_si256(dst, _mm256_loadu_si256(src));
	for (size_t i = 0; i + 64 <= len; i += 64)
		_mm512_stream_si512((void *)((char *)dst + i), _mm512_loadu_si512((const char *)src + i));
	fence_to();
	return 0;
}

static int loop_movdir64b(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	for (size_t i = 0; len < 64 && i + 16 <= len; i += 16)
		_mm_stream_si128((__m128i *)((char *)dst + i),
				 _mm_loadu_si128((const __m128i *)((const char *)src + i)));
	for (size_t i = 0; i + 64 <= len; i += 64)
		__asm__ volatile("movdir64b %0, %1"
				 :
				 : "m"(*(const char(*)[64])((const char *)src + i)), "r"((char *)dst + i)
				 : "memory");
	fence_to();
	return 0;
}

const struct copy_loop copy_loops_to[] = {
	{"movntps 16", always, loop_movntps},
	{"movntdq 16", always, loop_movntdq16},
	{"vmovntdq 32", has_avx2, loop_movntdq32},
	{"vmovntdq 64", has_avx512, loop_movntdq64},
	{"movdir64b 64", has_movdir64b, loop_movdir64b},
	{NULL, NULL, NULL},
};

__attribute__((target("sse4.1"))) static int loop_movntdqa16(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_from(dst, src, len);
	for (size_t i = 0; i + 16 <= len; i += 16)
		_mm_storeu_si128((__m128i *)((char *)dst + i),
				 _mm_stream_load_si128((__m128i *)((const char *)src + i)));
	fence_from();
	return 0;
}

__attribute__((target("avx2"))) static int loop_movntdqa32(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_from(dst, src, len);
	else if (len == 16)
		_mm_storeu_si128(dst, _mm_stream_load_si128((__m128i *)(uintptr_t)src));
	for (size_t i = 0; i + 32 <= len; i += 32)
		_mm256_storeu_si256((__m256i *)((char *)dst + i),
				    _mm256_stream_load_si256((const __m256i *)((const char *)src + i)));
	fence_from();
	return 0;
}

__attribute__((target("avx512f,avx512vl"))) static int loop_movntdqa64(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_from(dst, src, len);
	else if (len == 16)
		_mm_storeu_si128(dst, _mm_stream_load_si128((__m128i *)(uintptr_t)src));
	else if (len == 32)
		_mm256_storeu_si256(dst, _mm256_stream_load_si256(src));
	for (size_t i = 0; i + 64 <= len; i += 64)
		_mm512_storeu_si512((char *)dst + i, _mm512_stream_load_si512((void *)((uintptr_t)src + i)));
	fence_from();
	return 0;
}

const struct copy_loop copy_loops_from[] = {
	{"movntdqa 16", has_sse41, loop_movntdqa16},
	{"vmovntdqa 32", has_avx2, loop_movntdqa32},
	{"vmovntdqa 64", has_avx512, loop_movntdqa64},
	{NULL, NULL, NULL},
};

#elif defined(__aarch64__)

#include <arm_neon.h>

static void fence_to(void)
{
	__asm__ volatile("dmb st" ::: "memory");
}

static void fence_from(void)
{
	__asm__ volatile("dmb sy" ::: "memory");
}

static int loop_str8(void *dst, const void *src, size_t len)
{
	plain_to(dst, src, len);
	fence_to();
	return 0;
}

static int loop_str16(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_to(dst, src, len);
	for (size_t i = 0; i + 16 <= len; i += 16)
		vst1q_u8((uint8_t *)dst + i, vld1q_u8((const uint8_t *)src + i));
	fence_to();
	return 0;
}

static int loop_ldr16(void *dst, const void *src, size_t len)
{
	if (len < 16)
		plain_from(dst, src, len);
	for (size_t i = 0; i + 16 <= len; i += 16)
		vst1q_u8((uint8_t *)dst + i, vld1q_u8((const uint8_t *)src + i));
	fence_from();
	return 0;
}

const struct copy_loop copy_loops_to[] = {
	{"str 8", always, loop_str8},
	{"str 16", always, loop_str16},
	{NULL, NULL, NULL},
};

const struct copy_loop copy_loops_from[] = {
	{"ldr 16", always, loop_ldr16},
	{NULL, NULL, NULL},
};

#else

static void fence_from(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int loop_store8(void *dst, const void *src, size_t len)
{
	plain_to(dst, src, len);
	fence_from();
	return 0;
}

static int loop_load8(void *dst, const void *src, size_t len)
{
	plain_from(dst, src, len);
	fence_from();
	return 0;
}

const struct copy_loop copy_loops_to[] = {{"store 8", always, loop_store8}, {NULL, NULL, NULL}};
const struct copy_loop copy_loops_from[] = {{"load 8", always, loop_load8}, {NULL, NULL, NULL}};

#endif

int copy_loop_load8(void *dst, const void *src, size_t len)
{
	plain_from(dst, src, 8);
	fence_from();
	return 0;
}
