/* SPDX-License-Identifier: MIT */
/*
 * batch_cuda.h - a driver library whose copies run when the test says so
 *
 * GPU memory is that of fake_sys.h. Pinned host memory is two buffers here, and what the library allocates. Programs
 * that link this are linked with --wrap for bl_cuda, bl_cuda_error and bl_cuda_strerror.
 */
#ifndef TESTS_UNIT_BATCH_CUDA_H
#define TESTS_UNIT_BATCH_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cuda.h"

#define GPU_BUFFER  (16UL << 20) /* one allocation, at the start of the GPU's memory */
#define HOST_BUFFER (4UL << 20)

/* Two buffers that lie side by side. */
extern unsigned char host_buffers[2 * HOST_BUFFER];

/**
 * struct gpu - the device, and what was asked of it
 * @hold:      transfers and marks wait for gpu_run()
 * @context:   the context of the memory; 0: destroyed
 * @no_memory: the allocation was freed
 * @no_marks:  cuStreamWriteValue32 fails
 * @fail_at:   this call, counted from 0, fails; -1: none
 * @fail_with: how
 * @calls:     calls that can fail so far
 * @copies:    transfers so far
 * @marks:     marks so far
 * @queries:   looks at a stream so far
 * @streams:   that exist
 * @allocs:    allocations of GPU memory by the library that exist
 * @waiting:   transfers and marks that have not run
 */
struct gpu {
	bool hold;
	uint64_t context;
	bool no_memory;
	bool no_marks;
	int fail_at;
	CUresult fail_with;
	int calls;
	int copies;
	int marks;
	int queries;
	int streams;
	int allocs;
	size_t waiting;
};

extern struct gpu gpu;

/* Start of a test, in a process of its own. */
void gpu_begin(void);

/* Let the first @nr things that wait run. */
void gpu_run(size_t nr);

/* Pinned allocations by the library that exist. */
size_t gpu_pinned(void);

/* From here on the driver can pin memory that is there; without it is an old one. */
void gpu_can_register(void);

/* Such memory that is pinned. */
size_t gpu_registered(void);

/* The context goes, and with it all pinned memory that the library allocated: a touch of it is a fault. */
void gpu_destroy_context(void);

#endif
