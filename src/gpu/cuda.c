// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/cuda: " fmt
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static struct bl_cuda table;
static const struct bl_cuda *usable;
static char load_error[256];
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static int resolve(void *lib, const char *symbol, void *slot)
{
	void *address = dlsym(lib, symbol);

	*(void **)slot = address;
	return address ? 0 : -ENOENT;
}

static int resolve_all(void *lib)
{
#define RESOLVE_REQUIRED(ret, field, symbol, params)                                                                   \
	if (resolve(lib, symbol, &table.field)) {                                                                      \
		snprintf(load_error, sizeof(load_error), "libcuda.so.1 has no %s: driver too old", symbol);            \
		return -ENOENT;                                                                                        \
	}
#define RESOLVE_OPTIONAL(ret, field, symbol, params) resolve(lib, symbol, &table.field);
	BL_CUDA_REQUIRED(RESOLVE_REQUIRED)
	BL_CUDA_OPTIONAL(RESOLVE_OPTIONAL)
	return 0;
}

static void load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(load_error, sizeof(load_error), "%s", dlerror());
		return;
	}
	if (resolve_all(lib))
		dlclose(lib);
	else
		usable = &table;
}

const struct bl_cuda *bl_cuda(void)
{
	pthread_once(&load_once, load);
	return usable;
}

const char *bl_cuda_error(void)
{
	pthread_once(&load_once, load);
	return load_error;
}

const char *bl_cuda_strerror(CUresult err)
{
	const char *name = NULL;

	if (bl_cuda() && !bl_cuda()->cuGetErrorName(err, &name) && name)
		return name;
	return "unknown CUDA error";
}

int bl_cuda_errno(CUresult err)
{
	switch (err) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return EINVAL;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return ENOMEM;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_DEVICE:
		return ENODEV;
	case CUDA_ERROR_NOT_PERMITTED:
	case CUDA_ERROR_NOT_SUPPORTED:
		return EOPNOTSUPP;
	case CUDA_ERROR_NOT_FOUND:
		return ENOENT;
	default:
		return EIO;
	}
}
