// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "fault.h"
#include "host_launch.h"
#include "module.h"
#include "queue.h"

#define MAX_BLOCK_THREADS 1024U
#define MAX_SHARED	  49152U

/**
 * struct launch - one launch
 * @ctx:    its context
 * @kernel: what runs, or NULL: @host
 * @grid:   of a kernel from PTX
 * @params: of the same
 * @host:   a kernel that is compiled for the CPU; with its parameters behind it
 */
struct launch {
	struct emu_ctx *ctx;
	const struct emu_kernel *kernel;
	struct emu_grid grid;
	uint64_t params[EMU_KERNEL_PARAMS];
	struct emu_host_launch host;
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

static CUresult run_kernel(const struct launch *launch)
{
	int ok;

	if (!launch->kernel)
		return emu_host_run(&launch->host, launch->ctx);
	emu_lock();
	ok = launch->kernel->check(launch->params);
	emu_unlock();
	if (!ok)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return emu_kernel_run(launch->kernel, &launch->grid, launch->params) ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

/* The first error is the context's, and the end of what else runs in it. */
static void fail_context(struct emu_ctx *ctx, CUresult ret)
{
	int none = CUDA_SUCCESS;

	atomic_compare_exchange_strong(&ctx->sticky, &none, (int)ret);
	atomic_store(&ctx->halt, 1);
}

/* On the stream's thread. Memory that is freed from now on is freed only after the kernel has ended. */
static void run_launch(void *arg)
{
	const struct launch *launch = arg;
	long err = CUDA_SUCCESS;
	CUresult ret;

	if (atomic_load(&launch->ctx->sticky))
		return;
	if (emu_fault("cuda.lost", &err)) {
		atomic_store(&launch->ctx->sticky, (CUresult)err);
		return;
	}
	atomic_fetch_add(&launch->ctx->kernels, 1);
	wait_for_device();
	ret = run_kernel(launch);
	if (ret)
		fail_context(launch->ctx, ret);
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

static void prepare_host(const struct emu_function *fn, const unsigned int *grid, const unsigned int *block,
			 unsigned int shared, void **params, struct launch *launch)
{
	launch->host.kernel = fn->host;
	launch->host.object = fn->module->object;
	launch->host.name = fn->name;
	launch->host.grid = (struct bl_dim3){ grid[0], grid[1], grid[2] };
	launch->host.block = (struct bl_dim3){ block[0], block[1], block[2] };
	launch->host.shared = shared;
	emu_host_params_copy(&launch->host, params);
}

/* Lock held. */
static CUresult launch_new(struct emu_ctx *ctx, const struct emu_function *fn, const unsigned int *grid,
			   const unsigned int *block, unsigned int shared, void **params, struct launch **launch_p)
{
	size_t size = fn && fn->host ? emu_host_params_size(fn->host) : 0;
	struct launch *launch;
	CUresult ret = CUDA_SUCCESS;

	if (!fn || (fn->host && fn->module->ctx != ctx))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!params && (!fn->host || fn->host->nr_params))
		return CUDA_ERROR_INVALID_VALUE;
	launch = calloc(1, sizeof(*launch) + size);
	if (!launch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	launch->ctx = ctx;
	if (fn->host)
		prepare_host(fn, grid, block, shared, params, launch);
	else
		ret = prepare(fn, grid, block, params, launch);
	if (ret)
		free(launch);
	else
		*launch_p = launch;
	return ret;
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
	if (!ret)
		ret = emu_function_load(ctx, handle);
	if (ret)
		return ret;
	emu_lock();
	ret = launch_new(ctx, emu_function_find(handle), grid, block, shared, params, &launch);
	/* still with the lock: a module that is unloaded waits for what was submitted */
	if (!ret)
		ret = emu_submit(ctx, stream, run_launch, launch);
	emu_unlock();
	return ret;
}
