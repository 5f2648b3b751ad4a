/* SPDX-License-Identifier: MIT */
/* module.h - loaded modules and their entries */
#ifndef EMU_CUDA_MODULE_H
#define EMU_CUDA_MODULE_H

#include "launch.h"
#include "object.h"
#include "state.h"

/**
 * struct emu_function - an entry of a loaded module
 * @next:   list of the module
 * @module: it
 * @kernel: what runs, if the module is PTX
 * @host:   what runs, if it is an object
 * @loaded: it was launched, or cuFuncLoad() was called
 * @name:   as the user asked for it
 */
struct emu_function {
	struct emu_function *next;
	struct emu_module *module;
	const struct emu_kernel *kernel;
	const struct bl_cuda_kernel *host;
	int loaded;
	char name[];
};

/**
 * struct emu_module - a loaded PTX text, or an object
 * @next:      list of all
 * @ctx:       its context
 * @functions: entries that were asked for
 * @ptx:       the text, or NULL
 * @object:    the object, or NULL
 */
struct emu_module {
	struct emu_module *next;
	struct emu_ctx *ctx;
	struct emu_function *functions;
	char *ptx;
	struct emu_object *object;
};

/* Function of a handle of the user's, NULL when there is none; emu_lock() held. */
struct emu_function *emu_function_find(CUfunction handle);

/* What the first use of a function waits for (loading.h); no lock held. CUDA_ERROR_INVALID_HANDLE when it is none. */
CUresult emu_function_load(struct emu_ctx *ctx, CUfunction handle);

#endif
