/* SPDX-License-Identifier: MIT */
/* kernel_move.h - the kernel of move.ptx as CPU code */
#ifndef EMU_CUDA_KERNEL_MOVE_H
#define EMU_CUDA_KERNEL_MOVE_H

#include "launch.h"

extern const struct emu_kernel emu_move;

#endif
