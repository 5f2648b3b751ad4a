/* SPDX-License-Identifier: MIT */
/*
 * quiet.h - show that code makes no system call, takes no lock, allocates nothing
 *
 * The code runs in a child whose system calls, all but the one that ends it, kill it. Calls of the allocator and of
 * locks are led through counters by the linker: the program is linked with --wrap for each of them.
 */
#ifndef TESTS_UNIT_QUIET_H
#define TESTS_UNIT_QUIET_H

#include <stdbool.h>
#include <stdint.h>

/* How a child ends; 0 when nothing was wrong. */
enum quiet_status {
	QUIET_WRONG_SETUP = 1,
	QUIET_NO_SECCOMP,
	QUIET_CALL_FAILED,
	QUIET_WRONG_BYTES,
	QUIET_CALLED, /* the allocator or a lock */
};

/* Calls of the allocator and of locks so far; volatile, since the compiler thinks that it knows what malloc() changes. */
extern volatile unsigned long quiet_calls;

/**
 * quiet_child() - Run a function in a child
 * @run:   ends with quiet_leave()
 * @type:  for @run, the type of a mapping
 * @mixed: for @run, whether there is a mapping of another type as well
 *
 * Skips the test where system calls cannot be filtered.
 * Return: as waitpid() gives it; ended by SIGSYS when a system call was made after quiet_lock_down().
 */
int quiet_child(void (*run)(uint32_t type, bool mixed), uint32_t type, bool mixed);

/* The same for code that must be quiet: ends the test as failed unless the child left with 0. */
void quiet_check(void (*run)(uint32_t type, bool mixed), uint32_t type, bool mixed);

/* In the child: from here on every system call but exit_group() is the end. Touch beforehand what would be faulted in. */
void quiet_lock_down(void);

/* In the child: the end. Does not return. */
void quiet_leave(int status);

#endif
