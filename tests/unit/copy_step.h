/* SPDX-License-Identifier: MIT */
/*
 * copy_step.h - watches every access that a routine makes to one page
 *
 * The page is kept inaccessible. Each access faults; the handler opens the page, lets that single instruction run,
 * looks at what it did and closes the page again. x86-64 steps with the trap flag, arm64 with a breakpoint behind the
 * instruction.
 */
#ifndef BL_TESTS_COPY_STEP_H
#define BL_TESTS_COPY_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct copy_access - one instruction that touched the page
 * @addr:   address that faulted
 * @start:  first byte that it changed (stores only)
 * @width:  bytes that it changed; 0 for a load
 * @gap:    it left bytes out between the first and the last
 * @mask:   bytes of its line that an AVX-512 instruction with a mask may touch; 0 when there is none
 */
struct copy_access {
	uintptr_t addr;
	uintptr_t start;
	size_t width;
	bool gap;
	uint64_t mask;
};

/**
 * struct copy_trace - what a routine did
 * @access:    the accesses, in order
 * @nr:        how many
 * @store_fences:  sfence executed (x86-64, traced runs only, as the rest)
 * @full_fences:   mfence executed
 * @upper_clears:  vzeroupper executed
 * @nr_at_fence:   accesses before the last fence
 * @nr_at_clear:   accesses before the last vzeroupper
 */
struct copy_trace {
	struct copy_access access[512];
	size_t nr;
	size_t store_fences;
	size_t full_fences;
	size_t upper_clears;
	size_t nr_at_fence;
	size_t nr_at_clear;
};

typedef int (*copy_fn)(void *dst, const void *src, size_t len);

/**
 * copy_step_page() - The watched page, open
 *
 * Allocated and handlers installed by the first call.
 * Return: its address; copy_step_size() bytes.
 */
uint8_t *copy_step_page(void);
size_t copy_step_size(void);

/**
 * copy_step_to() - Watch a copy into the page
 * @fn:    routine
 * @dst:   address in the page
 * @src:   bytes that are not 0
 * @len:   bytes
 * @trace: receives what it did
 *
 * The page is zeroed first, and every byte is set back to zero after the access that wrote it: a byte that is written
 * twice shows up twice. The page holds the result afterwards.
 */
void copy_step_to(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace);

/* Watch a copy out of the page. */
void copy_step_from(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace);

/* As copy_step_to() and copy_step_from(), stepping over all instructions to find fences; x86-64 only. */
void copy_step_trace_to(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace);
void copy_step_trace_from(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace);

/* Whether instructions can be stepped over here; not under valgrind, for one. */
bool copy_step_works(void);

#endif
