// SPDX-License-Identifier: MIT
/* The kernels for the emulated GPU; the build system would take .cu files to the CUDA compiler. */
#include "emu/grid/cuda_host.h"
#include "state.cuh"

namespace forward
{
#include "forward.cu"
}
namespace put_bw
{
#include "put_bw.cu"
}
namespace write_bw
{
#include "write_bw.cu"
}
namespace write_lat
{
#include "write_lat.cu"
}
