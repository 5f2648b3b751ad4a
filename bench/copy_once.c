// SPDX-License-Identifier: MIT
/*
 * copy_once.c - one copy, for instruction counts (callgrind-copy.sh)
 *
 * usage: copy_once to|from|none|gdr-to|gdr-from BYTES. What is counted happens in bench_copy_once(); "none" calls a
 * function that returns at once, which tells what the call itself costs. The gdr modes go through libgdrapi to a mapping
 * of GPU memory, and need a GPU, real or emulated; the others copy ordinary memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "copy/cpu.h"
#include "gdrapi.h"
#include "gpu/cuda.h"

#define SIZE (1UL << 20)

typedef int (*copy_fn)(void *dst, const void *src, size_t len);

static int none(void *dst, const void *src, size_t len)
{
	return 0;
}

void bench_copy_once(copy_fn fn, void *dst, const void *src, size_t len);

__attribute__((noinline)) void bench_copy_once(copy_fn fn, void *dst, const void *src, size_t len)
{
	fn(dst, src, len);
	/* a call and not a jump, also where the compiler likes tail calls */
	__asm__ volatile("" ::: "memory");
}

static gdr_mh_t handle;

static int gdr_to(void *dst, const void *src, size_t len)
{
	return gdr_copy_to_mapping(handle, dst, src, len);
}

static int gdr_from(void *dst, const void *src, size_t len)
{
	return gdr_copy_from_mapping(handle, dst, src, len);
}

/* Map GPU memory; it is unmapped when the process ends. */
static char *map_gpu(void)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUdeviceptr ptr;
	CUcontext ctx;
	void *va;
	gdr_t g;

	if (!cuda || cuda->cuInit(0) || cuda->cuDevicePrimaryCtxRetain(&ctx, 0) || cuda->cuCtxSetCurrent(ctx) ||
	    cuda->cuMemAlloc(&ptr, SIZE * 2))
		return NULL;
	g = gdr_open();
	if (!g || gdr_pin_buffer(g, ptr, SIZE, 0, 0, &handle) || gdr_map(g, handle, &va, SIZE))
		return NULL;
	return va;
}

static copy_fn routine(const char *name, const struct bl_cpu_copy *copy)
{
	if (!strcmp(name, "to"))
		return copy->to;
	if (!strcmp(name, "from"))
		return copy->from;
	if (!strcmp(name, "gdr-to"))
		return gdr_to;
	if (!strcmp(name, "gdr-from"))
		return gdr_from;
	return strcmp(name, "none") ? NULL : none;
}

int main(int argc, char **argv)
{
	const struct bl_cpu_copy *copy = bl_cpu_copy_select(BL_MAP_WC);
	size_t len = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	copy_fn fn = argc == 3 ? routine(argv[1], copy) : NULL;
	char *dst, *src;

	if (!fn || !len || len > SIZE) {
		fprintf(stderr, "usage: copy_once to|from|none|gdr-to|gdr-from BYTES\n");
		return 2;
	}
	dst = fn == gdr_to ? map_gpu() : aligned_alloc(4096, SIZE);
	src = fn == gdr_from ? map_gpu() : aligned_alloc(4096, SIZE);
	if (!dst || !src) {
		fprintf(stderr, "copy_once: no memory: %s\n", bl_last_error(NULL));
		return 1;
	}
	memset(dst, 0, len);
	memset(src, 0x5a, len);
	bench_copy_once(fn, dst, src, len);
	printf("%s\n", copy->name);
	if (fn != none && memcmp(dst, src, len)) {
		fprintf(stderr, "copy_once: wrong bytes\n");
		return 1;
	}
	return 0;
}
