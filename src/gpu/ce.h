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
#include "cuda_ptr.h"

#pragma GCC visibility push(default) /* exported to this project's other libraries, see barlane.map */

#define BL_CE_RING_SIZE (4UL << 20)
#define BL_CE_WIDE_SIZE (16UL << 20)
/* as large as a core's own cache: measured, the GPU writes faster to lines that have left it, and more gains nothing */
#define BL_CE_LAND_SIZE (2UL << 20)
#define BL_CE_TOKENS	4096U /* a power of two */
#define BL_CE_TOKEN_FROM (64UL << 10)

/**
 * enum bl_ce_tokens - whether the copy engine brings the number behind a read itself, see ce_token.c
 * @BL_CE_TOKENS_BY_GPU: where that was proved to work and to be faster
 * @BL_CE_TOKENS_ON:     yes, for measuring
 * @BL_CE_TOKENS_OFF:    no
 */
enum bl_ce_tokens { BL_CE_TOKENS_BY_GPU, BL_CE_TOKENS_ON, BL_CE_TOKENS_OFF };

/**
 * struct bl_ce - the channel of a context
 * @next:     list of channels
 * @context:  context that owns @stream and the pinned memory
 * @context_id: its id, which no other context has or will have; 0: nothing follows from it, see own_id()
 * @device:   its GPU, -1: not asked yet, see ce_token.c
 * @sentinel: BUFFER_ID of @flag; gone when the context is
 * @bit:      its bit of what must be flushed, see bl_ce_wrote()
 * @lock:     guards what follows
 * @stream:   non-blocking
 * @flag:     pinned; the number of the last transfer that is complete, where @counts
 * @seq:      number of the last transfer submitted
 * @counts:   the GPU can write @flag
 * @last:     direction of the last transfer submitted
 * @last_len: its bytes
 * @asks:     by direction: pinned memory is copied without a report, and the stream is asked until it is idle, see
 *            bl_ce_choose()
 * @tokens:   whether @flag is brought by a transfer behind a read
 * @table:    pinned: what @table_va held first, and behind that what its halves were sent last
 * @table_va: device address of the BL_CE_TOKENS numbers that are brought, 0 before their first use
 * @no_table: they could not be had, or are not right any more: numbers are written
 * @broken:   positive errno value: a transfer did not end, nothing more is submitted
 * @ring:     BL_CE_RING_SIZE bytes of pinned memory, NULL before their first use
 * @ring_next: where in the ring the next copy begins. What was read lately is in the CPU's own cache, which slows the
 *            GPU's writes down, so all of the ring takes turns
 * @wide:     a longer ring for long reads, of BL_CE_WIDE_SIZE bytes, NULL before their first; see ce_staged.c
 * @wide_next: as @ring_next
 * @land:     landing area of BL_CE_LAND_SIZE bytes of pinned memory, NULL before its first use; see copy/arrive.h
 * @land_next: where in it the next copy lands, for the same reason
 * @mark:     what the words of @land are between copies
 * @unclean:  some of them are not
 */
struct bl_ce {
	struct bl_ce *next;
	CUcontext context;
	unsigned long long context_id;
	CUdevice device;
	uint64_t sentinel;
	uint64_t bit;
	pthread_mutex_t lock;
	CUstream stream;
	uint32_t *flag;
	uint32_t seq;
	bool counts;
	enum bl_copy_dir last;
	size_t last_len;
	bool asks[2];
	enum bl_ce_tokens tokens;
	uint32_t *table;
	uint64_t table_va;
	bool no_table;
	int broken;
	unsigned char *ring;
	size_t ring_next;
	unsigned char *wide;
	size_t wide_next;
	unsigned char *land;
	size_t land_next;
	uint32_t mark;
	bool unclean;
};

struct bl_push;

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
 * @push:      channel of engine push, NULL until it is known
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
	_Atomic(struct bl_push *) push;
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

/* Prove that the allocation is still there, and make its context current; 0, -EINVAL, or as bl_cuda_enter(). */
int bl_ce_enter(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_cuda_scope *scope);

/* How long the GPU may take to answer: BARLANE_CE_TIMEOUT_MS. */
uint64_t bl_ce_timeout_ns(void);

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
 * bl_ce_choose() - Measure how the end of a copy of pinned memory is seen sooner, and do it so from now on
 * @cuda:   driver library
 * @target: GPU memory of at least 128 KiB; overwritten
 * @va:     its first byte
 * @pinned: pinned host memory of the same size; overwritten
 *
 * By the number that the GPU writes behind it, by the same number that a transfer brings, or by asking the stream: which
 * is faster differs from machine to machine, by 6 % of 128 KiB in either direction. The second one is used only where
 * bytes that were read are seen to be there when the number is. Takes about 1 ms; where a copy takes longer than 2 ms, no
 * more than that one.
 * Return: 0, or the error of a copy.
 */
int bl_ce_choose(const struct bl_cuda *cuda, struct bl_ce_target *target, uint64_t va, void *pinned);

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
 * ce_token.c. The channel's context is current, its lock is held.
 */

/* Have a transfer bring @seq behind a read; false: it has to be written. */
bool bl_ce_token_post(const struct bl_cuda *cuda, struct bl_ce *ce);

/* A mark was submitted, in either way. */
void bl_ce_token_marked(const struct bl_cuda *cuda, struct bl_ce *ce);

/* It was proved, or not any more, that all channels of a GPU may do so. */
void bl_ce_tokens_allow(CUdevice device, bool allowed);

void bl_ce_tokens_forget(void);

/**
 * struct bl_ce_entry - a thread in the context of what it copies
 * @target: the memory
 * @scope:  what bl_cuda_leave() needs
 * @ask:    CUDA has not been asked yet whether it still has the memory
 * @out:    the context is left while the GPU is at it
 * @free:   and the channel's lock is not held: others may submit
 */
struct bl_ce_entry {
	const struct bl_ce_target *target;
	struct bl_cuda_scope scope;
	bool ask;
	bool out;
	bool free;
};

/* Ask it now, unless that was done: 0 or -EINVAL, with the reason. */
int bl_ce_ask(const struct bl_cuda *cuda, struct bl_ce_entry *entry);

/*
 * Leave the context when all is submitted: what that takes is over before the GPU is. Looks at the counter and at host
 * memory are all that may follow until bl_ce_come_back().
 */
void bl_ce_go_out(const struct bl_cuda *cuda, struct bl_ce_entry *entry);

/* Enter it again, to ask CUDA. 0, or -EIO, by which the channel is broken: its lock is held. */
int bl_ce_come_back(const struct bl_cuda *cuda, struct bl_ce *ce, struct bl_ce_entry *entry);

/*
 * Between the two functions of a copy: ce.c has the channel's context entered and its lock held, ce_move.c moves bytes.
 * On an error, or not, the context may have been left; when all went well the lock may be free.
 */
int bl_ce_move(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy, struct bl_ce_entry *entry);

/* Of it, the copies of ordinary host memory, see ce_staged.c. */
int bl_ce_move_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy);

/* Whether a copy is better off with the longer ring. */
bool bl_ce_is_wide(const struct bl_ce_copy *copy);

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

/* Set @asks, by direction, and @tokens. */
void bl_ce_report(struct bl_ce *ce, bool asks_to, bool asks_from, enum bl_ce_tokens tokens);

/* Wait until the stream is idle, by asking it; the channel's lock is held. */
int bl_ce_wait_idle(const struct bl_cuda *cuda, struct bl_ce *ce);

/* Number what was posted and wait for it; the channel's lock is held. */
int bl_ce_wait_posted(const struct bl_cuda *cuda, struct bl_ce *ce);

/*
 * The same when nothing follows: the context is left, and the lock given back, as soon as CUDA is not needed. On an error
 * the lock is held again.
 */
int bl_ce_wait_out(const struct bl_cuda *cuda, struct bl_ce *ce, struct bl_ce_entry *entry);

/* Wait for a transfer that was submitted to this channel; its lock is held. */
int bl_ce_wait(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq);

/* Number the transfers submitted so far, and have the GPU report when they are complete. */
int bl_ce_mark(const struct bl_cuda *cuda, struct bl_ce *ce);

/*
 * The steps of a copy by themselves, for who does not wait (batch.h). The channel's context is entered and its lock
 * held where a channel is named, but for bl_ce_alive() and bl_ce_counted().
 */

/* A channel that bl_ce_run() does not use. The context is current; freed never. */
int bl_ce_new(const struct bl_cuda *cuda, CUcontext context, struct bl_ce **ce_p);

/* Whether the channel's context is still there; without it the counter and the ring must not be touched. */
bool bl_ce_alive(const struct bl_cuda *cuda, const struct bl_ce *ce);

/* -EINVAL with the reason when CUDA does not have the memory any more. Needs no context. */
int bl_ce_check_target(const struct bl_cuda *cuda, const struct bl_ce_target *target);

/* -EOPNOTSUPP with the reason when the engine cannot reach all of the range. */
int bl_ce_check_range(const struct bl_ce_target *target, uint64_t va, size_t len);

/* Allocate the ring unless it is there. */
int bl_ce_ring(const struct bl_cuda *cuda, struct bl_ce *ce);

/* Bytes per transfer of a copy through the ring, and whether its host side is written with streaming stores. */
size_t bl_ce_chunk(size_t len, bool *stream_p);

/* Have the CPU's writes to a mapping reach the GPU's memory first; @mapped: an address in it, or NULL. */
void bl_ce_flush(struct bl_ce *ce, const void *mapped);

/* Submit a transfer, to be marked later. */
int bl_ce_post(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host, size_t len);

/* Whether the GPU has counted up to @seq; no CUDA call. Never where it does not count. */
bool bl_ce_counted(const struct bl_ce *ce, uint32_t seq);

/* 0: all that was submitted is complete, -EAGAIN: not yet, else the error, by which the channel is broken. */
int bl_ce_query(const struct bl_cuda *cuda, struct bl_ce *ce);

/* CLOCK_MONOTONIC ns after which a copy that begins now is given up: BARLANE_CE_TIMEOUT_MS from here. */
uint64_t bl_ce_deadline(void);

#pragma GCC visibility pop

#endif
