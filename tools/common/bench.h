/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the gdrcopy_* measurements share: one pinned and mapped buffer, and a way to time calls
 */
#ifndef TOOLS_COMMON_BENCH_H
#define TOOLS_COMMON_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "common/bind.h"
#include "common/device.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/stats.h"
#include "gdrapi.h"

/* Samples that one measurement is split into, at most. */
#define BENCH_SAMPLES 100

/* "default", "wc", "cache", "device" */
extern const struct tool_name bench_map_types[];

/**
 * struct bench_options - what the user asked for
 * @ordinal: GPU
 * @size:    bytes to allocate and pin
 * @writes:  iterations of each write test
 * @reads:   iterations of each read test
 * @kind:    enum tool_mem_kind
 * @map:     GDR_MAP_FLAG_*
 * @bind:    enum tool_bind
 * @json:    where the JSON result goes, or NULL
 */
struct bench_options {
	int ordinal;
	size_t size;
	uint64_t writes;
	uint64_t reads;
	int kind;
	int map;
	int bind;
	const char *json;
};

/**
 * struct bench - one buffer; pinned and mapped by bench_open() only
 * @out:    where text goes: stdout, or stderr when JSON goes to stdout
 * @device: GPU
 * @numa:   its NUMA node and this process'
 * @mem:    its memory
 * @g:      library instance
 * @mh:     pin
 * @len:    pinned and mapped bytes
 * @info:   what the library says of the mapped pin
 * @map:    start of the mapping
 * @user:   CPU address of @mem.ptr
 */
struct bench {
	FILE *out;
	struct tool_device device;
	struct tool_numa numa;
	struct tool_mem mem;
	gdr_t g;
	gdr_mh_t mh;
	size_t len;
	gdr_info_t info;
	char *map;
	char *user;
};

/* Allocate and open the library; ends the program with a message when that fails. Prints the list of GPUs. */
void bench_prepare(const struct bench_options *options, struct bench *bench);

/* Undo bench_prepare(). */
void bench_release(struct bench *bench);

/* As bench_prepare(), and pin and map. */
void bench_open(const struct bench_options *options, struct bench *bench);

/* Print address, size and type of the mapping. */
void bench_print(const struct bench_options *options, const struct bench *bench);

/* Unmap, unpin, close and free; ends the program with a message when that fails. */
void bench_close(struct bench *bench);

/**
 * bench_check() - Compare GPU memory, read by CUDA, with what should be there; ends the program when it differs
 * @bench: from bench_open()
 * @off:   bytes from the start of the buffer
 * @want:  what should be there
 * @len:   bytes
 */
void bench_check(const struct bench *bench, size_t off, const void *want, size_t len);

/* Fill host memory with bytes that depend on their place and on a seed. */
void bench_fill(void *host, size_t len, unsigned int seed);

/* Memory of the host; ends the program when there is none. */
void *bench_host_alloc(size_t len);

/* JSON object that says what program ran on what, for results to be added to. */
struct json_object *bench_json(const struct bench_options *options, const struct bench *bench);

/* One result: iterations, and nanoseconds for each operation. */
struct json_object *bench_json_result(const char *name, size_t size, uint64_t iters, const struct tool_stats *stats);

typedef int (*bench_op)(void *arg);

/**
 * bench_time() - Time an operation
 * @op:       returns 0, or what is added to the error
 * @prepare:  called before each operation, not timed; NULL for none
 * @arg:      for both
 * @iters:    how often, > 0
 * @total_p:  receives the nanoseconds spent in all operations
 * @stats:    receives nanoseconds for each operation, over up to BENCH_SAMPLES samples of equal length
 *
 * Inline, so that a constant @op is not called through a pointer.
 * Return: what the operations returned, or-ed together.
 */
static inline int bench_time(bench_op op, bench_op prepare, void *arg, uint64_t iters, uint64_t *total_p,
			     struct tool_stats *stats)
{
	uint64_t nr = iters < BENCH_SAMPLES ? iters : BENCH_SAMPLES;
	double samples[BENCH_SAMPLES];
	uint64_t total = 0;
	int err = op(arg); /* warm up: the first call meets cold code and page tables */

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t count = iters / nr + (i < iters % nr);
		uint64_t spent = 0, start = tool_now_ns();

		for (uint64_t j = 0; j < count; j++) {
			if (prepare) {
				err |= prepare(arg);
				start = tool_now_ns();
			}
			err |= op(arg);
			if (prepare)
				spent += tool_now_ns() - start;
		}
		if (!prepare)
			spent = tool_now_ns() - start;
		samples[i] = (double)spent / (double)count;
		total += spent;
	}
	tool_stats_fill(samples, nr, stats);
	*total_p = total;
	return err;
}

#endif
