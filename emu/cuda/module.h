/* SPDX-License-Identifier: MIT */
/* module.h - loaded modules and their entries */
#ifndef EMU_CUDA_MODULE_H
#define EMU_CUDA_MODULE_H

#include "launch.h"
#include "state.h"

/**
 * struct emu_function - an entry of a loaded module
 * @next:   list of the module
 * @module: it
 * @kernel: what runs
 */
struct emu_function {
	struct emu_function *next;
	struct emu_module *module;
	const struct emu_kernel *kernel;
};

/**
 * struct emu_module - a loaded PTX text
 * @next:      list of all
 * @ctx:       its context
 * @functions: entries that were asked for
 * @ptx:       the text
 */
struct emu_module {
	struct emu_module *next;
	struct emu_ctx *ctx;
	struct emu_function *functions;
	char *ptx;
};

/* Function of a handle of the user's, NULL when there is none; emu_lock() held. */
struct emu_function *emu_function_find(CUfunction handle);

#endif
