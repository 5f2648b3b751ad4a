// SPDX-License-Identifier: MIT
#include "host_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"

/**
 * struct running - what the threads of a grid share
 * @kernel: what runs
 * @args:   where each parameter is
 * @bytes:  the parameters
 */
struct running {
	const struct bl_cuda_kernel *kernel;
	void *args[BL_CUDA_MAX_PARAMS];
	_Alignas(16) unsigned char bytes[];
};

static size_t align_up(size_t off, uint32_t align)
{
	return align ? (off + align - 1) / align * align : off;
}

size_t emu_host_params_size(const struct bl_cuda_kernel *kernel)
{
	size_t off = 0;

	for (uint32_t i = 0; i < kernel->nr_params; i++)
		off = align_up(off, kernel->params[i].align) + kernel->params[i].size;
	return off;
}

void emu_host_params_copy(struct emu_host_launch *launch, void **params)
{
	size_t off = 0;

	for (uint32_t i = 0; i < launch->kernel->nr_params; i++) {
		off = align_up(off, launch->kernel->params[i].align);
		memcpy(launch->bytes + off, params[i], launch->kernel->params[i].size);
		off += launch->kernel->params[i].size;
	}
}

/* A copy of its own: threads that cannot be ended may outlive the launch. */
static struct running *running_new(const struct emu_host_launch *launch)
{
	size_t size = emu_host_params_size(launch->kernel), off = 0;
	struct running *running = malloc(sizeof(*running) + size);

	if (!running)
		return NULL;
	running->kernel = launch->kernel;
	memcpy(running->bytes, launch->bytes, size);
	for (uint32_t i = 0; i < launch->kernel->nr_params; i++) {
		off = align_up(off, launch->kernel->params[i].align);
		running->args[i] = running->bytes + off;
		off += launch->kernel->params[i].size;
	}
	return running;
}

static void run_thread(void *arg)
{
	const struct running *running = arg;

	running->kernel->run(running->args);
}

static CUresult verdict(int error)
{
	switch (error) {
	case 0:
	case -ECANCELED:
		return CUDA_SUCCESS;
	case -EFAULT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case -ETIMEDOUT:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	case -EAGAIN:
	case -ENOMEM:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

CUresult emu_host_run(const struct emu_host_launch *launch, struct emu_ctx *ctx)
{
	struct running *running = running_new(launch);
	struct bl_grid grid = {
		.grid = launch->grid,
		.block = launch->block,
		.run = run_thread,
		.arg = running,
		.code = (const void *)launch->kernel->run,
		.shared = launch->shared,
		.stop = (const uint32_t *)&ctx->halt,
		.timeout_ms = emu_env()->kernel_ms ? emu_env()->kernel_ms : BL_GRID_NO_TIMEOUT,
	};
	struct bl_grid_result result;
	CUresult ret;

	if (!running)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	ret = verdict(bl_grid_run(&grid, &result));
	if (ret)
		fprintf(stderr, "emu: kernel %s: %s", launch->name, result.text);
	if (result.error == -ETIMEDOUT)
		fprintf(stderr, "emu: BARLANE_EMU_KERNEL_MS sets how long kernels may take\n");
	if (result.nr_abandoned)
		emu_object_keep(launch->object);
	else
		free(running);
	return ret;
}
