/* SPDX-License-Identifier: MIT */
/*
 * oneshot.h - one read of GPU memory into host memory, which the CPU can take back
 *
 * oneshot.ptx has one kernel, for grids of at most BL_ONESHOT_MAX_BLOCKS blocks:
 *
 *	bl_oneshot(u64 dst, u64 src, u64 len, u64 gate, u64 words, u64 seq, u64 claim)
 *
 * @dst and @src are device addresses, the same modulo 16. @gate is the device address of a struct bl_oneshot_gate in GPU
 * memory, which the CPU writes through a mapping; @words that of a struct bl_oneshot_words in host memory. @seq is the
 * number of the read, larger than those before.
 *
 * Each block claims the read, and does nothing if it finds it cancelled. Else it copies its part, and stores the number
 * in its own line of the words behind all of that. @claim says how it claims, enum bl_oneshot_claim.
 */
#ifndef BL_GPU_KERNELS_ONESHOT_H
#define BL_GPU_KERNELS_ONESHOT_H

#include <stddef.h>
#include <stdint.h>

/* Text of oneshot.ptx, for cuModuleLoadData(). */
extern const char bl_oneshot_ptx[];

#define BL_ONESHOT_MAX_BLOCKS 16U

/**
 * enum bl_oneshot_claim - how a block claims a read
 * @BL_ONESHOT_CLAIM_NONE:   not at all: nobody can cancel
 * @BL_ONESHOT_CLAIM_GPU:    store the claim, fence for the GPU, load the cancel
 * @BL_ONESHOT_CLAIM_SYSTEM: the same with a fence for the system
 * @BL_ONESHOT_CLAIM_ATOMIC: add to one half of a word whose other half is the cancel
 */
enum bl_oneshot_claim {
	BL_ONESHOT_CLAIM_NONE,
	BL_ONESHOT_CLAIM_GPU,
	BL_ONESHOT_CLAIM_SYSTEM,
	BL_ONESHOT_CLAIM_ATOMIC,
};

/**
 * struct bl_oneshot_line - a word with a line of its own
 * @seq:      number of a read
 * @reserved: 0
 */
struct bl_oneshot_line {
	uint64_t seq;
	uint64_t reserved[7];
};

/**
 * struct bl_oneshot_gate - GPU memory that CPU and kernel share
 * @cancelled: reads up to this one must not be begun
 * @both:      the same in the low half, how many blocks have claimed in the high one
 * @reserved:  0
 * @claim:     number that a block claimed last, by block
 */
struct bl_oneshot_gate {
	uint64_t cancelled;
	uint64_t both;
	uint64_t reserved[6];
	struct bl_oneshot_line claim[BL_ONESHOT_MAX_BLOCKS];
};

/**
 * struct bl_oneshot_words - host memory that the kernel writes
 * @done: number that a block copied its part of last, by block
 */
struct bl_oneshot_words {
	struct bl_oneshot_line done[BL_ONESHOT_MAX_BLOCKS];
};

/* oneshot.ptx has these as numbers. */
_Static_assert(sizeof(struct bl_oneshot_line) == 64 && offsetof(struct bl_oneshot_line, seq) == 0, "one line each");
_Static_assert(offsetof(struct bl_oneshot_gate, cancelled) == 0 && offsetof(struct bl_oneshot_gate, both) == 8 &&
	       offsetof(struct bl_oneshot_gate, claim) == 64 && offsetof(struct bl_oneshot_words, done) == 0,
	       "gate and words of oneshot.ptx");

#endif
