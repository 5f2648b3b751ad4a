// SPDX-License-Identifier: MIT
/*
 * native_lat: latency of bl_flush() and bl_publish(), after a check of their bytes
 *
 * On memory of bl_alloc() on device 0. A publish is timed from call to return: it does not wait for the GPU. A flush
 * follows one publish, so that there is something to wait for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "barlane.h"
#include "gpu/cuda.h"

#define WARMUP	 1000
#define NR_ITERS 20000
#define MAX_DATA 4096UL
#define FLAG_OFF 8192UL

static uint64_t samples[NR_ITERS];
static unsigned char data[MAX_DATA], seen[MAX_DATA];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void report(const char *what, size_t len)
{
	qsort(samples, NR_ITERS, sizeof(samples[0]), compare);
	printf("%9zu  %-8s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", len, what, samples[0],
	       samples[NR_ITERS / 2], samples[NR_ITERS / 100 * 99], samples[NR_ITERS / 1000 * 999]);
}

static int publish(const struct bl_alloc *mem, size_t len, uint64_t flag)
{
	return bl_publish(mem->pin, mem->addr, data, len, (uint64_t *)((char *)mem->addr + FLAG_OFF), flag);
}

/* Data and flag are in the GPU's memory behind a flush, as CUDA reads it. */
static int check(const struct bl_cuda *cuda, const struct bl_alloc *mem, size_t len)
{
	uint64_t flag = 0;

	memset(data, (int)(len % 251 + 1), len);
	if (publish(mem, len, len + 1) || bl_flush(mem->pin))
		return -1;
	if (cuda->cuMemcpyDtoH(seen, mem->va, len) || cuda->cuMemcpyDtoH(&flag, mem->va + FLAG_OFF, sizeof(flag)))
		return -1;
	return flag != len + 1 || memcmp(seen, data, len) ? -1 : 0;
}

static int measure(const struct bl_alloc *mem, size_t len, int flush)
{
	uint64_t start;
	int ret = 0;

	for (int i = -WARMUP; i < NR_ITERS && !ret; i++) {
		start = now_ns();
		ret = publish(mem, len, (uint64_t)i);
		if (flush && !ret) {
			start = now_ns();
			ret = bl_flush(mem->pin);
		}
		if (i >= 0)
			samples[i] = now_ns() - start;
	}
	if (!ret)
		report(flush ? "flush" : "publish", len);
	return ret;
}

static int run(const struct bl_cuda *cuda, bl_ctx_t ctx)
{
	struct bl_provider_info info;
	struct bl_alloc mem;
	char gpu[64] = "";
	CUdevice device;
	int bad = 0;

	if (bl_alloc(ctx, 0, MAX_DATA, &mem) || bl_ctx_provider(ctx, &info))
		return -1;
	if (cuda->cuDeviceGet(&device, 0) || cuda->cuDeviceGetName(gpu, sizeof(gpu), device))
		return -1;
	printf("# native_lat %s gpu %s provider %s iters %d warmup %d\n", bl_version(), gpu, info.name, NR_ITERS, WARMUP);
	printf("#   bytes  call       min_ns   p50_ns   p99_ns  p999_ns\n");
	for (size_t len = 8; len <= MAX_DATA && !bad; len *= 8) {
		bad = check(cuda, &mem, len);
		if (bad)
			fprintf(stderr, "native_lat: %zu bytes: the GPU's memory holds other bytes\n", len);
		else
			bad = measure(&mem, len, 0) || measure(&mem, len, 1);
	}
	return bl_free(ctx, mem.pin) || bad ? -1 : 0;
}

int main(void)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUcontext context;
	bl_ctx_t ctx;
	int bad;

	if (!cuda || cuda->cuInit(0) || cuda->cuDevicePrimaryCtxRetain(&context, 0) || cuda->cuCtxSetCurrent(context)) {
		fprintf(stderr, "native_lat: no CUDA: %s\n", cuda ? "no usable device" : bl_cuda_error());
		return 1;
	}
	if (bl_open(NULL, &ctx))
		return 1;
	bad = run(cuda, ctx);
	return bl_close(ctx) || bad ? 1 : 0;
}
