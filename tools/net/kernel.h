/* SPDX-License-Identifier: MIT */
/* kernel.h - find the code of a kernel for the GPU at hand */
#ifndef TOOLS_NET_KERNEL_H
#define TOOLS_NET_KERNEL_H

#include "common/device.h"

/**
 * net_kernel_load() - Load kernels
 * @device: GPU, its context is current
 * @ptx:    text that the driver compiles; NULL: this build has none
 * @module: receives them
 *
 * A driver that takes no PTX of programs, such as the emulated GPU's, gets gpunetio_kernels.so from the folder of the
 * program.
 * Return: 0, or -errno with tool_why().
 */
int net_kernel_load(const struct tool_device *device, const char *ptx, CUmodule *module);

/* PTX of the programs; NULL where there was no nvcc. */
extern const char *const net_forward_ptx;
extern const char *const net_put_bw_ptx;
extern const char *const net_write_bw_ptx;
extern const char *const net_write_lat_ptx;

#endif
