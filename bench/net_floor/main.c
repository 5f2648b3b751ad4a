// SPDX-License-Identifier: MIT
/*
 * net_floor - what a message between a thread of the GPU and a CPU costs at least, step by step
 *
 * usage: net_floor [-d GPU] [-t TURNS] [-r REPETITIONS] [-l SECONDS] [-M TYPE] [--json FILE]
 *
 * Each row does one thing TURNS times; all rows take turns REPETITIONS times, and the median counts. gpu: operations by
 * the GPU's clock; round: the CPU raises a flag in the GPU's memory, a thread there answers in the host's; cpu: loads
 * and stores through the mapping. It repeats nothing after four fifths of SECONDS, 10 unless told otherwise, and gives
 * up a wait when they are over. Exit status 77: this machine cannot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/option.h"
#include "floor.h"

#define SKIPPED	  77
#define MAX_ROWS  32U
#define SECOND_NS 1000000000ULL

/**
 * struct settings - what the user asked for
 * @turns:   how often each repetition does a thing
 * @repeats: repetitions
 * @limit_s: seconds for all
 */
struct settings {
	uint64_t turns;
	uint64_t repeats;
	uint64_t limit_s;
};

/**
 * struct series - a row, and what it took
 * @row:     the row
 * @samples: ns, of each repetition
 * @nr:      how many
 * @absent:  the GPU or the CPU lacks it
 * @stats:   of @samples; not there when @absent
 */
struct series {
	const struct floor_row *row;
	double samples[FLOOR_MAX_REPEATS];
	size_t nr;
	int absent;
	struct tool_stats stats;
};

static struct series all[MAX_ROWS];
static size_t nr_all;

static void add(const struct floor_row *rows)
{
	for (; rows->part; rows++) {
		if (nr_all == MAX_ROWS)
			tool_die("too many rows");
		all[nr_all++].row = rows;
	}
}

static bool own_option(int opt, void *arg)
{
	struct settings *settings = arg;

	if (opt == 't')
		settings->turns = tool_number("-t", optarg, 1, FLOOR_MAX_TURNS);
	else if (opt == 'r')
		settings->repeats = tool_number("-r", optarg, 1, FLOOR_MAX_REPEATS);
	else if (opt == 'l')
		settings->limit_s = tool_number("-l", optarg, 1, 10);
	else
		return false;
	return true;
}

static const struct bench_cli cli = {
	.name = "net_floor",
	.usage = BENCH_USAGE_GPU
		 "  -t N       how often each repetition does a thing (5000), up to 20000\n"
		 "  -r N       repetitions (11), up to 101\n"
		 "  -l N       seconds for all (10), no more than that\n"
		 BENCH_USAGE_MAP
		 BENCH_USAGE_JSON,
	.letters = "hd:t:r:l:M:",
	.longs = (const struct option[]){ BENCH_LONG_HELP, BENCH_LONG_JSON, BENCH_LONG_END },
	.own = own_option,
};

static void measure_one(struct floor *floor, struct series *series)
{
	int ret;

	if (series->absent)
		return;
	ret = series->row->run(floor, series->row->kind, &series->samples[series->nr]);
	if (ret == -EOPNOTSUPP)
		series->absent = 1;
	else
		series->nr++;
}

/* Rows take turns, so that what disturbs one disturbs all. The first time is not counted. */
static void measure(struct floor *floor, const struct settings *settings)
{
	uint64_t limit_ns = settings->limit_s * SECOND_NS, begin = tool_now_ns(), stop_ns = begin + limit_ns / 5 * 4;

	floor->end_ns = begin + limit_ns;
	for (uint64_t repeat = 0; repeat <= settings->repeats; repeat++) {
		for (size_t i = 0; i < nr_all; i++) {
			if (tool_now_ns() >= stop_ns && repeat > 1)
				return;
			if (tool_now_ns() >= floor->end_ns)
				tool_die("time is over before all was measured once; less with -t");
			measure_one(floor, &all[i]);
			if (!repeat)
				all[i].nr = 0;
		}
	}
}

static void show(FILE *out)
{
	fprintf(out, "# %-5s %-40s %9s %9s %9s\n", "part", "what", "min_ns", "p50_ns", "max_ns");
	for (size_t i = 0; i < nr_all; i++) {
		const struct floor_row *row = all[i].row;

		if (all[i].absent) {
			fprintf(out, "%-7s %-40s %9s %9s %9s\n", row->part, row->text, "-", "-", "-");
			continue;
		}
		tool_stats_fill(all[i].samples, all[i].nr, &all[i].stats);
		fprintf(out, "%-7s %-40s %9.1f %9.1f %9.1f\n", row->part, row->text, all[i].stats.min, all[i].stats.p50,
			all[i].stats.max);
	}
}

/* Rows that are absent are not there. */
static struct json_object *to_json(const struct bench_options *options, const struct floor *floor)
{
	struct json_object *object = bench_json(options, &floor->bench), *rows = tool_json_array();

	tool_json_int(object, "turns", (int64_t)floor->turns);
	for (size_t i = 0; i < nr_all; i++) {
		struct json_object *row = tool_json_object();

		if (all[i].absent) {
			json_object_put(row);
			continue;
		}
		tool_json_string(row, "part", all[i].row->part);
		tool_json_string(row, "test", all[i].row->key);
		tool_json_int(row, "repetitions", (int64_t)all[i].nr);
		tool_json_double(row, "min_ns", all[i].stats.min);
		tool_json_double(row, "p50_ns", all[i].stats.p50);
		tool_json_double(row, "max_ns", all[i].stats.max);
		tool_json_append(rows, row);
	}
	tool_json_add(object, "results", rows);
	return object;
}

static void heading(const struct floor *floor)
{
	const char *mapping = "unknown";

	gdr_get_mapping_type_string(floor->bench.info.mapping_type, &mapping);
	fprintf(floor->bench.out, "# net_floor %s; GPU %s %s%s; mapping %s; %llu turns\n", BARLANE_VERSION,
		floor->bench.device.bus_id, floor->bench.device.name, floor->bench.device.emulated ? ", emu" : "",
		mapping, (unsigned long long)floor->turns);
}

int main(int argc, char **argv)
{
	struct settings settings = { .turns = 5000, .repeats = 11, .limit_s = 10 };
	struct bench_options options = { .size = BL_FLOOR_BYTES };
	struct floor floor = { .turns = 0 };
	int nr;

	bench_parse(argc, argv, &cli, &options, &settings);
	nr = tool_device_count();
	if (nr <= 0) {
		fprintf(stderr, "net_floor: skipped: %s\n", nr < 0 ? tool_why() : "no GPU");
		return SKIPPED;
	}
	bench_open(&options, &floor.bench);
	floor.turns = settings.turns;
	if (floor_open(&floor)) {
		fprintf(stderr, "net_floor: skipped: %s\n", tool_why());
		return SKIPPED;
	}
	add(floor_gpu_rows);
	add(floor_round_rows);
	add(floor_cpu_rows);
	measure(&floor, &settings);
	heading(&floor);
	show(floor.bench.out);
	bench_finish(&options, to_json(&options, &floor));
	floor_close(&floor);
	bench_close(&floor.bench);
	return tool_finish(EXIT_SUCCESS);
}
