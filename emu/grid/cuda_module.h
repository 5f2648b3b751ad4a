/* SPDX-License-Identifier: MIT */
/*
 * cuda_module.h - what a shared object of host-compiled kernels tells who loads it
 *
 * An object has a symbol bl_cuda_module, and for each kernel a struct bl_cuda_kernel named BL_CUDA_KERNEL_PREFIX and
 * the kernel's name. cuda_host.h writes both.
 */
#ifndef EMU_GRID_CUDA_MODULE_H
#define EMU_GRID_CUDA_MODULE_H

#include <stdint.h>

#define BL_CUDA_MODULE_ABI    1U
#define BL_CUDA_MODULE_SYMBOL "bl_cuda_module"
#define BL_CUDA_KERNEL_PREFIX "bl_cuda_kernel_"
#define BL_CUDA_MAX_PARAMS    128U
#define BL_CUDA_MAX_PARAM     4096U

/**
 * struct bl_cuda_module - an object
 * @abi: BL_CUDA_MODULE_ABI
 */
struct bl_cuda_module {
	uint32_t abi;
};

/* Size and alignment of one parameter, bytes. */
struct bl_cuda_param {
	uint32_t size, align;
};

/**
 * struct bl_cuda_kernel - a kernel
 * @nr_params: its parameters, at most BL_CUDA_MAX_PARAMS
 * @params:    of each, of at most BL_CUDA_MAX_PARAM bytes together
 * @run:       the work of the calling thread; @args has the address of each parameter, which it does not change
 */
struct bl_cuda_kernel {
	uint32_t nr_params;
	const struct bl_cuda_param *params;
	void (*run)(void *const *args);
};

#endif
