/* SPDX-License-Identifier: MIT */
/*
 * arena.h - device addresses
 *
 * Two reservations of the same size. Addresses of the first are what CUDA hands out; nothing is mapped there, so that
 * a CPU access through a device pointer faults, and no host object can have the same address. Kernels that are compiled
 * for the CPU need it otherwise: emu_arena_unify(). The second holds what
 * the "GPU" sees at the same offset: memory that is mapped on the device is mapped there, ranges side by side
 * included, so that copies and kernels reach a device address by adding a constant.
 *
 * Not thread-safe but for emu_arena_contains() and emu_cpu(): the CUDA state lock is held.
 */
#ifndef EMU_CUDA_ARENA_H
#define EMU_CUDA_ARENA_H

#include "vram.h"

/* Make the reservations. Returns 0 or -ENOMEM. */
int emu_arena_init(void);

/**
 * emu_arena_take() - Take device addresses
 * @size: bytes, multiple of EMU_BLOCK_SIZE
 * @align: power of two, at least EMU_BLOCK_SIZE
 * @hint: wanted address, used when it is free; or 0
 * @va_p: receives the address
 *
 * Return: 0 or -ENOMEM.
 */
int emu_arena_take(uint64_t size, uint64_t align, uint64_t hint, uint64_t *va_p);
void emu_arena_give(uint64_t va, uint64_t size);

/* Let the "GPU" see the first @size bytes of @mem at @va; peers may pin it there if @peers. Returns 0 or -errno. */
int emu_arena_bind(uint64_t va, const struct emu_mem *mem, uint64_t size, int peers);
void emu_arena_unbind(uint64_t va, uint64_t size);

/* The same with memory of another process: @size bytes from @off of its file. It does not follow emu_arena_unify(). */
int emu_arena_bind_file(uint64_t va, int fd, uint64_t off, uint64_t size);

/*
 * Map device memory at its device addresses as well, what is bound already included. For good.
 * Returns 0, or -errno and nothing has changed.
 */
int emu_arena_unify(void);

/* Whether @va is a device address, in use or not. */
int emu_arena_contains(uint64_t va);

/* What an address is for the emulator: device addresses are moved to where the "GPU" sees them, others stay. */
void *emu_cpu(uint64_t va);

#endif
