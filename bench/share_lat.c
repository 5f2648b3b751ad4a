// SPDX-License-Identifier: MIT
/*
 * share_lat: map and unmap of a pin that shares a mapping, next to one that makes its own; provider rm, device 0
 *
 * Before anything is timed: that pins of one object do share and show each other's bytes and the GPU's, and that memory
 * which came to the address of freed memory does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "barlane.h"
#include "common/device.h"
#include "common/stats.h"
#include "gpu/edge.h"

#define PAGE	   BL_GPU_PAGE_SIZE
#define MIB	   (1UL << 20)
#define NR_SMALL   16
#define NR_CROWD   1024
#define MAX_ROUNDS 10000

static double map_samples[MAX_ROUNDS], unmap_samples[MAX_ROUNDS];

/**
 * struct bench - what everything here works with
 * @cuda: driver library
 * @ctx:  context
 * @va:   cuMemAlloc memory, an object of its own, 64 MiB
 */
struct bench {
	const struct bl_cuda *cuda;
	bl_ctx_t ctx;
	CUdeviceptr va;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "share_lat: %s: %s\n", what, bl_last_error(NULL));
	exit(1);
}

static bl_pin_t pin_new(const struct bench *b, CUdeviceptr va, size_t len, char **addr_p)
{
	bl_pin_t pin;
	void *addr;

	if (bl_pin(b->ctx, va, len, 0, 0, 0, &pin))
		die("pin");
	if (addr_p) {
		if (bl_map_byte(b->ctx, pin, len, BL_MAP_NONE, &addr))
			die("map");
		*addr_p = addr;
	}
	return pin;
}

static uint32_t sharers(const struct bench *b, bl_pin_t pin)
{
	struct bl_pin_info info;

	if (bl_pin_info(b->ctx, pin, &info))
		die("info");
	return info.sharers;
}

static void must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "share_lat: wrong: %s\n", what);
	exit(1);
}

static uint64_t bar1_avail(void)
{
	uint64_t size, avail;

	if (bl_gpu_bar1(0, &size, &avail))
		die("BAR1");
	return avail;
}

/* Small allocations of one block: each is written through its own handle, and the GPU's own copies see it. */
static void check_small(const struct bench *b)
{
	uint64_t before = bar1_avail(), after;
	CUdeviceptr va[NR_SMALL];
	bl_pin_t pins[NR_SMALL];
	char *addr[NR_SMALL];
	uint32_t most = 0;

	for (uint64_t i = 0; i < NR_SMALL; i++) {
		uint64_t sent = 0x5a5a000000000000ULL + i, seen = 0;

		if (b->cuda->cuMemAlloc(&va[i], 1000))
			die("cuMemAlloc");
		pins[i] = pin_new(b, va[i], 1000, &addr[i]);
		if (bl_copy_to(pins[i], addr[i], &sent, sizeof(sent)) || b->cuda->cuMemcpyDtoH(&seen, va[i], sizeof(seen)))
			die("copy");
		must(seen == sent, "bytes of a small allocation");
		most = sharers(b, pins[i]) > most ? sharers(b, pins[i]) : most;
	}
	after = bar1_avail();
	printf("# %d allocations of 1000 bytes: up to %u share a mapping; BAR1 free before %llu, with all mapped %llu\n",
	       NR_SMALL, most, (unsigned long long)before, (unsigned long long)after);
	/* the first half leaves, with the pins that made the mappings; the others go on */
	for (int i = 0; i < NR_SMALL; i++) {
		uint64_t seen = 0;

		if (bl_copy_from(pins[i], &seen, addr[i], sizeof(seen)))
			die("copy");
		must(seen == 0x5a5a000000000000ULL + (uint64_t)i, "bytes after other pins left");
		if (bl_unpin(b->ctx, pins[i]) || b->cuda->cuMemFree(va[i]))
			die("unpin");
	}
	must(most > 1, "no two pins share: the driver does not say that duplicates of one object are the same");
}

/* Freed while pinned; what CUDA gives out at the same address is another object. */
static void check_recycled(const struct bench *b)
{
	CUdeviceptr va[32], again = 0;
	bl_pin_t old, new;
	char *old_addr, *new_addr;
	uint64_t one = 1, two = 2, seen = 0;
	int nr = 0;

	if (b->cuda->cuMemAlloc(&va[0], 4 * MIB))
		die("cuMemAlloc");
	old = pin_new(b, va[0], PAGE, &old_addr);
	if (b->cuda->cuMemFree(va[0]))
		die("cuMemFree");
	for (nr = 1; nr < 32 && !again; nr++) {
		if (b->cuda->cuMemAlloc(&va[nr], 4 * MIB))
			die("cuMemAlloc");
		again = va[nr] == va[0] ? va[nr] : 0;
	}
	if (again) {
		new = pin_new(b, again, PAGE, &new_addr);
		must(new_addr != old_addr && sharers(b, new) == 1, "memory at a recycled address shares a mapping");
		if (bl_copy_to(old, old_addr, &one, 8) || bl_copy_to(new, new_addr, &two, 8) || bl_flush(new) ||
		    b->cuda->cuMemcpyDtoH(&seen, again, 8) || bl_unpin(b->ctx, new))
			die("recycled address");
		must(seen == two, "bytes at a recycled address");
	}
	printf("# recycled address: %s\n", again ? "own mapping, own bytes" : "NOT SEEN: CUDA gave no address out again");
	if (bl_unpin(b->ctx, old))
		die("unpin");
	while (--nr > 0)
		b->cuda->cuMemFree(va[nr]);
}

static void measure(const struct bench *b, const char *what, size_t len, size_t rounds, uint32_t want)
{
	bl_pin_t pin = pin_new(b, b->va, len, NULL);
	struct tool_stats map, unmap;
	void *addr;

	for (size_t i = 0; i < rounds + rounds / 10; i++) {
		size_t at = i < rounds / 10 ? 0 : i - rounds / 10;
		uint64_t start = tool_now_ns(), middle;

		if (bl_map(b->ctx, pin, len, BL_MAP_NONE, &addr))
			die("map");
		middle = tool_now_ns();
		map_samples[at] = (double)(middle - start);
		if (i == 0)
			must(sharers(b, pin) == want, "number of sharers");
		start = tool_now_ns();
		if (bl_unmap(b->ctx, pin, addr, len))
			die("unmap");
		unmap_samples[at] = (double)(tool_now_ns() - start);
	}
	if (bl_unpin(b->ctx, pin))
		die("unpin");
	tool_stats_fill(map_samples, rounds, &map);
	tool_stats_fill(unmap_samples, rounds, &unmap);
	printf("%10zu %-14s %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f\n", len, what, map.min, map.p50, map.p99, unmap.min,
	       unmap.p50, unmap.p99);
}

/* A mapping for each page of the object, none of which has another page. */
static void measure_in_a_crowd(const struct bench *b)
{
	static bl_pin_t crowd[NR_CROWD];
	char *addr;

	for (size_t i = 1; i < NR_CROWD; i++)
		crowd[i] = pin_new(b, b->va + i * PAGE, PAGE, &addr);
	measure(b, "own, crowd", PAGE, MAX_ROUNDS, 1);
	crowd[0] = pin_new(b, b->va, PAGE, &addr);
	measure(b, "shared, crowd", PAGE, MAX_ROUNDS, 2);
	for (size_t i = 0; i < NR_CROWD; i++) {
		if (bl_unpin(b->ctx, crowd[i]))
			die("unpin");
	}
}

static void run(const struct bench *b)
{
	static const size_t sizes[] = { PAGE, 2 * MIB, 64 * MIB }, rounds[] = { MAX_ROUNDS, 5000, 500 };

	check_small(b);
	check_recycled(b);
	printf("# %8s %-14s %9s %9s %9s %9s %9s %9s\n", "bytes", "mapping", "map_min", "map_p50", "map_p99", "unmap_min",
	       "unmap_p50", "unmap_p99");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bl_pin_t keeper;
		char *addr;

		measure(b, "own", sizes[i], rounds[i], 1);
		keeper = pin_new(b, b->va, sizes[i], &addr);
		measure(b, "shared", sizes[i], rounds[i], 2);
		if (bl_unpin(b->ctx, keeper))
			die("unpin");
	}
	measure_in_a_crowd(b);
}

int main(int argc, char **argv)
{
	struct tool_device device;
	struct utsname kernel;
	struct bench b;

	if (argc > 1) {
		printf("usage: %s\nChecks pins that share a mapping on device 0, then times them.\n", argv[0]);
		return strcmp(argv[1], "--help") != 0;
	}
	if (tool_device_open(0, &device))
		die("open device 0");
	b.cuda = device.cu;
	if (bl_open("rm", &b.ctx))
		die("open");
	if (b.cuda->cuMemAlloc(&b.va, 64 * MIB))
		die("allocate 64 MiB");
	uname(&kernel);
	printf("# share_lat %s kernel %s gpu %s%s; times in ns\n", bl_version(), kernel.release, device.name,
	       device.emulated ? " (emu)" : "");
	run(&b);
	return bl_close(b.ctx) || b.cuda->cuMemFree(b.va) ? 1 : 0;
}
