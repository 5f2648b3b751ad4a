/* SPDX-License-Identifier: MIT */
/*
 * rm.h - what the stand-in CUDA library asks of the fake resource manager
 *
 * The fake RM owns handles, file descriptors that stand for device nodes, mappings and the rules between them. libcuda's
 * own client is one client of it, as in the real driver.
 */
#ifndef EMU_CUDA_RM_H
#define EMU_CUDA_RM_H

#include "vram.h"

/**
 * emu_rm_add() - Make a memory object of CUDA's client
 * @mem:       storage; the object takes a reference of its own
 * @hclient_p: receives CUDA's client handle
 * @hmemory_p: receives the object's handle
 *
 * Return: 0 or -errno.
 */
int emu_rm_add(struct emu_mem *mem, uint32_t *hclient_p, uint32_t *hmemory_p);

/* Free an object of CUDA's client and drop its reference. */
void emu_rm_remove(uint32_t hmemory);

/* Let other clients of the same user duplicate the object (what libcuda's first cuIpcGetMemHandle does). */
void emu_rm_share(uint32_t hmemory);

/**
 * emu_rm_export_fd() - Descriptor for cuMemExportToShareableHandle: a control-node descriptor that holds the object
 * @mem: storage; the descriptor takes a reference
 *
 * Return: descriptor, or -errno.
 */
int emu_rm_export_fd(struct emu_mem *mem);

/**
 * emu_rm_dmabuf_fd() - Descriptor of a dma-buf over a part of an object
 * @mem:        storage; the descriptor takes a reference
 * @off:        bytes from the start of @mem, multiple of the CPU page
 * @len:        bytes, multiple of the CPU page
 * @allow_mmap: whether its mmap works; otherwise it fails with errno 524 as the driver's does
 *
 * Return: descriptor, or -errno.
 */
int emu_rm_dmabuf_fd(struct emu_mem *mem, uint64_t off, uint64_t len, int allow_mmap);

/* Notice descriptors that were closed with close(2), which gives back the memory that they held. */
void emu_rm_reap(void);

/**
 * emu_va_resolve() - Find what backs a device address, for the fake gdrdrv (implemented by the CUDA half)
 * @va:    device address
 * @len:   bytes
 * @mem_p: receives the storage, with a reference for the caller
 * @off_p: receives the offset of @va in it
 *
 * Return: 0, or -EINVAL when the range is not device memory of one object.
 */
int emu_va_resolve(uint64_t va, uint64_t len, struct emu_mem **mem_p, uint64_t *off_p);

/**
 * emu_rm_freed() - Tell the fake gdrdrv that CUDA freed a range, so that non-persistent pins fire their callback
 * @va:  start of the range
 * @len: bytes
 */
void emu_rm_freed(uint64_t va, uint64_t len);

#endif
