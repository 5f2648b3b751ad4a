/* SPDX-License-Identifier: MIT */
/*
 * batch.h - batches of requests: handed over at once, done by the crew, collected as they end
 *
 * A batch has a fixed number of entries. One is taken when it is submitted and is free again when its event has been
 * collected. The submitting thread does itself what is small and cached; the rest is the crew's. An entry that ends
 * costs no system call unless somebody waits for it.
 */
#ifndef BL_FILE_BATCH_H
#define BL_FILE_BATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "crew.h"
#include "cufile.h"
#include "path.h"

struct bl_file;
struct bl_iobatch;

/* How far an entry is. */
enum bl_entry_state {
	BL_ENTRY_FREE,	   /* or it has ended */
	BL_ENTRY_QUEUED,   /* may be cancelled */
	BL_ENTRY_BEGUN,	   /* cannot be stopped */
	BL_ENTRY_CANCELED, /* will end without having begun */
};

/**
 * struct bl_entry - a request of a batch
 * @work:   for the crew
 * @batch:  what it belongs to
 * @next:   list that it is in: free, ended, ready, or those of one submission
 * @file:   referenced while it is under way
 * @params: as submitted
 * @state:  enum bl_entry_state
 * @result: bytes or a negative error
 * @submitted_ns: when the submission began
 * @queued_ns: how long it then took until the entry was handed over, or begun
 */
struct bl_entry {
	struct bl_work work;
	struct bl_iobatch *batch;
	struct bl_entry *next;
	struct bl_file *file;
	CUfileIOParams_t params;
	atomic_int state;
	ssize_t result;
	uint64_t submitted_ns;
	uint64_t queued_ns;
};

/**
 * struct bl_iobatch - a batch
 * @refs:    the handle, every call, every entry under way
 * @size:    number of @entries
 * @ended:   entries that have ended and are not yet looked at: a stack, pushed without a lock
 * @running: entries under way
 * @signal:  counts what ended; a futex
 * @waiters: threads that sleep for it
 * @dead:    destroyed: nothing is submitted any more, and whoever waits returns
 * @lock:    guards what follows
 * @free:    entries to be had
 * @nr_free: how many
 * @ready:   entries that ended, oldest first
 * @ready_last: youngest of them
 * @nr_ready: how many
 */
struct bl_iobatch {
	atomic_int refs;
	unsigned int size;
	_Atomic(struct bl_entry *) ended;
	atomic_uint running;
	_Atomic(uint32_t) signal;
	atomic_uint waiters;
	atomic_bool dead;
	pthread_mutex_t lock;
	struct bl_entry *free;
	unsigned int nr_free;
	struct bl_entry *ready;
	struct bl_entry *ready_last;
	unsigned int nr_ready;
	struct bl_entry entries[];
};

/**
 * bl_iobatch_create() - New batch
 * @nr:   entries, 1 to io_batchsize
 * @id_p: receives its handle, never a pointer to be followed
 *
 * Return: 0, or -(CU_FILE_INVALID_VALUE), -ENOMEM.
 */
int bl_iobatch_create(unsigned int nr, uint64_t *id_p);

/**
 * bl_iobatch_submit() - Start entries
 * @id:     batch
 * @nr:     how many
 * @params: what to do; not needed after the call
 *
 * Blocks for as long as small cached reads take, and for all of the entries where no thread can be had.
 * Return: 0, or -(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR) with the reason: nothing was started.
 */
int bl_iobatch_submit(uint64_t id, unsigned int nr, const CUfileIOParams_t *params);

/**
 * bl_iobatch_collect() - Take events of entries that have ended
 * @id:      batch
 * @min_nr:  how many to wait for
 * @nr_p:    in: room in @events; out: how many there are
 * @events:  receives them
 * @timeout: longest wait. NULL: until there are @min_nr or nothing is under way, 60 s at most
 *
 * Return: 0, also when time ran out; -(CU_FILE_INVALID_VALUE) for a bad time, -(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR)
 * for an unknown batch, or one that is destroyed meanwhile.
 */
int bl_iobatch_collect(uint64_t id, unsigned int min_nr, unsigned int *nr_p, CUfileIOEvents_t *events,
		       const struct timespec *timeout);

/* End entries that have not begun as cancelled. 0, or -(CU_FILE_INTERNAL_BATCH_CANCEL_ERROR): no such batch. */
int bl_iobatch_cancel(uint64_t id);

/*
 * Give a batch up: cancel what has not begun, and wait for the rest, 60 s at most. What does not end until then, such as
 * a read of a file server that is gone, is left alone with its memory; the batch goes with the last of it.
 */
int bl_iobatch_destroy(uint64_t id);

/*
 * Between the files of batches: batch.c has handles and rooms, batch_run.c runs entries, batch_group.c those that go to the
 * nvidia-fs module together, batch_events.c ends them.
 */

/* Give up references. */
void bl_iobatch_put(struct bl_iobatch *batch, int refs);

/* Entries have ended, linked by @next up to NULL; they are not the caller's any more. */
void bl_iobatch_ended(struct bl_iobatch *batch, struct bl_entry *first, struct bl_entry *last, unsigned int nr);

/* Let whoever waits look again. */
void bl_iobatch_wake(struct bl_iobatch *batch);

/*
 * What bl_iobatch_collect() does, for @wait_ns at most; @until_idle: not longer than anything is under way. 0, or
 * -(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR): the batch was destroyed meanwhile.
 */
int bl_iobatch_events(struct bl_iobatch *batch, unsigned int min_nr, unsigned int *nr_p, CUfileIOEvents_t *events,
		      bool until_idle, uint64_t wait_ns);

/* Wait until nothing is under way: 0, or -ETIMEDOUT. */
int bl_iobatch_wait_idle(struct bl_iobatch *batch, uint64_t wait_ns);

/* Run entries that are checked, linked by @next; each ends in bl_iobatch_ended(). */
void bl_entries_run(struct bl_iobatch *batch, struct bl_entry *first);

/* All that is to be done for an entry but to tell the batch; @path: who served it. */
void bl_entry_finish(struct bl_entry *entry, ssize_t result, enum bl_path path);

/*
 * Hand those of a list over that can go to the nvidia-fs module together. Their @queued_ns is set, their state is not.
 * Return: the others.
 */
struct bl_entry *bl_entries_together(struct bl_entry *first);

/* Hand entries to the crew, one by one; where it has no thread, they are run here. */
void bl_entries_alone(struct bl_entry *first);

/* End an entry as cancelled if it has not begun. */
void bl_entry_cancel(struct bl_entry *entry);

#endif
