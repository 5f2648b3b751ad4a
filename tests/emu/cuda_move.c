// SPDX-License-Identifier: MIT
/* The kernel of move.ptx on the emulated GPU: any alignment, any length, any grid, and nothing beside what it was told. */
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/api.h"
#include "gpu/kernels/move.h"
#include "tests/tap.h"

#define SIZE 8192UL

static CUfunction move;
static CUdeviceptr device;
static unsigned char *host;
static struct bl_move_job *job;

static void enter(void)
{
	static CUcontext ctx;
	CUmodule module;
	void *memory;

	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
	check_eq(cuModuleLoadData(&module, bl_move_ptx), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&move, module, "bl_move"), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&device, SIZE), CUDA_SUCCESS);
	check_eq(cuMemHostAlloc(&memory, SIZE + sizeof(*job), 0), CUDA_SUCCESS);
	host = memory;
	job = (struct bl_move_job *)(host + SIZE);
}

static void launch(uint64_t dst, uint64_t src, uint64_t len, unsigned int blocks, unsigned int threads)
{
	uint64_t param = (uint64_t)job;
	void *params[] = { &param };

	*job = (struct bl_move_job){ .dst = dst, .src = src, .len = len };
	check_eq(cuLaunchKernel(move, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

static unsigned char byte(size_t i)
{
	return (unsigned char)(i * 131 + (i >> 8));
}

static void check_window(const unsigned char *got, size_t at, size_t from, size_t len)
{
	for (size_t i = 0; i < SIZE; i++)
		check_eq(got[i], i >= at && i - at < len ? byte(from + i - at) : 0x5a);
}

static void one(size_t at, size_t from, size_t len, unsigned int blocks, unsigned int threads)
{
	static unsigned char bytes[SIZE];

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = byte(i);
	/* to the GPU */
	memcpy(host, bytes, SIZE);
	check_eq(cuMemsetD8_v2(device, 0x5a, SIZE), CUDA_SUCCESS);
	launch(device + at, (uint64_t)host + from, len, blocks, threads);
	check_eq(cuMemcpyDtoH_v2(host, device, SIZE), CUDA_SUCCESS);
	check_window(host, at, from, len);
	/* and from it */
	check_eq(cuMemcpyHtoD_v2(device, bytes, SIZE), CUDA_SUCCESS);
	memset(host, 0x5a, SIZE);
	launch((uint64_t)host + at, device + from, len, blocks, threads);
	check_window(host, at, from, len);
}

static void bytes_move(void)
{
	static const size_t lens[] = { 0, 1, 15, 16, 17, 100, 4096, 5003 };
	static const size_t offs[] = { 0, 1, 7, 16, 4095 - 1000 };

	enter();
	for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
		for (size_t a = 0; a < sizeof(offs) / sizeof(offs[0]); a++) {
			for (size_t f = 0; f < sizeof(offs) / sizeof(offs[0]); f++)
				one(offs[a], offs[f], lens[l], BL_MOVE_BLOCKS, BL_MOVE_THREADS);
		}
	}
	one(3, 5, 5000, 1, 1);
	one(3, 3, 5000, 3, 33);
}

/* Last: the context is of no use afterwards. */
static void foreign_memory_fails(void)
{
	uint64_t param;
	void *params[] = { &param };

	enter();
	param = (uint64_t)job;
	*job = (struct bl_move_job){ .dst = device + SIZE - 8, .src = (uint64_t)host, .len = 3UL << 20 };
	check_eq(cuLaunchKernel(move, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const struct tap_test tests[] = {
	{ "bytes_move_both_ways_at_any_alignment", bytes_move },
	{ "memory_that_is_not_there_fails_the_context", foreign_memory_fails },
};

TAP_MAIN(tests)
