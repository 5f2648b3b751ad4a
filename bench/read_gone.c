// SPDX-License-Identifier: MIT
/*
 * read_gone: what the driver says to a read from an address where there is no memory any more, or other memory, and
 * whether the context is as good as before
 *
 *	read_gone [GPU]
 *
 * Engine ce asks behind a read whether the memory was there (docs/copy-engine.md). Each case has a process of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/device.h"
#include "common/error.h"

#define LEN   (64UL << 10)
#define LARGE (64UL << 20)
#define KEPT  0x5a

static struct tool_device gpu;
static CUstream stream;
static unsigned char *host;

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static CUdeviceptr allocate(size_t size)
{
	CUdeviceptr va;

	must(gpu.cu->cuMemAlloc(&va, size), "cuMemAlloc");
	return va;
}

static CUdeviceptr there(void)
{
	return allocate(LEN);
}

static CUdeviceptr freed(size_t size)
{
	CUdeviceptr va = allocate(size);

	must(gpu.cu->cuMemFree(va), "cuMemFree");
	return va;
}

static CUdeviceptr small_freed(void)
{
	return freed(LEN);
}

/* The driver cuts small allocations out of a block, which others keep. */
static CUdeviceptr small_freed_beside_another(void)
{
	allocate(LEN);
	return freed(LEN);
}

static CUdeviceptr large_freed(void)
{
	return freed(LARGE);
}

static CUdeviceptr other_there(void)
{
	CUdeviceptr va = freed(LARGE);

	if (allocate(LARGE) != va)
		printf("# the other memory has another address\n");
	return va;
}

static CUdeviceptr host_memory_there(void)
{
	CUdeviceptr va = freed(LARGE);
	void *addr = mmap((void *)(uintptr_t)va, LARGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if ((uintptr_t)addr == va)
		memset(addr, 1, LEN);
	else
		printf("# the address range is not given back\n");
	return va;
}

static CUdeviceptr reserve(CUdeviceptr wish)
{
	CUdeviceptr va;

	must(gpu.cu->cuMemAddressReserve(&va, LARGE, 0, wish, 0), "cuMemAddressReserve");
	return va;
}

static CUdeviceptr reserved(void)
{
	return reserve(0);
}

static CUdeviceptr freed_and_reserved(void)
{
	CUdeviceptr va = freed(LARGE);

	if (reserve(va) != va)
		printf("# another address is reserved\n");
	return va;
}

static CUdeviceptr map(bool access)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu.ordinal},
	};
	const CUmemAccessDesc desc = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr va = reserve(0);

	must(gpu.cu->cuMemCreate(&handle, LARGE, &prop, 0), "cuMemCreate");
	must(gpu.cu->cuMemMap(va, LARGE, 0, handle, 0), "cuMemMap");
	if (access)
		must(gpu.cu->cuMemSetAccess(va, LARGE, &desc, 1), "cuMemSetAccess");
	return va;
}

static CUdeviceptr without_access(void)
{
	return map(false);
}

static CUdeviceptr unmapped(void)
{
	CUdeviceptr va = map(true);

	must(gpu.cu->cuMemUnmap(va, LARGE), "cuMemUnmap");
	return va;
}

static CUdeviceptr given_back(void)
{
	CUdeviceptr va = unmapped();

	must(gpu.cu->cuMemAddressFree(va, LARGE), "cuMemAddressFree");
	return va;
}

static CUdeviceptr ordinary_memory(void)
{
	void *addr = malloc(LEN);

	if (!addr)
		tool_die("out of memory");
	memset(addr, 1, LEN);
	return (uintptr_t)addr;
}

static CUdeviceptr hole(void)
{
	void *addr = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(addr, LEN);
	return (uintptr_t)addr;
}

static CUdeviceptr pinned_memory(void)
{
	void *addr;

	must(gpu.cu->cuMemHostAlloc(&addr, LEN, 0), "cuMemHostAlloc");
	memset(addr, 1, LEN);
	return (uintptr_t)addr;
}

static CUdeviceptr pool_freed(void)
{
	CUdeviceptr va;

	if (!gpu.cu->cuMemAllocAsync || !gpu.cu->cuMemFreeAsync)
		tool_die("no pools");
	must(gpu.cu->cuMemAllocAsync(&va, LARGE, stream), "cuMemAllocAsync");
	must(gpu.cu->cuMemFreeAsync(va, stream), "cuMemFreeAsync");
	must(gpu.cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
	return va;
}

static CUdeviceptr of_another_context(bool destroy)
{
	CUcontext other;
	CUdeviceptr va;

	if (!gpu.cu->cuCtxCreate)
		tool_die("no second context");
	must(gpu.cu->cuCtxCreate(&other, 0, gpu.dev), "cuCtxCreate");
	va = allocate(LARGE);
	if (destroy)
		must(gpu.cu->cuCtxDestroy(other), "cuCtxDestroy");
	must(gpu.cu->cuCtxSetCurrent(gpu.ctx), "cuCtxSetCurrent");
	return va;
}

static CUdeviceptr context_there(void)
{
	return of_another_context(false);
}

static CUdeviceptr context_gone(void)
{
	return of_another_context(true);
}

static const struct gone {
	const char *name;
	CUdeviceptr (*make)(void);
} cases[] = {
	{"memory that is there", there},
	{"64 KiB, freed", small_freed},
	{"64 KiB, freed, beside another 64 KiB", small_freed_beside_another},
	{"64 MiB, freed", large_freed},
	{"64 MiB, freed, other memory there", other_there},
	{"64 MiB, freed, host memory there", host_memory_there},
	{"64 MiB, freed, the range reserved", freed_and_reserved},
	{"range reserved, nothing mapped", reserved},
	{"range mapped, no access", without_access},
	{"range unmapped", unmapped},
	{"range unmapped and given back", given_back},
	{"host memory, ordinary", ordinary_memory},
	{"host memory, pinned", pinned_memory},
	{"nothing", hole},
	{"pool memory, freed", pool_freed},
	{"memory of another context", context_there},
	{"memory of a context that is gone", context_gone},
};

static bool kept(void)
{
	for (size_t i = 0; i < LEN; i++) {
		if (host[i] != KEPT)
			return false;
	}
	return true;
}

static void try(const struct gone *gone)
{
	CUdeviceptr va = gone->make(), other;
	CUresult post, end, after;
	bool same;

	memset(host, KEPT, LEN);
	post = gpu.cu->cuMemcpyDtoHAsync(host, va, LEN, stream);
	end = gpu.cu->cuStreamSynchronize(stream);
	same = kept();
	after = gpu.cu->cuMemAlloc(&other, LEN);
	if (!after)
		after = gpu.cu->cuMemcpyDtoHAsync(host, other, LEN, stream);
	if (!after)
		after = gpu.cu->cuStreamSynchronize(stream);
	printf("%-38s read %-26s its end %-14s host memory %-8s next read %s\n", gone->name, bl_cuda_strerror(post),
	       bl_cuda_strerror(end), same ? "kept" : "written", bl_cuda_strerror(after));
	fflush(stdout);
}

static void set_up(int ordinal)
{
	void *addr;

	alarm(20);
	if (tool_device_open(ordinal, &gpu))
		tool_die("%s", tool_why());
	must(gpu.cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(gpu.cu->cuMemHostAlloc(&addr, LEN, 0), "cuMemHostAlloc");
	host = addr;
}

static void in_child(int ordinal, const struct gone *gone)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		tool_die("no process");
	if (!pid) {
		set_up(ordinal);
		if (gone == cases)
			printf("# read_gone gpu %s%s, pageable memory access %d\n", gpu.name,
			       gpu.emulated ? " (emu)" : "",
			       tool_device_attr(&gpu, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS));
		try(gone);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("%-38s ended with status 0x%x\n", gone->name, (unsigned int)status);
}

int main(int argc, char **argv)
{
	int ordinal = argc > 1 ? atoi(argv[1]) : 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fflush(stdout);
		in_child(ordinal, &cases[i]);
	}
	return tool_finish(EXIT_SUCCESS);
}
