// SPDX-License-Identifier: MIT
#include "copy_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "barlane.h"
#include "copy/cpu.h"

/* One memory per run: the copy functions that are compared take no context. */
static uint8_t *host_base;
static const struct bl_cpu_copy *host_copy;

static int host_to(void *dst, const void *src, size_t len)
{
	return host_copy->to(dst, src, len);
}

static int host_from(void *dst, const void *src, size_t len)
{
	return host_copy->from(dst, src, len);
}

static int host_write(size_t off, const void *src, size_t len)
{
	memcpy(host_base + off, src, len);
	return 0;
}

static int host_read(void *dst, size_t off, size_t len)
{
	memcpy(dst, host_base + off, len);
	return 0;
}

int copy_memory_host(size_t size, struct copy_memory *memory)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (addr == MAP_FAILED) {
		fprintf(stderr, "copy_isa: %zu bytes of memory: %s\n", size, strerror(errno));
		return -errno;
	}
	host_base = addr;
	host_copy = bl_cpu_copy_select(BL_MAP_WC);
	*memory = (struct copy_memory){
		.kind = "host",
		.addr = addr,
		.size = size,
		.to = host_to,
		.from = host_from,
		.write = host_write,
		.read = host_read,
	};
	snprintf(memory->what, sizeof(memory->what), "plain memory, routines %s", host_copy->name);
	return 0;
}

static void host_free(struct copy_memory *memory)
{
	munmap(memory->addr, memory->size);
}

#ifdef HAVE_GDRAPI

#include <stdlib.h>

#include "gdrapi.h"
#include "gpu/cuda.h"

static struct {
	const struct bl_cuda *cuda;
	CUdevice dev;
	CUcontext ctx;
	CUdeviceptr ptr;
	size_t size;
	gdr_t gdr;
	gdr_mh_t handle;
	void *va;
} gpu_mem;

static int gpu_to(void *dst, const void *src, size_t len)
{
	return gdr_copy_to_mapping(gpu_mem.handle, dst, src, len);
}

static int gpu_from(void *dst, const void *src, size_t len)
{
	return gdr_copy_from_mapping(gpu_mem.handle, dst, src, len);
}

static int cuda_failed(const char *call, CUresult err)
{
	fprintf(stderr, "copy_isa: %s: %s\n", call, bl_cuda_strerror(err));
	return -EIO;
}

static int gdr_failed(const char *call, int err)
{
	fprintf(stderr, "copy_isa: %s: %s\n", call, strerror(err));
	return -err;
}

/* A small copy from pageable memory returns before it has arrived, and would then overtake what the CPU writes next. */
static int gpu_write(size_t off, const void *src, size_t len)
{
	CUresult err = gpu_mem.cuda->cuMemcpyHtoD(gpu_mem.ptr + off, src, len);

	if (err)
		return cuda_failed("cuMemcpyHtoD", err);
	err = gpu_mem.cuda->cuCtxSynchronize();
	return err ? cuda_failed("cuCtxSynchronize", err) : 0;
}

static int gpu_read(void *dst, size_t off, size_t len)
{
	CUresult err = gpu_mem.cuda->cuMemcpyDtoH(dst, gpu_mem.ptr + off, len);

	return err ? cuda_failed("cuMemcpyDtoH", err) : 0;
}

static int gpu_alloc(size_t size, int gpu)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUresult err;

	if (!cuda) {
		fprintf(stderr, "copy_isa: no CUDA driver: %s\n", bl_cuda_error());
		return -ENODEV;
	}
	gpu_mem.cuda = cuda;
	err = cuda->cuInit(0);
	if (err)
		return cuda_failed("cuInit", err);
	err = cuda->cuDeviceGet(&gpu_mem.dev, gpu);
	if (err)
		return cuda_failed("cuDeviceGet", err);
	err = cuda->cuDevicePrimaryCtxRetain(&gpu_mem.ctx, gpu_mem.dev);
	if (err)
		return cuda_failed("cuDevicePrimaryCtxRetain", err);
	err = cuda->cuCtxSetCurrent(gpu_mem.ctx);
	if (err)
		return cuda_failed("cuCtxSetCurrent", err);
	err = cuda->cuMemAlloc(&gpu_mem.ptr, size);
	if (err)
		return cuda_failed("cuMemAlloc", err);
	gpu_mem.size = size;
	return 0;
}

static int gpu_map(void)
{
	int err;

	gpu_mem.gdr = gdr_open();
	if (!gpu_mem.gdr)
		return gdr_failed("gdr_open", ENODEV);
	err = gdr_pin_buffer(gpu_mem.gdr, gpu_mem.ptr, gpu_mem.size, 0, 0, &gpu_mem.handle);
	if (err)
		return gdr_failed("gdr_pin_buffer", err);
	err = gdr_map(gpu_mem.gdr, gpu_mem.handle, &gpu_mem.va, gpu_mem.size);
	return err ? gdr_failed("gdr_map", err) : 0;
}

static void gpu_describe(struct copy_memory *memory)
{
	const char *type = "?";
	char name[128] = "?";
	gdr_info_t info;

	gpu_mem.cuda->cuDeviceGetName(name, sizeof(name), gpu_mem.dev);
	if (!gdr_get_info(gpu_mem.gdr, gpu_mem.handle, &info))
		gdr_get_mapping_type_string(info.mapping_type, &type);
	/* a table of system calls that is not the kernel's stands for an emulated GPU */
	memory->kind = getenv("BARLANE_SYSCALLS") ? "emu" : "gpu";
	snprintf(memory->what, sizeof(memory->what), "%s, mapping %s, routines for write-combining here %s", name, type,
		 bl_cpu_copy_select(BL_MAP_WC)->name);
}

int copy_memory_gpu(size_t size, int gpu, struct copy_memory *memory)
{
	int ret = gpu_alloc(size, gpu);

	if (!ret)
		ret = gpu_map();
	*memory = (struct copy_memory){
		.kind = "gpu",
		.addr = gpu_mem.va,
		.size = size,
		.to = gpu_to,
		.from = gpu_from,
		.write = gpu_write,
		.read = gpu_read,
	};
	if (!ret)
		gpu_describe(memory);
	else
		copy_memory_free(memory);
	return ret;
}

static void gpu_free(void)
{
	if (gpu_mem.va)
		gdr_unmap(gpu_mem.gdr, gpu_mem.handle, gpu_mem.va, gpu_mem.size);
	if (gpu_mem.handle.h)
		gdr_unpin_buffer(gpu_mem.gdr, gpu_mem.handle);
	if (gpu_mem.gdr)
		gdr_close(gpu_mem.gdr);
	if (gpu_mem.ptr)
		gpu_mem.cuda->cuMemFree(gpu_mem.ptr);
	if (gpu_mem.ctx)
		gpu_mem.cuda->cuDevicePrimaryCtxRelease(gpu_mem.dev);
	memset(&gpu_mem, 0, sizeof(gpu_mem));
}

#else

int copy_memory_gpu(size_t size, int gpu, struct copy_memory *memory)
{
	fprintf(stderr, "copy_isa: --memory gpu: built without libgdrapi\n");
	return -EOPNOTSUPP;
}

static void gpu_free(void)
{
}

#endif

void copy_memory_free(struct copy_memory *memory)
{
	if (!memory->kind)
		return;
	if (!strcmp(memory->kind, "host"))
		host_free(memory);
	else
		gpu_free();
	memory->kind = NULL;
}
