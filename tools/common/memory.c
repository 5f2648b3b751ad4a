// SPDX-License-Identifier: MIT
#include "common/memory.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "gdrapi.h"

const struct tool_name tool_mem_kinds[] = {
	{ "cuMemAlloc", TOOL_MEM_ALLOC },
	{ "cuMemCreate", TOOL_MEM_VMM },
	{ NULL, 0 },
};

static void vmm_prop(const struct tool_device *device, bool exportable, CUmemAllocationProp *prop)
{
	memset(prop, 0, sizeof(*prop));
	prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop->location.id = device->dev;
	if (exportable && tool_device_attr(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
		prop->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	if (tool_device_attr(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED))
		prop->allocFlags.gpuDirectRDMACapable = 1;
}

size_t tool_vmm_granularity(const struct tool_device *device)
{
	CUmemAllocationProp prop;
	size_t granularity = 0;

	if (!tool_device_attr(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
		return 0;
	vmm_prop(device, true, &prop);
	if (device->cu->cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
		return 0;
	return granularity;
}

int tool_vmm_create(const struct tool_device *device, size_t size, bool exportable,
		    CUmemGenericAllocationHandle *handle_p)
{
	CUmemAllocationProp prop;

	vmm_prop(device, exportable, &prop);
	return tool_cuda(device->cu->cuMemCreate(handle_p, size, &prop, 0), "cuMemCreate");
}

int tool_vmm_map(const struct tool_device *device, CUdeviceptr ptr, size_t size, CUmemGenericAllocationHandle handle)
{
	CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->dev },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	const struct bl_cuda *cu = device->cu;
	int ret;

	ret = tool_cuda(cu->cuMemMap(ptr, size, 0, handle, 0), "cuMemMap");
	if (ret)
		return ret;
	ret = tool_cuda(cu->cuMemSetAccess(ptr, size, &access, 1), "cuMemSetAccess");
	if (ret)
		cu->cuMemUnmap(ptr, size);
	return ret;
}

static int alloc_vmm(const struct tool_device *device, size_t size, struct tool_mem *mem)
{
	const struct bl_cuda *cu = device->cu;
	size_t granularity = tool_vmm_granularity(device);
	int ret;

	if (!granularity)
		return tool_fail(EOPNOTSUPP, "GPU %d has no virtual memory management", device->ordinal);
	if (size > SIZE_MAX - granularity)
		return tool_fail(ENOMEM, "%zu bytes cannot be rounded up", size);
	mem->whole = (size + granularity - 1) / granularity * granularity;
	ret = tool_vmm_create(device, mem->whole, true, &mem->handle);
	if (ret)
		return ret;
	ret = tool_cuda(cu->cuMemAddressReserve(&mem->base, mem->whole, 0, 0, 0), "cuMemAddressReserve");
	if (ret)
		goto release;
	ret = tool_vmm_map(device, mem->base, mem->whole, mem->handle);
	if (ret)
		goto free_address;
	mem->ptr = mem->base;
	mem->size = mem->whole;
	return 0;
free_address:
	cu->cuMemAddressFree(mem->base, mem->whole);
release:
	cu->cuMemRelease(mem->handle);
	return ret;
}

static int alloc_plain(const struct tool_device *device, size_t size, struct tool_mem *mem)
{
	const struct bl_cuda *cu = device->cu;
	unsigned int sync = 1;
	int ret;

	if (size > SIZE_MAX - GPU_PAGE_OFFSET)
		return tool_fail(ENOMEM, "%zu bytes cannot be rounded up", size);
	mem->whole = size + GPU_PAGE_OFFSET;
	ret = tool_cuda(cu->cuMemAlloc(&mem->base, mem->whole), "cuMemAlloc");
	if (ret)
		return ret;
	/* without it the driver may still be busy with an asynchronous copy when the CPU looks at the memory */
	ret = tool_cuda(cu->cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, mem->base),
			"cuPointerSetAttribute(SYNC_MEMOPS)");
	if (ret) {
		cu->cuMemFree(mem->base);
		return ret;
	}
	mem->ptr = (mem->base + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
	mem->size = size;
	return 0;
}

int tool_mem_alloc(const struct tool_device *device, enum tool_mem_kind kind, size_t size, struct tool_mem *mem)
{
	memset(mem, 0, sizeof(*mem));
	mem->cu = device->cu;
	mem->kind = kind;
	return kind == TOOL_MEM_VMM ? alloc_vmm(device, size, mem) : alloc_plain(device, size, mem);
}

int tool_mem_free(struct tool_mem *mem)
{
	const struct bl_cuda *cu = mem->cu;
	int ret, ret2;

	if (mem->kind == TOOL_MEM_ALLOC)
		return tool_cuda(cu->cuMemFree(mem->base), "cuMemFree");
	ret = tool_cuda(cu->cuMemUnmap(mem->base, mem->whole), "cuMemUnmap");
	ret2 = tool_cuda(cu->cuMemRelease(mem->handle), "cuMemRelease");
	if (!ret)
		ret = ret2;
	ret2 = tool_cuda(cu->cuMemAddressFree(mem->base, mem->whole), "cuMemAddressFree");
	return ret ? ret : ret2;
}
