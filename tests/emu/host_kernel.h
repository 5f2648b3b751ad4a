/* SPDX-License-Identifier: MIT */
/* host_kernel.h - tests of kernels that are compiled for the CPU: the module, and launches */
#ifndef TESTS_EMU_HOST_KERNEL_H
#define TESTS_EMU_HOST_KERNEL_H

#include "emu/cuda/api.h"
#include "emu/cuda/state.h"

struct dims {
	unsigned int grid[3], block[3], shared;
};

/* The object of kernels/host_kernels.cu; the test is skipped when there is none. And an object that has no kernels. */
const char *host_kernel_path(void);
const char *host_kernel_other(void);

/* Its bytes; from malloc(). */
void *host_kernel_image(void);

/* Begin: driver, primary context, and the module. */
CUmodule host_kernel_enter(void);

CUresult host_kernel_launch(CUmodule module, const char *name, struct dims dims, CUstream stream, void **params);

#endif
