// SPDX-License-Identifier: MIT
#include "net/round.h"

#include <math.h>

#include "common/json.h"
#include "common/stats.h"

#define BUCKETS 32

/* By powers of two of microseconds. */
static void histogram(const struct net_round *round, unsigned int counts[BUCKETS])
{
	for (uint64_t i = 0; i < round->returned; i++) {
		int bucket = round->us[i] < 1 ? 0 : (int)log2(round->us[i]) + 1;

		counts[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	}
}

static void print_histogram(const struct net_round *round, FILE *out, struct json_object *result)
{
	struct json_object *array = tool_json_array();
	unsigned int counts[BUCKETS] = { 0 };

	histogram(round, counts);
	for (int i = 0; i < BUCKETS; i++) {
		struct json_object *bucket;

		if (!counts[i])
			continue;
		fprintf(out, "#   below %10llu us: %u\n", 1ULL << i, counts[i]);
		bucket = tool_json_object();
		tool_json_int(bucket, "below_us", 1LL << i);
		tool_json_int(bucket, "count", counts[i]);
		tool_json_append(array, bucket);
	}
	tool_json_add(result, "histogram", array);
}

void net_round_report(struct net_round *round, struct json_object *results)
{
	FILE *out = round->bed->options->out;
	struct json_object *result = tool_json_object();
	uint64_t lost = round->sent - round->returned;
	struct tool_stats stats = { 0 };
	double p999 = 0;

	if (round->returned) {
		tool_stats_fill(round->us, round->returned, &stats);
		p999 = round->us[(round->returned * 999 + 999) / 1000 - 1];
	}
	fprintf(out, " %-10u %-12llu %-10llu %-12.3f %-12.3f %-12.3f %-12.3f %-12.3f\n", round->size, (unsigned long long)round->sent,
		(unsigned long long)lost, stats.min, stats.p50, stats.p99, p999, stats.max);
	tool_json_int(result, "bytes", round->size);
	tool_json_int(result, "sent", (int64_t)round->sent);
	tool_json_int(result, "lost", (int64_t)lost);
	tool_json_int(result, "wrong", (int64_t)round->wrong);
	tool_json_double(result, "min_us", stats.min);
	tool_json_double(result, "p50_us", stats.p50);
	tool_json_double(result, "p99_us", stats.p99);
	tool_json_double(result, "p999_us", p999);
	tool_json_double(result, "max_us", stats.max);
	print_histogram(round, out, result);
	fflush(out);
	tool_json_append(results, result);
}
