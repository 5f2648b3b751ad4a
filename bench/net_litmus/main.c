// SPDX-License-Identifier: MIT
/*
 * net_litmus - what order the GPU, the CPU and what lies between them keep, rule by rule of docs/device-memory-order.md
 *
 * usage: net_litmus [-d GPU] [-n RUNS] [-s SEED] [-l SECONDS] [-o NAME] [--swap] [-M TYPE] [--json FILE]
 *
 * Each case is a few accesses of a thread of the GPU, another one there and the NIC, a thread of the CPU. Outcomes are
 * counted over RUNS runs. Exit status 0: no outcome that the rules forbid; 2: there was one; 1: it could not be run;
 * 77: this machine cannot.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/option.h"
#include "run.h"

#define SKIPPED	  77
#define FORBIDDEN 2
#define SECOND_NS 1000000000ULL

enum { OPT_SWAP = BENCH_OWN };

/**
 * struct settings - what the user asked for
 * @runs:    of each case
 * @seed:    of what is left to chance
 * @limit_s: seconds for all
 * @only:    name of the cases to be run; NULL: all
 * @swap:    accesses in the wrong order, which has to be found
 */
struct settings {
	uint64_t runs;
	uint64_t seed;
	uint64_t limit_s;
	const char *only;
	bool swap;
};

static bool own_option(int opt, void *arg)
{
	struct settings *settings = arg;

	if (opt == 'n')
		settings->runs = tool_number("-n", optarg, 1, LITMUS_MAX_RUNS);
	else if (opt == 's')
		settings->seed = tool_number("-s", optarg, 0, UINT32_MAX);
	else if (opt == 'l')
		settings->limit_s = tool_number("-l", optarg, 1, 3600);
	else if (opt == 'o')
		settings->only = optarg;
	else if (opt == OPT_SWAP)
		settings->swap = true;
	else
		return false;
	return true;
}

static const struct bench_cli cli = {
	.name = "net_litmus",
	.usage = BENCH_USAGE_GPU
		 "  -n N       runs of each case (20000), up to 1000000\n"
		 "  -s N       seed of what is left to chance (1)\n"
		 "  -l N       seconds for all (60), up to 3600\n"
		 "  -o NAME    cases of this name only\n"
		 "  --swap     accesses in the wrong order: forbidden outcomes have to be found, status 2\n"
		 BENCH_USAGE_MAP
		 BENCH_USAGE_JSON,
	.letters = "hd:n:s:l:o:M:",
	.longs = (const struct option[]){ BENCH_LONG_HELP, BENCH_LONG_JSON, { "swap", no_argument, NULL, OPT_SWAP },
					  BENCH_LONG_END },
	.own = own_option,
};

static const char *place_name(unsigned int place)
{
	return place == LITMUS_ON_GPU ? "gpu" : "host";
}

static const char *how_name(const struct litmus_case *test)
{
	static const char *const names[] = { "yes", "no", "swapped" };

	return names[test->how];
}

/* The registers, r0 first. */
static void outcome_name(unsigned int outcome, unsigned int nr_regs, char text[4])
{
	for (unsigned int reg = 0; reg < nr_regs; reg++)
		text[reg] = outcome >> reg & 1 ? '1' : '0';
	text[nr_regs] = 0;
}

static const char *verdict(const struct litmus_case *test, uint64_t forbidden)
{
	if (forbidden)
		return test->judged ? "FORBIDDEN" : "seen";
	return test->judged ? "ok" : "not seen";
}

static void show(FILE *out, const struct litmus_case *test, const struct litmus_counts *counts)
{
	struct litmus_shape shape = litmus_shape_of(test);
	char name[4];

	fprintf(out, "%-19s %-4s %-4s %-3s %-7s ", test->name, place_name(test->message), place_name(test->word),
		test->gpu_scope ? "gpu" : "sys", how_name(test));
	for (unsigned int outcome = 0; outcome < 1U << shape.nr_regs; outcome++) {
		bool bad = shape.forbidden >> outcome & 1;

		outcome_name(outcome, shape.nr_regs, name);
		fprintf(out, bad ? " !%s:%" PRIu64 : " %s:%" PRIu64, name, counts->outcomes[outcome]);
	}
	if (counts->broken)
		fprintf(out, " !broken:%" PRIu64, counts->broken);
	fprintf(out, "  %s\n", verdict(test, litmus_forbidden(test, counts)));
	fflush(out);
}

static struct json_object *to_json(const struct litmus_case *test, const struct litmus_counts *counts)
{
	struct json_object *row = tool_json_object(), *outcomes = tool_json_object(), *forbidden = tool_json_array();
	struct litmus_shape shape = litmus_shape_of(test);
	char name[4];

	tool_json_string(row, "test", test->name);
	tool_json_string(row, "what", shape.text);
	tool_json_string(row, "message", place_name(test->message));
	tool_json_string(row, "word", place_name(test->word));
	tool_json_string(row, "scope", test->gpu_scope ? "gpu" : "sys");
	tool_json_string(row, "fences", how_name(test));
	tool_json_bool(row, "judged", test->judged);
	for (unsigned int outcome = 0; outcome < 1U << shape.nr_regs; outcome++) {
		outcome_name(outcome, shape.nr_regs, name);
		tool_json_int(outcomes, name, (int64_t)counts->outcomes[outcome]);
		if (shape.forbidden >> outcome & 1)
			tool_json_append(forbidden, json_object_new_string(name));
	}
	tool_json_add(row, "outcomes", outcomes);
	tool_json_add(row, "forbidden", forbidden);
	tool_json_int(row, "broken", (int64_t)counts->broken);
	tool_json_int(row, "forbidden_runs", (int64_t)litmus_forbidden(test, counts));
	return row;
}

/* Of --swap: the cases that have a wrong order, in it. */
static bool choose(const struct settings *settings, const struct litmus_case *from, struct litmus_case *test)
{
	*test = *from;
	if (settings->only && strcmp(settings->only, from->name))
		return false;
	if (!settings->swap)
		return true;
	test->how = BL_LITMUS_SWAPPED;
	return from->judged && from->shape != BL_LITMUS_SUBMIT;
}

static bool run_all(struct litmus *litmus, const struct settings *settings, struct json_object *rows)
{
	const char *last = "";
	bool good = true;
	size_t nr = 0;

	for (const struct litmus_case *from = litmus_cases; from->name; from++) {
		struct litmus_counts counts = { 0 };
		struct litmus_case test;

		if (!choose(settings, from, &test))
			continue;
		if (strcmp(last, test.name))
			fprintf(litmus->bench.out, "# %s: %s\n", test.name, litmus_shape_of(&test).text);
		last = test.name;
		litmus->seed = settings->seed + nr++ * 1000003;
		litmus_run(litmus, &test, &counts);
		show(litmus->bench.out, &test, &counts);
		tool_json_append(rows, to_json(&test, &counts));
		good &= !test.judged || !litmus_forbidden(&test, &counts);
	}
	if (!nr)
		tool_die("option -o: there is no case named %s", settings->only);
	return good;
}

static void heading(const struct litmus *litmus, const struct settings *settings)
{
	const char *mapping = "unknown";

	gdr_get_mapping_type_string(litmus->bench.info.mapping_type, &mapping);
	fprintf(litmus->bench.out, "# net_litmus %s; GPU %s %s%s; mapping %s; %" PRIu64 " runs, seed %" PRIu64 "\n",
		BARLANE_VERSION, litmus->bench.device.bus_id, litmus->bench.device.name,
		litmus->bench.device.emulated ? ", emu" : "", mapping, settings->runs, settings->seed);
	fprintf(litmus->bench.out, "# 0 old, 1 new, of r0, r1, r2; outcomes with ! are forbidden where fences are\n"
		"# %-17s %-4s %-4s %-3s %-7s  outcomes\n", "case", "msg", "word", "to", "fences");
}

int main(int argc, char **argv)
{
	struct settings settings = { .runs = 20000, .seed = 1, .limit_s = 60 };
	struct bench_options options = { 0 };
	struct json_object *object, *rows;
	struct litmus litmus = { .runs = 0 };
	bool good;
	int nr, ret;

	bench_parse(argc, argv, &cli, &options, &settings);
	nr = tool_device_count();
	if (nr <= 0) {
		fprintf(stderr, "net_litmus: skipped: %s\n", nr < 0 ? tool_why() : "no GPU");
		return SKIPPED;
	}
	options.size = BL_LITMUS_AT_LOG + 2 * settings.runs;
	bench_open(&options, &litmus.bench);
	litmus.runs = settings.runs;
	litmus.end_ns = tool_now_ns() + settings.limit_s * SECOND_NS;
	if (litmus_open(&litmus)) {
		fprintf(stderr, "net_litmus: skipped: %s\n", tool_why());
		return SKIPPED;
	}
	heading(&litmus, &settings);
	rows = tool_json_array();
	good = run_all(&litmus, &settings, rows);
	object = bench_json(&options, &litmus.bench);
	tool_json_int(object, "runs", (int64_t)settings.runs);
	tool_json_int(object, "seed", (int64_t)settings.seed);
	tool_json_bool(object, "good", good);
	tool_json_add(object, "results", rows);
	ret = bench_finish(&options, object);
	litmus_close(&litmus);
	bench_close(&litmus.bench);
	return tool_finish(ret ? ret : good ? EXIT_SUCCESS : FORBIDDEN);
}
