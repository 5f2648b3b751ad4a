// SPDX-License-Identifier: MIT
/*
 * gdrcopy_apiperf - time of the calls around a mapping: pin, map, get_info, unmap, unpin
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bench.h"
#include "common/error.h"

#define NR_BINS 10

struct options {
	struct bench_options bench;
	uint64_t iters;
	uint64_t warmup;
};

enum call { CALL_PIN, CALL_MAP, CALL_GET_INFO, CALL_UNMAP, CALL_UNPIN, NR_CALLS };

static const char *const call_names[NR_CALLS] = { "pin", "map", "get_info", "unmap", "unpin" };

/**
 * struct samples - nanoseconds of each call
 * @of: one array for each call
 * @nr: entries of each
 */
struct samples {
	double *of[NR_CALLS];
	size_t nr;
};

static bool own_option(int opt, void *arg)
{
	struct options *options = arg;

	switch (opt) {
	case 'n':
		options->iters = tool_number("-n", optarg, 1, INT32_MAX);
		return true;
	case 'w':
		options->warmup = tool_number("-w", optarg, 0, INT32_MAX);
		return true;
	default:
		return false;
	}
}

static const struct bench_cli cli = {
	.name = "gdrcopy_apiperf",
	.usage = "  -s BYTES   largest range to pin (16777216); they begin at 65536 and double\n"
		 BENCH_USAGE_GPU
		 "  -n N       iterations of each size (100)\n"
		 "  -w N       iterations before them that are not counted (10)\n"
		 BENCH_USAGE_ALLOC BENCH_USAGE_MAP BENCH_USAGE_JSON,
	.letters = "hs:d:n:w:a:M:",
	.longs = (const struct option[]){ BENCH_LONG_HELP, BENCH_LONG_JSON, BENCH_LONG_END },
	.own = own_option,
};

static uint64_t step(int ret, enum call call, size_t size, uint64_t since_ns, double *spent_ns)
{
	uint64_t now_ns = tool_now_ns();

	if (ret)
		tool_die("%s of %zu bytes: %s", call_names[call], size, strerror(ret));
	*spent_ns = (double)(now_ns - since_ns);
	return tool_now_ns();
}

/* Each call once, in the only order that there is. */
static void run_once(const struct bench_options *options, struct bench *bench, size_t size, double *spent_ns)
{
	uint64_t start = tool_now_ns();
	void *map = NULL;
	gdr_mh_t mh;

	start = step(gdr_pin_buffer(bench->g, bench->mem.ptr, size, 0, 0, &mh), CALL_PIN, size, start,
		     &spent_ns[CALL_PIN]);
	start = step(gdr_map_v2(bench->g, mh, &map, size, options->map), CALL_MAP, size, start, &spent_ns[CALL_MAP]);
	start = step(gdr_get_info(bench->g, mh, &bench->info), CALL_GET_INFO, size, start, &spent_ns[CALL_GET_INFO]);
	start = step(gdr_unmap(bench->g, mh, map, size), CALL_UNMAP, size, start, &spent_ns[CALL_UNMAP]);
	step(gdr_unpin_buffer(bench->g, mh), CALL_UNPIN, size, start, &spent_ns[CALL_UNPIN]);
}

/* Bins of equal width from the shortest to the longest; each holds its lower bound, the last one both. */
static void print_histogram(FILE *out, const double *ns, size_t nr, const struct tool_stats *stats, size_t size,
			    struct json_object *result)
{
	double width = (stats->max - stats->min) / NR_BINS;
	struct json_object *bins = tool_json_array();
	size_t counts[NR_BINS] = { 0 };

	for (size_t i = 0; i < nr; i++) {
		size_t bin = width > 0 ? (size_t)((ns[i] - stats->min) / width) : 0;

		counts[bin < NR_BINS ? bin : NR_BINS - 1]++;
	}
	fprintf(out, "Histogram of gdr_pin_buffer latency for %zu bytes (us)\n", size);
	for (int i = 0; i < NR_BINS; i++) {
		double from = stats->min + width * i, to = stats->min + width * (i + 1);
		struct json_object *bin = tool_json_object();

		fprintf(out, "[%f\t-\t%f]\t%zu\n", from / 1000, to / 1000, counts[i]);
		tool_json_double(bin, "from_ns", from);
		tool_json_double(bin, "to_ns", to);
		tool_json_int(bin, "count", (int64_t)counts[i]);
		tool_json_append(bins, bin);
	}
	fputc('\n', out);
	tool_json_add(result, "pin_histogram", bins);
}

static void run_size(const struct options *options, struct bench *bench, size_t size, struct samples *samples,
		     struct json_object *results)
{
	struct json_object *result = tool_json_object();
	struct tool_stats stats[NR_CALLS];
	double spent_ns[NR_CALLS];

	for (uint64_t i = 0; i < options->warmup; i++)
		run_once(&options->bench, bench, size, spent_ns);
	for (size_t i = 0; i < samples->nr; i++) {
		run_once(&options->bench, bench, size, spent_ns);
		for (int call = 0; call < NR_CALLS; call++)
			samples->of[call][i] = spent_ns[call];
	}
	fprintf(bench->out, "Size(B)\tpin.Time(us)\tmap.Time(us)\tget_info.Time(us)\tunmap.Time(us)\tunpin.Time(us)\n");
	fprintf(bench->out, "%zu", size);
	tool_json_int(result, "bytes", (int64_t)size);
	for (int call = 0; call < NR_CALLS; call++) {
		tool_stats_fill(samples->of[call], samples->nr, &stats[call]);
		fprintf(bench->out, "\t%f", stats[call].mean / 1000);
		tool_json_add(result, call_names[call],
			      bench_json_result(call_names[call], size, samples->nr, &stats[call]));
	}
	fputc('\n', bench->out);
	print_histogram(bench->out, samples->of[CALL_PIN], samples->nr, &stats[CALL_PIN], size, result);
	fflush(bench->out);
	tool_json_append(results, result);
}

static void run(const struct options *options, struct bench *bench, struct json_object *results)
{
	struct samples samples = { .nr = options->iters };

	for (int call = 0; call < NR_CALLS; call++)
		samples.of[call] = bench_host_alloc(samples.nr * sizeof(double));
	for (size_t size = GPU_PAGE_SIZE; size <= bench->len; size *= 2)
		run_size(options, bench, size, &samples, results);
	for (int call = 0; call < NR_CALLS; call++)
		free(samples.of[call]);
}

int main(int argc, char **argv)
{
	struct options options = { .bench = { .size = 16 << 20 }, .iters = 100, .warmup = 10 };
	struct json_object *object, *results = tool_json_array();
	struct bench bench;

	bench_parse(argc, argv, &cli, &options.bench, &options);
	bench_prepare(&options.bench, &bench);
	fprintf(bench.out, "device ptr: 0x%llx\n", bench.mem.ptr);
	fprintf(bench.out, "allocated size: %zu\n", bench.len);
	fprintf(bench.out, "gpu alloc fn: %s\n\n", tool_value_name(options.bench.kind, tool_mem_kinds));
	run(&options, &bench, results);
	object = bench_json(&options.bench, &bench);
	tool_json_int(object, "iters", (int64_t)options.iters);
	tool_json_int(object, "warmup", (int64_t)options.warmup);
	tool_json_add(object, "results", results);
	bench_release(&bench);
	return bench_finish(&options.bench, object);
}
