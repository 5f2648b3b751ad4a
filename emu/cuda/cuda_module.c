// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api.h"
#include "arena.h"
#include "capture.h"
#include "env.h"
#include "fault.h"
#include "loading.h"
#include "module.h"
#include "queue.h"

static struct emu_module *modules; /* emu_lock() */

/* Good enough to tell a text that is none of ours from something that is no image at all. */
static int looks_like_image(const char *image)
{
	return !strncmp(image, "\x50\xed\x55\xba", 4) || strstr(image, ".version");
}

static void module_free(struct emu_module *module)
{
	struct emu_function *next;

	for (struct emu_function *fn = module->functions; fn; fn = next) {
		next = fn->next;
		free(fn);
	}
	if (module->object)
		emu_object_close(module->object);
	free(module->ptx);
	free(module);
}

static CUresult load_ptx(struct emu_module *module, const char *ptx)
{
	if (!looks_like_image(ptx))
		return CUDA_ERROR_INVALID_IMAGE;
	if (!emu_kernel_known(ptx))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	module->ptx = strdup(ptx);
	return module->ptx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Its kernels follow device pointers. */
static CUresult load_object(struct emu_module *module, const char *path, const void *image, size_t size)
{
	CUresult ret = emu_object_open(path, image, size, &module->object);

	if (ret || emu_env()->uva == EMU_UVA_NEVER)
		return ret;
	emu_lock();
	if (emu_arena_unify())
		ret = CUDA_ERROR_OUT_OF_MEMORY;
	emu_unlock();
	return ret;
}

static CUresult load(struct emu_ctx *ctx, const char *path, const void *image, size_t size, CUmodule *module_p)
{
	struct emu_module *module = calloc(1, sizeof(*module));
	CUresult ret;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->ctx = ctx;
	ret = emu_object_is_elf(image) ? load_object(module, path, image, size) : load_ptx(module, image);
	if (ret) {
		module_free(module);
		return ret;
	}
	emu_load_module(ctx);
	emu_lock();
	module->next = modules;
	modules = module;
	emu_unlock();
	*module_p = (CUmodule)module;
	return CUDA_SUCCESS;
}

static CUresult enter_load(struct emu_ctx **ctx_p)
{
	CUresult ret = emu_enter_ctx(ctx_p);

	return ret ? ret : emu_cuda_fault("cuda.module", CUDA_ERROR_INVALID_PTX);
}

CUresult cuModuleLoadData(CUmodule *module_p, const void *image)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_load(&ctx);

	if (ret)
		return ret;
	if (!module_p || !image)
		return CUDA_ERROR_INVALID_VALUE;
	return load(ctx, NULL, image, EMU_SIZE_UNKNOWN, module_p);
}

/* The whole file and a zero byte; NULL and errno when that fails. */
static char *read_file(const char *path, size_t *size_p)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	struct stat st;

	if (!file)
		return NULL;
	if (!fstat(fileno(file), &st) && S_ISREG(st.st_mode))
		bytes = calloc(1, (size_t)st.st_size + 1);
	else
		errno = EISDIR;
	if (bytes)
		*size_p = fread(bytes, 1, (size_t)st.st_size, file);
	fclose(file);
	return bytes;
}

CUresult cuModuleLoad(CUmodule *module_p, const char *path)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_load(&ctx);
	size_t size;
	char *bytes;

	if (ret)
		return ret;
	if (!module_p || !path)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = read_file(path, &size);
	if (!bytes) {
		fprintf(stderr, "emu: module %s: %s\n", path, strerror(errno));
		return CUDA_ERROR_FILE_NOT_FOUND;
	}
	ret = load(ctx, path, bytes, size, module_p);
	free(bytes);
	return ret;
}

static struct emu_module *module_find(CUmodule handle)
{
	for (struct emu_module *module = modules; module; module = module->next) {
		if ((CUmodule)module == handle)
			return module;
	}
	return NULL;
}

/* From here on nobody can launch its functions; lock held. */
static void module_unlink(struct emu_module *module)
{
	struct emu_module **link = &modules;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
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
		module_unlink(module);
	emu_unlock();
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	/* code that goes away must not be running */
	if (module->object)
		emu_drain(module->ctx);
	module_free(module);
	return CUDA_SUCCESS;
}

/* The context's streams have ended. */
void emu_module_destroy_all(struct emu_ctx *ctx)
{
	struct emu_module *module;

	do {
		emu_lock();
		for (module = modules; module && module->ctx != ctx; module = module->next)
			;
		if (module)
			module_unlink(module);
		emu_unlock();
		if (module)
			module_free(module);
	} while (module);
}

static CUresult function_get(struct emu_module *module, const char *name, CUfunction *fn_p)
{
	const struct bl_cuda_kernel *host = module->object ? emu_object_kernel(module->object, name) : NULL;
	const struct emu_kernel *kernel = module->ptx ? emu_kernel_find(module->ptx, name) : NULL;
	struct emu_function *fn;

	if (!kernel && !host)
		return CUDA_ERROR_NOT_FOUND;
	for (fn = module->functions; fn; fn = fn->next) {
		if (fn->kernel == kernel && fn->host == host)
			break;
	}
	if (!fn) {
		fn = calloc(1, sizeof(*fn) + strlen(name) + 1);
		if (!fn)
			return CUDA_ERROR_OUT_OF_MEMORY;
		fn->module = module;
		fn->kernel = kernel;
		fn->host = host;
		strcpy(fn->name, name);
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

/* Whoever uses a function first waits for its code; others find it loaded, or wait for the one who is at it. */
CUresult emu_function_load(struct emu_ctx *ctx, CUfunction handle)
{
	struct emu_function *fn;
	int known, loaded;

	emu_lock();
	fn = emu_function_find(handle);
	known = fn != NULL;
	loaded = fn && fn->loaded;
	emu_unlock();
	if (!known)
		return CUDA_ERROR_INVALID_HANDLE;
	if (loaded)
		return CUDA_SUCCESS;
	emu_load_function(ctx);
	emu_lock();
	fn = emu_function_find(handle);
	if (fn)
		fn->loaded = 1;
	emu_unlock();
	return fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_load(&ctx);

	return ret ? ret : emu_function_load(ctx, handle);
}
