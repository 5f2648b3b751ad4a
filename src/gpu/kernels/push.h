/* SPDX-License-Identifier: MIT */
/*
 * push.h - a resident kernel that copies GPU memory to host memory when the CPU rings
 *
 * push.ptx has one kernel; its grid stays until nothing came for a while:
 *
 *	bl_push(u64 doorbell, u64 words, u64 gen, u64 idle_ns, u64 slice)
 *
 * @doorbell is the device address of a struct bl_push_doorbell in GPU memory, which the CPU writes through a mapping.
 * @words is the device address of a struct bl_push_words in host memory. Block b copies bytes [b * slice, (b + 1) *
 * slice) of a command, as far as it has that many, and then stores the command's number in its own line of the words.
 * @slice is a multiple of 16, and source and destination of a command are the same modulo 16.
 *
 * The words of a command may become visible in any order: two of them carry the low bits of its number, and a command
 * counts when they fit. A block leaves when @idle_ns have gone by without a command, or when @stop is @gen or more.
 *
 * A generation is one launch. The next one is launched on the same stream, so its blocks begin after those of the
 * last one have ended, from the number that each of them served last.
 */
#ifndef BL_GPU_KERNELS_PUSH_H
#define BL_GPU_KERNELS_PUSH_H

#include <stddef.h>
#include <stdint.h>

/* Text of push.ptx, for cuModuleLoadData(). */
extern const char bl_push_ptx[];

/* The grid, unless BARLANE_PUSH_GRID says otherwise; the best of six on an H200, see docs/copy-engine.md. */
#define BL_PUSH_BLOCKS	   2U
#define BL_PUSH_THREADS	   256U
#define BL_PUSH_MAX_BLOCKS 16U
#define BL_PUSH_MAX_LEN	   (64UL << 10)
#define BL_PUSH_SEQ_MASK   ((1ULL << 40) - 1)
#define BL_PUSH_TAG_SHIFT  48
#define BL_PUSH_LEN_SHIFT  24
#define BL_PUSH_POLLS	   16 /* polls between looks at the clock */

/**
 * struct bl_push_doorbell - one line of 64 bytes
 * @src:     device address, low 16 bits of the number in bits 48 to 63
 * @dst:     likewise
 * @command: number << 24 | bytes
 * @stop:    generations up to this one shall leave
 */
struct bl_push_doorbell {
	uint64_t src;
	uint64_t dst;
	uint64_t command;
	uint64_t stop;
	uint64_t reserved[4];
};

/**
 * struct bl_push_block - what a block tells, a line of its own
 * @served:  number of the last command of which this block copied its part
 * @alive:   generation that has begun
 * @left:    generation that has ended
 * @skipped: what it found in @revoked when it began
 */
struct bl_push_block {
	uint64_t served;
	uint64_t alive;
	uint64_t left;
	uint64_t skipped;
	uint64_t reserved[4];
};

/**
 * struct bl_push_words - host memory that CPU and kernel share
 * @revoked: number of a command that a block which begins must not serve any more
 * @block:   by block
 */
struct bl_push_words {
	uint64_t revoked;
	uint64_t reserved[7];
	struct bl_push_block block[BL_PUSH_MAX_BLOCKS];
};

/* push.ptx has these as numbers. */
_Static_assert(sizeof(struct bl_push_doorbell) == 64 && sizeof(struct bl_push_block) == 64, "one line each");
_Static_assert(offsetof(struct bl_push_doorbell, dst) == 8 && offsetof(struct bl_push_doorbell, command) == 16 &&
	       offsetof(struct bl_push_doorbell, stop) == 24, "doorbell of push.ptx");
_Static_assert(offsetof(struct bl_push_block, served) == 0 && offsetof(struct bl_push_block, alive) == 8 &&
	       offsetof(struct bl_push_block, left) == 16 && offsetof(struct bl_push_block, skipped) == 24 &&
	       offsetof(struct bl_push_words, revoked) == 0 && offsetof(struct bl_push_words, block) == 64,
	       "words of push.ptx");

#endif
