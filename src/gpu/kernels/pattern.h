/* SPDX-License-Identifier: MIT */
/*
 * pattern.h - test pattern that the GPU and the CPU write and check
 *
 * pattern.ptx has two kernels; every thread goes over the words with the stride of the grid:
 *
 *	bl_pattern_fill(u64 ptr, u64 nr_words, u64 seed)
 *		store bl_pattern_word(seed, i) into word i
 *	bl_pattern_check(u64 ptr, u64 nr_words, u64 seed, u64 result)
 *		add the number of words that differ to the u64 at @result, atomically
 *
 * @ptr and @result are addresses the device can reach, multiples of 8. Words are accessed volatile, so that what the
 * CPU writes while the kernel runs is seen.
 */
#ifndef BL_GPU_KERNELS_PATTERN_H
#define BL_GPU_KERNELS_PATTERN_H

#include <stdint.h>

/* Text of pattern.ptx, for cuModuleLoadData(). */
extern const char bl_pattern_ptx[];

/* The finalizer of splitmix64: neighbouring words and seeds share nothing that can be seen. */
static inline uint64_t bl_pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t word = seed + index + 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

#endif
