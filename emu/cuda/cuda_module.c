// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "capture.h"
#include "module.h"

/* How often the end of running kernels is looked for. */
#define LOOK_US 20

static struct emu_module *modules; /* emu_lock() */

/* Good enough to tell a text that is none of ours from something that is no image at all. */
static int looks_like_image(const char *image)
{
	return !strncmp(image, "\x50\xed\x55\xba", 4) || !strncmp(image, "\177ELF", 4) || strstr(image, ".version");
}

CUresult cuModuleLoadData(CUmodule *module_p, const void *image)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);
	if (ret)
		return ret;
	if (!module_p || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!looks_like_image(image))
		return CUDA_ERROR_INVALID_IMAGE;
	if (!emu_kernel_known(image))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	/* seen on an H200: 996 ms beside a kernel of one second, in a non-blocking stream, and of a single block too */
	while (atomic_load(&ctx->kernels))
		usleep(LOOK_US);
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->ctx = ctx;
	module->ptx = strdup(image);
	if (!module->ptx) {
		free(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	emu_lock();
	module->next = modules;
	modules = module;
	emu_unlock();
	*module_p = (CUmodule)module;
	return CUDA_SUCCESS;
}

static struct emu_module *module_find(CUmodule handle)
{
	for (struct emu_module *module = modules; module; module = module->next) {
		if ((CUmodule)module == handle)
			return module;
	}
	return NULL;
}

static void module_free(struct emu_module *module)
{
	struct emu_module **link = &modules;
	struct emu_function *next;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	for (struct emu_function *fn = module->functions; fn; fn = next) {
		next = fn->next;
		free(fn);
	}
	free(module->ptx);
	free(module);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (!ret)
		ret = emu_capture_check_unsafe();
	if (ret)
		return ret;
	emu_lock();
	module = module_find(handle);
	if (module)
		module_free(module);
	emu_unlock();
	return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void emu_module_destroy_all(struct emu_ctx *ctx)
{
	struct emu_module *next;

	emu_lock();
	for (struct emu_module *module = modules; module; module = next) {
		next = module->next;
		if (module->ctx == ctx)
			module_free(module);
	}
	emu_unlock();
}

static CUresult function_get(struct emu_module *module, const char *name, CUfunction *fn_p)
{
	const struct emu_kernel *kernel = emu_kernel_find(module->ptx, name);
	struct emu_function *fn;

	if (!kernel)
		return CUDA_ERROR_NOT_FOUND;
	for (fn = module->functions; fn; fn = fn->next) {
		if (fn->kernel == kernel)
			break;
	}
	if (!fn) {
		fn = calloc(1, sizeof(*fn));
		if (!fn)
			return CUDA_ERROR_OUT_OF_MEMORY;
		fn->module = module;
		fn->kernel = kernel;
		fn->next = module->functions;
		module->functions = fn;
	}
	*fn_p = (CUfunction)fn;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *fn, CUmodule handle, const char *name)
{
	struct emu_module *module;
	struct emu_ctx *ctx;
	CUresult ret = emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);

	if (!ret)
		ret = emu_enter_locked(&ctx);
	if (ret)
		return ret;
	module = module_find(handle);
	if (!fn || !name || !*name)
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		ret = module ? function_get(module, name, fn) : CUDA_ERROR_INVALID_HANDLE;
	emu_unlock();
	return ret;
}

struct emu_function *emu_function_find(CUfunction handle)
{
	for (struct emu_module *module = modules; module; module = module->next) {
		for (struct emu_function *fn = module->functions; fn; fn = fn->next) {
			if ((CUfunction)fn == handle)
				return fn;
		}
	}
	return NULL;
}
