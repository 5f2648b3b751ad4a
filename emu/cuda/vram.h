/* SPDX-License-Identifier: MIT */
/*
 * vram.h - emulated GPUs and their memory
 *
 * One memfd per GPU is its video memory, sparse, mapped once for the emulator's own use; or a card has it (card.h). A struct emu_mem is a
 * contiguous, reference-counted piece of it: the storage of one RM memory object. CUDA allocations, RM handles,
 * duplicates, exported descriptors and dma-bufs each hold a reference; the last one returns the piece, which is then
 * filled with EMU_POISON so that a late write or a stale mapping shows.
 *
 * Lock order: CUDA state -> RM state -> VRAM allocator. Functions here take the allocator's lock themselves.
 */
#ifndef EMU_CUDA_VRAM_H
#define EMU_CUDA_VRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EMU_POISON     0xdb
#define EMU_BLOCK_SIZE (2UL << 20) /* granularity of RM memory objects that libcuda makes, measured */

/**
 * struct emu_gpu - one emulated GPU
 * @index:       CUDA ordinal
 * @minor:       N of /dev/nvidiaN
 * @gpu_id:      RM's gpuId
 * @instance:    RM's deviceInstance; differs from ordinal and minor on purpose
 * @domain:      PCI domain
 * @bus:         PCI bus
 * @slot:        PCI device
 * @uuid:        16 bytes
 * @memfd:       video memory; of a card, its node: offsets are the same
 * @vram_size:   bytes of it
 * @view:        the emulator's CPU view of all of it
 * @bar1_base:   CPU physical address of BAR1
 * @bar1_size:   bytes of BAR1
 * @static_bar1: BAR1 maps all of video memory at bar1_base + physical offset
 * @card:        video memory is that of a card in the machine
 * @p2p_token:   card: names this process' address space to kernel modules
 * @va_space:    card: goes with the token
 */
struct emu_gpu {
	int index;
	unsigned int minor;
	uint32_t gpu_id;
	uint32_t instance;
	uint32_t domain;
	uint8_t bus;
	uint8_t slot;
	uint8_t uuid[16];
	int memfd;
	uint64_t vram_size;
	uint8_t *view;
	uint64_t bar1_base;
	uint64_t bar1_size;
	int static_bar1;
	int card;
	uint64_t p2p_token;
	uint32_t va_space;
};

/* Number of GPUs, from BARLANE_EMU_GPUS; the first call creates them. */
int emu_gpu_count(void);

/* GPU by ordinal, NULL when there is none. */
struct emu_gpu *emu_gpu(int index);

/**
 * struct emu_mem - reference-counted piece of video memory
 * @gpu:    where it lies
 * @phys:   byte offset in video memory, multiple of 64 KiB
 * @size:   bytes, multiple of 64 KiB
 * @handle: card: the object
 * @refs:   holders
 */
struct emu_mem {
	struct emu_gpu *gpu;
	uint64_t phys;
	uint64_t size;
	uint32_t handle;
	int refs;
};

/* New piece with one reference; NULL when video memory is used up. @size is rounded up to EMU_BLOCK_SIZE. */
struct emu_mem *emu_mem_alloc(struct emu_gpu *gpu, uint64_t size);
struct emu_mem *emu_mem_get(struct emu_mem *mem);
void emu_mem_put(struct emu_mem *mem);

/* The emulator's view of a piece. */
static inline void *emu_mem_view(const struct emu_mem *mem)
{
	return mem->gpu->view + mem->phys;
}

/* Bytes of video memory in use: of a card, by anybody. */
uint64_t emu_vram_used(const struct emu_gpu *gpu);

#endif
