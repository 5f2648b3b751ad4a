/* SPDX-License-Identifier: MIT */
/*
 * world.h - the emulated GPU as a test sees it: CUDA, the control interface, and what exists before and after
 *
 * A test program runs under scripts/with-emu. Variables that shape the world are set by whoever starts it.
 */
#ifndef TESTS_EMU_WORLD_H
#define TESTS_EMU_WORLD_H

#include "emu/cuda/emu.h"
#include "barlane.h"
#include "gdrapi.h"
#include "gpu/cuda.h"

/**
 * struct world - what a test works with
 * @cuda:    the stand-in driver library
 * @context: current context of the test's thread
 * @counts:  bl_emu_counts()
 * @fault:   bl_emu_fault()
 * @violation: bl_emu_violation()
 */
struct world {
	const struct bl_cuda *cuda;
	CUcontext context;
	void (*counts)(struct bl_emu_counts *counts);
	int (*fault)(const char *spec);
	const char *(*violation)(void);
};

extern struct world world;

/* First line of each test: initialise CUDA once, skip when this is not the emulated GPU. */
void world_enter(void);

/* Plain device memory; ends the test when there is none. */
CUdeviceptr world_alloc(size_t size);
void world_free(CUdeviceptr ptr);

/* VMM memory, exportable or not, of @size bytes at one address. */
CUdeviceptr world_vmm(size_t size, int exportable);

/* Open a context served by @provider; ends the test when that fails. */
bl_ctx_t world_open(const char *provider);

/* Pin and map memory with provider rm; ends the test when that fails. */
char *world_map(CUdeviceptr va, size_t len, bl_ctx_t *ctx_p, bl_pin_t *pin_p);

/* Number of open descriptors of this process. */
int world_fds(void);

/**
 * struct snapshot - what must be the same after a failure as before it
 */
struct snapshot {
	struct bl_emu_counts counts;
	int fds;
};

void snapshot_take(struct snapshot *snapshot);

/* End the test unless nodes, clients, duplicates, mappings, pins, dma-bufs and descriptors are as they were. */
void snapshot_check(const struct snapshot *before);

/* End the test if a rule of the driver interface was broken. */
void world_check_rules(void);

/* Copy a pattern through the mapping and back through CUDA, and the other way round. */
void world_check_mapping(bl_pin_t pin, void *addr, CUdeviceptr va, size_t len);

#endif
