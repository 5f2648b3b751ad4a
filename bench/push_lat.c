// SPDX-License-Identifier: MIT
/*
 * push_lat: reads by engine push against the other engines and against the bare exchange that it is made of, in one
 * run. The ways take turns, beginning with another one each round. A turn is one read that is not timed and a group of
 * reads that are, each by itself, so that each way is measured in its own steady state.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/device.h"
#include "common/error.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/option.h"
#include "common/stats.h"
#include "push_bare.h"

#define MIN_LEN	   1024UL
#define MAX_LEN	   65536UL
#define GROUP	   8
#define MAX_ROUNDS 1000

enum way { WAY_BARE, WAY_PUSH, WAY_CPU, WAY_CE, WAY_AUTO, NR_WAYS };

static const char *const names[NR_WAYS] = { "bare", "push", "cpu", "ce", "auto" };
static const enum bl_engine engines[NR_WAYS] = {
	[WAY_PUSH] = BL_ENGINE_PUSH,
	[WAY_CPU] = BL_ENGINE_CPU,
	[WAY_CE] = BL_ENGINE_CE,
	[WAY_AUTO] = BL_ENGINE_AUTO,
};

/**
 * struct row - one line of the result
 * @len:    bytes
 * @pinned: kind of host memory; the bare exchange always has pinned memory
 * @stats:  ns by way
 */
struct row {
	size_t len;
	bool pinned;
	struct tool_stats stats[NR_WAYS];
};

static struct tool_device device;
static struct tool_mem mem;
static bl_pin_t pin;
static unsigned char *pinned, *ordinary, *expected;

static void must(int ok, const char *what)
{
	if (!ok)
		tool_die("%s: %s", what, bl_last_error(NULL));
}

static void read_by(enum way way, const struct row *row, void *host)
{
	if (way == WAY_BARE)
		bare_read(mem.ptr, (uintptr_t)pinned, row->len);
	else
		must(!bl_copy(pin, 0, host, row->len, BL_COPY_FROM, engines[way]), names[way]);
}

static void verify(const struct row *row, void *host)
{
	for (enum way way = WAY_BARE; way < NR_WAYS; way++) {
		const void *seen = way == WAY_BARE ? pinned : host;

		for (size_t i = 0; i < row->len; i++)
			expected[i] = (unsigned char)(i * 13 + (i >> 8) + way * 41 + row->len);
		must(!device.cu->cuMemcpyHtoD(mem.ptr, expected, row->len), "cuMemcpyHtoD");
		bare_ready();
		read_by(way, row, host);
		if (memcmp(seen, expected, row->len))
			tool_die("%s: wrong bytes at length %zu", names[way], row->len);
	}
}

static double clock_ns(void)
{
	double samples[101];
	struct tool_stats stats;

	for (int i = 0; i < 101; i++) {
		uint64_t start = tool_now_ns();

		samples[i] = (double)(tool_now_ns() - start);
	}
	tool_stats_fill(samples, 101, &stats);
	return stats.p50;
}

static void measure(struct row *row, size_t rounds, double clock)
{
	static double samples[NR_WAYS][MAX_ROUNDS * GROUP];
	void *host = row->pinned ? pinned : ordinary;

	verify(row, host);
	for (size_t round = 0; round < rounds; round++) {
		for (unsigned int i = 0; i < NR_WAYS; i++) {
			enum way way = (enum way)((i + round) % NR_WAYS);

			bare_ready();
			read_by(way, row, host);
			for (size_t j = 0; j < GROUP; j++) {
				uint64_t start = tool_now_ns();

				read_by(way, row, host);
				samples[way][round * GROUP + j] = (double)(tool_now_ns() - start) - clock;
			}
		}
	}
	for (enum way way = WAY_BARE; way < NR_WAYS; way++)
		tool_stats_fill(samples[way], rounds * GROUP, &row->stats[way]);
}

static int expect(int ok, const char *what)
{
	if (!ok)
		printf(" MISSED: %s", what);
	return !ok;
}

/* The targets that docs/copy-engine.md states. */
static int check_row(const struct row *row)
{
	double push = row->stats[WAY_PUSH].p50;

	if (!row->pinned || row->len < 4096 || row->len > 16384)
		return 0;
	return expect(push <= 1.1 * row->stats[WAY_BARE].p50, "push <= 1.1 bare") +
	       expect(push < row->stats[WAY_CPU].p50, "push < cpu") +
	       expect(push < row->stats[WAY_CE].p50, "push < ce");
}

static int show(const struct row *row)
{
	int missed;

	printf("%10zu %-8s", row->len, row->pinned ? "pinned" : "ordinary");
	for (enum way way = WAY_BARE; way < NR_WAYS; way++)
		printf(" %9.0f", row->stats[way].p50);
	printf(" ");
	missed = check_row(row);
	printf("%s\n", missed ? "" : " ok");
	fflush(stdout);
	return missed;
}

static struct json_object *to_json(const struct row *row)
{
	struct json_object *line = tool_json_object();

	tool_json_int(line, "bytes", (int64_t)row->len);
	tool_json_bool(line, "pinned", row->pinned);
	tool_json_bool(line, "emulated", device.emulated);
	for (enum way way = WAY_BARE; way < NR_WAYS; way++) {
		struct json_object *stats = tool_json_object();

		tool_json_double(stats, "min_ns", row->stats[way].min);
		tool_json_double(stats, "p50_ns", row->stats[way].p50);
		tool_json_double(stats, "p99_ns", row->stats[way].p99);
		tool_json_add(line, names[way], stats);
	}
	return line;
}

static void set_up(int ordinal)
{
	void *addr = NULL, *host = NULL;
	bl_ctx_t ctx;

	if (tool_device_open(ordinal, &device) || tool_mem_alloc(&device, TOOL_MEM_ALLOC, 1UL << 20, &mem))
		tool_die("%s", tool_why());
	must(!bl_open(NULL, &ctx) && !bl_pin(ctx, mem.ptr, 1UL << 20, 0, 0, 0, &pin) &&
		     !bl_map(ctx, pin, 1UL << 20, BL_MAP_NONE, &addr),
	     "pin and map");
	must(!device.cu->cuMemHostAlloc(&host, MAX_LEN, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	pinned = host;
	ordinary = aligned_alloc(4096, MAX_LEN);
	expected = aligned_alloc(4096, MAX_LEN);
	must(ordinary && expected, "host memory");
	memset(ordinary, 1, MAX_LEN);
	bare_start(&device, ctx);
	/* calibration is not part of any read that is timed, and neither is a launch */
	must(!bl_copy(pin, 0, pinned, MAX_LEN, BL_COPY_FROM, BL_ENGINE_AUTO), "auto");
	must(!bl_push_enable(ordinal, 1000000), "enable push");
}

static void usage(void)
{
	printf("usage: push_lat [-d GPU] [-r ROUNDS] [--check] [--json FILE]\n"
	       "Times reads of 1 ... 64 KiB by bl_copy() with each engine, and the bare exchange of engine push.\n"
	       "With --check the exit status is 1 when a target of docs/copy-engine.md is missed.\n");
	exit(0);
}

static const struct option options[] = {
	{ "check", no_argument, NULL, 'c' },
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void heading(size_t rounds, double clock)
{
	struct utsname kernel;

	uname(&kernel);
	printf("# push_lat %s kernel %s gpu %s%s rounds %zu x %d clock %.0f ns; ways interleaved, p50 in ns\n",
	       bl_version(), kernel.release, device.name, device.emulated ? " (emu)" : "", rounds, GROUP, clock);
	printf("# %8s %-8s", "bytes", "host");
	for (enum way way = WAY_BARE; way < NR_WAYS; way++)
		printf(" %9s", names[way]);
	printf("  target\n");
}

int main(int argc, char **argv)
{
	struct json_object *lines = tool_json_array();
	int ordinal = 0, check = 0, missed = 0, opt;
	const char *json = NULL;
	size_t rounds = 200;
	double clock;

	while ((opt = getopt_long(argc, argv, "d:r:h", options, NULL)) != -1) {
		if (opt == 'd')
			ordinal = (int)tool_number("-d", optarg, 0, 63);
		else if (opt == 'r')
			rounds = tool_number("-r", optarg, 1, MAX_ROUNDS);
		else if (opt == 'c')
			check = 1;
		else if (opt == 'j')
			json = optarg;
		else if (opt == 'h')
			usage();
		else
			return 2;
	}
	set_up(ordinal);
	clock = clock_ns();
	heading(rounds, clock);
	for (int kind = 0; kind < 2; kind++) {
		for (size_t len = MIN_LEN; len <= MAX_LEN; len *= 2) {
			struct row row = { .len = len, .pinned = !kind };

			measure(&row, rounds, clock);
			missed += show(&row);
			tool_json_append(lines, to_json(&row));
		}
	}
	bare_stop();
	bl_push_disable(ordinal);
	printf("# %d targets missed\n", missed);
	if (json && tool_json_write(lines, json))
		tool_die("%s: cannot be written", json);
	return check && missed;
}
