/* SPDX-License-Identifier: MIT */
/*
 * pplat.h - the GPU's side of a game of ping-pong between CPU and GPU
 *
 * pplat.ptx has two kernels with the same parameters:
 *
 *	bl_pplat_consume(u64 gpu_flag, u64 cpu_flag, u64 data, u64 nr_words, u64 rounds, u64 timeout_ns, u64 stop,
 *			 u64 result)
 *		in round i = 1 ... rounds wait until the u32 at @gpu_flag is i, compare the u32 words at @data with
 *		bl_pplat_word(i, ...), and store i at @cpu_flag
 *	bl_pplat_produce(the same)
 *		in round i write the words, store i at @cpu_flag, and wait until the u32 at @gpu_flag is i
 *
 * All blocks of the grid take part in each round, so all of them must fit on the GPU at once. The last block to finish
 * a round stores the flag. The words are divided among all threads with the stride of the grid.
 *
 * Each wait ends with the flag, after @timeout_ns (0: never), or when the u32 at @stop is not 0. Time and stop word are
 * looked at once in BL_PPLAT_POLLS polls, which keeps them out of a round trip that is as short as usual.
 *
 * Addresses are those that the device can reach; flags and words are aligned to 4 bytes, @result to 8.
 */
#ifndef BL_GPU_KERNELS_PPLAT_H
#define BL_GPU_KERNELS_PPLAT_H

#include <stdint.h>

/* Text of pplat.ptx, for cuModuleLoadData(). */
extern const char bl_pplat_ptx[];

#define BL_PPLAT_POLLS 1024

/* How a block ended; the worst of all blocks counts. */
enum bl_pplat_end {
	BL_PPLAT_NOT_RUN = 0,
	BL_PPLAT_DONE = 1,
	BL_PPLAT_TIMED_OUT = 2,
	BL_PPLAT_STOPPED = 3,
};

/**
 * struct bl_pplat_result - what a kernel leaves behind, in GPU memory; all zero before the launch
 * @arrived:    blocks that finished a round, summed over all rounds; 0 for a grid of one block
 * @ended:      enum bl_pplat_end
 * @reserved:   0
 * @rounds:     rounds that some block completed
 * @bad:        words that were not as they should be (consume)
 * @elapsed_ns: time of block 0 from the end of its first round to the end of its last
 */
struct bl_pplat_result {
	uint64_t arrived;
	uint32_t ended;
	uint32_t reserved;
	uint64_t rounds;
	uint64_t bad;
	uint64_t elapsed_ns;
};

/* Word @index of the data of a round; one that is left over from another round differs. */
static inline uint32_t bl_pplat_word(uint32_t round, uint32_t index)
{
	return round * 0x9e3779b1U + index;
}

#endif
