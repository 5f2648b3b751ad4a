/* SPDX-License-Identifier: MIT */
/*
 * push.h - engine "push": reads by a kernel that stays on the GPU and stores to host memory when the CPU rings
 *
 * Each context that is read in gets one channel: a doorbell in GPU memory, pinned and mapped by the provider of the pin
 * that asked; words and a staging buffer in host memory of the library's own; a stream. kernels/push.h has the
 * protocol. To load the kernel waits for those that run in the context, one of which may wait for the very thread that
 * copies. So "auto" makes no channel: bl_push_enable() does, a mapping, or a read that asks for push by name. Channels
 * are never freed, and neither is their host memory: a context takes the kernel, its stream and the doorbell with it,
 * and a thread that still polls sees words that nobody writes any more.
 *
 * Locks: one for making channels, which pins and maps and may wait for kernels; then the list's; then the channel's for
 * the length of a copy. None is taken with a lock of core.h held.
 */
#ifndef BL_GPU_PUSH_H
#define BL_GPU_PUSH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "barlane.h"
#include "ce.h"
#include "cuda.h"
#include "kernels/push.h"

#define BL_PUSH_NR_HOSTS 8U

/*
 * Smallest read that "auto" may give to push, SIZE_MAX while it is enabled nowhere. A GPU that was not measured counts
 * as BL_PUSH_FROM: shorter reads were never faster than by the CPU (measured on an H200).
 */
#define BL_PUSH_FROM (2UL << 10)
extern _Atomic(size_t) bl_push_from;

/* Whether "auto" looks closer, beside bl_engine_large(); one load on the way of all others. */
static inline bool bl_push_fits(enum bl_copy_dir dir, size_t len)
{
	return len >= atomic_load_explicit(&bl_push_from, memory_order_relaxed) && len <= BL_PUSH_MAX_LEN &&
	       dir == BL_COPY_FROM;
}

/**
 * enum bl_push_state - where the kernel of a channel stands
 * @BL_PUSH_NONE:    there is none
 * @BL_PUSH_PENDING: launched, not all blocks are known to have begun
 * @BL_PUSH_STARTED: all blocks have begun; each says itself when it leaves
 */
enum bl_push_state { BL_PUSH_NONE, BL_PUSH_PENDING, BL_PUSH_STARTED };

/**
 * struct bl_push_host - host memory that was looked at
 * @low:    first byte that is known
 * @high:   behind the last one
 * @id:     BUFFER_ID of the allocation, 0: ordinary memory
 * @offset: device address - CPU address
 * @uses:   of ordinary memory, since it was looked at
 */
struct bl_push_host {
	uint64_t low;
	uint64_t high;
	uint64_t id;
	uint64_t offset;
	unsigned int uses;
};

/**
 * struct bl_push - the channel of a context
 * @next:        list of channels
 * @context:     context that owns kernel, stream and doorbell
 * @ordinal:     its GPU
 * @lock:        guards what follows
 * @dead:        the context is gone
 * @state:       enum bl_push_state; read without the lock too
 * @gen:         generation launched last; read without the lock too
 * @seq:         number of the last command
 * @broken:      positive errno value: the kernel did not answer; nothing is asked of it until its stream is idle
 * @ctx:         context of the library that holds the doorbell's pin
 * @doorbell:    the doorbell as the CPU sees it
 * @stop:        what its stop word holds
 * @doorbell_va: device address of the same
 * @sentinel:    BUFFER_ID of the doorbell's memory; gone when the context is
 * @words:       host memory, BL_PUSH_HOST_SIZE bytes: the words, behind them the staging buffer and room for measuring
 * @words_va:    device address of the same
 * @fn:          the kernel
 * @stream:      non-blocking
 * @nr_blocks:   of the grid
 * @nr_threads:  of a block
 * @start_ns:    for a launched kernel to begin, before another engine copies
 * @start_by:    when the one that was launched last must have begun, ns
 * @slice:       bytes of a command that are one block's
 * @hosts:       what is known of host memory, by address
 */
struct bl_push {
	struct bl_push *next;
	CUcontext context;
	int ordinal;
	pthread_mutex_t lock;
	bool dead;
	_Atomic(int) state;
	_Atomic(uint64_t) gen;
	uint64_t seq;
	int broken;
	bl_ctx_t ctx;
	volatile struct bl_push_doorbell *doorbell;
	uint64_t stop;
	uint64_t doorbell_va;
	uint64_t sentinel;
	struct bl_push_words *words;
	uint64_t words_va;
	CUfunction fn;
	CUstream stream;
	unsigned int nr_blocks;
	unsigned int nr_threads;
	uint64_t slice;
	uint64_t start_ns;
	uint64_t start_by;
	struct bl_push_host hosts[BL_PUSH_NR_HOSTS];
};

/*
 * The staging buffer begins on a page of its own and has room for a source that is not aligned to 16. Behind it, and
 * behind the page of the doorbell, lies as much as the longest read needs, for measuring.
 */
#define BL_PUSH_STAGING	      4096UL
#define BL_PUSH_TRIAL	      (BL_PUSH_STAGING + BL_PUSH_MAX_LEN + 4096)
#define BL_PUSH_HOST_SIZE     (BL_PUSH_TRIAL + BL_PUSH_MAX_LEN)
#define BL_PUSH_DOORBELL_SIZE (BL_GPU_PAGE_SIZE + BL_PUSH_MAX_LEN)

/* Read BARLANE_PUSH, once per process; before any copy. */
void bl_push_init(void);

/* A variable's number of microseconds, 1 ... @max, or @fallback. */
unsigned int bl_push_env_us(const char *name, unsigned int fallback, unsigned int max);

/* Enable push on all GPUs where it is not yet, with the default idle time. */
void bl_push_enable_all(void);

/* Whether it is enabled on any GPU, and on that of some memory. */
bool bl_push_anywhere(void);
bool bl_push_enabled(const struct bl_ce_target *target);

/**
 * bl_push_prepare() - Make the channel that reads of some memory need, if its GPU has push enabled
 * @cuda:     driver library
 * @target:   the memory
 * @provider: name of the pin's provider
 *
 * May wait for running kernels. A GPU where it failed is left alone until bl_push_enable() is called for it.
 * Return: 0, also where there is nothing to do; else as bl_push_channel().
 */
int bl_push_prepare(const struct bl_cuda *cuda, struct bl_ce_target *target, const char *provider);

/* Whether "auto" can use push for this memory: enabled, and there is a channel. Does not wait. */
bool bl_push_usable(const struct bl_cuda *cuda, struct bl_ce_target *target);

/**
 * bl_push_wanted() - Whether "auto" gives a read to push, when that is the fastest
 * @cuda:   driver library
 * @target: the memory; push is usable
 *
 * A launch costs more than a copy by ce: it is worth it when reads come at shorter intervals than the idle time. The
 * first one after a pause is therefore not wanted, unless the kernel is there.
 */
bool bl_push_wanted(const struct bl_cuda *cuda, struct bl_ce_target *target);

/* It was measured from which length on push can be the fastest on a GPU; SIZE_MAX: never. */
void bl_push_begin_at(int device, size_t from);

/**
 * bl_push_run() - Do a read; complete when it returns
 * @cuda:     driver library
 * @provider: name of the pin's provider, for a channel that has to be made; NULL: none is made
 * @copy:     what to copy; @pinned is not looked at
 * @begun_p:  receives whether the GPU may still store to the host memory after an error, or the device is lost
 *
 * Return: 0; -EOPNOTSUPP (not enabled, a write, too long, range outside the allocation, no way to reach the doorbell),
 * -EINVAL (memory or context gone), -EBUSY (the kernel does not start, one that timed out is still there, or there is
 * no channel), -ENOMEM, -ETIMEDOUT, -EIO; with the reason.
 */
int bl_push_run(const struct bl_cuda *cuda, const char *provider, const struct bl_ce_copy *copy, bool *begun_p);

/* Forget all channels, in a child that starts anew. */
void bl_push_forget(void);

/*
 * push_list.c: the channels of all contexts.
 */

/**
 * bl_push_make() - Find the channel of a context, or make one
 * @cuda:     driver library
 * @where:    context, GPU; the context is there
 * @provider: who pins the doorbell, NULL: the one that serves by default
 * @push_p:   receives the channel
 *
 * May wait for running kernels. Return: 0, or as bl_open(), bl_pin() and CUDA have it, with the reason.
 */
int bl_push_make(const struct bl_cuda *cuda, const struct bl_cuda_ptr *where, const char *provider,
		 struct bl_push **push_p);

/* The same for memory, remembered there; also -EINVAL when the memory is gone. */
int bl_push_channel(const struct bl_cuda *cuda, struct bl_ce_target *target, const char *provider,
		    struct bl_push **push_p);

/* The channel for memory, NULL when there is none or that cannot be told without waiting. */
struct bl_push *bl_push_known(const struct bl_cuda *cuda, struct bl_ce_target *target);

/* Ask the kernels on a GPU to leave. */
void bl_push_stop_all(const struct bl_cuda *cuda, int device);

void bl_push_forget_channels(void);

/*
 * push_channel.c: the channel's parts. The context is current.
 */
int bl_push_create(const struct bl_cuda *cuda, const struct bl_cuda_ptr *where, const char *provider,
		   struct bl_push **push_p);

/* Launch the next generation; the channel's lock is held. */
int bl_push_launch(const struct bl_cuda *cuda, struct bl_push *push, unsigned int idle_us);

/* Ask the kernel to leave; the channel's lock is held, and its context is there. */
void bl_push_stop(struct bl_push *push);

/*
 * push_serve.c: one read. The channel's lock is held, no context is current.
 */
int bl_push_serve(const struct bl_cuda *cuda, struct bl_push *push, const struct bl_ce_copy *copy, unsigned int idle_us,
		  bool *begun_p);

/* push_host.c: whether the GPU may store to host memory directly; *va_p is then its device address. */
bool bl_push_direct(const struct bl_cuda *cuda, struct bl_push *push, const struct bl_ce_copy *copy, uint64_t *va_p);

#endif
