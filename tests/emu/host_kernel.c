// SPDX-License-Identifier: MIT
#include "host_kernel.h"

#include "tests/tap.h"

const char *host_kernel_path(void)
{
	const char *path = getenv("TEST_KERNELS");

	if (!path || !*path)
		skip("no C++ compiler that could make the kernels");
	return path;
}

const char *host_kernel_other(void)
{
	return getenv("TEST_NO_KERNELS");
}

void *host_kernel_image(void)
{
	FILE *file = fopen(host_kernel_path(), "re");
	void *image;
	long size;

	check(file);
	check_eq(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	image = malloc((size_t)size);
	check(image);
	check_eq(fread(image, 1, (size_t)size, file), size);
	fclose(file);
	return image;
}

CUmodule host_kernel_enter(void)
{
	CUmodule module;
	CUcontext ctx;

	host_kernel_path();
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuModuleLoad(&module, host_kernel_path()), CUDA_SUCCESS);
	return module;
}

CUresult host_kernel_launch(CUmodule module, const char *name, struct dims dims, CUstream stream, void **params)
{
	const unsigned int *g = dims.grid, *b = dims.block;
	CUfunction fn;

	check_eq(cuModuleGetFunction(&fn, module, name), CUDA_SUCCESS);
	return cuLaunchKernel(fn, g[0], g[1], g[2], b[0], b[1], b[2], dims.shared, stream, params, NULL);
}
