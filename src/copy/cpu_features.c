// SPDX-License-Identifier: MIT
#include "cpu_features.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* CPUID leaf 1, ECX */
#define ECX1_SSE41   (1U << 19)
#define ECX1_OSXSAVE (1U << 27)
#define ECX1_AVX     (1U << 28)
/* CPUID leaf 7, EBX and ECX */
#define EBX7_AVX2      (1U << 5)
#define EBX7_BMI2      (1U << 8)
#define EBX7_AVX512F   (1U << 16)
#define EBX7_AVX512BW  (1U << 30)
#define EBX7_AVX512VL  (1U << 31)
#define ECX7_MOVDIR64B (1U << 28)
/* XCR0: 1 and 2 are the lower and upper halves of the 256-bit registers; 5 ... 7 are what AVX-512 adds */
#define XCR0_AVX    0x06U
#define XCR0_AVX512 0xe6U
/* arm64: AT_HWCAP and AT_HWCAP3 */
#define HWCAP_BIT_ASIMD (1UL << 1)
#define HWCAP3_BIT_LS64 (1UL << 3)

/* CPU and operating system must both agree, the latter to every register state that the instructions touch. */
static bool saves(const struct bl_cpu_id *id, uint64_t states)
{
	return (id->ecx1 & ECX1_OSXSAVE) && (id->xcr0 & states) == states;
}

static bool has_all(uint32_t word, uint32_t bits)
{
	return (word & bits) == bits;
}

static uint32_t features_x86(const struct bl_cpu_id *id)
{
	uint32_t features = 0;

	if (id->max_leaf < 1)
		return 0;
	if (id->ecx1 & ECX1_SSE41)
		features |= BL_CPU_SSE41;
	if (id->max_leaf < 7)
		return features;
	if (id->ecx7 & ECX7_MOVDIR64B)
		features |= BL_CPU_MOVDIR64B;
	if (!(id->ecx1 & ECX1_AVX) || !(id->ebx7 & EBX7_AVX2) || !saves(id, XCR0_AVX))
		return features;
	features |= BL_CPU_AVX2;
	if (has_all(id->ebx7, EBX7_AVX512F | EBX7_AVX512BW | EBX7_AVX512VL | EBX7_BMI2) && saves(id, XCR0_AVX512))
		features |= BL_CPU_AVX512;
	return features;
}

static uint32_t features_arm64(const struct bl_cpu_id *id)
{
	uint32_t features = 0;

	if (id->hwcap & HWCAP_BIT_ASIMD)
		features |= BL_CPU_NEON;
	if (id->hwcap3 & HWCAP3_BIT_LS64)
		features |= BL_CPU_LS64;
	return features;
}

uint32_t bl_cpu_features_of(const struct bl_cpu_id *id)
{
	return features_x86(id) | features_arm64(id);
}

#if defined(__x86_64__)

static uint64_t read_xcr0(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static void identify(struct bl_cpu_id *id)
{
	uint32_t eax, ebx, edx;

	id->max_leaf = __get_cpuid_max(0, NULL);
	if (id->max_leaf >= 1)
		__cpuid(1, eax, ebx, id->ecx1, edx);
	if (id->max_leaf >= 7)
		__cpuid_count(7, 0, eax, id->ebx7, id->ecx7, edx);
	if (id->ecx1 & ECX1_OSXSAVE)
		id->xcr0 = read_xcr0();
}

#elif defined(__aarch64__)

/* Newer than many a <elf.h>. */
#ifndef AT_HWCAP3
#define AT_HWCAP3 29
#endif

static void identify(struct bl_cpu_id *id)
{
	id->hwcap = getauxval(AT_HWCAP);
	id->hwcap3 = getauxval(AT_HWCAP3);
}

#else

static void identify(struct bl_cpu_id *id)
{
	/* no instruction set but "scalar" is built for this architecture */
}

#endif

/* CPUID costs a trip to the hypervisor in a virtual machine, hence the memory. Two threads would store the same. */
uint32_t bl_cpu_features(void)
{
	static _Atomic uint32_t known;
	const uint32_t valid = 1U << 31;
	uint32_t features = atomic_load_explicit(&known, memory_order_relaxed);
	struct bl_cpu_id id;

	if (features & valid)
		return features & ~valid;
	memset(&id, 0, sizeof(id));
	identify(&id);
	features = bl_cpu_features_of(&id);
	atomic_store_explicit(&known, features | valid, memory_order_relaxed);
	return features;
}
