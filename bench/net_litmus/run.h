/* SPDX-License-Identifier: MIT */
/* run.h - a case on the GPU and the CPU at hand */
#ifndef BENCH_NET_LITMUS_RUN_H
#define BENCH_NET_LITMUS_RUN_H

#include "common/bench.h"
#include "litmus.h"

#define LITMUS_MAX_RUNS 1000000U

/**
 * struct litmus - what cases are run with
 * @bench:  memory of the GPU, mapped
 * @host:   pinned memory, one address for both sides
 * @gpu:    address of @bench's memory for the GPU
 * @map:    the same for the CPU
 * @module: kernel
 * @stream: on which it runs
 * @runs:   of each case
 * @seed:   of what is left to chance
 * @logs:   of each actor, @runs bytes
 * @end_ns: when no wait goes on any longer
 * @polls:  of the wait that goes on
 */
struct litmus {
	struct bench bench;
	unsigned char *host;
	CUdeviceptr gpu;
	unsigned char *map;
	CUmodule module;
	CUstream stream;
	uint64_t runs;
	uint64_t seed;
	uint8_t *logs[BL_LITMUS_NR_ACTORS];
	uint64_t end_ns;
	uint64_t polls;
};

/* Kernel, pinned memory and stream; ends the program with a message when there are none. -ENOENT: no kernel. */
int litmus_open(struct litmus *litmus);
void litmus_close(struct litmus *litmus);

/* Run a case and count what came of it; ends the program with a message when it cannot be run to its end. */
void litmus_run(struct litmus *litmus, const struct litmus_case *test, struct litmus_counts *counts);

#endif
