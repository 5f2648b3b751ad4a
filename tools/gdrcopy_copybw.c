// SPDX-License-Identifier: MIT
/*
 * gdrcopy_copybw - bandwidth of CPU copies to and from mapped GPU memory
 */
#include <getopt.h>
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

struct copy {
	const struct bench *bench;
	char *device;
	char *host;
	size_t len;
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: gdrcopy_copybw [options]\n"
		"  -h         this text\n"
		"  -s BYTES   buffer to allocate (131072)\n"
		"  -c BYTES   bytes to copy (the buffer's size); upper bound with -l\n"
		"  -o BYTES   offset of the copy in the buffer (0), multiple of 4\n"
		"  -l         copy 1, 2, 4 ... bytes, below the largest power of two within the bound\n"
		"  -d N       GPU (0)\n"
		"  -w N       iterations of a write test (10000)\n"
		"  -r N       iterations of a read test (100)\n"
		"  -a NAME    allocate with cuMemAlloc (default) or cuMemCreate\n"
		"  -M TYPE    ask for a mapping: default, wc, cache or device\n"
		"  --bind B   auto: run on the GPU's NUMA node; none (default): warn when on another\n"
		"  --json F   also write the result as JSON to file F; - is stdout, and text goes to stderr\n");
}

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

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "bind", required_argument, NULL, 'B' },
					       { "json", required_argument, NULL, 'J' },
					       { NULL, 0, NULL, 0 } };
	struct bench_options *bench = &options->bench;
	int opt;

	while ((opt = getopt_long(argc, argv, "hs:c:o:ld:w:r:a:M:", longs, NULL)) != -1) {
		switch (opt) {
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		case 's':
			bench->size = tool_number("-s", optarg, 1, SIZE_MAX / 2);
			break;
		case 'c':
			options->copy = tool_number("-c", optarg, 1, SIZE_MAX / 2);
			break;
		case 'o':
			options->off = tool_number("-o", optarg, 0, SIZE_MAX / 2);
			break;
		case 'l':
			options->sweep = true;
			break;
		case 'd':
			bench->ordinal = (int)tool_number("-d", optarg, 0, INT32_MAX);
			break;
		case 'w':
			bench->writes = tool_number("-w", optarg, 1, UINT32_MAX);
			break;
		case 'r':
			bench->reads = tool_number("-r", optarg, 1, UINT32_MAX);
			break;
		case 'a':
			bench->kind = tool_name_value("-a", optarg, tool_mem_kinds);
			break;
		case 'M':
			bench->map = tool_name_value("-M", optarg, bench_map_types);
			break;
		case 'B':
			bench->bind = tool_name_value("--bind", optarg, tool_bind_names);
			break;
		case 'J':
			bench->json = optarg;
			break;
		default: /* getopt said what is wrong */
			usage(stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	check_options(options);
}

static int copy_to(void *arg)
{
	const struct copy *copy = arg;

	return gdr_copy_to_mapping(copy->bench->mh, copy->device, copy->host, copy->len);
}

static int copy_from(void *arg)
{
	const struct copy *copy = arg;

	return gdr_copy_from_mapping(copy->bench->mh, copy->host, copy->device, copy->len);
}

static void report(const struct copy *copy, const char *dir, uint64_t iters, uint64_t total_ns,
		   const struct tool_stats *stats, struct json_object *results)
{
	double mbps = (double)copy->len * (double)iters / MIB * 1e9 / (double)(total_ns ? total_ns : 1);
	struct json_object *result = bench_json_result(dir, copy->len, iters, stats);

	fprintf(copy->bench->out, "%s BW: %gMB/s\n", dir, mbps);
	fflush(copy->bench->out);
	tool_json_double(result, "mib_per_s", mbps);
	tool_json_append(results, result);
}

static void run_size(const struct options *options, struct copy *copy, struct json_object *results)
{
	char *want = bench_host_alloc(copy->len);
	struct tool_stats stats;
	uint64_t total;

	bench_fill(copy->host, copy->len, (unsigned int)copy->len);
	memcpy(want, copy->host, copy->len);
	fprintf(copy->bench->out, "writing test, size=%zu offset=%zu num_iters=%" PRIu64 "\n", copy->len, options->off,
		options->bench.writes);
	if (bench_time(copy_to, NULL, copy, options->bench.writes, &total, &stats))
		tool_die("gdr_copy_to_mapping failed");
	report(copy, "write", options->bench.writes, total, &stats, results);
	bench_check(copy->bench, options->off, want, copy->len);

	memset(copy->host, 0, copy->len);
	fprintf(copy->bench->out, "reading test, size=%zu offset=%zu num_iters=%" PRIu64 "\n", copy->len, options->off,
		options->bench.reads);
	if (bench_time(copy_from, NULL, copy, options->bench.reads, &total, &stats))
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
	struct copy copy = { .bench = bench, .device = bench->user + options->off, .len = options->copy };

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

	parse(argc, argv, &options);
	bench_open(&options.bench, &bench);
	fprintf(bench.out, "testing size: %zu\n", options.copy);
	fprintf(bench.out, "rounded size: %zu\n", bench.len);
	bench_print(&options.bench, &bench);
	object = bench_json(&options.bench, &bench);
	results = tool_json_array();
	run(&options, &bench, results);
	tool_json_add(object, "results", results);
	bench_close(&bench);
	if (!options.bench.json) {
		json_object_put(object);
		return EXIT_SUCCESS;
	}
	if (tool_json_write(object, options.bench.json))
		tool_die("%s", tool_why());
	return EXIT_SUCCESS;
}
