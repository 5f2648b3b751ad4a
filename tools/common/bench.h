/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the gdrcopy_* measurements share: one pinned and mapped buffer, and a way to time calls
 */
#ifndef TOOLS_COMMON_BENCH_H
#define TOOLS_COMMON_BENCH_H

#include <getopt.h>
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

/* Options without a letter. */
enum { BENCH_JSON = 256, BENCH_BIND, BENCH_OWN };

#define BENCH_LONG_HELP { "help", no_argument, NULL, 'h' }
#define BENCH_LONG_BIND { "bind", required_argument, NULL, BENCH_BIND }
#define BENCH_LONG_JSON { "json", required_argument, NULL, BENCH_JSON }
#define BENCH_LONG_END	{ NULL, 0, NULL, 0 }

#define BENCH_USAGE_GPU "  -d N       GPU (0)\n"
#define BENCH_USAGE_ITERS                              \
	"  -w N       iterations of a write test (10000)\n" \
	"  -r N       iterations of a read test (100)\n"
#define BENCH_USAGE_ALLOC "  -a NAME    allocate with cuMemAlloc (default) or cuMemCreate\n"
#define BENCH_USAGE_MAP	  "  -M TYPE    ask for a mapping: default, wc, cache or device\n"
#define BENCH_USAGE_BIND  "  --bind B   auto: run on the GPU's NUMA node; none (default): warn when on another\n"
#define BENCH_USAGE_JSON  "  --json F   also write the result as JSON to file F; - is stdout, and text goes to stderr\n"

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
 * struct bench_cli - options of one program
 * @name:    of the program, however it was called
 * @usage:   text of -h, without the line of -h
 * @letters: all letters, for getopt_long()
 * @longs:   all long options
 * @own:     takes an option of the program's own, with its value in optarg; false when it is none. Asked first, so that
 *           a letter may have another meaning than struct bench_options gives it. NULL when there are none.
 */
struct bench_cli {
	const char *name;
	const char *usage;
	const char *letters;
	const struct option *longs;
	bool (*own)(int opt, void *options);
};

/**
 * bench_parse() - Read the command line; ends the program with a message when it is wrong, and for -h
 * @argc:    of main()
 * @argv:    of main()
 * @cli:     what there is
 * @bench:   receives -s, -d, -w, -r, -a, -M, --bind and --json, those of them that @cli has
 * @options: for @cli->own
 */
void bench_parse(int argc, char **argv, const struct bench_cli *cli, struct bench_options *bench, void *options);

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

/* Write the result where --json says, if it does, and let go of it. Return: exit status of the program. */
int bench_finish(const struct bench_options *options, struct json_object *object);

/**
 * struct bench_copy - copies between host memory and the buffer
 * @bench:  the buffer, mapped
 * @device: CPU address of GPU memory in the mapping
 * @host:   ordinary memory
 * @len:    bytes
 */
struct bench_copy {
	const struct bench *bench;
	char *device;
	char *host;
	size_t len;
};

/* For bench_time(), on a struct bench_copy. */
static inline int bench_copy_to(void *arg)
{
	const struct bench_copy *copy = arg;

	return gdr_copy_to_mapping(copy->bench->mh, copy->device, copy->host, copy->len);
}

static inline int bench_copy_from(void *arg)
{
	const struct bench_copy *copy = arg;

	return gdr_copy_from_mapping(copy->bench->mh, copy->host, copy->device, copy->len);
}

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
