/* SPDX-License-Identifier: MIT */
/*
 * emu.h - control interface of the emulated GPU, for tests
 *
 * Exported by the stand-in libcuda.so.1 and found with dlsym(); the product never uses it. Environment variables are
 * described in emu/README.md.
 */
#ifndef EMU_CUDA_EMU_H
#define EMU_CUDA_EMU_H

#include <stdint.h>

/**
 * struct bl_emu_counts - what exists at this moment
 * @nodes:      open descriptors that stand for device nodes
 * @clients:    RM clients other than CUDA's
 * @dups:       memory objects of those clients
 * @maps:       RM mappings (MAP_MEMORY without UNMAP_MEMORY)
 * @vmas:       mmaps of device memory not yet munmapped
 * @pins:       pins of the fake gdrdrv
 * @dmabufs:    open dma-buf descriptors
 * @vram_used:  bytes of video memory in use on GPU 0
 * @bar1_used:  bytes of dynamic BAR1 in use on GPU 0
 * @violations: times a rule of the driver interface was broken since the start
 * @ioctls:     ioctls served
 * @cuda_calls: CUDA functions called
 * @peer_direct: copies from the memory of a GPU to that of another, by a context that reaches both
 * @peer_staged: the same by a context that does not, which go through the host
 */
struct bl_emu_counts {
	uint64_t nodes;
	uint64_t clients;
	uint64_t dups;
	uint64_t maps;
	uint64_t vmas;
	uint64_t pins;
	uint64_t dmabufs;
	uint64_t vram_used;
	uint64_t bar1_used;
	uint64_t violations;
	uint64_t ioctls;
	uint64_t cuda_calls;
	uint64_t peer_direct;
	uint64_t peer_staged;
};

#define EMU_API __attribute__((visibility("default")))

/* Fill in the counts. */
EMU_API void bl_emu_counts(struct bl_emu_counts *counts);

/* Text of the first broken rule, "" when none was broken. */
EMU_API const char *bl_emu_violation(void);

/**
 * bl_emu_fault() - Set the faults to inject, as BARLANE_EMU_FAULT does at start
 * @spec: comma-separated list of POINT[:NTH[:VALUE]]; "" removes all. See emu/README.md for the points
 *
 * Return: 0, or -EINVAL when @spec cannot be parsed (nothing is changed).
 */
EMU_API int bl_emu_fault(const char *spec);

/**
 * bl_emu_dmabuf_attach() - Reach a dma-buf as a device does whose driver takes it
 * @fd:     descriptor of a dma-buf, of this process; may be closed afterwards
 * @addr_p: receives where its bytes are
 * @len_p:  receives how many
 *
 * Works whether or not the dma-buf can be mmapped, as DMA does. The memory stays until bl_emu_dmabuf_detach().
 * Return: what bl_emu_dmabuf_detach() takes, or NULL when the descriptor is no dma-buf.
 */
EMU_API void *bl_emu_dmabuf_attach(int fd, void **addr_p, uint64_t *len_p);
EMU_API void bl_emu_dmabuf_detach(void *attachment);

#endif
