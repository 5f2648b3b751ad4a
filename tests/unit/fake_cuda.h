/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda.h - the driver library's table for tests: allocations in fake_sys.h's memory, named to fake_rm.h's driver
 *
 * Programs that link this are linked with --wrap for bl_cuda, bl_cuda_error and bl_cuda_strerror.
 */
#ifndef TESTS_UNIT_FAKE_CUDA_H
#define TESTS_UNIT_FAKE_CUDA_H

#include "gpu/cuda.h"
#include "gpu/rm/rm_blob.h"

enum fake_kind { FAKE_PLAIN, FAKE_VMM, FAKE_VMM_PRIVATE, FAKE_POOL, FAKE_MANAGED, FAKE_HOST };

/**
 * struct fake_cuda - what the library is like; may be changed at any time
 * @missing:   bl_cuda() is NULL
 * @layout:    of the IPC blob
 * @scramble:  the blob names other memory than its own
 * @lost:      what is copied to the device does not arrive
 * @no_uuid:   cuDeviceGetUuid does not exist
 * @mapped_size: of VMM memory, 0: all of the object
 * @dmabuf:    the device has the dma-buf attributes
 * @coherent:  the device is reached over a coherent link
 * @export_flags: of the last dma-buf export
 * @no_export: cuMemGetHandleForAddressRange does not exist
 * @free_at_export: another thread frees the memory while it is exported
 * @nr_allocs: cuMemAlloc and cuMemCreate calls so far
 */
struct fake_cuda {
	bool missing;
	struct rm_blob_layout layout;
	bool scramble;
	bool lost;
	bool no_uuid;
	uint64_t mapped_size;
	bool dmabuf;
	bool coherent;
	unsigned long long export_flags;
	bool no_export;
	bool free_at_export;
	int nr_allocs;
};

extern struct fake_cuda fake_cuda;

/* Start of a test; after fake_rm_begin() or fake_sys_begin(). */
void fake_cuda_begin(void);

/* The table, as bl_cuda() gives it. */
const struct bl_cuda *fake_cuda_table(void);

/* An application's allocation; its address. */
uint64_t fake_cuda_alloc(enum fake_kind kind, size_t size);
void fake_cuda_free(uint64_t va);

/* Like fake_sys_fail_at(), for calls of the library. */
void fake_cuda_fail_at(int nr, CUresult err);
bool fake_cuda_failed(void);

/* Contexts, capture modes, streams and retained handles are as they were at the beginning. */
void fake_cuda_end(void);

#endif
