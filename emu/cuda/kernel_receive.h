/* SPDX-License-Identifier: MIT */
/* kernel_receive.h - the kernel of src/gpu/kernels/receive.ptx */
#ifndef EMU_CUDA_KERNEL_RECEIVE_H
#define EMU_CUDA_KERNEL_RECEIVE_H

#include "launch.h"

extern const struct emu_kernel emu_receive;

#endif
