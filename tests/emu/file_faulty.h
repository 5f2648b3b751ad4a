/* SPDX-License-Identifier: MIT */
/*
 * file_faulty.h - system calls on one file that go wrong on demand
 *
 * Linked into a test program, its pread(), pwrite(), preadv2(), open() and dlopen() come before libc's, also for the
 * library under test.
 */
#ifndef TESTS_EMU_FILE_FAULTY_H
#define TESTS_EMU_FILE_FAULTY_H

#include <sys/types.h>

enum faulty_what {
	FAULTY_NONE,
	FAULTY_SHORT,	/* half of what was asked for, whole blocks where it was blocks */
	FAULTY_EINTR,	/* interrupted before anything was moved */
	FAULTY_READ,	/* reads fail with @err */
	FAULTY_WRITE,	/* writes fail with @err */
	FAULTY_NOWAIT,	/* preadv2() fails with @err */
	FAULTY_REOPEN,	/* open() of /proc/self/fd fails with @err */
	FAULTY_URING,	/* liburing cannot be loaded */
	FAULTY_PINNED,	/* reads to and writes from memory that CUDA pinned fail with @err; no io_uring */
};

/* From now on, every @period-th such call on the file behind @fd fails; calls behind @after bytes of the file only. */
void faulty_set(enum faulty_what what, int fd, unsigned int period, int err, off_t after);

/* Where the bytes of the last pwrite() on that file were, whatever became of it. */
const void *faulty_last_source(void);

/* Calls that went wrong since then. */
unsigned int faulty_hits(void);

#endif
