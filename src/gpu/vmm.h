/* SPDX-License-Identifier: MIT */
/* vmm.h - GPU memory of the library's own: exportable, at an address of its own, readable and writable by its GPU */
#ifndef BL_GPU_VMM_H
#define BL_GPU_VMM_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct bl_vmm - an allocation
 * @va:      device address
 * @size:    bytes, whole units of the driver's; 0: no allocation
 * @ordinal: its GPU
 */
struct bl_vmm {
	uint64_t va;
	size_t size;
	int ordinal;
};

/**
 * bl_vmm_new() - Allocate
 * @ordinal: CUDA ordinal of the GPU
 * @size:    bytes, > 0; rounded up
 * @vmm:     receives the allocation
 *
 * Return: 0; -EOPNOTSUPP (no CUDA, or the GPU or driver has no such memory), -ENODEV (CUDA not initialised, no such
 * device), -ENOMEM, -EIO; with the reason.
 */
int bl_vmm_new(int ordinal, size_t size, struct bl_vmm *vmm);

/* Give it back; 0 or the first error on the way, with the reason. What could not be undone stays until the end. */
int bl_vmm_free(const struct bl_vmm *vmm);

#endif
