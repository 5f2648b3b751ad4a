/* SPDX-License-Identifier: MIT */
/* kernel_pattern.h - the kernels of pattern.ptx as CPU code */
#ifndef EMU_CUDA_KERNEL_PATTERN_H
#define EMU_CUDA_KERNEL_PATTERN_H

#include "launch.h"

extern const struct emu_kernel emu_pattern_fill;
extern const struct emu_kernel emu_pattern_check;

#endif
