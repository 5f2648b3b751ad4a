/* SPDX-License-Identifier: MIT */
/* floor.h - parts of net_floor: what a message between a thread of the GPU and a CPU costs at least */
#ifndef BENCH_NET_FLOOR_FLOOR_H
#define BENCH_NET_FLOOR_FLOOR_H

#include "common/bench.h"
#include "ops.h"

#define FLOOR_MAX_TURNS	  20000U
#define FLOOR_MAX_REPEATS 101U

/**
 * struct floor - what is measured with
 * @bench:  memory of the GPU, mapped
 * @host:   pinned memory, one address for both sides
 * @gpu:    address of @bench's memory for the GPU
 * @map:    the same for the CPU
 * @module: kernels
 * @stream: on which they run
 * @turns:  how often each repetition does a thing
 * @end_ns: when no wait goes on any longer
 */
struct floor {
	struct bench bench;
	unsigned char *host;
	CUdeviceptr gpu;
	unsigned char *map;
	CUmodule module;
	CUstream stream;
	uint64_t turns;
	uint64_t end_ns;
};

/**
 * struct floor_row - a thing to be measured
 * @part:   "gpu", "round" or "cpu"
 * @key:    name for programs
 * @text:   name for people
 * @run:    does it @floor->turns times; ns of each in *@ns_p. -EOPNOTSUPP: this GPU or CPU lacks it. Ends the program
 *          with a message when something fails or the result is wrong.
 * @kind:   for @run
 */
struct floor_row {
	const char *part;
	const char *key;
	const char *text;
	int (*run)(struct floor *floor, int kind, double *ns_p);
	int kind;
};

/* Each ends with a NULL @part. */
extern const struct floor_row floor_gpu_rows[];
extern const struct floor_row floor_round_rows[];
extern const struct floor_row floor_cpu_rows[];

/* ---- gpu.c ---- */

/* Kernels, pinned memory and stream; ends the program with a message when there are none. -ENOENT: no kernels. */
int floor_open(struct floor *floor);
void floor_close(struct floor *floor);

/* Clear the host's memory, the flag and the result, and start a kernel. */
void floor_launch(struct floor *floor, const char *kernel, int kind, unsigned int threads);

/* Wait until it has ended, and take its result. */
void floor_finish(struct floor *floor, struct bl_floor_result *result);

/* Have the kernel leave, and end the program with a message. */
void floor_give_up(struct floor *floor, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

/* A word of the host's memory. */
static inline uint64_t *floor_host_word(const struct floor *floor, size_t off)
{
	return (uint64_t *)(floor->host + off);
}

#endif
