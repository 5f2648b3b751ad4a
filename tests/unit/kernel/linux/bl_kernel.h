/* SPDX-License-Identifier: MIT */
/* bl_kernel.h - what files of the kernel modules need of the kernel to be compiled for the host */
#ifndef BL_TESTS_UNIT_KERNEL_H
#define BL_TESTS_UNIT_KERNEL_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* as the kernel has it: the text may be left out */
#undef static_assert
#define static_assert(cond, ...) _Static_assert(cond, #cond)

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define U16_MAX	   UINT16_MAX
#define U32_MAX	   UINT32_MAX
#define U64_MAX	   (~(u64)0)
#define GFP_KERNEL 0
#define GFP_KERNEL_ACCOUNT 0

/* how many allocations are to succeed from now on; negative: all */
extern int kernel_allocations;

static inline void *kvcalloc(size_t nr, size_t size, int flags)
{
	(void)flags;
	if (!kernel_allocations)
		return NULL;
	if (kernel_allocations > 0)
		kernel_allocations--;
	return calloc(nr, size);
}

static inline void kvfree(const void *at)
{
	free((void *)(uintptr_t)at);
}

#endif
