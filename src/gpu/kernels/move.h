/* SPDX-License-Identifier: MIT */
/*
 * move.h - a copy in a stream whose addresses and length are known only when the stream gets there
 *
 * move.ptx has one kernel, for grids of any size:
 *
 *	bl_move(u64 job)
 *
 * @job is the device address of a struct bl_move_job in pinned host memory, which the CPU has written before the stream
 * gets to the kernel. One side is GPU memory, the other pinned host memory; any alignment. Where both sides are the same
 * modulo 16, all but the ends goes in accesses of 16 bytes, else byte by byte. A length of 0 touches nothing.
 */
#ifndef BL_GPU_KERNELS_MOVE_H
#define BL_GPU_KERNELS_MOVE_H

#include <stddef.h>
#include <stdint.h>

/* Text of move.ptx, for cuModuleLoadData(). */
extern const char bl_move_ptx[];

/* The grid: 4096 threads with 64 bytes under way each are more than a PCIe link holds. */
#define BL_MOVE_BLOCKS	4U
#define BL_MOVE_THREADS 1024U

/**
 * struct bl_move_job - what to copy; aligned to 16 bytes
 * @dst: device address
 * @src: device address
 * @len: bytes
 */
struct bl_move_job {
	uint64_t dst;
	uint64_t src;
	uint64_t len;
	uint64_t reserved;
};

/* move.ptx has these as numbers. */
_Static_assert(offsetof(struct bl_move_job, dst) == 0 && offsetof(struct bl_move_job, src) == 8 &&
	       offsetof(struct bl_move_job, len) == 16, "job of move.ptx");

#endif
