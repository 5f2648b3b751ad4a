// SPDX-License-Identifier: MIT
#include "net/kernel.h"

#include "common/error.h"
#include "common/object.h"

#define OBJECT "gpunetio_kernels.so"

#ifdef HAVE_NET_PTX
#define DECLARE(name, arch) extern const char bl_net_##name##_ptx_##arch[]
#ifdef HAVE_NET_PTX_90
#define PTX(name)                                                                                                      \
	DECLARE(name, 75);                                                                                             \
	DECLARE(name, 90);                                                                                             \
	const struct net_ptx net_##name##_ptx = { bl_net_##name##_ptx_75, bl_net_##name##_ptx_90 }
#else
#define PTX(name)                                                                                                      \
	DECLARE(name, 75);                                                                                             \
	const struct net_ptx net_##name##_ptx = { bl_net_##name##_ptx_75, NULL }
#endif
#else
#define PTX(name) const struct net_ptx net_##name##_ptx
#endif

PTX(counter_bw);
PTX(forward);
PTX(get_bw);
PTX(put_bw);
PTX(signal_lat);
PTX(write_bw);
PTX(write_lat);

int net_kernel_load(const struct tool_device *device, const struct net_ptx *ptx, CUmodule *module)
{
	bool newer = ptx->sm_90 && tool_device_attr(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
	CUresult res;

	if (!ptx->sm_75)
		return tool_object_load(device, OBJECT, "this program was built without nvcc", module);
	res = device->cu->cuModuleLoadData(module, newer ? ptx->sm_90 : ptx->sm_75);
	if (res == CUDA_ERROR_NO_BINARY_FOR_GPU)
		return tool_object_load(device, OBJECT, "the driver takes no PTX", module);
	return tool_cuda(res, "cuModuleLoadData");
}
