// SPDX-License-Identifier: MIT
/* The build system would take a .cu file to the CUDA compiler. */
#include "emu/grid/cuda_host.h"

#include "host_kernels.cu"
