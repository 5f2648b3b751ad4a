/* SPDX-License-Identifier: MIT */
/*
 * copy_loops.h - plain copy loops to measure the library against
 *
 * Each is the obvious loop over one instruction: no special cases, no unrolling by hand, the same fence at the end that
 * the library has. They take sizes that are powers of two, at addresses that are multiples of 64; a size below their
 * width is copied with the widest instruction that fits.
 */
#ifndef BENCH_COPY_LOOPS_H
#define BENCH_COPY_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct copy_loop - one plain loop
 * @name:      instruction and width
 * @supported: whether this CPU has it
 * @fn:        the loop, fence included; returns 0 as the library's do
 */
struct copy_loop {
	const char *name;
	bool (*supported)(void);
	int (*fn)(void *dst, const void *src, size_t len);
};

/* To a mapping and from one; the last entry has no name. */
extern const struct copy_loop copy_loops_to[];
extern const struct copy_loop copy_loops_from[];

/* One 8-byte load and the fence, whatever @len is. */
int copy_loop_load8(void *dst, const void *src, size_t len);

#endif
