/* SPDX-License-Identifier: MIT */
/*
 * memory.h - GPU memory of either kind, aligned to GPU pages
 */
#ifndef TOOLS_COMMON_MEMORY_H
#define TOOLS_COMMON_MEMORY_H

#include <stdbool.h>

#include "common/device.h"
#include "common/option.h"

enum tool_mem_kind { TOOL_MEM_ALLOC, TOOL_MEM_VMM };

/* "cuMemAlloc", "cuMemCreate" */
extern const struct tool_name tool_mem_kinds[];

/**
 * struct tool_mem - GPU memory
 * @cu:     the driver library
 * @kind:   where it comes from
 * @ptr:    first usable byte, multiple of GPU_PAGE_SIZE
 * @size:   usable bytes
 * @base:   what the driver calls it
 * @whole:  bytes from @base
 * @handle: the object behind it, VMM only
 */
struct tool_mem {
	const struct bl_cuda *cu;
	enum tool_mem_kind kind;
	CUdeviceptr ptr;
	size_t size;
	CUdeviceptr base;
	size_t whole;
	CUmemGenericAllocationHandle handle;
};

/**
 * tool_mem_alloc() - Allocate GPU memory that can be pinned
 * @device: where
 * @kind:   how; VMM memory is made exportable and GPUDirect RDMA capable where the driver can
 * @size:   bytes, > 0; VMM rounds it up to the driver's granularity
 * @mem:    receives it
 *
 * Memory of cuMemAlloc() gets attribute SYNC_MEMOPS.
 * Return: 0 or -errno (-EOPNOTSUPP: the GPU has no such memory).
 */
int tool_mem_alloc(const struct tool_device *device, enum tool_mem_kind kind, size_t size, struct tool_mem *mem);

/**
 * tool_vmm_create() - Make a VMM object, not mapped anywhere
 * @device:     where
 * @size:       bytes, multiple of the granularity
 * @exportable: allow its export as a file descriptor
 * @handle_p:   receives it
 */
int tool_vmm_create(const struct tool_device *device, size_t size, bool exportable,
		    CUmemGenericAllocationHandle *handle_p);

/* Smallest unit of VMM memory, 0 when there is none. */
size_t tool_vmm_granularity(const struct tool_device *device);

/* Map a VMM object at a reserved address and let the GPU use it. */
int tool_vmm_map(const struct tool_device *device, CUdeviceptr ptr, size_t size, CUmemGenericAllocationHandle handle);

/* Free it. Return: 0 or -errno of the first step that failed; the others are done nevertheless. */
int tool_mem_free(struct tool_mem *mem);

#endif
