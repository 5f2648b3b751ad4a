// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "env.h"
#include "state.h"

#define CC_MAJOR 9
#define CC_MINOR 0

static CUresult enter_gpu(CUdevice dev, struct emu_gpu **gpu_p)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	*gpu_p = emu_gpu(dev);
	return *gpu_p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(ordinal, &gpu);

	if (ret)
		return ret;
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = gpu->index;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = emu_gpu_count();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "Barlane emulated GPU");
	return CUDA_SUCCESS;
}

static int device_attribute(const struct emu_gpu *gpu, int attr, int *value)
{
	switch (attr) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 4;
		return 0;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*value = 2048;
		return 0;
	case CU_DEVICE_ATTRIBUTE_INTEGRATED:
	case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
		*value = 0;
		return 0;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = gpu->bus;
		return 0;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*value = gpu->slot;
		return 0;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*value = (int)gpu->domain;
		return 0;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		*value = 3;
		return 0;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = CC_MAJOR;
		return 0;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = CC_MINOR;
		return 0;
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
		*value = 1;
		return 0;
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
		*value = emu_env()->dmabuf;
		return 0;
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED:
		if (emu_env()->cuda_version < 13030)
			return -1;
		*value = emu_env()->dmabuf;
		return 0;
	}
	return -1;
}

CUresult cuDeviceGetAttribute(int *value, int attr, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!value || device_attribute(gpu, attr, value))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = CC_MAJOR;
	*minor = CC_MINOR;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!id || len < (int)sizeof("0000:00:00.0"))
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)len, "%04X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->slot);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned int domain, bus, slot;
	CUresult ret = emu_enter();

	if (ret)
		return ret;
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
		domain = 0;
		if (sscanf(id, "%x:%x", &bus, &slot) != 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (int i = 0; i < emu_gpu_count(); i++) {
		const struct emu_gpu *gpu = emu_gpu(i);

		if (gpu->domain == domain && gpu->bus == bus && gpu->slot == slot) {
			*dev = i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(uuid->bytes, gpu->uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct emu_gpu *gpu;
	CUresult ret = enter_gpu(dev, &gpu);

	if (ret)
		return ret;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = gpu->vram_size;
	return CUDA_SUCCESS;
}
