// SPDX-License-Identifier: MIT
/*
 * rm_pin_lat: pin + map + unmap + unpin with provider rm, next to the bare driver calls. Both are timed in the same run,
 * turn and turn about, so that the ratio does not depend on what else the machine does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "barlane.h"
#include "common/device.h"
#include "common/stats.h"
#include "gdrapi.h"
#include "rm_bare.h"

#define MAX_ROUNDS 20000

/* Ratio of the medians that the library promises to stay within. */
#define TARGET 1.25

struct result {
	size_t size;
	struct tool_stats ours;
	struct tool_stats bare;
};

static double samples_ours[MAX_ROUNDS], samples_bare[MAX_ROUNDS];

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "rm_pin_lat: %s: error %d: %s\n", what, err, bl_last_error(NULL));
	exit(1);
}

static int round_ours(gdr_t g, CUdeviceptr va, size_t size)
{
	gdr_mh_t mh;
	void *addr;
	int ret;

	ret = gdr_pin_buffer(g, va, size, 0, 0, &mh);
	if (!ret)
		ret = gdr_map(g, mh, &addr, size);
	if (!ret)
		ret = gdr_unmap(g, mh, addr, size);
	if (!ret)
		ret = gdr_unpin_buffer(g, mh);
	return ret;
}

static void measure(gdr_t g, const struct rm_bare *bare, size_t rounds, struct result *result)
{
	size_t warm_up = rounds / 10 + 1;

	for (size_t i = 0; i < warm_up + rounds; i++) {
		uint64_t start = tool_now_ns(), middle, end;
		int ret = round_ours(g, bare->va, result->size);

		middle = tool_now_ns();
		if (ret)
			die("our round", ret);
		ret = rm_bare_round(bare, result->size);
		end = tool_now_ns();
		if (ret)
			die("bare round, call", ret);
		if (i < warm_up)
			continue;
		samples_ours[i - warm_up] = (double)(middle - start);
		samples_bare[i - warm_up] = (double)(end - middle);
	}
	tool_stats_fill(samples_ours, rounds, &result->ours);
	tool_stats_fill(samples_bare, rounds, &result->bare);
}

static int show(const struct result *r)
{
	double ratio = r->ours.p50 / r->bare.p50;

	printf("%10zu %10.0f %10.0f %10.0f %10.0f %10.0f %10.0f %7.3f %s\n", r->size, r->ours.min, r->ours.p50,
	       r->ours.p99, r->bare.min, r->bare.p50, r->bare.p99, ratio, ratio <= TARGET ? "ok" : "MISSED");
	return ratio > TARGET;
}

int main(int argc, char **argv)
{
	struct result results[] = { { .size = 64 << 10 }, { .size = 2 << 20 }, { .size = 64 << 20 } };
	const size_t rounds[] = { 10000, 5000, 500 };
	struct rm_bare bare = { .cuda = bl_cuda() };
	struct tool_device device;
	struct rm_gpu *gpu;
	struct utsname kernel;
	int missed = 0;
	gdr_t g;

	if (argc > 1) {
		printf("usage: %s\nTimes pin + map + unmap + unpin against the bare driver calls; exit 1 when a ratio "
		       "of medians exceeds %.2f.\n", argv[0], TARGET);
		return strcmp(argv[1], "--help") != 0;
	}
	setenv("BARLANE_PROVIDER", "rm", 1);
	if (tool_device_open(0, &device))
		die("open device 0", 0);
	if (bare.cuda->cuMemAlloc(&bare.va, 64 << 20))
		die("allocate 64 MiB", 0);
	g = gdr_open();
	if (!g || round_ours(g, bare.va, 64 << 10))
		die("first round", 0);
	if (rm_client_get(&bare.conn) || rm_client_gpu(bare.cuda, 0, &gpu))
		die("client", 0);
	bare.gpu = gpu;
	uname(&kernel);
	printf("# rm_pin_lat %s kernel %s driver %s gpu %s%s; rounds interleaved, times in ns\n", bl_version(),
	       kernel.release, bare.conn->driver, device.name, device.emulated ? " (emu)" : "");
	printf("# %8s %10s %10s %10s %10s %10s %10s %7s\n", "bytes", "min", "p50", "p99", "bare_min", "bare_p50",
	       "bare_p99", "ratio");
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		measure(g, &bare, rounds[i], &results[i]);
		missed |= show(&results[i]);
	}
	rm_client_put();
	gdr_close(g);
	return missed;
}
