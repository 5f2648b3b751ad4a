// SPDX-License-Identifier: MIT
/*
 * What it takes to bind memory and to give it back, beside the GPU driver's own pin and release. The driver has
 * functions for that and no system calls, so there are three things to compare with: these functions, called in the
 * kernel; two system calls that do nothing but call them (bl_pins.ko), which is the least for a caller from user space;
 * and gdrdrv.
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

#include "bl_pins.h"
#include "common/stats.h"
#include "gdrdrv.h"

/* Ratio of the medians that MAP and UNMAP shall stay within. */
#define TARGET	   1.5
#define MAX_ROUNDS 5000
#define SIZE	   MIB

/* From STEP_DRIVER on they take turns; the last three are on a shadow that stays. */
enum step {
	STEP_MMAP,
	STEP_MAP,
	STEP_UNMAP,
	STEP_MAP_AND_UNMAP,
	STEP_ALL,
	STEP_DRIVER,
	STEP_EMPTY,
	STEP_CALLS,
	STEP_AGAIN,
	STEP_BACK,
	STEP_KEPT,
	NR_STEPS
};

static const char *const steps[] = {
	[STEP_MMAP] = "mmap",
	[STEP_MAP] = "MAP",
	[STEP_UNMAP] = "munmap",
	[STEP_MAP_AND_UNMAP] = "MAP + munmap",
	[STEP_ALL] = "all three",
	[STEP_DRIVER] = "driver alone",
	[STEP_EMPTY] = "empty calls",
	[STEP_CALLS] = "driver by calls",
	[STEP_AGAIN] = "MAP again",
	[STEP_BACK] = "UNMAP",
	[STEP_KEPT] = "MAP again + UNMAP",
};
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

static int open_pins(void)
{
	int fd;

	if (load("/modules/bl_pins.ko", "") && errno != EEXIST)
		bed_die("load bl_pins.ko");
	fd = open(BL_PINS_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		bed_die("open " BL_PINS_PATH);
	return fd;
}

/* As called inside of the kernel. */
static double driver_alone(int fd, uint64_t va)
{
	struct bl_pins_measure arg = { .va = va, .len = SIZE };

	if (ioctl(fd, BL_PINS_IOC_MEASURE, &arg))
		bed_die("measure by bl_pins");
	return (double)arg.ns;
}

/* UNMAP of no address: an argument goes in, and nothing else happens. */
static void empty_calls(const struct bed *bed)
{
	struct nvidia_fs_unmap arg = { 0 };

	if (ioctl(bed->node, NVIDIA_FS_IOC_UNMAP, &arg) || ioctl(bed->node, NVIDIA_FS_IOC_UNMAP, &arg))
		bed_die("make system calls that do nothing");
}

static void driver_by_calls(int fd, uint64_t va)
{
	struct bl_pins_pin pin = { .va = va, .len = SIZE };
	struct bl_pins_release release = { .va = va };

	if (ioctl(fd, BL_PINS_IOC_PIN, &pin) || ioctl(fd, BL_PINS_IOC_RELEASE, &release))
		bed_die("pin and release by bl_pins");
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

static void one_kept_round(const struct bed *bed, const struct bed_map *map, int pins, size_t i)
{
	uint64_t t[5];

	samples[STEP_DRIVER][i] = driver_alone(pins, bed->va);
	t[0] = tool_now_ns();
	empty_calls(bed);
	t[1] = tool_now_ns();
	driver_by_calls(pins, bed->va);
	t[2] = tool_now_ns();
	bed_bind_again(bed, map, SIZE);
	t[3] = tool_now_ns();
	bed_unbind(bed, map);
	t[4] = tool_now_ns();
	samples[STEP_EMPTY][i] = (double)(t[1] - t[0]);
	samples[STEP_CALLS][i] = (double)(t[2] - t[1]);
	samples[STEP_AGAIN][i] = (double)(t[3] - t[2]);
	samples[STEP_BACK][i] = (double)(t[4] - t[3]);
	samples[STEP_KEPT][i] = (double)(t[4] - t[2]);
}

static void kept_rounds(const struct bed *bed, size_t shadow_len, struct nvidia_fs_meta *meta, size_t rounds)
{
	int pins = open_pins();
	struct bed_map map;

	bed_shadow(bed, shadow_len, meta, &map);
	bed_bind(bed, &map, SIZE);
	bed_unbind(bed, &map);
	for (size_t i = 0; i < rounds; i++)
		one_kept_round(bed, &map, pins, i);
	bed_unmap(&map);
	close(pins);
}

/**
 * struct base - medians that others are set beside
 * @driver: of the driver's pin and release, called in the kernel
 * @calls:  of two system calls that do nothing but that
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
	       stats->p99, stats->p50 / base->driver, stats->p50 / base->calls, stats->p50 / base->gdrdrv, verdict);
}

/* The limit is missed when it is by what the driver takes as called in the kernel; then the other figure is judged too. */
static const char *judge(double p50, const struct base *base)
{
	bool kernel = p50 <= TARGET * base->driver, calls = p50 <= TARGET * base->calls;

	if (kernel)
		return " ok";
	return calls ? " MISSED, by calls ok" : " MISSED, by calls too";
}

/* With the least shadow that serves all of the memory, and with one as large as that. */
static void measure(const struct bed *bed, size_t rounds, size_t shadow_len)
{
	struct nvidia_fs_meta *meta =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (meta == MAP_FAILED)
		bed_die("get a page");
	for (size_t i = 0; i < rounds / 10; i++)
		one_round(bed, shadow_len, meta, i);
	for (size_t i = 0; i < rounds; i++)
		one_round(bed, shadow_len, meta, i);
	kept_rounds(bed, shadow_len, meta, rounds / 10);
	kept_rounds(bed, shadow_len, meta, rounds);
	munmap(meta, 4096);
}

/* What the last row is set beside takes turns with it, since the machine becomes slower and faster. */
static bool by_shadow(const struct bed *bed, size_t rounds, size_t shadow_len)
{
	struct tool_stats gdrdrv, stats[NR_STEPS];
	struct base base;

	gdrdrv_pins(bed, rounds, &gdrdrv);
	measure(bed, rounds, shadow_len);
	for (size_t i = 0; i < NR_STEPS; i++)
		tool_stats_fill(samples[i], rounds, &stats[i]);
	base = (struct base){
		.driver = stats[STEP_DRIVER].p50,
		.calls = stats[STEP_CALLS].p50,
		.gdrdrv = gdrdrv.p50,
	};
	print_row("gdrdrv", 0, &gdrdrv, &base, "");
	for (size_t i = 0; i < NR_STEPS; i++)
		print_row(steps[i], i >= STEP_DRIVER && i <= STEP_CALLS ? 0 : shadow_len, &stats[i], &base,
			  i == STEP_KEPT ? judge(stats[i].p50, &base) : "");
	return stats[STEP_KEPT].p50 > TARGET * base.driver;
}

bool bench_maps(const struct bed *bed, size_t rounds)
{
	static const size_t shadows[] = { NVIDIA_FS_GPU_PAGE, MIB };
	bool missed = false;

	rounds = rounds < 100 ? 100 : rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
	printf("\n# 1 MiB of memory bound and given back, %zu rounds, ns; limit of the last row: %.1f of driver alone\n"
	       "# MAP again, UNMAP: on a shadow that stays; they, and the three rows before, take turns\n"
	       "# ratios of medians: /driver as called in the kernel, /calls by two system calls, /gdrdrv by its two\n"
	       "# %-16s %10s %10s %10s %10s %8s %8s %8s\n",
	       rounds, TARGET, "what", "shadow_KiB", "min", "p50", "p99", "/driver", "/calls", "/gdrdrv");
	for (size_t i = 0; i < sizeof(shadows) / sizeof(shadows[0]); i++)
		missed |= by_shadow(bed, rounds, shadows[i]);
	return missed;
}
