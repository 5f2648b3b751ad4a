/* SPDX-License-Identifier: MIT */
/* kernel_oneshot.h - the kernel of oneshot.ptx as CPU code */
#ifndef EMU_CUDA_KERNEL_ONESHOT_H
#define EMU_CUDA_KERNEL_ONESHOT_H

#include "launch.h"

extern const struct emu_kernel emu_oneshot;

#endif
