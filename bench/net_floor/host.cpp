// SPDX-License-Identifier: MIT
/* The kernels for the emulated GPU; the build system would take the .cu file to the CUDA compiler. */
#include "emu/grid/cuda_host.h"

#include "kernels.cu"
