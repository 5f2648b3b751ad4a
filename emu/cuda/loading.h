/* SPDX-License-Identifier: MIT */
/*
 * loading.h - what loading code waits for (BARLANE_EMU_LOAD)
 *
 * A driver waits for the GPU before it changes what the GPU may run. Whoever loads holds a lock of the context
 * meanwhile, so that all other calls wait with it; a program whose streams wait for its next call hangs.
 */
#ifndef EMU_CUDA_LOADING_H
#define EMU_CUDA_LOADING_H

#include "state.h"

/* cuModuleLoadData() in a context; no lock held. */
void emu_load_module(struct emu_ctx *ctx);

/* The first use of one of its functions. */
void emu_load_function(struct emu_ctx *ctx);

/* Wait while another thread loads code in a context; no lock held. */
void emu_load_await(struct emu_ctx *ctx);

#endif
