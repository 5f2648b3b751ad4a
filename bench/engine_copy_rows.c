// SPDX-License-Identifier: MIT
/* The lines of engine_copy, and the targets that docs/copy-engine.md states. */
#include <stdio.h>

#include "common/json.h"
#include "engine_copy.h"

#define KIB 1024UL
#define MIB (1024UL * KIB)

const struct way_info ways[NR_WAYS] = {
	[WAY_CPU] = { "cpu", true, BL_ENGINE_CPU },	[WAY_CE] = { "ce", true, BL_ENGINE_CE },
	[WAY_PUSH] = { "push", true, BL_ENGINE_PUSH },	[WAY_AUTO] = { "auto", true, BL_ENGINE_AUTO },
	[WAY_ASYNC] = { .name = "async+sync" },		[WAY_SYNC] = { .name = "sync" },
	[WAY_LOADS] = { .name = "loads" },
};

bool has_column(enum way way)
{
	return way != WAY_PUSH || bench.push;
}

static int expect(int ok, const char *what)
{
	if (!ok)
		printf(" MISSED: %s", what);
	return !ok;
}

/* Reads into pinned memory: completion is polled, so that a copy ends earlier than cuStreamSynchronize() says. */
static int check_read_pinned(const struct row *row, double by_auto)
{
	double bare = row->stats[WAY_ASYNC].p50;

	if (row->len < 64 * KIB)
		return 0;
	if (row->len == 64 * KIB)
		return expect(by_auto <= 0.95 * bare, "auto <= 0.95 async+sync");
	return expect(by_auto <= bare, "auto <= async+sync");
}

static int check_read_ordinary(const struct row *row, double by_auto)
{
	double factor = row->len == 64 * KIB ? 6 : row->len == MIB ? 18 : row->len == 16 * MIB ? 20 : 0;
	int missed;

	if (!factor)
		return 0;
	missed = expect(row->stats[WAY_LOADS].p50 >= factor * by_auto, "auto 6, 18, 20 times as fast as loads");
	return missed + expect(by_auto <= row->stats[WAY_SYNC].p50, "auto <= sync");
}

/* Of the engines that auto can take. */
static double best_engine(const struct row *row)
{
	double best = row->stats[WAY_CPU].p50;

	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		if (ways[way].by_engine && way != WAY_AUTO && row->stats[way].p50 > 0 && row->stats[way].p50 < best)
			best = row->stats[way].p50;
	}
	return best;
}

static int check_row(const struct row *row)
{
	double by_auto = row->stats[WAY_AUTO].p50, best = best_engine(row), slack = best * 0.1 > 50 ? best * 0.1 : 50;
	int missed = expect(by_auto <= best + slack, "auto within 10 % or 50 ns of the best engine");

	if (row->dir == BL_COPY_FROM)
		return missed + (row->pinned ? check_read_pinned(row, by_auto) : check_read_ordinary(row, by_auto));
	if (row->pinned && row->len == 16 * MIB)
		missed += expect(by_auto <= 1.05 * row->stats[WAY_ASYNC].p50, "auto <= 1.05 async+sync");
	return missed;
}

/* Per cent by which estimates differ from what was measured. */
static double deviations[NR_WAYS * 4 * 32];
static size_t nr_deviations;

static void note_deviations(const struct row *row)
{
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		double p50 = row->stats[way].p50, estimate = (double)row->estimate[way];

		if (p50 > 0 && estimate > 0)
			deviations[nr_deviations++] = 100 * (estimate > p50 ? estimate - p50 : p50 - estimate) / p50;
	}
}

void row_estimates_show(void)
{
	struct tool_stats stats;

	if (!nr_deviations) {
		printf("# no estimates: %s\n", bl_last_error(NULL));
		return;
	}
	tool_stats_fill(deviations, nr_deviations, &stats);
	printf("# %zu estimates of bl_copy_cost(): half are within %.0f %% of the p50, the worst is %.0f %% off\n",
	       nr_deviations, stats.p50, stats.max);
}

int row_show(const struct row *row)
{
	int missed;

	note_deviations(row);
	printf("%10zu %-5s %-8s", row->len, row->dir == BL_COPY_TO ? "write" : "read",
	       row->pinned ? "pinned" : "ordinary");
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		if (!has_column(way))
			continue;
		if (row->stats[way].p50 > 0)
			printf(" %11.0f", row->stats[way].p50);
		else
			printf(" %11s", "-");
	}
	printf(" ");
	missed = check_row(row);
	printf("%s\n", missed ? "" : " ok");
	fflush(stdout);
	return missed;
}

struct json_object *row_json(const struct row *row)
{
	struct json_object *line = tool_json_object();

	tool_json_int(line, "bytes", (int64_t)row->len);
	tool_json_string(line, "dir", row->dir == BL_COPY_TO ? "write" : "read");
	tool_json_bool(line, "pinned", row->pinned);
	tool_json_bool(line, "emulated", bench.device.emulated);
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		struct json_object *stats;

		if (row->stats[way].p50 <= 0)
			continue;
		stats = tool_json_object();
		tool_json_double(stats, "min_ns", row->stats[way].min);
		tool_json_double(stats, "p50_ns", row->stats[way].p50);
		tool_json_double(stats, "p99_ns", row->stats[way].p99);
		if (row->estimate[way])
			tool_json_int(stats, "estimate_ns", (int64_t)row->estimate[way]);
		tool_json_add(line, ways[way].name, stats);
	}
	return line;
}
