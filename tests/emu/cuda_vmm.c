// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: virtual memory management. */
#include <unistd.h>

#include "emu/cuda/api.h"
#include "tests/tap.h"

#define BLOCK (2UL << 20)

static const CUmemAllocationProp exportable = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	.allocFlags = { .gpuDirectRDMACapable = 1 },
};
static const CUmemAllocationProp plain = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
};
static const CUmemAccessDesc readwrite = {
	.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

/* Two handles side by side at the start of a reservation of eight blocks. */
struct pair {
	CUdeviceptr va;
	CUmemGenericAllocationHandle first;
	CUmemGenericAllocationHandle second;
};

static struct pair make_pair(void)
{
	static CUcontext ctx;
	struct pair pair;

	if (!ctx) {
		check_eq(cuInit(0), CUDA_SUCCESS);
		check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
		check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	}
	check_eq(cuMemAddressReserve(&pair.va, 8 * BLOCK, 0, 0, 0), CUDA_SUCCESS);
	check_eq(cuMemCreate(&pair.first, BLOCK, &exportable, 0), CUDA_SUCCESS);
	check_eq(cuMemCreate(&pair.second, BLOCK, &plain, 0), CUDA_SUCCESS);
	check_eq(cuMemMap(pair.va, BLOCK, 0, pair.first, 0), CUDA_SUCCESS);
	check_eq(cuMemMap(pair.va + BLOCK, BLOCK, 0, pair.second, 0), CUDA_SUCCESS);
	return pair;
}

static void free_pair(const struct pair *pair)
{
	check_eq(cuMemUnmap(pair->va, 2 * BLOCK), CUDA_SUCCESS);
	check_eq(cuMemAddressFree(pair->va, 8 * BLOCK), CUDA_SUCCESS);
	check_eq(cuMemRelease(pair->first), CUDA_SUCCESS);
	check_eq(cuMemRelease(pair->second), CUDA_SUCCESS);
}

static uint64_t attribute(int attr, CUdeviceptr ptr)
{
	uint64_t value = 0;

	check_eq(cuPointerGetAttribute(&value, attr, ptr), CUDA_SUCCESS);
	return value;
}

static void sizes_are_granular(void)
{
	CUmemGenericAllocationHandle handle;
	struct pair pair = make_pair();
	CUdeviceptr va;
	size_t size;

	check_eq(cuMemGetAllocationGranularity(&size, &plain, 0), CUDA_SUCCESS);
	check_eq(size, BLOCK);
	check_eq(cuMemCreate(&handle, BLOCK / 2, &plain, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAddressReserve(&va, BLOCK / 2, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	free_pair(&pair);
}

static void maps_are_whole_handles(void)
{
	CUmemGenericAllocationHandle big;
	struct pair pair = make_pair();

	check_eq(cuMemCreate(&big, 2 * BLOCK, &plain, 0), CUDA_SUCCESS);
	check_eq(cuMemMap(pair.va + 2 * BLOCK, BLOCK, 0, big, 0), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuMemMap(pair.va + 2 * BLOCK, BLOCK, BLOCK, big, 0), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuMemMap(pair.va + BLOCK, 2 * BLOCK, 0, big, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemMap(pair.va + 4096, 2 * BLOCK, 0, big, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemMap(pair.va + 7 * BLOCK, 2 * BLOCK, 0, big, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemUnmap(pair.va, BLOCK / 2), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAddressFree(pair.va, 8 * BLOCK), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAddressFree(pair.va, BLOCK), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemRelease(big), CUDA_SUCCESS);
	check_eq(cuMemRelease(big), CUDA_ERROR_INVALID_VALUE);
	free_pair(&pair);
}

static void access_is_needed(void)
{
	struct pair pair = make_pair();
	char bytes[100];

	check_eq(cuMemcpyHtoD_v2(pair.va, bytes, 100), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemSetAccess(pair.va, 3 * BLOCK, &readwrite, 1), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemSetAccess(pair.va, 2 * BLOCK, &readwrite, 1), CUDA_SUCCESS);
	check_eq(cuMemcpyHtoD_v2(pair.va + BLOCK - 50, bytes, 100), CUDA_SUCCESS);
	check_eq(cuMemcpyHtoD_v2(pair.va + 2 * BLOCK - 50, bytes, 100), CUDA_ERROR_INVALID_VALUE);
	free_pair(&pair);
}

static void neighbours_are_one_range(void)
{
	struct pair pair = make_pair();
	unsigned char out[100], in[100];

	check_eq(cuMemSetAccess(pair.va, 2 * BLOCK, &readwrite, 1), CUDA_SUCCESS);
	for (unsigned int i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 3 + 1);
	check_eq(cuMemcpyHtoD_v2(pair.va + BLOCK - 50, out, 100), CUDA_SUCCESS);
	/* the same bytes, one handle at a time */
	check_eq(cuMemcpyDtoH_v2(in, pair.va + BLOCK - 50, 50), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(in + 50, pair.va + BLOCK, 50), CUDA_SUCCESS);
	check(!memcmp(in, out, sizeof(out)));
	free_pair(&pair);
}

static void attributes_tell_map_from_reservation(void)
{
	struct pair pair = make_pair();
	CUdeviceptr base;
	size_t size;

	check_eq(attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pair.va + BLOCK + 5), pair.va);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, pair.va), 8 * BLOCK);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, pair.va + BLOCK + 5), pair.va + BLOCK);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, pair.va), BLOCK);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, pair.va), 1);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, pair.va + BLOCK), 0);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, pair.va), 1);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, pair.va + BLOCK), 0);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pair.va), 0);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_CONTEXT, pair.va), 0);
	check(attribute(CU_POINTER_ATTRIBUTE_BUFFER_ID, pair.va) !=
	      attribute(CU_POINTER_ATTRIBUTE_BUFFER_ID, pair.va + BLOCK));
	check_eq(cuMemGetAddressRange_v2(&base, &size, pair.va + BLOCK + 100), CUDA_SUCCESS);
	check_eq(base, pair.va + BLOCK);
	check_eq(size, BLOCK);
	free_pair(&pair);
}

static void handles_are_retained_and_exported(void)
{
	CUmemGenericAllocationHandle again;
	struct pair pair = make_pair();
	CUdeviceptr device;
	int fd;

	check_eq(cuMemRetainAllocationHandle(&again, (void *)(pair.va + 5)), CUDA_SUCCESS);
	check_eq(again, pair.first);
	check_eq(cuMemRelease(again), CUDA_SUCCESS);
	check_eq(cuMemRetainAllocationHandle(&again, (void *)(pair.va + 3 * BLOCK)), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAlloc_v2(&device, 100), CUDA_SUCCESS);
	check_eq(cuMemRetainAllocationHandle(&again, (void *)device), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemFree_v2(device), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(pair.va), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemExportToShareableHandle(&fd, pair.second, 1, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemExportToShareableHandle(&fd, pair.first, 8, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemExportToShareableHandle(&fd, pair.first, 1, 0), CUDA_SUCCESS);
	check(fd >= 0 && !close(fd));
	free_pair(&pair);
}

static void memory_lives_as_long_as_it_is_used(void)
{
	struct pair pair = make_pair();
	size_t mapped, after, total;

	check_eq(cuMemGetInfo_v2(&mapped, &total), CUDA_SUCCESS);
	check_eq(cuMemRelease(pair.first), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	check_eq(after, mapped);
	check_eq(cuMemUnmap(pair.va, BLOCK), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	check_eq(after, mapped + BLOCK);
	check_eq(cuMemUnmap(pair.va + BLOCK, BLOCK), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	check_eq(after, mapped + BLOCK);
	check_eq(cuMemRelease(pair.second), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	check_eq(after, mapped + 2 * BLOCK);
	check_eq(cuMemAddressFree(pair.va, 8 * BLOCK), CUDA_SUCCESS);
}

static const struct tap_test tests[] = {
	{ "sizes_are_multiples_of_the_granularity", sizes_are_granular },
	{ "maps_and_unmaps_are_whole_handles_in_one_reservation", maps_are_whole_handles },
	{ "mapped_memory_needs_access_before_use", access_is_needed },
	{ "handles_side_by_side_are_one_range_to_copies", neighbours_are_one_range },
	{ "attributes_tell_the_map_from_the_reservation", attributes_tell_map_from_reservation },
	{ "handles_are_retained_and_exported_as_created", handles_are_retained_and_exported },
	{ "memory_lives_until_released_and_unmapped", memory_lives_as_long_as_it_is_used },
};

TAP_MAIN(tests)
