/* SPDX-License-Identifier: MIT */
/*
 * guard.h - access to memory that its owner may take away
 *
 * A NIC of hardware has pages that are pinned; a thread that is one has mappings, which a program may unmap, protect, or
 * lose with the end of their file or their device. What is done here with such memory ends with -EFAULT then, and the
 * process lives. A handler for SIGSEGV and SIGBUS sees to that. It acts on faults of guarded accesses only; the rest goes
 * to whatever was there before it.
 *
 * A program that sets a handler of its own later gets all faults, these too: it has to call the one that it replaced.
 */
#ifndef BL_UTIL_GUARD_H
#define BL_UTIL_GUARD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "util/tsan.h"

/* 0: accesses are what they are, and faults the program's. ThreadSanitizer cannot follow a call that is left. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !BL_TSAN
#define BL_GUARD_WORKS 1
#else
#define BL_GUARD_WORKS 0
#endif

/**
 * bl_guard_init() - Have faults of guarded accesses handled
 *
 * Once in a process; its children have it too. Thread-safe, cannot fail.
 */
void bl_guard_init(void);

/* Of a set of signals that a thread is to block: those that guarded accesses need. A fault that is blocked is death. */
void bl_guard_unblock(sigset_t *set);

/**
 * bl_guard_call() - Call a function that touches memory of somebody else
 * @at:  first byte of that memory; faults elsewhere are not handled
 * @len: bytes of it
 * @fn:  is left at the fault: it holds no lock then, and nothing that is to be given back
 * @arg: for @fn
 *
 * Not to be called from @fn.
 * Return: what @fn says, or -EFAULT.
 */
int bl_guard_call(const void *at, size_t len, int (*fn)(void *arg), void *arg);

/* Copy from or to such memory. Return: 0, or -EFAULT after a part of it. */
int bl_guard_copy_from(void *dst, const void *src, size_t len);
int bl_guard_copy_to(void *dst, const void *src, size_t len);

/* Acquire: a word that is aligned. Return: 0, or -EFAULT and *@value_p is as it was. */
#if BL_GUARD_WORKS
int bl_guard_load32(const uint32_t *at, uint32_t *value_p);
int bl_guard_load64(const uint64_t *at, uint64_t *value_p);
#else
static inline int bl_guard_load32(const uint32_t *at, uint32_t *value_p)
{
	*value_p = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	return 0;
}

static inline int bl_guard_load64(const uint64_t *at, uint64_t *value_p)
{
	*value_p = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	return 0;
}
#endif

#endif
