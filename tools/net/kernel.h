/* SPDX-License-Identifier: MIT */
/* kernel.h - find the code of a kernel for the GPU at hand */
#ifndef TOOLS_NET_KERNEL_H
#define TOOLS_NET_KERNEL_H

#include "common/device.h"

/**
 * struct net_ptx - code of one program, as text that the driver compiles
 * @sm_75: for all GPUs; NULL: this build has none
 * @sm_90: for compute capability 9.0 and later; NULL: @sm_75 has to do
 */
struct net_ptx {
	const char *sm_75;
	const char *sm_90;
};

/**
 * net_kernel_load() - Load kernels
 * @device: GPU, its context is current
 * @ptx:    code
 * @module: receives them
 *
 * A driver that takes no PTX of programs, such as the emulated GPU's, gets gpunetio_kernels.so from the folder of the
 * program.
 * Return: 0, or -errno with tool_why().
 */
int net_kernel_load(const struct tool_device *device, const struct net_ptx *ptx, CUmodule *module);

/* Of the programs. */
extern const struct net_ptx net_counter_bw_ptx;
extern const struct net_ptx net_forward_ptx;
extern const struct net_ptx net_get_bw_ptx;
extern const struct net_ptx net_put_bw_ptx;
extern const struct net_ptx net_signal_lat_ptx;
extern const struct net_ptx net_write_bw_ptx;
extern const struct net_ptx net_write_lat_ptx;

#endif
