// SPDX-License-Identifier: MIT
#include "world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "pattern.h"
#include "tests/tap.h"

struct world world;

static void *control(void *lib, const char *name)
{
	void *address = dlsym(lib, name);

	if (!address)
		skip("libcuda.so.1 is not the emulated one (no %s): run under scripts/with-emu", name);
	return address;
}

void world_enter(void)
{
	CUdevice device;
	void *lib;

	if (world.cuda)
		return;
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		skip("no libcuda.so.1: run under scripts/with-emu");
	*(void **)&world.counts = control(lib, "bl_emu_counts");
	*(void **)&world.fault = control(lib, "bl_emu_fault");
	*(void **)&world.violation = control(lib, "bl_emu_violation");
	check(bl_cuda());
	check_eq(bl_cuda()->cuInit(0), CUDA_SUCCESS);
	check_eq(bl_cuda()->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(bl_cuda()->cuDevicePrimaryCtxRetain(&world.context, device), CUDA_SUCCESS);
	check_eq(bl_cuda()->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	world.cuda = bl_cuda();
}

CUdeviceptr world_alloc(size_t size)
{
	CUdeviceptr ptr = 0;

	check_eq(world.cuda->cuMemAlloc(&ptr, size), CUDA_SUCCESS);
	return ptr;
}

void world_free(CUdeviceptr ptr)
{
	check_eq(world.cuda->cuMemFree(ptr), CUDA_SUCCESS);
}

CUdeviceptr world_vmm(size_t size, int exportable)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr ptr;

	check_eq(world.cuda->cuMemCreate(&handle, size, &prop, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemAddressReserve(&ptr, size, 0, 0, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemMap(ptr, size, 0, handle, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemSetAccess(ptr, size, &access, 1), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemRelease(handle), CUDA_SUCCESS);
	return ptr;
}

bl_ctx_t world_open(const char *provider)
{
	bl_ctx_t ctx = 0;
	int ret = bl_open(provider, &ctx);

	if (ret)
		tap_end(TAP_FAILED, "open %s: %s", provider, bl_last_error(NULL));
	return ctx;
}

char *world_map(CUdeviceptr va, size_t len, bl_ctx_t *ctx_p, bl_pin_t *pin_p)
{
	void *addr;

	*ctx_p = world_open("rm");
	if (bl_pin(*ctx_p, va, len, 0, 0, 0, pin_p) || bl_map(*ctx_p, *pin_p, len, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "pin and map: %s", bl_last_error(NULL));
	return addr;
}

int world_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

void snapshot_take(struct snapshot *snapshot)
{
	world.counts(&snapshot->counts);
	snapshot->fds = world_fds();
}

void snapshot_check(const struct snapshot *before)
{
	struct snapshot now;

	snapshot_take(&now);
	check_eq(now.counts.vmas, before->counts.vmas);
	check_eq(now.counts.maps, before->counts.maps);
	check_eq(now.counts.dups, before->counts.dups);
	check_eq(now.counts.pins, before->counts.pins);
	check_eq(now.counts.dmabufs, before->counts.dmabufs);
	check_eq(now.counts.nodes, before->counts.nodes);
	check_eq(now.counts.clients, before->counts.clients);
	check_eq(now.counts.bar1_used, before->counts.bar1_used);
	check_eq(now.fds, before->fds);
}

void world_check_rules(void)
{
	check_str(world.violation(), "");
}

void world_check_mapping(bl_pin_t pin, void *addr, CUdeviceptr va, size_t len)
{
	unsigned char *sent = malloc(len), *seen = malloc(len);

	check(sent && seen);
	pattern_fill(sent, len, (unsigned int)va, 0);
	check_eq(bl_copy_to(pin, addr, sent, len), 0);
	check_eq(world.cuda->cuMemcpyDtoH(seen, va, len), CUDA_SUCCESS);
	check(!memcmp(sent, seen, len));
	pattern_fill(sent, len, ~(unsigned int)va, 0);
	check_eq(world.cuda->cuMemcpyHtoD(va, sent, len), CUDA_SUCCESS);
	memset(seen, 0, len);
	check_eq(bl_copy_from(pin, seen, addr, len), 0);
	check(!memcmp(sent, seen, len));
	free(sent);
	free(seen);
}
