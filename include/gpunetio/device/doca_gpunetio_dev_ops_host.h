/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_ops_host.h - what device code does to shared memory, by threads of a CPU
 *
 * The twin of doca_gpunetio_dev_ops_cuda.cuh: the same names, with __atomic builtins. Scopes mean nothing here: every
 * thread of the process sees what a block or a GPU would see.
 *
 * ThreadSanitizer does not know fences. There a release fence is noted, and the stores after it release what came
 * before; an acquire fence acquires what the last loads saw. A piece of a WQE that is written after a release fence
 * takes the note back, so a store that publishes it without a fence of its own is still found to be a race. What can
 * stay hidden is a race of bytes that are written by other means than the functions below between a fence and the
 * store, and of what was released to an address between a load and the acquire fence after it. Nothing is taken for a
 * race that is none: each edge that the fences make is there.
 */
#ifndef DOCA_GPUNETIO_DEV_OPS_HOST_H
#define DOCA_GPUNETIO_DEV_OPS_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../common/doca_gpunetio_verbs_def.h"
#include "doca_gpunetio_host_threads.h"

#define BL_DEVICE static inline

#if defined(__SANITIZE_THREAD__)
#define BL_OP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BL_OP_TSAN 1
#endif
#endif

#ifdef BL_OP_TSAN
extern "C" void __tsan_acquire(void *addr);
extern "C" void __tsan_release(void *addr);

#define BL_OP_NR_SEEN 16

/* What the calling thread did since its last fences. */
struct bl_op_thread {
	const void *seen[BL_OP_NR_SEEN];
	unsigned int nr_seen;
	bool released;
};

static thread_local struct bl_op_thread bl_op_thread;

BL_DEVICE void bl_op_note_load(const void *p)
{
	struct bl_op_thread *t = &bl_op_thread;
	unsigned int nr = t->nr_seen < BL_OP_NR_SEEN ? t->nr_seen : BL_OP_NR_SEEN;

	for (unsigned int i = 0; i < nr; i++) {
		if (t->seen[i] == p)
			return;
	}
	t->seen[t->nr_seen++ % BL_OP_NR_SEEN] = p;
}

BL_DEVICE void bl_op_note_store(void *p)
{
	if (bl_op_thread.released)
		__tsan_release(p);
}

BL_DEVICE void bl_op_note_bytes(void)
{
	bl_op_thread.released = false;
}

BL_DEVICE void bl_op_acquire_at(const void *p)
{
	__tsan_acquire(const_cast<void *>(p));
}

BL_DEVICE void bl_op_acquire(void)
{
	struct bl_op_thread *t = &bl_op_thread;
	unsigned int nr = t->nr_seen < BL_OP_NR_SEEN ? t->nr_seen : BL_OP_NR_SEEN;

	for (unsigned int i = 0; i < nr; i++)
		__tsan_acquire(const_cast<void *>(t->seen[i]));
	t->nr_seen = 0;
}

BL_DEVICE void bl_op_release(void)
{
	bl_op_thread.released = true;
}

/* An exchange is what ThreadSanitizer knows; on a word of the thread's own it makes no edge. */
BL_DEVICE void bl_op_full(void)
{
	uint32_t word = 0;

	__atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
}
#else
BL_DEVICE void bl_op_note_load(const void *p)
{
	(void)p;
}

BL_DEVICE void bl_op_note_store(void *p)
{
	(void)p;
}

BL_DEVICE void bl_op_note_bytes(void)
{
}

BL_DEVICE void bl_op_acquire_at(const void *p)
{
	(void)p;
}

BL_DEVICE void bl_op_acquire(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

BL_DEVICE void bl_op_release(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

BL_DEVICE void bl_op_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_acquire()
{
	if (S != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
		bl_op_acquire();
}

template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_release()
{
	if (S != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
		bl_op_release();
}

/* Everything before it before everything after it. */
template <enum doca_gpu_dev_verbs_sync_scope S> BL_DEVICE void bl_op_fence_full()
{
	if (S == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
		return;
	bl_op_acquire();
	bl_op_full();
	bl_op_release();
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_load(const T *p)
{
	T value;

	bl_thread_step();
	value = __atomic_load_n(p, __ATOMIC_RELAXED);
	bl_op_note_load(p);
	return value;
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_load_acquire(const T *p)
{
	bl_thread_step();
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/*
 * The last four bytes of a CQE, and then what was written before them. The NIC may write them by a store of one, four or
 * eight: ThreadSanitizer goes by addresses.
 */
BL_DEVICE uint32_t bl_op_load_cqe_end(const uint32_t *p)
{
	uint32_t value = bl_op_load_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(p);

	bl_op_acquire_at((const char *)p + 3);
	bl_op_acquire_at((const char *)p - 4);
	return value;
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE void bl_op_store(T *p, T value)
{
	bl_thread_step();
	bl_op_note_store(p);
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

/* The value is computed here, and not where it is used. */
BL_DEVICE void bl_op_keep(uint64_t &value)
{
	(void)value;
}

/* Two words, each in one piece, in no order. */
BL_DEVICE void bl_op_store_pair(uint64_t *p, uint64_t first, uint64_t second)
{
	bl_op_store<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(p, first);
	bl_op_store<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(p + 1, second);
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE void bl_op_store_release(T *p, T value)
{
	bl_thread_step();
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

/* The read-modify-writes below return the old value. For scope THREAD they are a load and a store. */

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_add(T *p, T value)
{
	T old;

	if (S == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD) {
		old = bl_op_load<S>(p);
		bl_op_store<S>(p, (T)(old + value));
		return old;
	}
	bl_thread_step();
	bl_op_note_store(p);
	old = __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
	bl_op_note_load(p);
	return old;
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_max(T *p, T value)
{
	T old;

	if (S == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD) {
		old = bl_op_load<S>(p);
		if (old < value)
			bl_op_store<S>(p, value);
		return old;
	}
	bl_thread_step();
	bl_op_note_store(p);
	old = __atomic_load_n(p, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	bl_op_note_load(p);
	return old;
}

/* As bl_op_fetch_max(); who acquires the new value sees what came before. */
template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_fetch_max_release(T *p, T value)
{
	T old;

	if (S == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
		return bl_op_fetch_max<S>(p, value);
	bl_thread_step();
	old = __atomic_load_n(p, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return old;
}

template <enum doca_gpu_dev_verbs_sync_scope S, typename T> BL_DEVICE T bl_op_cas(T *p, T expected, T desired)
{
	if (S == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD) {
		T old = bl_op_load<S>(p);

		if (old == expected)
			bl_op_store<S>(p, desired);
		return old;
	}
	bl_thread_step();
	bl_op_note_store(p);
	__atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	bl_op_note_load(p);
	return expected;
}

/* A register of a device. */
BL_DEVICE void bl_op_store_mmio(uint64_t *p, uint64_t value)
{
	bl_op_store<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(p, value);
}

template <typename T> BL_DEVICE void bl_op_store_async(T *p, T value)
{
	bl_op_store_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(p, value);
}

/* 16 bytes at a multiple of 16, of a WQE: seen by others only after a release. */
BL_DEVICE void bl_op_store_seg(void *dst, const uint64_t *src)
{
	bl_thread_step();
	bl_op_note_bytes();
	memcpy(dst, src, 16);
}

/* Some bytes of a WQE, at a multiple of 4. */
BL_DEVICE void bl_op_store_bytes(void *dst, const void *src, size_t len)
{
	bl_thread_step();
	bl_op_note_bytes();
	memcpy(dst, src, len);
}

/* 8 bytes at a multiple of 8 that the calling thread, or one that it met in its warp, has written. */
BL_DEVICE uint64_t bl_op_word(const void *src)
{
	uint64_t word;

	memcpy(&word, src, sizeof(word));
	return word;
}

/* Whether a thread can write a whole BlueFlame buffer in one transfer. */
BL_DEVICE constexpr bool bl_op_has_bulk()
{
	return true;
}

/* A WQE to a BlueFlame buffer. The first word is the doorbell and comes last. */
BL_DEVICE void bl_op_store_bulk(uint64_t *dst, const void *src)
{
	for (int i = 7; i >= 0; i--)
		bl_op_store_mmio(dst + i, bl_op_word((const char *)src + i * 8));
}

BL_DEVICE uint64_t bl_op_timer()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

BL_DEVICE void bl_op_pause()
{
	bl_thread_yield();
}

BL_DEVICE unsigned int bl_op_lane()
{
	return bl_thread_self()->lane;
}

BL_DEVICE void bl_op_syncwarp()
{
	bl_thread_syncwarp(0xffffffffU);
}

BL_DEVICE uint64_t bl_op_shfl(uint64_t value, unsigned int lane)
{
	return bl_thread_shfl(0xffffffffU, value, lane);
}

BL_DEVICE bool bl_op_any(bool predicate)
{
	return bl_thread_ballot(0xffffffffU, predicate) != 0;
}

BL_DEVICE uint64_t bl_op_bswap64(uint64_t x)
{
	return __builtin_bswap64(x);
}

BL_DEVICE uint32_t bl_op_bswap32(uint32_t x)
{
	return __builtin_bswap32(x);
}

BL_DEVICE uint16_t bl_op_bswap16(uint16_t x)
{
	return __builtin_bswap16(x);
}

#endif
