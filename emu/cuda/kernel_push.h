/* SPDX-License-Identifier: MIT */
/* kernel_push.h - the kernel of push.ptx as CPU code */
#ifndef EMU_CUDA_KERNEL_PUSH_H
#define EMU_CUDA_KERNEL_PUSH_H

#include "launch.h"

extern const struct emu_kernel emu_push;

#endif
