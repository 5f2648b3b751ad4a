// SPDX-License-Identifier: MIT
/*
 * gdrdrv_lat: what pins and mappings cost through the kernel module, on the emulated card of a guest. Runs in the guest;
 * bench/gdrdrv.sh starts one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "barlane.h"
#include "common/device.h"
#include "common/memory.h"
#include "common/stats.h"
#include "gdrapi.h"
#include "gdrdrv_bed.h"

#define ROUND_SIZE (64 * KIB)

/* Ratio of the medians that the module shall stay within. */
#define TARGET 2.0

static struct gdrdrv_bed bed;
static struct tool_mem mem;
static gdr_t gdr;

static void round_bare(bool touch)
{
	bed_bare(&bed, ROUND_SIZE, touch);
}

static void round_gdrdrv(bool touch)
{
	bed_round(&bed, ROUND_SIZE, touch ? CPU_PAGE : 0, NULL);
}

static void round_gdrapi(bool touch)
{
	void *addr;
	gdr_mh_t mh;
	int ret;

	ret = gdr_pin_buffer(gdr, mem.ptr, ROUND_SIZE, 0, 0, &mh);
	if (!ret)
		ret = gdr_map(gdr, mh, &addr, ROUND_SIZE);
	if (!ret && touch)
		bed_touch(addr, ROUND_SIZE, CPU_PAGE);
	if (!ret)
		ret = gdr_unmap(gdr, mh, addr, ROUND_SIZE);
	if (!ret)
		ret = gdr_unpin_buffer(gdr, mh);
	errno = ret;
	if (ret)
		bed_die("a round of libgdrapi");
}

struct subject {
	const char *name;
	void (*run)(bool touch);
	double samples[MAX_ROUNDS];
};

static struct subject subjects[] = {
	{ .name = "bare", .run = round_bare },
	{ .name = "gdrdrv", .run = round_gdrdrv },
	{ .name = "libgdrapi", .run = round_gdrapi },
};

#define NR_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

/* Rounds of all subjects, turn and turn about. */
static bool compare(const char *state, bool touch, size_t rounds)
{
	size_t warm_up = rounds / 10 + 1;
	struct tool_stats stats;
	bool missed = false;
	double bare = 0;

	for (size_t i = 0; i < warm_up + rounds; i++) {
		for (size_t s = 0; s < NR_SUBJECTS; s++) {
			uint64_t begin = tool_now_ns();

			subjects[s].run(touch);
			if (i >= warm_up)
				subjects[s].samples[i - warm_up] = (double)(tool_now_ns() - begin);
		}
	}
	for (size_t s = 0; s < NR_SUBJECTS; s++) {
		double ratio;

		tool_stats_fill(subjects[s].samples, rounds, &stats);
		bare = s ? bare : stats.p50;
		ratio = stats.p50 / bare;
		/* what the library adds has no limit of its own here */
		missed |= s == 1 && ratio > TARGET;
		printf("%-10s %-8s %-5s %10.0f %10.0f %10.0f %6.2f%s\n", subjects[s].name, state, touch ? "yes" : "no",
		       stats.min, stats.p50, stats.p99, ratio,
		       s != 1		? "" : ratio > TARGET ? " MISSED" : " ok");
	}
	return missed;
}

static bool compare_rounds(size_t rounds)
{
	uint64_t handle;
	bool missed;

	printf("\n# 64 KiB: pin + map + unmap + unpin; \"bare\" is open + ioctl + mmap + munmap + close of the card's own node\n"
	       "# others: whether something else is pinned meanwhile; touch: stores into each CPU page\n"
	       "# %zu rounds in turn, times in ns; limit for gdrdrv: %.1f\n"
	       "# %-8s %-8s %-5s %10s %10s %10s %6s\n", rounds, TARGET, "what", "others", "touch", "min", "p50", "p99",
	       "ratio");
	missed = compare("none", false, rounds);
	missed |= compare("none", true, rounds);
	handle = bed_pin(bed.drv, bed.va, ROUND_SIZE);
	missed |= compare("one", false, rounds);
	missed |= compare("one", true, rounds);
	bed_unpin(bed.drv, handle);
	return missed;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000;
	uint64_t room = bed_largest() - 64 * MIB;
	struct tool_device device;
	struct utsname kernel;
	bool missed;

	if (argc > 2 || rounds < 10 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: %s [ROUNDS]\nROUNDS is 10 to %d; exit status 1 when a limit is missed.\n", argv[0],
			MAX_ROUNDS);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	bed_open(room < 4 * GIB ? room : 4 * GIB, &bed);
	gdr = gdr_open();
	if (!gdr || tool_device_open(0, &device) || tool_mem_alloc(&device, TOOL_MEM_ALLOC, 2 * MIB, &mem))
		bed_die("open the GPU and libgdrapi");
	uname(&kernel);
	printf("# gdrdrv_lat %s kernel %s gpu %s (emu); the machine is emulated: only ratios mean something\n", bl_version(),
	       kernel.release, device.name);
	missed = compare_rounds(rounds);
	bench_sizes(&bed, rounds);
	bench_lookups(&bed, rounds / 4);
	gdr_close(gdr);
	tool_mem_free(&mem);
	bed_close(&bed);
	return missed;
}
