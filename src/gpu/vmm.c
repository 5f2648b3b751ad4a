// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/vmm: " fmt
#include "vmm.h"

#include <errno.h>
#include <inttypes.h>

#include "gpu/cuda_ptr.h"
#include "util/log.h"

static int cuda_fail(const char *call, int ordinal, size_t size, CUresult err)
{
	return fail(bl_cuda_errno(err), "device %d, %zu bytes: %s: %s", ordinal, size, call, bl_cuda_strerror(err));
}

static int attribute(const struct bl_cuda *cuda, int attr, CUdevice device)
{
	int value = 0;

	return !cuda->cuDeviceGetAttribute(&value, attr, device) && value;
}

static int check_device(const struct bl_cuda *cuda, int ordinal, CUdevice device)
{
	if (!attribute(cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) ||
	    !attribute(cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device))
		return fail(EOPNOTSUPP,
			    "device %d has no exportable VMM memory (attributes %d and %d); "
			    "allocate with cuMemAlloc and pin that",
			    ordinal, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
			    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	return 0;
}

/* Address and access for memory that exists. */
static int place(const struct bl_cuda *cuda, CUmemGenericAllocationHandle handle, const CUmemAccessDesc *access,
		 int ordinal, struct bl_vmm *vmm)
{
	const char *call = "cuMemAddressReserve";
	size_t size = vmm->size;
	CUdeviceptr va = 0;
	CUresult err;

	err = cuda->cuMemAddressReserve(&va, size, 0, 0, 0);
	if (err)
		return cuda_fail(call, ordinal, size, err);
	call = "cuMemMap";
	err = cuda->cuMemMap(va, size, 0, handle, 0);
	if (err)
		goto free_range;
	call = "cuMemSetAccess";
	err = cuda->cuMemSetAccess(va, size, access, 1);
	if (err)
		goto unmap;
	vmm->va = va;
	return 0;
unmap:
	cuda->cuMemUnmap(va, size);
free_range:
	cuda->cuMemAddressFree(va, size);
	return cuda_fail(call, ordinal, size, err);
}

/* The device's context is current. */
static int allocate(const struct bl_cuda *cuda, int ordinal, CUdevice device, size_t size, struct bl_vmm *vmm)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, device },
	};
	CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	struct bl_vmm made = { .ordinal = ordinal };
	CUmemGenericAllocationHandle handle;
	size_t unit = 0;
	CUresult err;
	int ret;

	/* kernel modules pin such memory only when it was made for it; a GPU that cannot is no matter to provider rm */
	prop.allocFlags.gpuDirectRDMACapable =
		(unsigned char)attribute(cuda, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device);
	err = cuda->cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (err || !unit)
		return cuda_fail("cuMemGetAllocationGranularity", ordinal, size, err);
	if (size > SIZE_MAX - unit)
		return fail(ENOMEM, "device %d, %zu bytes: more than there can be", ordinal, size);
	made.size = (size + unit - 1) / unit * unit;
	err = cuda->cuMemCreate(&handle, made.size, &prop, 0);
	if (err)
		return cuda_fail("cuMemCreate", ordinal, made.size, err);
	ret = place(cuda, handle, &access, ordinal, &made);
	/* the mapping keeps the memory; a program that wants the handle gets one with cuMemRetainAllocationHandle */
	cuda->cuMemRelease(handle);
	if (!ret)
		*vmm = made;
	return ret;
}

int bl_vmm_new(int ordinal, size_t size, struct bl_vmm *vmm)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_ptr ptr = { .ordinal = ordinal };
	struct bl_cuda_scope scope;
	CUresult err;
	int ret;

	if (!cuda)
		return fail(EOPNOTSUPP, "GPU memory: %s", bl_cuda_error());
	err = cuda->cuDeviceGet(&ptr.device, ordinal);
	if (err)
		return fail(ENODEV, "device %d: %s%s", ordinal, bl_cuda_strerror(err),
			    err == CUDA_ERROR_NOT_INITIALIZED ? ": call cuInit() first" : "");
	ret = check_device(cuda, ordinal, ptr.device);
	if (!ret)
		ret = bl_cuda_enter(cuda, &ptr, &scope);
	if (ret)
		return ret;
	ret = allocate(cuda, ordinal, ptr.device, size, vmm);
	bl_cuda_leave(cuda, &scope);
	return ret;
}

int bl_vmm_free(const struct bl_vmm *vmm)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUresult err;

	/* the range cannot go before what is mapped in it */
	err = cuda->cuMemUnmap(vmm->va, vmm->size);
	if (err)
		return cuda_fail("cuMemUnmap", vmm->ordinal, vmm->size, err);
	err = cuda->cuMemAddressFree(vmm->va, vmm->size);
	return err ? cuda_fail("cuMemAddressFree", vmm->ordinal, vmm->size, err) : 0;
}
