// SPDX-License-Identifier: MIT
/*
 * gdrcopy_pplat - round trip between CPU and GPU through mapped GPU memory
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "pplat/pplat.h"

const struct tool_name pplat_places[] = {
	{ "gpumem", PPLAT_GPUMEM },
	{ "hostmem", PPLAT_HOSTMEM },
	{ NULL, 0 },
};

static const char *const mode_texts[] = {
	"0 (CPU produces and GPU consumes)",
	"1 (GPU produces and CPU consumes)",
};

static void check_options(struct pplat_options *options)
{
	if (options->data % 4)
		tool_die("option -s: %zu is not a multiple of 4", options->data);
	if (!options->data)
		options->blocks = options->threads = 1;
	if (!options->bare)
		return;
	if (options->mode != PPLAT_CPU_PRODUCES || options->data || options->gpu_flag != PPLAT_GPUMEM ||
	    options->cpu_flag != PPLAT_HOSTMEM)
		tool_die("option --bare: only with -m 0 -s 0 -G gpumem -C hostmem");
}

static bool own_option(int opt, void *arg)
{
	struct pplat_options *options = arg;

	switch (opt) {
	case 't':
		options->iters = tool_number("-t", optarg, 1, 1000000000);
		return true;
	case 'u':
		options->timeout_s = tool_number("-u", optarg, 0, 1000000);
		return true;
	case 's':
		options->data = tool_number("-s", optarg, 0, 1UL << 33);
		return true;
	case 'B':
		options->blocks = (unsigned int)tool_number("-B", optarg, 1, INT32_MAX);
		return true;
	case 'T':
		options->threads = (unsigned int)tool_number("-T", optarg, 1, 1024);
		return true;
	case 'm':
		options->mode = (enum pplat_mode)tool_number("-m", optarg, 0, 1);
		return true;
	case 'G':
		options->gpu_flag = (enum pplat_where)tool_name_value("-G", optarg, pplat_places);
		return true;
	case 'C':
		options->cpu_flag = (enum pplat_where)tool_name_value("-C", optarg, pplat_places);
		return true;
	case 'D':
		options->where = (enum pplat_where)tool_name_value("-D", optarg, pplat_places);
		return true;
	case BENCH_OWN:
		options->bare = true;
		return true;
	default:
		return false;
	}
}

static const struct bench_cli cli = {
	.name = "gdrcopy_pplat",
	.usage = BENCH_USAGE_GPU
		 "  -t N       iterations (1000)\n"
		 "  -u N       longest wait of CPU and GPU in seconds (10), 0 for no limit\n"
		 BENCH_USAGE_ALLOC
		 "  -s BYTES   data in each iteration (0: flags only), multiple of 4\n"
		 "  -B N       blocks (8); 1 without data\n"
		 "  -T N       threads of each block (1024); 1 without data\n"
		 "  -m N       0: CPU produces, GPU consumes (default); 1: GPU produces, CPU consumes\n"
		 "  -G WHERE   flag that the GPU waits for: gpumem (default) or hostmem\n"
		 "  -C WHERE   flag that the CPU waits for: gpumem or hostmem (default)\n"
		 "  -D WHERE   data: gpumem (default) or hostmem\n"
		 BENCH_USAGE_MAP
		 "  --bare     take turns with a loop of plain stores and loads, and compare; -m 0 without data only\n"
		 BENCH_USAGE_JSON,
	.letters = "hd:t:u:a:s:B:T:m:G:C:D:M:",
	.longs = (const struct option[]){ BENCH_LONG_HELP,
					  { "bare", no_argument, NULL, BENCH_OWN },
					  BENCH_LONG_JSON,
					  BENCH_LONG_END },
	.own = own_option,
};

static void print_setting(const struct pplat_options *options, FILE *out)
{
	fprintf(out, "mode: %s\n", mode_texts[options->mode]);
	fprintf(out, "number of iterations: %" PRIu64 "\n", options->iters);
	fprintf(out, "timeout: %" PRIu64 " s%s\n", options->timeout_s, options->timeout_s ? "" : " (none)");
	fprintf(out, "data size: %zu\n", options->data);
	fprintf(out, "blocks: %u, threads per block: %u\n", options->blocks, options->threads);
	fprintf(out, "GPU flag: %s, CPU flag: %s, data: %s\n", tool_value_name(options->gpu_flag, pplat_places),
		tool_value_name(options->cpu_flag, pplat_places), tool_value_name(options->where, pplat_places));
}

/* Both sides end before anything is freed; if the GPU's does not, nothing may be. */
static void play(struct pplat *game, const struct pplat_times *times, struct bl_pplat_result *result)
{
	uint64_t round = 0;
	char why[256];
	int ret;

	pplat_launch(game);
	ret = pplat_play(game, times, &round);
	snprintf(why, sizeof(why), "%s", ret ? tool_why() : "");
	if (pplat_finish(game, ret, result)) {
		bool same = !strcmp(why, tool_why());

		fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, same ? "" : why,
			*why && !same ? "; " : "", tool_why());
		fflush(NULL);
		_exit(EXIT_FAILURE);
	}
	if (ret)
		tool_die("round %" PRIu64 " of %" PRIu64 ": %s; GPU: %s after %" PRIu64 " rounds", round,
			 game->rounds, why, pplat_end_name(result->ended), result->rounds);
	if (result->ended != BL_PPLAT_DONE || result->rounds != game->rounds)
		tool_die("GPU: %s after %" PRIu64 " of %" PRIu64 " rounds", pplat_end_name(result->ended),
			 result->rounds, game->rounds);
	if (result->bad)
		tool_die("wrong data: the GPU saw %" PRIu64 " wrong words in %" PRIu64 " rounds", result->bad,
			 game->rounds);
}

static void report_bare(struct pplat *game, const struct pplat_times *times, const struct tool_stats *library,
			struct json_object *object, struct json_object *results)
{
	uint64_t iters = game->options->iters;
	struct tool_stats bare;

	tool_stats_fill(times->bare, iters, &bare);
	fprintf(game->bench->out, "Bare loop: round-trip latency per iteration is (min) %f, (median) %f us\n",
		bare.min / 1000, bare.p50 / 1000);
	fprintf(game->bench->out, "Ratio of the medians: %.3f\n", library->p50 / bare.p50);
	tool_json_append(results, bench_json_result("bare", 0, iters, &bare));
	tool_json_double(object, "ratio_p50", library->p50 / bare.p50);
}

static void report(struct pplat *game, const struct pplat_times *times, const struct bl_pplat_result *result,
		   struct json_object *object)
{
	const struct pplat_options *options = game->options;
	struct json_object *results = tool_json_array();
	struct tool_stats stats;
	size_t nr = options->iters;

	/* the GPU has no sample for each round */
	if (options->mode == PPLAT_GPU_PRODUCES) {
		times->library[0] = (double)result->elapsed_ns / (double)options->iters;
		nr = 1;
	}
	tool_stats_fill(times->library, nr, &stats);
	fprintf(game->bench->out, "Round-trip latency per iteration is (min) %f, (median) %f us\n", stats.min / 1000,
		stats.p50 / 1000);
	tool_json_append(results, bench_json_result("round_trip", options->data, options->iters, &stats));
	if (options->bare)
		report_bare(game, times, &stats, object, results);
	tool_json_add(object, "results", results);
}

static struct json_object *setting_json(const struct pplat_options *options, const struct bench *bench,
					const struct bl_pplat_result *result)
{
	struct json_object *object = bench_json(&options->bench, bench);

	tool_json_int(object, "mode", options->mode);
	tool_json_int(object, "iters", (int64_t)options->iters);
	tool_json_int(object, "timeout_s", (int64_t)options->timeout_s);
	tool_json_int(object, "data_bytes", (int64_t)options->data);
	tool_json_int(object, "blocks", options->blocks);
	tool_json_int(object, "threads", options->threads);
	tool_json_string(object, "gpu_flag", tool_value_name(options->gpu_flag, pplat_places));
	tool_json_string(object, "cpu_flag", tool_value_name(options->cpu_flag, pplat_places));
	tool_json_string(object, "data", tool_value_name(options->where, pplat_places));
	tool_json_string(object, "gpu_end", pplat_end_name(result->ended));
	tool_json_int(object, "gpu_rounds", (int64_t)result->rounds);
	return object;
}

int main(int argc, char **argv)
{
	struct pplat_options options = { .iters = 1000, .timeout_s = 10, .blocks = 8, .threads = 1024,
					 .cpu_flag = PPLAT_HOSTMEM };
	struct pplat_times times = { NULL, NULL };
	struct bl_pplat_result result;
	struct json_object *object;
	struct bench bench;
	struct pplat game;

	bench_parse(argc, argv, &cli, &options.bench, &options);
	check_options(&options);
	options.bench.size = PPLAT_DATA + options.data;
	bench_open(&options.bench, &bench);
	bench_print(&options.bench, &bench);
	print_setting(&options, bench.out);
	times.library = bench_host_alloc(options.iters * sizeof(double));
	if (options.bare)
		times.bare = bench_host_alloc(options.iters * sizeof(double));
	pplat_catch_signals();
	pplat_open(&options, &bench, &game);
	play(&game, &times, &result);
	object = setting_json(&options, &bench, &result);
	report(&game, &times, &result, object);
	pplat_close(&game);
	bench_close(&bench);
	free(times.library);
	free(times.bare);
	return bench_finish(&options.bench, object);
}
