/* SPDX-License-Identifier: MIT */
/* host_launch.h - launches of kernels that are compiled for the CPU */
#ifndef EMU_CUDA_HOST_LAUNCH_H
#define EMU_CUDA_HOST_LAUNCH_H

#include "emu/grid/grid.h"
#include "object.h"
#include "state.h"

/**
 * struct emu_host_launch - one launch
 * @kernel: what runs
 * @object: where it is from
 * @name:   its name; lives as long as the module
 * @grid:   blocks
 * @block:  threads of a block
 * @shared: bytes of dynamic shared memory
 * @bytes:  the parameters, one after the other, each aligned as it wants to be; this itself to 16
 */
struct emu_host_launch {
	const struct bl_cuda_kernel *kernel;
	struct emu_object *object;
	const char *name;
	struct bl_dim3 grid, block;
	uint64_t shared;
	_Alignas(16) unsigned char bytes[];
};

/* Bytes of the parameters of a kernel. */
size_t emu_host_params_size(const struct bl_cuda_kernel *kernel);

/* Copy parameters into launch->bytes, from where cuLaunchKernel() is told. */
void emu_host_params_copy(struct emu_host_launch *launch, void **params);

/**
 * emu_host_run() - Run all threads of a launch
 * @launch: what to run
 * @ctx:    its context; ends it by ctx->halt
 *
 * Return: CUDA_SUCCESS, also when the context ended it; CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT,
 * CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_FAILED (deadlock and misuse). Why and where is on stderr.
 */
CUresult emu_host_run(const struct emu_host_launch *launch, struct emu_ctx *ctx);

#endif
