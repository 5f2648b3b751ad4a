// SPDX-License-Identifier: MIT
/*
 * engine_copy: the engines of bl_copy() against each other and against bare CUDA copies, in one run. For each size,
 * direction and kind of host memory all ways take turns, in another order each round, so that what disturbs the machine
 * for a while disturbs all of them. A turn begins with a call that is not timed, so that no way is timed in the state
 * of caches, clocks and link that the way before it left.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "barlane.h"
#include "common/device.h"
#include "common/error.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/option.h"
#include "common/stats.h"
#include "copy_loops.h"
#include "engine_copy.h"

#define MAX_ROUNDS  1000
#define MIN_ROUNDS  9
#define SLOW_ROUNDS 5
#define SLOW_NS	    2000000.0	/* a way that takes longer has fewer rounds */
#define MAX_BURST   8		/* samples in a turn */
#define BUDGET_MS   60 /* per line, beyond the smallest number of rounds */
#define GROUP	    16		/* calls that are timed together, for short copies */
#define GROUP_MAX   4096
#define MAX_PUSH    65536UL

struct bench_engines bench;

static uint64_t budget_ns = BUDGET_MS * 1000000ULL;

static CUstream stream;
static const struct copy_loop *loads; /* the widest streaming loads of this CPU */

static void must(int ok, const char *what)
{
	if (!ok)
		tool_die("%s: %s", what, bl_last_error(NULL));
}

static void by_engine(enum bl_engine engine, enum bl_copy_dir dir, void *host, size_t len)
{
	must(!bl_copy(bench.pin, 0, host, len, dir, engine), "bl_copy");
}

static void by_way(enum way way, enum bl_copy_dir dir, void *host, size_t len)
{
	const struct bl_cuda *cu = bench.device.cu;
	CUresult err = CUDA_SUCCESS;

	if (ways[way].by_engine)
		return by_engine(ways[way].engine, dir, host, len);
	switch (way) {
	case WAY_ASYNC:
		err = dir == BL_COPY_TO ? cu->cuMemcpyHtoDAsync(bench.mem.ptr, host, len, stream) :
					  cu->cuMemcpyDtoHAsync(host, bench.mem.ptr, len, stream);
		if (!err)
			err = cu->cuStreamSynchronize(stream);
		break;
	case WAY_SYNC:
		err = dir == BL_COPY_TO ? cu->cuMemcpyHtoD(bench.mem.ptr, host, len) :
					  cu->cuMemcpyDtoH(host, bench.mem.ptr, len);
		break;
	case WAY_LOADS:
		loads->fn(host, bench.map, len);
		break;
	default:
		break;
	}
	if (err)
		tool_die("bare CUDA copy: %s", bl_cuda_strerror(err));
}

static bool has_way(enum way way, const struct row *row)
{
	if (way == WAY_LOADS)
		return row->dir == BL_COPY_FROM && loads && row->len >= 64;
	return way != WAY_PUSH || (bench.push && row->dir == BL_COPY_FROM && row->len <= MAX_PUSH);
}

static void fill(unsigned char *bytes, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i * 13 + (i >> 8) + seed);
}

/* Each way moves other bytes than the one before it, and CUDA's synchronous copy is the judge. */
static void verify(const struct row *row, void *host)
{
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		if (!has_way(way, row))
			continue;
		fill(row->dir == BL_COPY_TO ? host : bench.check, row->len, way * 41 + 1);
		if (row->dir == BL_COPY_FROM)
			must(!bench.device.cu->cuMemcpyHtoD(bench.mem.ptr, bench.check, row->len), "cuMemcpyHtoD");
		by_way(way, row->dir, host, row->len);
		if (row->dir == BL_COPY_TO)
			must(!bench.device.cu->cuMemcpyDtoH(bench.check, bench.mem.ptr, row->len), "cuMemcpyDtoH");
		if (memcmp(host, bench.check, row->len))
			tool_die("%s: wrong bytes at length %zu", ways[way].name, row->len);
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

static double sample(enum way way, const struct row *row, void *host, double clock)
{
	int group = row->len <= GROUP_MAX ? GROUP : 1;
	uint64_t start = tool_now_ns();

	for (int i = 0; i < group; i++)
		by_way(way, row->dir, host, row->len);
	return ((double)(tool_now_ns() - start) - clock) / group;
}

/**
 * struct series - the samples of one way
 * @slow: it has its rounds already after SLOW_ROUNDS of them
 * @nr:   samples
 * @ns:   samples
 */
struct series {
	bool slow;
	size_t nr;
	double ns[MAX_ROUNDS * MAX_BURST];
};

static int burst(size_t len)
{
	if (len <= 64 << 10)
		return MAX_BURST;
	return len <= 1 << 20 ? 3 : 1;
}

static void take_turn(enum way way, const struct row *row, void *host, double clock, struct series *series)
{
	/* the first one brings caches, clocks and link into this way's own state */
	series->slow = sample(way, row, host, clock) > SLOW_NS;
	for (int i = burst(row->len); i; i--)
		series->ns[series->nr++] = sample(way, row, host, clock);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void shuffle(enum way *order, uint32_t *state)
{
	for (uint32_t i = NR_WAYS - 1; i; i--) {
		uint32_t other = next_random(state) % (i + 1);
		enum way way = order[i];

		order[i] = order[other];
		order[other] = way;
	}
}

static void measure(struct row *row, double clock, uint32_t *random)
{
	static struct series all[NR_WAYS];
	void *host = row->pinned ? bench.pinned : bench.ordinary;
	enum way order[NR_WAYS];
	uint64_t end;

	verify(row, host);
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		order[way] = way;
		all[way].slow = false;
		all[way].nr = 0;
	}
	end = tool_now_ns() + budget_ns;
	for (int round = 0; round < MAX_ROUNDS && (round < MIN_ROUNDS || tool_now_ns() < end); round++) {
		shuffle(order, random);
		for (unsigned int i = 0; i < NR_WAYS; i++) {
			struct series *series = &all[order[i]];

			if (has_way(order[i], row) && !(series->slow && round >= SLOW_ROUNDS))
				take_turn(order[i], row, host, clock, series);
		}
	}
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		if (all[way].nr)
			tool_stats_fill(all[way].ns, all[way].nr, &row->stats[way]);
		/* where there is no estimate it stays 0 */
		if (ways[way].by_engine && has_way(way, row))
			bl_copy_cost(bench.pin, row->len, row->dir, row->pinned, ways[way].engine, &row->estimate[way], NULL);
	}
}

static void set_up(int ordinal, size_t size)
{
	const struct bl_cuda *cu;
	bl_ctx_t ctx;
	void *addr = NULL;

	if (tool_device_open(ordinal, &bench.device) ||
	    tool_mem_alloc(&bench.device, TOOL_MEM_ALLOC, size, &bench.mem))
		tool_die("%s", tool_why());
	cu = bench.device.cu;
	/* before the mapping, which prepares it */
	if (bench.push)
		must(!bl_push_enable(ordinal, 0), "bl_push_enable");
	must(!bl_open(NULL, &ctx) && !bl_pin(ctx, bench.mem.ptr, size, 0, 0, 0, &bench.pin) &&
		     !bl_map(ctx, bench.pin, size, BL_MAP_NONE, &addr),
	     "pin and map");
	bench.map = addr;
	must(!cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(!cu->cuMemHostAlloc(&bench.pinned, size, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	bench.ordinary = aligned_alloc(4096, size);
	bench.check = aligned_alloc(4096, size);
	must(bench.ordinary && bench.check, "host memory");
	memset(bench.ordinary, 1, size);
	for (const struct copy_loop *loop = copy_loops_from; loop->name; loop++) {
		if (loop->supported())
			loads = loop;
	}
	/* calibration is not part of any copy that is timed; that of push comes with a read that it could do */
	by_engine(BL_ENGINE_AUTO, BL_COPY_FROM, bench.pinned, size);
	if (bench.push)
		by_engine(BL_ENGINE_AUTO, BL_COPY_FROM, bench.pinned, MAX_PUSH);
}

static void usage(void)
{
	printf("usage: engine_copy [-d GPU] [-f FIRST] [-s SIZE] [--push] [--budget-ms N] [--seed N] [--check]\n"
	       "                   [--json FILE]\n"
	       "Times bl_copy() with each engine, bare CUDA copies and plain streaming loads, from FIRST (8) to SIZE\n"
	       "bytes (16M).\n"
	       "With --push reads by a kernel that stays on the GPU are allowed, and timed as well.\n"
	       "With --budget-ms a line is measured for N ms (60): more samples, for ways that are nearly equal.\n"
	       "With --check the exit status is 1 when a target of docs/copy-engine.md is missed.\n");
	exit(0);
}

static const struct option options[] = {
	{ "budget-ms", required_argument, NULL, 'b' },
	{ "check", no_argument, NULL, 'c' },
	{ "json", required_argument, NULL, 'j' },
	{ "push", no_argument, NULL, 'p' },
	{ "seed", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void heading(double clock, uint32_t seed)
{
	struct utsname kernel;

	uname(&kernel);
	printf("# engine_copy %s kernel %s gpu %s%s loads %s clock %.0f ns seed %" PRIu32 "; ways take turns, p50 in ns\n",
	       bl_version(), kernel.release, bench.device.name, bench.device.emulated ? " (emu)" : "",
	       loads ? loads->name : "none", clock, seed);
	printf("# %8s %-5s %-8s", "bytes", "dir", "host");
	for (enum way way = WAY_CPU; way < NR_WAYS; way++) {
		if (has_column(way))
			printf(" %11s", ways[way].name);
	}
	printf("  target\n");
}

int main(int argc, char **argv)
{
	struct json_object *lines = tool_json_array();
	size_t first = 8, size = 16UL << 20;
	const char *json = NULL;
	int ordinal = 0, check = 0, missed = 0, opt;
	uint32_t seed = 1, random;
	double clock;

	while ((opt = getopt_long(argc, argv, "d:f:s:h", options, NULL)) != -1) {
		if (opt == 'd')
			ordinal = (int)tool_number("-d", optarg, 0, 63);
		else if (opt == 'f')
			first = tool_number("-f", optarg, 8, 1UL << 30);
		else if (opt == 's')
			size = tool_number("-s", optarg, 64 << 10, 1UL << 30);
		else if (opt == 'r')
			seed = (uint32_t)tool_number("--seed", optarg, 1, UINT32_MAX);
		else if (opt == 'b')
			budget_ns = tool_number("--budget-ms", optarg, 1, 60000) * 1000000ULL;
		else if (opt == 'c')
			check = 1;
		else if (opt == 'p')
			bench.push = true;
		else if (opt == 'j')
			json = optarg;
		else if (opt == 'h')
			usage();
		else
			return 2;
	}
	set_up(ordinal, size);
	clock = clock_ns();
	heading(clock, seed);
	random = seed;
	for (int what = 0; what < 4; what++) {
		for (size_t len = first; len <= size; len *= 2) {
			struct row row = { .len = len, .dir = what < 2 ? BL_COPY_FROM : BL_COPY_TO,
					   .pinned = what % 2 == 0 };

			measure(&row, clock, &random);
			missed += row_show(&row);
			tool_json_append(lines, row_json(&row));
		}
	}
	row_estimates_show();
	printf("# %d targets missed\n", missed);
	if (json && tool_json_write(lines, json))
		tool_die("%s: cannot be written", json);
	return check && missed;
}
