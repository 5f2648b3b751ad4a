// SPDX-License-Identifier: MIT
/* The kernel for the emulated GPU; the build system would take the .cu file to the CUDA compiler. */
#include "emu/grid/cuda_host.h"

#include "src/net/kernels/litmus.cu"
