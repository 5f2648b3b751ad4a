// SPDX-License-Identifier: MIT
/* Entries that have ended: how they are told, waited for and handed out. */
#include "batch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "util/clock.h"

/* How often a waiter looks before it sleeps: a few microseconds, in which small entries end. */
#define LOOKS 100

void bl_iobatch_wake(struct bl_iobatch *batch)
{
	atomic_fetch_add(&batch->signal, 1);
	if (atomic_load(&batch->waiters))
		syscall(SYS_futex, &batch->signal, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Who sees @running at 0 sees all entries in @ended: they are pushed first. */
void bl_iobatch_ended(struct bl_iobatch *batch, struct bl_entry *first, struct bl_entry *last, unsigned int nr)
{
	struct bl_entry *top = atomic_load_explicit(&batch->ended, memory_order_relaxed);

	do {
		last->next = top;
	} while (!atomic_compare_exchange_weak_explicit(&batch->ended, &top, first, memory_order_release,
							memory_order_relaxed));
	atomic_fetch_sub(&batch->running, nr);
	bl_iobatch_wake(batch);
	bl_iobatch_put(batch, (int)nr);
}

/* Move what has ended to the end of the ready list, oldest first; the lock is held. */
static void look(struct bl_iobatch *batch)
{
	struct bl_entry *entry = atomic_exchange_explicit(&batch->ended, NULL, memory_order_acquire);
	struct bl_entry *first = NULL, *last = entry, *next;
	unsigned int nr = 0;

	for (; entry; entry = next, nr++) {
		next = entry->next;
		entry->next = first;
		first = entry;
	}
	if (!first)
		return;
	if (batch->ready)
		batch->ready_last->next = first;
	else
		batch->ready = first;
	batch->ready_last = last;
	batch->nr_ready += nr;
}

static CUfileStatus_t status_of(ssize_t result)
{
	if (result >= 0)
		return CUFILE_COMPLETE;
	if (result == -ECANCELED)
		return CUFILE_CANCELED;
	return result == -ETIMEDOUT ? CUFILE_TIMEOUT : CUFILE_FAILED;
}

/* The lock is held. */
static unsigned int hand_out(struct bl_iobatch *batch, CUfileIOEvents_t *events, unsigned int room)
{
	struct bl_entry *entry;
	unsigned int nr;

	for (nr = 0; nr < room && batch->ready; nr++) {
		entry = batch->ready;
		batch->ready = entry->next;
		events[nr] = (CUfileIOEvents_t){
			.cookie = entry->params.cookie,
			.status = status_of(entry->result),
			.ret = (size_t)bl_error_event(entry->result),
		};
		entry->next = batch->free;
		batch->free = entry;
	}
	batch->nr_ready -= nr;
	batch->nr_free += nr;
	return nr;
}

/*
 * One look. @running is read first: when it is 0, all that there will be is in the lists by then. Returns whether there
 * is enough; then, and at the @last look, events are handed out.
 */
static bool collect_once(struct bl_iobatch *batch, unsigned int min_nr, unsigned int room, CUfileIOEvents_t *events,
			 unsigned int *nr_p, bool until_idle, bool last)
{
	bool idle = !atomic_load(&batch->running);
	bool enough;

	pthread_mutex_lock(&batch->lock);
	look(batch);
	enough = batch->nr_ready >= min_nr || (until_idle && idle);
	if (enough || last)
		*nr_p = hand_out(batch, events, room);
	pthread_mutex_unlock(&batch->lock);
	return enough;
}

static void sleep_until(struct bl_iobatch *batch, uint32_t seen, uint64_t until_ns, uint64_t now_ns)
{
	struct timespec left = {
		(time_t)((until_ns - now_ns) / 1000000000U), (long)((until_ns - now_ns) % 1000000000U)
	};

	syscall(SYS_futex, &batch->signal, FUTEX_WAIT_PRIVATE, seen, &left, NULL, 0);
}

int bl_iobatch_events(struct bl_iobatch *batch, unsigned int min_nr, unsigned int *nr_p, CUfileIOEvents_t *events,
		   bool until_idle, uint64_t wait_ns)
{
	unsigned int room = *nr_p, looks = 0;
	uint64_t until_ns, now_ns;
	uint32_t seen;
	bool last;

	if (collect_once(batch, min_nr, room, events, nr_p, until_idle, !wait_ns) || !wait_ns)
		return 0;
	until_ns = bl_now_ns() + wait_ns;
	atomic_fetch_add(&batch->waiters, 1);
	for (;;) {
		seen = atomic_load(&batch->signal);
		now_ns = bl_now_ns();
		last = now_ns >= until_ns || atomic_load(&batch->dead);
		if (collect_once(batch, min_nr, room, events, nr_p, until_idle, last) || last)
			break;
		if (looks++ >= LOOKS)
			sleep_until(batch, seen, until_ns, now_ns);
	}
	atomic_fetch_sub(&batch->waiters, 1);
	return atomic_load(&batch->dead) ? BL_CUFILE(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR) : 0;
}

int bl_iobatch_wait_idle(struct bl_iobatch *batch, uint64_t wait_ns)
{
	uint64_t until_ns = bl_now_ns() + wait_ns, now_ns;
	uint32_t seen;
	int ret = 0;

	atomic_fetch_add(&batch->waiters, 1);
	for (;;) {
		seen = atomic_load(&batch->signal);
		now_ns = bl_now_ns();
		if (!atomic_load(&batch->running))
			break;
		if (now_ns >= until_ns) {
			ret = -ETIMEDOUT;
			break;
		}
		sleep_until(batch, seen, until_ns, now_ns);
	}
	atomic_fetch_sub(&batch->waiters, 1);
	return ret;
}
