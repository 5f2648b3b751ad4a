/* SPDX-License-Identifier: MIT */
/*
 * fence.h - the fences that end a copy
 *
 * Stores to and loads from a write-combining mapping are weakly ordered, also on x86, where nothing else is. A copy
 * fences after itself, never before: whoever wants earlier stores ordered before a copy fences first.
 */
#ifndef BL_COPY_FENCE_H
#define BL_COPY_FENCE_H

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <stdatomic.h>
#endif

/* Everything before it, of any memory type, before everything after it. */
static inline __attribute__((always_inline)) void bl_fence_full(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
	/* system domain: devices watch, not only other CPUs */
	__asm__ volatile("dmb sy" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* The copy's stores before any later store; on x86 it also empties the write-combining buffers. */
static inline __attribute__((always_inline)) void bl_fence_wc_store(void)
{
#if defined(__x86_64__)
	__asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb st" ::: "memory");
#else
	bl_fence_full();
#endif
}

/*
 * The copy's loads before any later load or store.
 *
 * x86: movntdqa from write-combining memory is weakly ordered: a later load may be done before it. It also takes a
 * whole line into a buffer that nothing keeps up to date; one left over would answer the next copy's movntdqa with old
 * data. mfence is the fence that the architecture names for both (Intel SDM, volume 1 on streaming loads, volume 2 on
 * MOVNTDQA). lfence would order the loads, but not stores, and programs written for GDRCopy have a store fence here.
 *
 * arm64: this memory type leaves no buffer behind; a full barrier, so that later stores are ordered here too.
 */
static inline __attribute__((always_inline)) void bl_fence_wc_load(void)
{
	bl_fence_full();
}

#endif
