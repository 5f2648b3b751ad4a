/* SPDX-License-Identifier: MIT */
/*
 * copy_threads.h - several threads that write one buffer together
 */
#ifndef BENCH_COPY_THREADS_H
#define BENCH_COPY_THREADS_H

#include "copy_measure.h"

/**
 * copy_threads_measure() - Time functions that threads run side by side, in turns
 * @entries: functions; their results are filled in: time from the common start until the last thread is done
 * @nr:      how many
 * @threads: how many threads; each takes an equal part of @len
 * @dst:     as the functions take it
 * @src:     as the functions take it
 * @len:     bytes in all, a multiple of 64 times @threads
 * @rounds:  samples of each function, > 0
 *
 * Return: 0 or -errno.
 */
int copy_threads_measure(struct copy_entry *entries, size_t nr, size_t threads, void *dst, const void *src, size_t len,
			 size_t rounds);

#endif
