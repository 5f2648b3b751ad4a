// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/pattern.h"

#define BLOCK 256U
#define GRID  128U

static int cuda_error(CUresult err, const char *what)
{
	return demo_error(bl_cuda_errno(err), "%s: %s", what, bl_cuda_strerror(err));
}

int demo_gpu_probe(struct demo_gpu *gpu, int ordinal, char *why, size_t size)
{
	const char *failed = "cuInit";
	CUresult err;
	int nr = 0;

	memset(gpu, 0, sizeof(*gpu));
	gpu->cuda = bl_cuda();
	if (!gpu->cuda) {
		snprintf(why, size, "%s", bl_cuda_error());
		return -ENODEV;
	}
	err = gpu->cuda->cuInit(0);
	if (!err) {
		failed = "cuDeviceGetCount";
		err = gpu->cuda->cuDeviceGetCount(&nr);
	}
	if (err) {
		snprintf(why, size, "%s: %s", failed, bl_cuda_strerror(err));
		return -ENODEV;
	}
	if (ordinal >= nr) {
		snprintf(why, size, "there is no device %d: CUDA reports %d device%s", ordinal, nr, nr == 1 ? "" : "s");
		return -ENODEV;
	}
	err = gpu->cuda->cuDeviceGet(&gpu->dev, ordinal);
	if (!err)
		err = gpu->cuda->cuDeviceGetName(gpu->name, sizeof(gpu->name), gpu->dev);
	if (!err)
		err = gpu->cuda->cuDeviceGetPCIBusId(gpu->pci, sizeof(gpu->pci), gpu->dev);
	if (!err)
		err = gpu->cuda->cuDriverGetVersion(&gpu->driver);
	if (err) {
		snprintf(why, size, "device %d cannot be queried: %s", ordinal, bl_cuda_strerror(err));
		return -ENODEV;
	}
	gpu->emulated = strstr(gpu->name, "emulated") || getenv("BARLANE_SYSCALLS");
	return 0;
}

static CUresult load_kernels(struct demo_gpu *gpu, const char **what_p)
{
	CUresult err;

	*what_p = "cuModuleLoadData of the pattern kernels";
	err = gpu->cuda->cuModuleLoadData(&gpu->module, bl_pattern_ptx);
	if (err)
		return err;
	*what_p = "cuModuleGetFunction bl_pattern_fill";
	err = gpu->cuda->cuModuleGetFunction(&gpu->fill, gpu->module, "bl_pattern_fill");
	if (err)
		goto unload;
	*what_p = "cuModuleGetFunction bl_pattern_check";
	err = gpu->cuda->cuModuleGetFunction(&gpu->check, gpu->module, "bl_pattern_check");
	if (err)
		goto unload;
	*what_p = "cuMemAlloc of the result word";
	err = gpu->cuda->cuMemAlloc(&gpu->result, sizeof(uint64_t));
	if (err)
		goto unload;
	return CUDA_SUCCESS;
unload:
	gpu->cuda->cuModuleUnload(gpu->module);
	return err;
}

int demo_gpu_open(struct demo_gpu *gpu)
{
	const char *what = "cuDevicePrimaryCtxRetain";
	CUresult err;

	err = gpu->cuda->cuDevicePrimaryCtxRetain(&gpu->ctx, gpu->dev);
	if (err)
		return cuda_error(err, what);
	what = "cuCtxSetCurrent";
	err = gpu->cuda->cuCtxSetCurrent(gpu->ctx);
	if (!err)
		err = load_kernels(gpu, &what);
	if (err)
		goto release;
	return 0;
release:
	gpu->cuda->cuDevicePrimaryCtxRelease(gpu->dev);
	return cuda_error(err, what);
}

void demo_gpu_close(struct demo_gpu *gpu)
{
	gpu->cuda->cuMemFree(gpu->result);
	gpu->cuda->cuModuleUnload(gpu->module);
	gpu->cuda->cuDevicePrimaryCtxRelease(gpu->dev);
}

static int launch(struct demo_gpu *gpu, CUfunction kernel, void **params, const char *name)
{
	CUresult err;

	err = gpu->cuda->cuLaunchKernel(kernel, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL);
	if (!err)
		err = gpu->cuda->cuCtxSynchronize();
	return err ? cuda_error(err, name) : 0;
}

int demo_gpu_fill(struct demo_gpu *gpu, CUdeviceptr va, uint64_t nr, uint64_t seed)
{
	void *params[] = {&va, &nr, &seed};

	return launch(gpu, gpu->fill, params, "kernel bl_pattern_fill");
}

int demo_gpu_check(struct demo_gpu *gpu, CUdeviceptr va, uint64_t nr, uint64_t seed, uint64_t *bad_p)
{
	CUdeviceptr result = gpu->result;
	void *params[] = {&va, &nr, &seed, &result};
	uint64_t bad = 0;
	CUresult err;
	int ret;

	err = gpu->cuda->cuMemcpyHtoD(gpu->result, &bad, sizeof(bad));
	if (err)
		return cuda_error(err, "cuMemcpyHtoD of the result word");
	ret = launch(gpu, gpu->check, params, "kernel bl_pattern_check");
	if (ret)
		return ret;
	err = gpu->cuda->cuMemcpyDtoH(&bad, gpu->result, sizeof(bad));
	if (err)
		return cuda_error(err, "cuMemcpyDtoH of the result word");
	*bad_p = bad;
	return 0;
}
