/* SPDX-License-Identifier: MIT */
/*
 * fault.h - let every allocation of an operation fail, one after the other
 *
 * The kernel counts the allocations that a thread makes from a write to its fail-nth on, and fails the Nth. So the
 * operation is repeated with N = 1, 2, 3 ... until it makes fewer than N.
 */
#ifndef BL_TESTS_KERNEL_FAULT_H
#define BL_TESTS_KERNEL_FAULT_H

#include <stdbool.h>

#include "state.h"

/**
 * struct fault_op - an operation
 * @prepare: makes what it needs; may be NULL
 * @run:     the operation: 0 or -errno. No check() in it
 * @undo:    takes back what @run did when it succeeded, and what @prepare did
 * @also:    an errno value besides ENOMEM that it may end with; 0 for none
 * @coarse:  only failures of the slab allocator: for what allocates hundreds of single pages
 * @splits:  a failure may leave a mapping of the process in two
 * @first:   begin with this N instead of 1
 */
struct fault_op {
	void (*prepare)(void);
	int (*run)(void);
	void (*undo)(void);
	int also;
	bool coarse;
	bool splits;
	unsigned int first;
};

/* Skips the test on a kernel without fault injection. */
void fault_needed(void);

/*
 * Walks all points of failure. After each failure: the errno is one of those allowed, all counts are as before, and the
 * operation succeeds when it is tried again. Says how many points there were. @now tells what exists.
 */
void fault_walk(const char *name, const struct fault_op *op, struct state (*now)(void));

/* How many allocations of slabs something makes, whether it succeeds or not. */
unsigned int fault_count(int (*run)(void));

#endif
