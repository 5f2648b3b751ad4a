/* SPDX-License-Identifier: MIT */
/*
 * uring.h - several reads or writes of a thread under way at once, by io_uring
 *
 * Through liburing, which is loaded when it is needed first. Where there is none, or the kernel or a filter of system calls
 * does not allow io_uring, that is said once, and the caller does without. Every wait has a deadline.
 */
#ifndef BL_FILE_URING_H
#define BL_FILE_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct io_uring;
struct bl_liburing;

#define BL_URING_DEPTH 32

/**
 * struct bl_uring - a ring; one thread at a time
 * @lib:   liburing
 * @ring:  its own struct, NULL: none
 * @fixed: the memory given to bl_uring_open() is registered: the kernel need not look its pages up each time
 * @nr:    requests that were posted and not taken
 */
struct bl_uring {
	const struct bl_liburing *lib;
	struct io_uring *ring;
	bool fixed;
	unsigned int nr;
};

/* One that ended: what it was called, and its bytes or negative error. */
struct bl_uring_done {
	uint64_t tag;
	int32_t result;
};

/**
 * bl_uring_open() - Make a ring
 * @uring:  receives it
 * @memory: where all its requests will read to and write from; NULL: anywhere
 * @len:    bytes
 *
 * Children of this process do not inherit it.
 * Return: 0; -ENOSYS and -EPERM (not allowed: remembered for the process), -EOPNOTSUPP (no liburing, Linux before 5.11:
 * likewise), -ENOMEM, -EMFILE.
 */
int bl_uring_open(struct bl_uring *uring, void *memory, size_t len);

/* All its requests have ended. */
void bl_uring_close(struct bl_uring *uring);

/* Prepare a request; at most BL_URING_DEPTH may be under way. @buf lies in the ring's memory, if it was given one. */
void bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag);

/**
 * bl_uring_wait() - Submit what was prepared, and wait for one that ended
 * @uring:    ring
 * @wait:     whether to wait; else only look
 * @deadline: CLOCK_MONOTONIC ns
 *
 * Return: 0: some have ended; -EAGAIN: none has (not waited); -ETIMEDOUT; or what the kernel says.
 */
int bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline);

/* Take one that ended; false: there is none. */
bool bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done);

/**
 * bl_uring_idle() - Whether the kernel is at none of the requests any more
 * @uring: a ring whose requests nobody waits for; it may be none
 *
 * Takes what has ended. What was prepared and not submitted is no obstacle: it goes with the ring.
 */
bool bl_uring_idle(struct bl_uring *uring);

/* Whether rings can be made at all, as far as is known. */
bool bl_uring_allowed(void);

#endif
