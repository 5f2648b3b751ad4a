/* SPDX-License-Identifier: MIT */
/*
 * crew.h - the threads of the storage lane: one pool for batches, streams, and requests that are split
 *
 * At most max_io_threads of cufile.json, at least one; and one more for what is prompt while all of these are at work
 * that may wait for the GPU. A thread is made when there is work and nobody idle, sleeps when there is none, and
 * leaves after ten idle seconds. All signals are blocked in them. A forked child has none, and what was queued is not
 * its own.
 *
 * Work that waits for other work must be ready to do that itself: bl_crew_withdraw() takes it back when no thread has
 * begun it. Else all threads may wait for what is queued behind them.
 */
#ifndef BL_FILE_CREW_H
#define BL_FILE_CREW_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct bl_work - something to do, a member of what it is about; zeroed before its first use
 * @run:    what to do; may free the memory that the struct is in
 * @prompt: it calls no function of CUDA, and a stream on the GPU may be waiting for it; all pieces of a chain, or none
 * @next:   while it is handed over: chain of bl_crew_submit(); then the crew's
 * @prev:   the crew's
 * @queued: the crew's
 */
struct bl_work {
	void (*run)(struct bl_work *work);
	bool prompt;
	struct bl_work *next;
	struct bl_work *prev;
	bool queued;
};

/**
 * bl_crew_submit() - Queue work
 * @chain: pieces, linked by @next up to NULL; done in this order, by several threads at once
 *
 * Wakes as many threads as there are pieces and idle ones, or makes one, which sees to the next if there is more to do. Makes
 * no system call when all threads are busy. May be called in a CUDA host function.
 * Return: 0, or -EAGAIN: there is no thread and none can be made; nothing is queued, and @chain is as it was.
 */
int bl_crew_submit(struct bl_work *chain);

/**
 * bl_crew_withdraw() - Take a piece of work back
 * @work: from bl_crew_submit(), not freed
 *
 * Return: whether it was still queued: it is the caller's again, and will not be run. False: it runs, or has run.
 */
bool bl_crew_withdraw(struct bl_work *work);

/* How many threads there may be, from the configuration; 1 or more. */
unsigned int bl_crew_limit(void);

/* How many threads there are, busy or idle. */
unsigned int bl_crew_size(void);

/**
 * bl_crew_stop() - Let all threads leave
 * @timeout_ns: how long to wait for those that are busy
 *
 * What is queued is done before. Work that is submitted later makes new threads.
 * Return: 0, or -ETIMEDOUT: some did not come back in time; they leave when they do.
 */
int bl_crew_stop(uint64_t timeout_ns);

#endif
