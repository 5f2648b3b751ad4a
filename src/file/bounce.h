/* SPDX-License-Identifier: MIT */
/*
 * bounce.h - pinned memory by way of which streams and files exchange bytes
 *
 * One pool for all streams: slabs of 4.5 MiB, at most 16 of them, each registered in one CUDA context; slots are cut from
 * them in units of 72 KiB, so that 64 KiB with the blocks around their ends are one, two slots of 2 MiB with theirs fit a
 * slab, and one of 4 MiB does. The memory is the library's own, so that a thread that works on a file may write to it whatever
 * became of the context. A slot that a stream still copies from or to comes back when the stream has counted that far; that
 * is looked for when slots are wanted, so nobody waits for a stream to give one back.
 *
 * The lock is a leaf, and no call of CUDA is made under it: bl_bounce_put() may be called in a host function.
 */
#ifndef BL_FILE_BOUNCE_H
#define BL_FILE_BOUNCE_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/cuda.h"
#include "gpu/kernels/move.h"

struct bl_slab;
struct bl_stream;

#define BL_BOUNCE_UNIT (72UL << 10)
#define BL_BOUNCE_SLAB (64 * BL_BOUNCE_UNIT)
#define BL_BOUNCE_SLABS 16

/**
 * struct bl_bounce_slot - a piece of a slab
 * @slab:       it
 * @first:      first unit
 * @nr:         units
 * @memory:     aligned to a page
 * @device:     address of @memory for the GPU
 * @job:        what a kernel is told, one for each slot
 * @job_device: address of @job for the GPU
 */
struct bl_bounce_slot {
	struct bl_slab *slab;
	unsigned int first;
	unsigned int nr;
	unsigned char *memory;
	CUdeviceptr device;
	struct bl_move_job *job;
	CUdeviceptr job_device;
};

/**
 * bl_bounce_get() - Take slots
 * @cuda:    driver library
 * @context: the current context
 * @len:     bytes of each, at most BL_BOUNCE_SLAB
 * @want:    how many would be good
 * @patience_ns: how long to wait for the first one while all of the pool is in use; 0: not at all
 * @slots:   receives them
 * @nr_p:    receives how many there are, 1 or more
 *
 * Return: 0; -ETIMEDOUT: nothing came back; -ENOMEM and others of CUDA: none can be made; with the reason.
 */
int bl_bounce_get(const struct bl_cuda *cuda, CUcontext context, size_t len, unsigned int want, uint64_t patience_ns,
		  struct bl_bounce_slot *slots, unsigned int *nr_p);

/**
 * bl_bounce_put() - Give a slot back
 * @slot:   from bl_bounce_get()
 * @stream: stream that may still use it, until it has counted its second word up to @seq; NULL: none does
 * @seq:    see @stream
 */
void bl_bounce_put(const struct bl_bounce_slot *slot, struct bl_stream *stream, uint32_t seq);

/* Give the memory of slabs that nobody uses back, as the last cuFileDriverClose() does. */
void bl_bounce_close(void);

/* In a forked child: all of it was the parent's. */
void bl_bounce_forget(void);

#endif
