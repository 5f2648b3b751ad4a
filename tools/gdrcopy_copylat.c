// SPDX-License-Identifier: MIT
/*
 * gdrcopy_copylat - time of one CPU copy to or from mapped GPU memory, for each size
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bench.h"
#include "common/error.h"

struct options {
	struct bench_options bench;
	bool cuda;
	bool cold;
};

/**
 * struct copy - one copy
 * @bench:  buffer
 * @host:   ordinary memory
 * @pinned: memory that CUDA pinned, NULL unless cuMemcpy is measured
 * @len:    bytes
 */
struct copy {
	const struct bench *bench;
	char *host;
	char *pinned;
	size_t len;
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: gdrcopy_copylat [options]\n"
		"  -h         this text\n"
		"  -c         also measure cuMemcpy\n"
		"  -s BYTES   largest copy (16777216)\n"
		"  -d N       GPU (0)\n"
		"  -w N       iterations of a write test (10000)\n"
		"  -r N       iterations of a read test (100)\n"
		"  -a NAME    allocate with cuMemAlloc (default) or cuMemCreate\n"
		"  -M TYPE    ask for a mapping: default, wc, cache or device\n"
		"  -C         cold cache: the GPU rewrites the buffer before each copy; cached mappings only\n"
		"  --bind B   auto: run on the GPU's NUMA node; none (default): warn when on another\n"
		"  --json F   also write the result as JSON to file F; - is stdout, and text goes to stderr\n");
}

static uint64_t whole_samples(const char *option, uint64_t iters)
{
	uint64_t rounded;

	if (iters <= BENCH_SAMPLES || !(iters % BENCH_SAMPLES))
		return iters;
	rounded = (iters / BENCH_SAMPLES + 1) * BENCH_SAMPLES;
	fprintf(stderr, "WARNING: option %s: %" PRIu64 " iterations are rounded up to %" PRIu64 ", a multiple of %d\n",
		option, iters, rounded, BENCH_SAMPLES);
	return rounded;
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "bind", required_argument, NULL, 'B' },
					       { "json", required_argument, NULL, 'J' },
					       { NULL, 0, NULL, 0 } };
	struct bench_options *bench = &options->bench;
	int opt;

	while ((opt = getopt_long(argc, argv, "hcs:d:w:r:a:M:C", longs, NULL)) != -1) {
		switch (opt) {
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		case 'c':
			options->cuda = true;
			break;
		case 's':
			bench->size = tool_number("-s", optarg, 1, SIZE_MAX / 2);
			break;
		case 'd':
			bench->ordinal = (int)tool_number("-d", optarg, 0, INT32_MAX);
			break;
		case 'w':
			bench->writes = whole_samples("-w", tool_number("-w", optarg, 1, UINT32_MAX));
			break;
		case 'r':
			bench->reads = whole_samples("-r", tool_number("-r", optarg, 1, UINT32_MAX));
			break;
		case 'a':
			bench->kind = tool_name_value("-a", optarg, tool_mem_kinds);
			break;
		case 'M':
			bench->map = tool_name_value("-M", optarg, bench_map_types);
			break;
		case 'C':
			options->cold = true;
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
}

static int copy_to(void *arg)
{
	const struct copy *copy = arg;

	return gdr_copy_to_mapping(copy->bench->mh, copy->bench->user, copy->host, copy->len);
}

static int copy_from(void *arg)
{
	const struct copy *copy = arg;

	return gdr_copy_from_mapping(copy->bench->mh, copy->host, copy->bench->user, copy->len);
}

static int cuda_h2d(void *arg)
{
	const struct copy *copy = arg;

	return copy->bench->device.cu->cuMemcpyHtoD(copy->bench->mem.ptr, copy->pinned, copy->len);
}

static int cuda_d2h(void *arg)
{
	const struct copy *copy = arg;

	return copy->bench->device.cu->cuMemcpyDtoH(copy->pinned, copy->bench->mem.ptr, copy->len);
}

/* The GPU's own writes take the lines out of the CPU's caches. */
static int chill(void *arg)
{
	const struct copy *copy = arg;
	const struct bl_cuda *cu = copy->bench->device.cu;
	CUresult res = cu->cuMemsetD8(copy->bench->mem.ptr, 0, copy->len);

	return res ? res : cu->cuCtxSynchronize();
}

/**
 * struct test - one section of the output
 * @name:  as printed
 * @time:  bench_time() with the section's operation
 * @write: whether it writes GPU memory
 * @cuda:  whether it uses the pinned host buffer
 */
struct test {
	const char *name;
	int (*time)(bench_op prepare, struct copy *copy, uint64_t iters, uint64_t *total_p, struct tool_stats *stats);
	bool write;
	bool cuda;
};

#define DEFINE_TIME(op)                                                                                               \
	static int time_##op(bench_op prepare, struct copy *copy, uint64_t iters, uint64_t *total_p,                   \
			     struct tool_stats *stats)                                                                 \
	{                                                                                                              \
		return prepare ? bench_time(op, prepare, copy, iters, total_p, stats) :                                \
				 bench_time(op, NULL, copy, iters, total_p, stats);                                    \
	}

DEFINE_TIME(copy_to)
DEFINE_TIME(copy_from)
DEFINE_TIME(cuda_h2d)
DEFINE_TIME(cuda_d2h)

static const struct test tests[] = {
	{ "gdr_copy_to_mapping", time_copy_to, true, false },
	{ "gdr_copy_from_mapping", time_copy_from, false, false },
	{ "cuMemcpy_H2D", time_cuda_h2d, true, true },
	{ "cuMemcpy_D2H", time_cuda_d2h, false, true },
};

/* What the section starts from and what it must end with. */
static void run_size(const struct options *options, const struct test *test, struct copy *copy, const char *want,
		     uint64_t iters, struct json_object *results)
{
	char *host = test->cuda ? copy->pinned : copy->host;
	const struct bench *bench = copy->bench;
	struct tool_stats stats;
	uint64_t total;

	if (test->write) {
		memcpy(host, want, copy->len);
	} else {
		memset(host, 0x5a, copy->len);
		if (tool_cuda(bench->device.cu->cuMemcpyHtoD(bench->mem.ptr, want, copy->len), "cuMemcpyHtoD"))
			tool_die("%s", tool_why());
	}
	if (test->time(options->cold ? chill : NULL, copy, iters, &total, &stats))
		tool_die("%s of %zu bytes failed", test->name, copy->len);
	fprintf(bench->out, "%s \t %8zu \t %11.4f \t %11.4f\n", test->name, copy->len, stats.p50 / 1000,
		stats.min / 1000);
	fflush(bench->out);
	tool_json_append(results, bench_json_result(test->name, copy->len, iters, &stats));
	if (test->write)
		bench_check(bench, 0, want, copy->len);
	else if (options->cold ? host[0] || memcmp(host, host + 1, copy->len - 1) : memcmp(host, want, copy->len))
		tool_die("wrong data: %s of %zu bytes did not give what GPU memory holds", test->name, copy->len);
}

static void run_section(const struct options *options, const struct test *test, struct copy *copy, const char *want,
			struct json_object *results)
{
	uint64_t iters = test->write ? options->bench.writes : options->bench.reads;
	FILE *out = copy->bench->out;

	fprintf(out, "\n%s num iters for each size: %" PRIu64 "\n", test->name, iters);
	if (test->write && !test->cuda)
		fprintf(out, "WARNING: this is the time until the call returns to the CPU; the data may reach the GPU"
			     " later.\n");
	fprintf(out, "Test \t\t\t Size(B) \t Median Time(us) \t Min. Time(us)\n");
	for (copy->len = 1; copy->len <= options->bench.size; copy->len *= 2)
		run_size(options, test, copy, want, iters, results);
}

static void run(const struct options *options, const struct bench *bench, struct json_object *results)
{
	const struct bl_cuda *cu = bench->device.cu;
	struct copy copy = { .bench = bench };
	void *pinned = NULL;
	char *want;

	copy.host = bench_host_alloc(options->bench.size);
	want = bench_host_alloc(options->bench.size);
	bench_fill(want, options->bench.size, 1);
	if (options->cuda && tool_cuda(cu->cuMemHostAlloc(&pinned, options->bench.size, 0), "cuMemHostAlloc"))
		tool_die("%s", tool_why());
	copy.pinned = pinned;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!tests[i].cuda || options->cuda)
			run_section(options, &tests[i], &copy, want, results);
	}
	fputc('\n', bench->out);
	if (pinned)
		cu->cuMemFreeHost(pinned);
	free(want);
	free(copy.host);
}

int main(int argc, char **argv)
{
	struct options options = { .bench = { .size = 16 << 20, .writes = 10000, .reads = 100 } };
	struct json_object *object, *results;
	struct bench bench;

	parse(argc, argv, &options);
	bench_open(&options.bench, &bench);
	if (options.cold && bench.info.mapping_type != GDR_MAPPING_TYPE_CACHING)
		tool_die("option -C: the mapping is not cached");
	fprintf(bench.out, "allocated size: %zu\n", bench.len);
	bench_print(&options.bench, &bench);
	fprintf(bench.out, "use cold cache: %s\n", options.cold ? "yes" : "no");
	object = bench_json(&options.bench, &bench);
	tool_json_bool(object, "cold", options.cold);
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
