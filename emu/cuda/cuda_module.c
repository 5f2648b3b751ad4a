// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "capture.h"
#include "fault.h"
#include "launch.h"
#include "loading.h"
#include "queue.h"
#include "state.h"

#define MAX_BLOCK_THREADS 1024U
#define MAX_SHARED	  49152U

/**
 * struct emu_function - an entry of a loaded module
 * @next:   list of the module
 * @module: it
 * @kernel: what runs
 * @loaded: it was launched, or cuFuncLoad() was called
 */
struct emu_function {
	struct emu_function *next;
	struct emu_module *module;
	const struct emu_kernel *kernel;
	int loaded;
};

/**
 * struct emu_module - a loaded PTX text
 * @next:      list of all
 * @ctx:       its context
 * @functions: entries that were asked for
 * @ptx:       the text
 */
struct emu_module {
	struct emu_module *next;
	struct emu_ctx *ctx;
	struct emu_function *functions;
	char *ptx;
};

static struct emu_module *modules; /* emu_lock() */

/* Good enough to tell a text that is none of ours from something that is no image at all. */
static int looks_like_image(const char *image)
{
	return !strncmp(image, "\x50\xed\x55\xba", 4) || !strncmp(image, "\177ELF", 4) || strstr(image, ".version");
}

CUresult cuModuleLoadData(CUmodule *module_p, const void *image)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);
	if (ret)
		return ret;
	if (!module_p || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!looks_like_image(image))
		return CUDA_ERROR_INVALID_IMAGE;
	if (!emu_kernel_known(image))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	emu_load_module(ctx);
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->ctx = ctx;
	module->ptx = strdup(image);
	if (!module->ptx) {
		free(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	emu_lock();
	module->next = modules;
	modules = module;
	emu_unlock();
	*module_p = (CUmodule)module;
	return CUDA_SUCCESS;
}

static struct emu_module *module_find(CUmodule handle)
{
	for (struct emu_module *module = modules; module; module = module->next) {
		if ((CUmodule)module == handle)
			return module;
	}
	return NULL;
}

static void module_free(struct emu_module *module)
{
	struct emu_module **link = &modules;
	struct emu_function *next;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	for (struct emu_function *fn = module->functions; fn; fn = next) {
		next = fn->next;
		free(fn);
	}
	free(module->ptx);
	free(module);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_capture_check_unsafe();
	if (ret)
		return ret;
	emu_lock();
	module = module_find(handle);
	if (module)
		module_free(module);
	emu_unlock();
	return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void emu_module_destroy_all(struct emu_ctx *ctx)
{
	struct emu_module *next;

	emu_lock();
	for (struct emu_module *module = modules; module; module = next) {
		next = module->next;
		if (module->ctx == ctx)
			module_free(module);
	}
	emu_unlock();
}

static CUresult function_get(struct emu_module *module, const char *name, CUfunction *fn_p)
{
	const struct emu_kernel *kernel = emu_kernel_find(module->ptx, name);
	struct emu_function *fn;

	if (!kernel)
		return CUDA_ERROR_NOT_FOUND;
	for (fn = module->functions; fn; fn = fn->next) {
		if (fn->kernel == kernel)
			break;
	}
	if (!fn) {
		fn = calloc(1, sizeof(*fn));
		if (!fn)
			return CUDA_ERROR_OUT_OF_MEMORY;
		fn->module = module;
		fn->kernel = kernel;
		fn->next = module->functions;
		module->functions = fn;
	}
	*fn_p = (CUfunction)fn;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *fn, CUmodule handle, const char *name)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);

	if (!ret)
		ret = emu_enter_locked(&ctx);
	if (ret)
		return ret;
	module = module_find(handle);
	if (!fn || !name || !*name)
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		ret = module ? function_get(module, name, fn) : CUDA_ERROR_INVALID_HANDLE;
	emu_unlock();
	return ret;
}

static struct emu_function *function_find(CUfunction handle)
{
	for (struct emu_module *module = modules; module; module = module->next) {
		for (struct emu_function *fn = module->functions; fn; fn = fn->next) {
			if ((CUfunction)fn == handle)
				return fn;
		}
	}
	return NULL;
}

/* Whoever uses a function first waits for its code; others find it loaded, or wait for the one who is at it. */
static CUresult function_load(struct emu_ctx *ctx, CUfunction handle)
{
	struct emu_function *fn;
	int known, loaded;

	emu_lock();
	fn = function_find(handle);
	known = fn != NULL;
	loaded = fn && fn->loaded;
	emu_unlock();
	if (!known)
		return CUDA_ERROR_INVALID_HANDLE;
	if (loaded)
		return CUDA_SUCCESS;
	emu_load_function(ctx);
	emu_lock();
	fn = function_find(handle);
	if (fn)
		fn->loaded = 1;
	emu_unlock();
	return fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);
	return ret ? ret : function_load(ctx, handle);
}

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
	if (!ret)
		ret = function_load(ctx, handle);
	if (ret)
		return ret;
	launch = calloc(1, sizeof(*launch));
	if (!launch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	launch->ctx = ctx;
	emu_lock();
	ret = prepare(function_find(handle), grid, block, params, launch);
	emu_unlock();
	if (ret) {
		free(launch);
		return ret;
	}
	return emu_submit(ctx, stream, run_launch, launch);
}
