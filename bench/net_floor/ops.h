/* SPDX-License-Identifier: MIT */
/* ops.h - what net_floor's program and its kernels share; C and CUDA */
#ifndef BENCH_NET_FLOOR_OPS_H
#define BENCH_NET_FLOOR_OPS_H

#include <stdint.h>

/* What a thread of the GPU does time and again. */
enum bl_floor_op {
	BL_FLOOR_REQUEST_FENCE,
	BL_FLOOR_FENCE,
	BL_FLOOR_REQUEST_RELEASE,
	BL_FLOOR_RELEASE,
	BL_FLOOR_REQUEST_STORE,
	BL_FLOOR_STORE,
	BL_FLOOR_MAX,
	BL_FLOOR_ADD,
	BL_FLOOR_LOAD_GPU,
	BL_FLOOR_LOAD_HOST,
};

/* What it answers with when the CPU has raised its flag. */
enum bl_floor_answer {
	BL_FLOOR_FLAG,		/* the CPU's flag */
	BL_FLOOR_REQUEST,	/* 64 bytes, a fence, the flag */
	BL_FLOOR_REQUEST_TWICE, /* 64 bytes, a fence, a word, a fence, the flag */
	BL_FLOOR_MARKED,	/* 64 bytes in words of 8, half of each the number of the turn; no fence, no flag */
	BL_FLOOR_FENCE_MARKED,	/* a fence, then the same */
	BL_FLOOR_MARKED_WARP	/* as BL_FLOOR_MARKED, by lanes of a warp in one access */
};

/* How a kernel ended. */
enum bl_floor_end { BL_FLOOR_NOT_RUN, BL_FLOOR_DONE, BL_FLOOR_ABSENT, BL_FLOOR_TIMEOUT, BL_FLOOR_STOPPED };

/* Bytes from the start of the memory of the host, and of the GPU's; what belongs to different things is lines apart. */
enum {
	BL_FLOOR_AT_REQUEST = 0,
	BL_FLOOR_AT_FLAG = 256,
	BL_FLOOR_AT_WORD = 512,
	BL_FLOOR_AT_COUNT = 768,
	BL_FLOOR_AT_LOAD = 1024,
	BL_FLOOR_AT_STOP = 1280,
	BL_FLOOR_AT_RESULT = 2048,
	BL_FLOOR_AT_LINES = 4096, /* of the GPU's: what the CPU stores and loads */
	BL_FLOOR_BYTES = 65536
};

/* Words of 8 bytes that carry 64 bytes of a request, each with its mark. */
#define BL_FLOOR_MARKED_WORDS 16

/* The word that loads find. */
#define BL_FLOOR_LOADED 0x5a5a0f0f12345678ULL

/**
 * struct bl_floor_work - a launch
 * @host:     the host's memory
 * @gpu:      the GPU's memory
 * @turns:    how often
 * @limit_ns: the longest wait of the GPU
 * @kind:     enum bl_floor_op or bl_floor_answer
 * @pad:      0
 */
struct bl_floor_work {
	uint64_t host;
	uint64_t gpu;
	uint64_t turns;
	uint64_t limit_ns;
	uint32_t kind;
	uint32_t pad;
};

/**
 * struct bl_floor_result - what a kernel leaves behind, in the GPU's memory
 * @ns:    all turns by the GPU's clock
 * @word:  the last word that was loaded, or the old value of the last atomic operation
 * @turns: done
 * @end:   enum bl_floor_end
 * @pad:   0
 */
struct bl_floor_result {
	uint64_t ns;
	uint64_t word;
	uint64_t turns;
	uint32_t end;
	uint32_t pad;
};

#endif
