/* SPDX-License-Identifier: MIT */
/*
 * launch.h - kernels
 *
 * There is no GPU that could run PTX. The emulator knows the exact PTX texts of this project's own kernels; for each
 * entry it has the same algorithm as a C function, which runs on a few CPU threads. Anything else is
 * CUDA_ERROR_NO_BINARY_FOR_GPU.
 */
#ifndef EMU_CUDA_LAUNCH_H
#define EMU_CUDA_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct emu_grid - what a kernel's thread can ask
 * @nr_threads: threads of the grid
 * @nr_blocks:  its blocks
 */
struct emu_grid {
	uint64_t nr_threads;
	uint64_t nr_blocks;
};

#define EMU_KERNEL_PARAMS 8

/**
 * struct emu_kernel - one entry of a PTX text
 * @ptx:       the text
 * @name:      the entry
 * @nr_params: parameters, all of them 64 bits wide
 * @resident:  its blocks wait for each other, and each gets a CPU thread of its own
 * @check:     whether the device can access what the parameters point to; emu_lock() held
 * @run:       the work of thread @part of @grid, or of all threads of block @part when @resident
 */
struct emu_kernel {
	const char *ptx;
	const char *name;
	unsigned int nr_params;
	int resident;
	int (*check)(const uint64_t *params);
	void (*run)(const struct emu_grid *grid, uint64_t part, const uint64_t *params);
};

/* Entry of a known text, or NULL. */
const struct emu_kernel *emu_kernel_find(const char *ptx, const char *name);

/* Whether a text is known. */
int emu_kernel_known(const char *ptx);

/* Most blocks of a grid whose kernel is resident: 16 on each of the multiprocessors. */
#define EMU_RESIDENT_BLOCKS 64

/**
 * emu_kernel_run() - Run all threads of a grid; returns when they have ended
 * @kernel: what runs
 * @grid:   its grid
 * @params: its parameters
 *
 * Return: 0, or -EAGAIN when a resident grid did not get its CPU threads; nothing has run then.
 */
int emu_kernel_run(const struct emu_kernel *kernel, const struct emu_grid *grid, const uint64_t *params);

#endif
