/* SPDX-License-Identifier: MIT */
/*
 * cpu_features.h - which instruction sets this CPU and its operating system support
 */
#ifndef BL_COPY_CPU_FEATURES_H
#define BL_COPY_CPU_FEATURES_H

#include <stdint.h>

enum bl_cpu_feature {
	BL_CPU_SSE41 = 1 << 0,
	BL_CPU_AVX2 = 1 << 1,
	BL_CPU_AVX512 = 1 << 2, /* F, BW and VL, and BMI2 */
	BL_CPU_MOVDIR64B = 1 << 3,
	BL_CPU_NEON = 1 << 4,
	BL_CPU_LS64 = 1 << 5,
};

/**
 * struct bl_cpu_id - what the CPU says of itself
 * @max_leaf: x86: highest basic CPUID leaf
 * @ecx1:     x86: ECX of CPUID leaf 1
 * @ebx7:     x86: EBX of CPUID leaf 7, subleaf 0
 * @ecx7:     x86: ECX of the same
 * @xcr0:     x86: register states that the operating system saves; 0 where XGETBV is not enabled
 * @hwcap:    arm64: AT_HWCAP
 * @hwcap3:   arm64: AT_HWCAP3
 */
struct bl_cpu_id {
	uint32_t max_leaf;
	uint32_t ecx1;
	uint32_t ebx7;
	uint32_t ecx7;
	uint64_t xcr0;
	unsigned long hwcap;
	unsigned long hwcap3;
};

/**
 * bl_cpu_features() - Instruction sets of this CPU
 *
 * Return: BL_CPU_* bits. The CPU is asked once per process.
 */
uint32_t bl_cpu_features(void);

/**
 * bl_cpu_features_of() - Instruction sets of a CPU
 * @id: what it says of itself
 *
 * Return: BL_CPU_* bits.
 */
uint32_t bl_cpu_features_of(const struct bl_cpu_id *id);

#endif
