/* SPDX-License-Identifier: MIT */
/*
 * ce.h - engine "ce": copies by the GPU's copy engine
 *
 * Each context that is copied in gets one channel, at its first copy: a private non-blocking stream, a word in pinned
 * memory that the GPU counts up behind each transfer, a landing area in which short reads are watched arriving, and a
 * ring of pinned chunks for ordinary host memory. Channels are never freed: a context takes its stream and memory with
 * it, and the struct stays so that a look at it is safe.
 *
 * Locks: the list's lock for finding and making channels, then the channel's for the length of a copy. Both are below
 * pin->lock and the table lock.
 */
#ifndef BL_GPU_CE_H
#define BL_GPU_CE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "barlane.h"
#include "cuda.h"

#define BL_CE_RING_SIZE (4UL << 20)
#define BL_CE_LAND_SIZE (256UL << 10)

/**
 * struct bl_ce - the channel of a context
 * @next:     list of channels
 * @context:  context that owns @stream and the pinned memory
 * @sentinel: BUFFER_ID of @flag; gone when the context is
 * @bit:      its bit of what must be flushed, see bl_ce_wrote()
 * @lock:     guards what follows
 * @stream:   non-blocking
 * @flag:     pinned; the number of the last transfer that is complete, where @counts
 * @seq:      number of the last transfer submitted
 * @counts:   the GPU can write @flag
 * @broken:   positive errno value: a transfer did not end, nothing more is submitted
 * @ring:     BL_CE_RING_SIZE bytes of pinned memory, NULL before their first use
 * @ring_next: where in the ring the next copy begins. What was read lately is in the CPU's own cache, which slows the
 *            GPU's writes down, so all of the ring takes turns
 * @land:     landing area of BL_CE_LAND_SIZE bytes of pinned memory, NULL before its first use; see copy/arrive.h
 * @land_next: where in it the next copy lands, for the same reason
 * @mark:     what the words of @land are between copies
 * @unclean:  some of them are not
 */
struct bl_ce {
	struct bl_ce *next;
	CUcontext context;
	uint64_t sentinel;
	uint64_t bit;
	pthread_mutex_t lock;
	CUstream stream;
	uint32_t *flag;
	uint32_t seq;
	bool counts;
	int broken;
	unsigned char *ring;
	size_t ring_next;
	unsigned char *land;
	size_t land_next;
	uint32_t mark;
	bool unclean;
};

/**
 * struct bl_ce_target - GPU memory that is copied, with what is known of it
 * @device:    its GPU
 * @ordinal:   the GPU's number
 * @context:   context to work in
 * @shared:    the memory belongs to no context (VMM): it may outlive @context
 * @asked:     an address in the allocation
 * @buffer_id: of the allocation
 * @base:      start of the allocation
 * @size:      bytes
 * @ce:        channel, NULL before the first copy
 */
struct bl_ce_target {
	CUdevice device;
	int ordinal;
	CUcontext context;
	bool shared;
	uint64_t asked;
	uint64_t buffer_id;
	uint64_t base;
	uint64_t size;
	_Atomic(struct bl_ce *) ce;
};

/**
 * struct bl_ce_copy - one copy
 * @target: the memory
 * @va:     device address of the first byte
 * @mapped: CPU address of the same byte, read to flush writes in flight; NULL when there can be none
 * @host:   the other side
 * @len:    bytes, > 0
 * @dir:    direction
 * @pinned: @host is pinned memory, see bl_ce_pinned()
 */
struct bl_ce_copy {
	struct bl_ce_target *target;
	uint64_t va;
	const void *mapped;
	void *host;
	size_t len;
	enum bl_copy_dir dir;
	bool pinned;
};

/**
 * bl_ce_target_init() - Find out what a copy needs to know of GPU memory
 * @cuda:      driver library
 * @va:        an address in the allocation
 * @buffer_id: the allocation that must be there, 0 when it is not known
 * @target:    receives the answer
 *
 * Return: 0; -EINVAL when the allocation is gone, or as bl_cuda_ptr_query(); with the reason.
 */
int bl_ce_target_init(const struct bl_cuda *cuda, uint64_t va, uint64_t buffer_id, struct bl_ce_target *target);

/* Whether CUDA knows all of [host, host + len) as pinned host memory. */
bool bl_ce_pinned(const struct bl_cuda *cuda, const void *host, size_t len);

/**
 * bl_ce_run() - Do a copy; complete when it returns
 * @cuda: driver library
 * @copy: what to copy
 *
 * CPU writes of the caller that are in flight are flushed before. Other streams, and captures of any thread, are left
 * alone. After -ETIMEDOUT or -EIO in the middle of a copy the GPU may go on reading or writing the host memory.
 * Return: 0; -EINVAL (the memory or its context is gone), -EOPNOTSUPP (range outside the allocation), -ENOMEM (no
 * pinned memory), -ETIMEDOUT (the GPU did not answer in time), -EBUSY (nor has it since), -EIO
 * (device error); with the reason.
 */
int bl_ce_run(const struct bl_cuda *cuda, const struct bl_ce_copy *copy);

/**
 * bl_ce_wrote() - Note that the CPU wrote to a mapping
 *
 * Called after the write and its fence. The next copy in each channel then reads the mapping back first; so does the
 * first copy of each thread, since writes are not noted before a copy by ce is asked for (copy.c).
 */
void bl_ce_wrote(void);

/* Forget all channels, in a child that starts anew. */
void bl_ce_forget(void);

/*
 * Between the two functions of a copy: ce.c has the channel's context entered and its lock held, ce_move.c moves bytes.
 */
int bl_ce_move(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy);

/* Whether a copy is watched arriving, and so needs @land. */
bool bl_ce_lands(const struct bl_ce_copy *copy);

/**
 * struct bl_ce_wait - a wait that is under way; all zero at first
 * @polls: looks at the counter
 * @end:   deadline
 * @next:  when to look for a device error
 */
struct bl_ce_wait {
	unsigned int polls;
	uint64_t end;
	uint64_t next;
};

/* One look whether a transfer is complete. 0: it is, -EAGAIN: look again, else an error. */
int bl_ce_look(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq, struct bl_ce_wait *wait);

/* Wait for a transfer that was submitted to this channel; its lock is held. */
int bl_ce_wait(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq);

/* Number the transfers submitted so far, and have the GPU report when they are complete. */
int bl_ce_mark(const struct bl_cuda *cuda, struct bl_ce *ce);

#endif
