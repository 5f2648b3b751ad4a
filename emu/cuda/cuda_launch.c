// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "fault.h"
#include "module.h"
#include "queue.h"

#define MAX_BLOCK_THREADS 1024U
#define MAX_SHARED	  49152U

struct launch {
	struct emu_ctx *ctx;
	const struct emu_kernel *kernel;
	struct emu_grid grid;
	uint64_t params[EMU_KERNEL_PARAMS];
};

/* A device that is busy with the work of others. */
static void wait_for_device(void)
{
	struct timespec nap;
	long ms = 1000;

	if (!emu_fault("cuda.late", &ms) || ms <= 0)
		return;
	nap = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	nanosleep(&nap, NULL);
}

/* On the stream's thread. Memory that is freed from now on is freed only after the kernel has ended. */
static void run_launch(void *arg)
{
	const struct launch *launch = arg;
	long err = CUDA_SUCCESS;
	int ok;

	if (atomic_load(&launch->ctx->sticky))
		return;
	if (emu_fault("cuda.lost", &err)) {
		atomic_store(&launch->ctx->sticky, (CUresult)err);
		return;
	}
	atomic_fetch_add(&launch->ctx->kernels, 1);
	wait_for_device();
	emu_lock();
	ok = launch->kernel->check(launch->params);
	emu_unlock();
	if (!ok)
		atomic_store(&launch->ctx->sticky, CUDA_ERROR_ILLEGAL_ADDRESS);
	else if (emu_kernel_run(launch->kernel, &launch->grid, launch->params))
		atomic_store(&launch->ctx->sticky, CUDA_ERROR_LAUNCH_FAILED);
	atomic_fetch_sub(&launch->ctx->kernels, 1);
}

static int dims_ok(const unsigned int *grid, const unsigned int *block, unsigned int shared)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	if (!grid[0] || grid[0] > INT32_MAX || !grid[1] || grid[1] > UINT16_MAX || !grid[2] || grid[2] > UINT16_MAX)
		return 0;
	if (!block[0] || block[0] > 1024 || !block[1] || block[1] > 1024 || !block[2] || block[2] > 64)
		return 0;
	return threads <= MAX_BLOCK_THREADS && shared <= MAX_SHARED;
}

/* The kernels here use the first dimension only, and so must their launches. Lock held. */
static CUresult prepare(const struct emu_function *fn, const unsigned int *grid, const unsigned int *block,
			void **params, struct launch *launch)
{
	if (!fn)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (grid[1] != 1 || grid[2] != 1 || block[1] != 1 || block[2] != 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	/* the device would start the rest when the first end, which they never do */
	if (fn->kernel->resident && grid[0] > EMU_RESIDENT_BLOCKS)
		return CUDA_ERROR_NOT_SUPPORTED;
	launch->kernel = fn->kernel;
	launch->grid.nr_threads = (uint64_t)grid[0] * block[0];
	launch->grid.nr_blocks = grid[0];
	for (unsigned int i = 0; i < fn->kernel->nr_params; i++)
		memcpy(&launch->params[i], params[i], sizeof(launch->params[i]));
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
			void **extra)
{
	const unsigned int grid[] = { gx, gy, gz }, block[] = { bx, by, bz };
	struct launch *launch;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (!dims_ok(grid, block, shared))
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return CUDA_ERROR_NOT_SUPPORTED;
	ret = emu_cuda_fault("cuda.launch", CUDA_ERROR_LAUNCH_FAILED);
	if (ret)
		return ret;
	launch = calloc(1, sizeof(*launch));
	if (!launch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	launch->ctx = ctx;
	emu_lock();
	ret = prepare(emu_function_find(handle), grid, block, params, launch);
	emu_unlock();
	if (ret) {
		free(launch);
		return ret;
	}
	return emu_submit(ctx, stream, run_launch, launch);
}
