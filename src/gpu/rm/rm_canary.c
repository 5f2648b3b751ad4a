// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm selftest: " fmt
#include "rm_canary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "rm_view.h"
#include "util/log.h"

/* Bytes compared at each place: enough that equality by chance is out of the question. */
#define NONCE 64

static int identify(const struct bl_cuda *cuda, struct rm_canary *canary)
{
	CUresult err = cuda->cuPointerGetAttribute(&canary->buffer_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, canary->va);

	return err ? fail(bl_cuda_errno(err), "id of va 0x%llx: %s", canary->va, bl_cuda_strerror(err)) : 0;
}

int rm_canary_plain(const struct bl_cuda *cuda, size_t size, struct rm_canary *canary)
{
	CUresult err = cuda->cuMemAlloc(&canary->va, size);

	if (err)
		return fail(bl_cuda_errno(err), "cuMemAlloc of %zu bytes: %s", size, bl_cuda_strerror(err));
	canary->size = size;
	return identify(cuda, canary);
}

static int map_vmm(const struct bl_cuda *cuda, CUdevice device, CUmemGenericAllocationHandle handle,
		   struct rm_canary *canary)
{
	CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, device },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult err;

	err = cuda->cuMemAddressReserve(&canary->va, canary->size, 0, 0, 0);
	if (err)
		return fail(bl_cuda_errno(err), "cuMemAddressReserve: %s", bl_cuda_strerror(err));
	err = cuda->cuMemMap(canary->va, canary->size, 0, handle, 0);
	if (err)
		goto free_range;
	err = cuda->cuMemSetAccess(canary->va, canary->size, &access, 1);
	if (err)
		goto unmap;
	return 0;
unmap:
	cuda->cuMemUnmap(canary->va, canary->size);
free_range:
	cuda->cuMemAddressFree(canary->va, canary->size);
	return fail(bl_cuda_errno(err), "map VMM memory: %s", bl_cuda_strerror(err));
}

int rm_canary_vmm(const struct bl_cuda *cuda, CUdevice device, struct rm_canary *canary)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, device },
	};
	CUmemGenericAllocationHandle handle;
	CUresult err;
	int ret;

	err = cuda->cuMemGetAllocationGranularity(&canary->size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (!err)
		err = cuda->cuMemCreate(&handle, canary->size, &prop, 0);
	if (err)
		return fail(bl_cuda_errno(err), "cuMemCreate: %s", bl_cuda_strerror(err));
	ret = map_vmm(cuda, device, handle, canary);
	/* the mapping keeps the memory */
	cuda->cuMemRelease(handle);
	return ret ? ret : identify(cuda, canary);
}

static int random_bytes(uint8_t *bytes)
{
	if (getrandom(bytes, NONCE, 0) != NONCE)
		return fail(EIO, "no random bytes: %s", strerror(errno));
	return 0;
}

/* The GPU writes, the CPU reads. */
static int gpu_to_cpu(const struct bl_cuda *cuda, CUstream stream, CUdeviceptr va, const uint8_t *addr)
{
	uint8_t sent[NONCE], seen[NONCE];
	CUresult err;
	int ret;

	ret = random_bytes(sent);
	if (ret)
		return ret;
	err = cuda->cuMemcpyHtoDAsync(va, sent, NONCE, stream);
	if (!err)
		err = cuda->cuStreamSynchronize(stream);
	if (err)
		return fail(bl_cuda_errno(err), "copy to the device: %s", bl_cuda_strerror(err));
	memcpy(seen, addr, NONCE);
	if (memcmp(sent, seen, NONCE))
		return fail(EPROTO, "va 0x%llx: what the GPU wrote is not what the mapping shows", va);
	return 0;
}

/* The CPU writes, the GPU reads. Reading back from the mapping pushes the write out to the device. */
static int cpu_to_gpu(const struct bl_cuda *cuda, CUstream stream, CUdeviceptr va, uint8_t *addr)
{
	uint8_t sent[NONCE], seen[NONCE];
	CUresult err;
	int ret;

	ret = random_bytes(sent);
	if (ret)
		return ret;
	memcpy(addr, sent, NONCE);
	__sync_synchronize();
	memcpy(seen, addr, NONCE);
	if (memcmp(sent, seen, NONCE))
		return fail(EPROTO, "va 0x%llx: the mapping does not keep what is written to it", va);
	err = cuda->cuMemcpyDtoHAsync(seen, va, NONCE, stream);
	if (!err)
		err = cuda->cuStreamSynchronize(stream);
	if (err)
		return fail(bl_cuda_errno(err), "copy from the device: %s", bl_cuda_strerror(err));
	if (memcmp(sent, seen, NONCE))
		return fail(EPROTO, "va 0x%llx: what the CPU wrote is not what the GPU reads", va);
	return 0;
}

static int check_places(const struct bl_cuda *cuda, CUstream stream, const struct rm_canary *canary, uint8_t *addr)
{
	size_t places[] = { 0, canary->size / 2 & ~(size_t)(NONCE - 1), canary->size - NONCE };
	int ret = 0;

	for (size_t i = 0; i < 3 && !ret; i++)
		ret = gpu_to_cpu(cuda, stream, canary->va + places[i], addr + places[i]);
	for (size_t i = 0; i < 3 && !ret; i++)
		ret = cpu_to_gpu(cuda, stream, canary->va + places[i], addr + places[i]);
	return ret;
}

int rm_canary_check(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
		    const struct rm_target *target, const struct rm_canary *canary)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = canary->va - target->va, off = start & ~(page - 1);
	uint64_t end = (start + canary->size + page - 1) & ~(page - 1);
	struct rm_view view;
	int ret, err;

	if (canary->va < target->va || end > target->size)
		return fail(EPROTO, "va 0x%llx is not inside the object said to hold it", canary->va);
	ret = rm_view_open(conn, gpu, target->memory, off, end - off, &view);
	if (ret)
		return ret;
	ret = check_places(cuda, stream, canary, (uint8_t *)view.addr + (start - off));
	err = rm_view_close(conn, gpu, &view);
	return ret ? ret : err;
}
