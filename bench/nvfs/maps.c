// SPDX-License-Identifier: MIT
/*
 * What it takes to bind memory and to give it back, beside the GPU driver's own pin and release. The driver has functions
 * for that and no system calls, so there are three things to compare with: these functions, called in the kernel; the same
 * and two system calls that do nothing; and gdrdrv, whose two calls do nothing but pin and release.
 */
#include "bed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/stats.h"
#include "gdrdrv.h"

/* Ratio of the medians that the two calls shall stay within. */
#define TARGET	   1.5
#define MAX_ROUNDS 5000
#define SIZE	   MIB

/* The last two are on a shadow that stays. */
enum step { STEP_MMAP, STEP_MAP, STEP_UNMAP, STEP_MAP_AND_UNMAP, STEP_ALL, STEP_AGAIN, STEP_BACK, STEP_KEPT, NR_STEPS };

static const char *const steps[] = { "mmap",	  "MAP",	 "munmap",	"MAP + munmap",
				     "all three", "MAP again", "UNMAP", "MAP again + UNMAP" };
static double samples[NR_STEPS][MAX_ROUNDS];

static int load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = (int)syscall(SYS_finit_module, fd, parameters, 0);
	close(fd);
	return ret;
}

/* The measurement is the load. */
static void driver_pins(const struct bed *bed, size_t rounds, struct tool_stats *stats)
{
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "va=%llu len=%lu rounds=%zu", (unsigned long long)bed->va, SIZE,
		 rounds);
	if (load("/modules/bl_pins.ko", parameters))
		bed_die("load bl_pins.ko");
	*stats = (struct tool_stats){
		.min = (double)bed_number("/sys/module/bl_pins/parameters/min_ns", NULL),
		.p50 = (double)bed_number("/sys/module/bl_pins/parameters/p50_ns", NULL),
		.p99 = (double)bed_number("/sys/module/bl_pins/parameters/p99_ns", NULL),
	};
	if (syscall(SYS_delete_module, "bl_pins", O_NONBLOCK))
		bed_die("unload bl_pins.ko");
}

/* An argument of the length that MAP has goes in, and nothing else happens. */
static void bare_calls(const struct bed *bed, size_t rounds, struct tool_stats *stats)
{
	union nvidia_fs_arg arg = { 0 };

	for (size_t i = 0; i < rounds; i++) {
		uint64_t begin = tool_now_ns();

		if (ioctl(bed->node, NVIDIA_FS_IOC_REMOVE, &arg) || ioctl(bed->node, NVIDIA_FS_IOC_REMOVE, &arg))
			bed_die("make system calls that do nothing");
		samples[0][i] = (double)(tool_now_ns() - begin);
	}
	tool_stats_fill(samples[0], rounds, stats);
}

static void pin_once(int fd, uint64_t va)
{
	struct gdrdrv_pin_buffer_v2 pin = { .addr = va, .size = SIZE };
	struct gdrdrv_unpin_buffer unpin;

	if (ioctl(fd, GDRDRV_IOC_PIN_BUFFER_V2, &pin))
		bed_die("pin by gdrdrv");
	unpin.handle = pin.handle;
	if (ioctl(fd, GDRDRV_IOC_UNPIN_BUFFER, &unpin))
		bed_die("release by gdrdrv");
}

static void gdrdrv_pins(const struct bed *bed, size_t rounds, struct tool_stats *stats)
{
	int fd;

	if (load("/modules/gdrdrv.ko", "") && errno != EEXIST)
		bed_die("load gdrdrv.ko");
	fd = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		bed_die("open " GDRDRV_PATH);
	for (size_t i = 0; i < rounds / 10; i++)
		pin_once(fd, bed->va);
	for (size_t i = 0; i < rounds; i++) {
		uint64_t begin = tool_now_ns();

		pin_once(fd, bed->va);
		samples[0][i] = (double)(tool_now_ns() - begin);
	}
	close(fd);
	tool_stats_fill(samples[0], rounds, stats);
}

static void one_round(const struct bed *bed, size_t shadow_len, struct nvidia_fs_meta *meta, size_t i)
{
	struct bed_map map;
	uint64_t t[4];

	t[0] = tool_now_ns();
	bed_shadow(bed, shadow_len, meta, &map);
	t[1] = tool_now_ns();
	bed_bind(bed, &map, SIZE);
	t[2] = tool_now_ns();
	bed_unmap(&map);
	t[3] = tool_now_ns();
	samples[STEP_MMAP][i] = (double)(t[1] - t[0]);
	samples[STEP_MAP][i] = (double)(t[2] - t[1]);
	samples[STEP_UNMAP][i] = (double)(t[3] - t[2]);
	samples[STEP_MAP_AND_UNMAP][i] = (double)(t[3] - t[1]);
	samples[STEP_ALL][i] = (double)(t[3] - t[0]);
}

static void one_kept_round(const struct bed *bed, const struct bed_map *map, size_t i)
{
	uint64_t t[3];

	t[0] = tool_now_ns();
	bed_bind_again(bed, map, SIZE);
	t[1] = tool_now_ns();
	bed_unbind(bed, map);
	t[2] = tool_now_ns();
	samples[STEP_AGAIN][i] = (double)(t[1] - t[0]);
	samples[STEP_BACK][i] = (double)(t[2] - t[1]);
	samples[STEP_KEPT][i] = (double)(t[2] - t[0]);
}

static void kept_rounds(const struct bed *bed, size_t shadow_len, struct nvidia_fs_meta *meta, size_t rounds)
{
	struct bed_map map;

	bed_shadow(bed, shadow_len, meta, &map);
	bed_bind(bed, &map, SIZE);
	bed_unbind(bed, &map);
	for (size_t i = 0; i < rounds; i++)
		one_kept_round(bed, &map, i);
	bed_unmap(&map);
}

/**
 * struct base - medians that others are set beside
 * @driver: of the driver's pin and release
 * @calls:  of two system calls
 * @gdrdrv: of a pin and a release by gdrdrv
 */
struct base {
	double driver;
	double calls;
	double gdrdrv;
};

static void print_row(const char *what, size_t shadow_len, const struct tool_stats *stats, const struct base *base,
		      const char *verdict)
{
	printf("%-18s %10zu %10.0f %10.0f %10.0f %8.2f %8.2f %8.2f%s\n", what, shadow_len / KIB, stats->min, stats->p50,
	       stats->p99, stats->p50 / base->driver, stats->p50 / (base->driver + base->calls),
	       stats->p50 / base->gdrdrv, verdict);
}

/* With the least shadow that serves all of the memory, and with one as large as that. */
static bool by_shadow(const struct bed *bed, size_t rounds, size_t shadow_len, const struct base *base)
{
	struct nvidia_fs_meta *meta =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	bool missed = false;

	if (meta == MAP_FAILED)
		bed_die("get a page");
	for (size_t i = 0; i < rounds / 10; i++)
		one_round(bed, shadow_len, meta, i);
	for (size_t i = 0; i < rounds; i++)
		one_round(bed, shadow_len, meta, i);
	kept_rounds(bed, shadow_len, meta, rounds);
	for (size_t i = 0; i < NR_STEPS; i++) {
		const char *verdict = "";
		struct tool_stats stats;

		tool_stats_fill(samples[i], rounds, &stats);
		if (i == STEP_KEPT) {
			missed = stats.p50 > TARGET * base->driver;
			verdict = missed ? " MISSED" : " ok";
		}
		print_row(steps[i], shadow_len, &stats, base, verdict);
	}
	munmap(meta, 4096);
	return missed;
}

/* What the rows below are set beside: measured just before them, since the machine may have become slower or faster. */
static void measure_base(const struct bed *bed, size_t rounds, struct base *base)
{
	struct tool_stats driver, calls, gdrdrv;

	driver_pins(bed, rounds, &driver);
	bare_calls(bed, rounds, &calls);
	gdrdrv_pins(bed, rounds, &gdrdrv);
	*base = (struct base){ .driver = driver.p50, .calls = calls.p50, .gdrdrv = gdrdrv.p50 };
	print_row("driver alone", 0, &driver, base, "");
	print_row("calls alone", 0, &calls, base, "");
	print_row("gdrdrv", 0, &gdrdrv, base, "");
}

bool bench_maps(const struct bed *bed, size_t rounds)
{
	static const size_t shadows[] = { NVIDIA_FS_GPU_PAGE, MIB };
	struct tool_stats driver;
	struct base base;
	bool missed = false;

	rounds = rounds < 100 ? 100 : rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
	printf("\n# 1 MiB of memory bound and given back, %zu rounds, ns; limit for MAP again + UNMAP: %.1f of the driver's "
	       "median\n"
	       "# MAP again, UNMAP: on a shadow that stays; sum: of the first two medians; gdrdrv: its two calls\n"
	       "# %-16s %10s %10s %10s %10s %8s %8s %8s\n",
	       rounds, TARGET, "what", "shadow_KiB", "min", "p50", "p99", "/driver", "/sum", "/gdrdrv");
	for (size_t i = 0; i < sizeof(shadows) / sizeof(shadows[0]); i++) {
		measure_base(bed, rounds, &base);
		missed |= by_shadow(bed, rounds, shadows[i], &base);
	}
	driver_pins(bed, rounds, &driver);
	print_row("driver alone", 0, &driver, &base, "");
	return missed;
}
