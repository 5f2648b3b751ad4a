/* SPDX-License-Identifier: MIT */
/* kernel_pplat.h - the kernels of pplat.ptx as CPU code */
#ifndef EMU_CUDA_KERNEL_PPLAT_H
#define EMU_CUDA_KERNEL_PPLAT_H

#include "launch.h"

extern const struct emu_kernel emu_pplat_consume;
extern const struct emu_kernel emu_pplat_produce;

#endif
