// SPDX-License-Identifier: MIT
/*
 * copy_features.c - reading what a CPU says of itself
 */
#include "copy/cpu_features.h"
#include "tap.h"

/* CPUID bits, written out again so that a wrong one in the code is seen. */
#define SSE41	  0x00080000U
#define OSXSAVE	  0x08000000U
#define AVX	  0x10000000U
#define AVX2	  0x00000020U
#define BMI2	  0x00000100U
#define F	  0x00010000U
#define BW	  0x40000000U
#define VL	  0x80000000U
#define MOVDIR64B 0x10000000U

#define ALL7 (AVX2 | BMI2 | F | BW | VL)

static struct bl_cpu_id full(void)
{
	return (struct bl_cpu_id){
		.max_leaf = 0x20,
		.ecx1 = SSE41 | OSXSAVE | AVX,
		.ebx7 = ALL7,
		.ecx7 = MOVDIR64B,
		.xcr0 = 0xe7,
	};
}

static void a_full_x86_cpu_has_everything(void)
{
	struct bl_cpu_id id = full();

	check_eq(bl_cpu_features_of(&id), BL_CPU_SSE41 | BL_CPU_AVX2 | BL_CPU_AVX512 | BL_CPU_MOVDIR64B);
}

static void a_cpu_that_says_nothing_has_nothing(void)
{
	struct bl_cpu_id id = {0};

	check_eq(bl_cpu_features_of(&id), 0);
}

/* The system may save some of the states only: each single one that is missing rules the instructions out. */
static void avx2_needs_both_register_states(void)
{
	struct bl_cpu_id id = full();

	id.xcr0 = 0x7;
	check_eq(bl_cpu_features_of(&id) & (BL_CPU_AVX2 | BL_CPU_AVX512), BL_CPU_AVX2);
	id.xcr0 = 0x3;
	check_eq(bl_cpu_features_of(&id) & (BL_CPU_AVX2 | BL_CPU_AVX512), 0);
	id.xcr0 = 0x5;
	check_eq(bl_cpu_features_of(&id) & (BL_CPU_AVX2 | BL_CPU_AVX512), 0);
}

static void avx512_needs_all_five_register_states(void)
{
	for (unsigned int bit = 1; bit <= 7; bit++) {
		struct bl_cpu_id id = full();

		if (bit == 3 || bit == 4)
			continue; /* MPX, which has nothing to do with it */
		id.xcr0 &= ~(1ULL << bit);
		check_eq(bl_cpu_features_of(&id) & BL_CPU_AVX512, 0);
	}
}

static void avx512_needs_each_of_its_parts(void)
{
	static const uint32_t parts[] = {F, BW, VL, BMI2, AVX2};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct bl_cpu_id id = full();

		id.ebx7 &= ~parts[i];
		check_eq(bl_cpu_features_of(&id) & BL_CPU_AVX512, 0);
	}
}

static void without_osxsave_there_is_no_avx(void)
{
	struct bl_cpu_id id = full();

	id.ecx1 &= ~OSXSAVE;
	check_eq(bl_cpu_features_of(&id), BL_CPU_SSE41 | BL_CPU_MOVDIR64B);
}

static void leaf_7_counts_only_where_it_exists(void)
{
	struct bl_cpu_id id = full();

	id.max_leaf = 6;
	check_eq(bl_cpu_features_of(&id), BL_CPU_SSE41);
}

static void arm64_bits_are_read_from_hwcap(void)
{
	struct bl_cpu_id id = {.hwcap = 1UL << 1};

	check_eq(bl_cpu_features_of(&id), BL_CPU_NEON);
	id.hwcap3 = 1UL << 3;
	check_eq(bl_cpu_features_of(&id), BL_CPU_NEON | BL_CPU_LS64);
	id.hwcap = ~(1UL << 1);
	id.hwcap3 = ~(1UL << 3);
	check_eq(bl_cpu_features_of(&id), 0);
}

/* A second witness: the compiler's own detection, where it has one. */
static void this_cpu_is_read_as_the_compiler_reads_it(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	check_eq((bl_cpu_features() & BL_CPU_SSE41) != 0, __builtin_cpu_supports("sse4.1") != 0);
	check_eq((bl_cpu_features() & BL_CPU_AVX2) != 0, __builtin_cpu_supports("avx2") != 0);
	check_eq((bl_cpu_features() & BL_CPU_AVX512) != 0,
		 __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"));
#else
	skip("the compiler detects nothing on this architecture");
#endif
}

static const struct tap_test tests[] = {
	{"a_full_x86_cpu_has_everything", a_full_x86_cpu_has_everything},
	{"a_cpu_that_says_nothing_has_nothing", a_cpu_that_says_nothing_has_nothing},
	{"avx2_needs_both_register_states", avx2_needs_both_register_states},
	{"avx512_needs_all_five_register_states", avx512_needs_all_five_register_states},
	{"avx512_needs_each_of_its_parts", avx512_needs_each_of_its_parts},
	{"without_osxsave_there_is_no_avx", without_osxsave_there_is_no_avx},
	{"leaf_7_counts_only_where_it_exists", leaf_7_counts_only_where_it_exists},
	{"arm64_bits_are_read_from_hwcap", arm64_bits_are_read_from_hwcap},
	{"this_cpu_is_read_as_the_compiler_reads_it", this_cpu_is_read_as_the_compiler_reads_it},
};

TAP_MAIN(tests)
