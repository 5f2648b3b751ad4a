// SPDX-License-Identifier: MIT
/*
 * gdrcopy_copylat - time of one CPU copy to or from mapped GPU memory, for each size
 */
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
 * @gdr:    through the mapping; its address is that of this struct
 * @pinned: memory that CUDA pinned, NULL unless cuMemcpy is measured
 */
struct copy {
	struct bench_copy gdr;
	char *pinned;
};

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

static bool own_option(int opt, void *arg)
{
	struct options *options = arg;

	switch (opt) {
	case 'c':
		options->cuda = true;
		return true;
	case 'C':
		options->cold = true;
		return true;
	case 'w':
		options->bench.writes = whole_samples("-w", tool_number("-w", optarg, 1, UINT32_MAX));
		return true;
	case 'r':
		options->bench.reads = whole_samples("-r", tool_number("-r", optarg, 1, UINT32_MAX));
		return true;
	default:
		return false;
	}
}

static const struct bench_cli cli = {
	.name = "gdrcopy_copylat",
	.usage = "  -c         also measure cuMemcpy\n"
		 "  -s BYTES   largest copy (16777216)\n"
		 BENCH_USAGE_GPU BENCH_USAGE_ITERS BENCH_USAGE_ALLOC BENCH_USAGE_MAP
		 "  -C         cold cache: the GPU rewrites the buffer before each copy; cached mappings only\n"
		 BENCH_USAGE_BIND BENCH_USAGE_JSON,
	.letters = "hcs:d:w:r:a:M:C",
	.longs = (const struct option[]){ BENCH_LONG_HELP, BENCH_LONG_BIND, BENCH_LONG_JSON, BENCH_LONG_END },
	.own = own_option,
};

static int cuda_h2d(void *arg)
{
	const struct copy *copy = arg;

	return copy->gdr.bench->device.cu->cuMemcpyHtoD(copy->gdr.bench->mem.ptr, copy->pinned, copy->gdr.len);
}

static int cuda_d2h(void *arg)
{
	const struct copy *copy = arg;

	return copy->gdr.bench->device.cu->cuMemcpyDtoH(copy->pinned, copy->gdr.bench->mem.ptr, copy->gdr.len);
}

/* The GPU's own writes take the lines out of the CPU's caches. */
static int chill(void *arg)
{
	const struct copy *copy = arg;
	const struct bl_cuda *cu = copy->gdr.bench->device.cu;
	CUresult res = cu->cuMemsetD8(copy->gdr.bench->mem.ptr, 0, copy->gdr.len);

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

DEFINE_TIME(bench_copy_to)
DEFINE_TIME(bench_copy_from)
DEFINE_TIME(cuda_h2d)
DEFINE_TIME(cuda_d2h)

static const struct test tests[] = {
	{ "gdr_copy_to_mapping", time_bench_copy_to, true, false },
	{ "gdr_copy_from_mapping", time_bench_copy_from, false, false },
	{ "cuMemcpy_H2D", time_cuda_h2d, true, true },
	{ "cuMemcpy_D2H", time_cuda_d2h, false, true },
};

/* What the section starts from and what it must end with. */
static void run_size(const struct options *options, const struct test *test, struct copy *copy, const char *want,
		     uint64_t iters, struct json_object *results)
{
	char *host = test->cuda ? copy->pinned : copy->gdr.host;
	const struct bench *bench = copy->gdr.bench;
	struct tool_stats stats;
	uint64_t total;

	if (test->write) {
		memcpy(host, want, copy->gdr.len);
	} else {
		memset(host, 0x5a, copy->gdr.len);
		if (tool_cuda(bench->device.cu->cuMemcpyHtoD(bench->mem.ptr, want, copy->gdr.len), "cuMemcpyHtoD"))
			tool_die("%s", tool_why());
	}
	if (test->time(options->cold ? chill : NULL, copy, iters, &total, &stats))
		tool_die("%s of %zu bytes failed", test->name, copy->gdr.len);
	fprintf(bench->out, "%s \t %8zu \t %11.4f \t %11.4f\n", test->name, copy->gdr.len, stats.p50 / 1000,
		stats.min / 1000);
	fflush(bench->out);
	tool_json_append(results, bench_json_result(test->name, copy->gdr.len, iters, &stats));
	if (test->write)
		bench_check(bench, 0, want, copy->gdr.len);
	else if (options->cold ? host[0] || memcmp(host, host + 1, copy->gdr.len - 1) : memcmp(host, want, copy->gdr.len))
		tool_die("wrong data: %s of %zu bytes did not give what GPU memory holds", test->name, copy->gdr.len);
}

static void run_section(const struct options *options, const struct test *test, struct copy *copy, const char *want,
			struct json_object *results)
{
	uint64_t iters = test->write ? options->bench.writes : options->bench.reads;
	FILE *out = copy->gdr.bench->out;

	fprintf(out, "\n%s num iters for each size: %" PRIu64 "\n", test->name, iters);
	if (test->write && !test->cuda)
		fprintf(out, "WARNING: this is the time until the call returns to the CPU; the data may reach the GPU"
			     " later.\n");
	fprintf(out, "Test \t\t\t Size(B) \t Median Time(us) \t Min. Time(us)\n");
	for (copy->gdr.len = 1; copy->gdr.len <= options->bench.size; copy->gdr.len *= 2)
		run_size(options, test, copy, want, iters, results);
}

static void run(const struct options *options, const struct bench *bench, struct json_object *results)
{
	const struct bl_cuda *cu = bench->device.cu;
	struct copy copy = { .gdr = { .bench = bench, .device = bench->user } };
	void *pinned = NULL;
	char *want;

	copy.gdr.host = bench_host_alloc(options->bench.size);
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
	free(copy.gdr.host);
}

int main(int argc, char **argv)
{
	struct options options = { .bench = { .size = 16 << 20, .writes = 10000, .reads = 100 } };
	struct json_object *object, *results;
	struct bench bench;

	bench_parse(argc, argv, &cli, &options.bench, &options);
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
	return bench_finish(&options.bench, object);
}
