// SPDX-License-Identifier: MIT
/*
 * gdrcopy_copybw - bandwidth of CPU copies to and from mapped GPU memory
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bench.h"
#include "common/error.h"

#define MIB (1024.0 * 1024.0)

struct options {
	struct bench_options bench;
	size_t copy;
	size_t off;
	bool sweep;
};

static void check_options(struct options *options)
{
	const struct bench_options *bench = &options->bench;

	if (options->off % 4)
		tool_die("option -o: %zu is not a multiple of 4", options->off);
	if (!options->copy) {
		if (options->off >= bench->size)
			tool_die("option -o: %zu lies outside the buffer of %zu bytes", options->off, bench->size);
		options->copy = bench->size - options->off;
	}
	if (options->off > bench->size || options->copy > bench->size - options->off)
		tool_die("option -c: %zu bytes at offset %zu do not fit into the buffer of %zu bytes", options->copy,
			 options->off, bench->size);
}

static bool own_option(int opt, void *arg)
{
	struct options *options = arg;

	switch (opt) {
	case 'c':
		options->copy = tool_number("-c", optarg, 1, SIZE_MAX / 2);
		return true;
	case 'o':
		options->off = tool_number("-o", optarg, 0, SIZE_MAX / 2);
		return true;
	case 'l':
		options->sweep = true;
		return true;
	default:
		return false;
	}
}

static const struct bench_cli cli = {
	.name = "gdrcopy_copybw",
	.usage = "  -s BYTES   buffer to allocate (131072)\n"
		 "  -c BYTES   bytes to copy (the buffer's size); upper bound with -l\n"
		 "  -o BYTES   offset of the copy in the buffer (0), multiple of 4\n"
		 "  -l         copy 1, 2, 4 ... bytes, below the largest power of two within the bound\n"
		 BENCH_USAGE_GPU BENCH_USAGE_ITERS BENCH_USAGE_ALLOC BENCH_USAGE_MAP BENCH_USAGE_BIND BENCH_USAGE_JSON,
	.letters = "hs:c:o:ld:w:r:a:M:",
	.longs = (const struct option[]){ BENCH_LONG_HELP, BENCH_LONG_BIND, BENCH_LONG_JSON, BENCH_LONG_END },
	.own = own_option,
};

static void report(const struct bench_copy *copy, const char *dir, uint64_t iters, uint64_t total_ns,
		   const struct tool_stats *stats, struct json_object *results)
{
	double mbps = (double)copy->len * (double)iters / MIB * 1e9 / (double)(total_ns ? total_ns : 1);
	struct json_object *result = bench_json_result(dir, copy->len, iters, stats);

	fprintf(copy->bench->out, "%s BW: %gMB/s\n", dir, mbps);
	fflush(copy->bench->out);
	tool_json_double(result, "mib_per_s", mbps);
	tool_json_append(results, result);
}

static void run_size(const struct options *options, struct bench_copy *copy, struct json_object *results)
{
	char *want = bench_host_alloc(copy->len);
	struct tool_stats stats;
	uint64_t total;

	bench_fill(copy->host, copy->len, (unsigned int)copy->len);
	memcpy(want, copy->host, copy->len);
	fprintf(copy->bench->out, "writing test, size=%zu offset=%zu num_iters=%" PRIu64 "\n", copy->len, options->off,
		options->bench.writes);
	if (bench_time(bench_copy_to, NULL, copy, options->bench.writes, &total, &stats))
		tool_die("gdr_copy_to_mapping failed");
	report(copy, "write", options->bench.writes, total, &stats, results);
	bench_check(copy->bench, options->off, want, copy->len);

	memset(copy->host, 0, copy->len);
	fprintf(copy->bench->out, "reading test, size=%zu offset=%zu num_iters=%" PRIu64 "\n", copy->len, options->off,
		options->bench.reads);
	if (bench_time(bench_copy_from, NULL, copy, options->bench.reads, &total, &stats))
		tool_die("gdr_copy_from_mapping failed");
	report(copy, "read", options->bench.reads, total, &stats, results);
	if (memcmp(copy->host, want, copy->len))
		tool_die("wrong data: what was read through the mapping is not what was written");
	free(want);
}

static size_t power_of_two_within(size_t bound)
{
	size_t power = 1;

	while (power <= bound / 2)
		power *= 2;
	return power;
}

static void run(const struct options *options, const struct bench *bench, struct json_object *results)
{
	struct bench_copy copy = { .bench = bench, .device = bench->user + options->off, .len = options->copy };

	copy.host = bench_host_alloc(options->copy);
	if (!options->sweep) {
		run_size(options, &copy, results);
	} else {
		size_t end = power_of_two_within(options->copy);

		for (copy.len = 1; copy.len < end; copy.len *= 2)
			run_size(options, &copy, results);
	}
	free(copy.host);
}

int main(int argc, char **argv)
{
	struct options options = { .bench = { .size = 131072, .writes = 10000, .reads = 100 } };
	struct json_object *object, *results;
	struct bench bench;

	bench_parse(argc, argv, &cli, &options.bench, &options);
	check_options(&options);
	bench_open(&options.bench, &bench);
	fprintf(bench.out, "testing size: %zu\n", options.copy);
	fprintf(bench.out, "rounded size: %zu\n", bench.len);
	bench_print(&options.bench, &bench);
	object = bench_json(&options.bench, &bench);
	results = tool_json_array();
	run(&options, &bench, results);
	tool_json_add(object, "results", results);
	bench_close(&bench);
	return bench_finish(&options.bench, object);
}
