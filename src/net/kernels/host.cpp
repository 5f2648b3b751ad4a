// SPDX-License-Identifier: MIT
/* The kernels for the emulated GPU; the build system would take .cu files to the CUDA compiler. */
#include "emu/grid/cuda_host.h"
#include "state.cuh"

namespace counter_bw
{
#include "counter_bw.cu"
}
namespace forward
{
#include "forward.cu"
}
namespace get_bw
{
#include "get_bw.cu"
}
namespace put_bw
{
#include "put_bw.cu"
}
namespace signal_lat
{
#include "signal_lat.cu"
}
namespace write_bw
{
#include "write_bw.cu"
}
namespace write_lat
{
#include "write_lat.cu"
}
