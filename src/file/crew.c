// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/crew: " fmt
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "ioprio.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

#define IDLE_NS 10000000000ULL

/**
 * struct crew - all of it; @lock is a leaf: nothing is called under it that could wait for others, and threads are made
 * under it, so that none is counted that does not come
 * @lock:    guards the rest
 * @work:    there is something to do, or to leave for
 * @gone:    a thread has left
 * @queues:  what is to be done: [1] what is prompt, [0] the rest
 * @turn:    the queue whose turn it is when both have something
 * @plain:   threads that are at work which is not prompt
 * @nr:      threads, those included that have not run yet
 * @idle:    of them, those that sleep
 * @called:  sleepers that were woken and are not awake yet
 * @leaving: raised to make all idle threads leave
 */
static struct crew {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_cond_t gone;
	struct queue {
		struct bl_work *first;
		struct bl_work *last;
	} queues[2];
	bool turn;
	unsigned int plain;
	unsigned int nr;
	unsigned int idle;
	unsigned int called;
	unsigned int leaving;
} crew = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void conds_init(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&crew.work, &attr);
	pthread_cond_init(&crew.gone, &attr);
	pthread_condattr_destroy(&attr);
}

static void before_fork(void)
{
	pthread_mutex_lock(&crew.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&crew.lock);
}

/* The threads are the parent's, and so is what was queued. */
static void after_fork_child(void)
{
	pthread_mutex_unlock(&crew.lock);
	crew = (struct crew){ .lock = PTHREAD_MUTEX_INITIALIZER };
	conds_init();
}

static void set_up(void)
{
	conds_init();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

unsigned int bl_crew_limit(void)
{
	unsigned int limit = bl_file_config()->max_io_threads;

	return limit ? limit : 1;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000U), (long)(ns % 1000000000U) };
}

/* Whether there is something that one more thread may do; the lock is held, as for what follows. */
static bool ready(bool prompt)
{
	return crew.queues[prompt].first && (prompt || crew.plain < bl_crew_limit());
}

static bool any_ready(void)
{
	return ready(false) || ready(true);
}

static void take_out(struct bl_work *work)
{
	struct queue *queue = &crew.queues[work->prompt];

	if (work->next)
		work->next->prev = work->prev;
	else
		queue->last = work->prev;
	if (work->prev)
		work->prev->next = work->next;
	else
		queue->first = work->next;
	work->next = work->prev = NULL;
	work->queued = false;
}

static struct bl_work *take(void)
{
	bool prompt = ready(crew.turn) ? crew.turn : !crew.turn;
	struct bl_work *work;

	if (!ready(prompt))
		return NULL;
	work = crew.queues[prompt].first;
	take_out(work);
	crew.turn = !prompt;
	crew.plain += !prompt;
	return work;
}

static void *member_main(void *arg);

/* One more thread; the lock is held. 0, or the error. */
static int start_thread(void)
{
	/* it leaves when everybody does, also if it has not run before */
	int ret = bl_thread_start(member_main, (void *)(uintptr_t)crew.leaving);

	if (!ret)
		crew.nr++;
	return ret;
}

/* Those that there are do it, only later. */
static void no_further_thread(int err)
{
	log_warn("no further thread: %s", strerror(err));
}

/*
 * How many threads there may be now. What is prompt must not wait for threads that wait for the GPU, which may itself
 * be held up until it is done.
 */
static unsigned int room(void)
{
	unsigned int limit = bl_crew_limit();

	return limit + (crew.plain >= limit && ready(true));
}

/*
 * Have one more thread look at the queues, if there is one to have; the lock is held. The error, if none could be
 * made.
 */
static int call_one(void)
{
	if (!any_ready())
		return 0;
	if (crew.idle > crew.called) {
		crew.called++;
		pthread_cond_signal(&crew.work);
		return 0;
	}
	/* who was called, but has not looked yet, calls the next one */
	if (crew.called || crew.nr >= room())
		return 0;
	return start_thread();
}

static void work_one(struct bl_work *work)
{
	bool plain = !work->prompt;
	int err = call_one();

	pthread_mutex_unlock(&crew.lock);
	if (err)
		no_further_thread(err);
	bl_ioprio_adopt();
	work->run(work);
	pthread_mutex_lock(&crew.lock);
	crew.plain -= plain;
}

/* Sleep until there is work. False: it is time to leave. */
static bool sleep_idle(unsigned int leaving)
{
	struct timespec until = timespec_of(bl_now_ns() + IDLE_NS);
	int ret = 0;

	crew.idle++;
	while (!any_ready() && crew.leaving == leaving && ret != ETIMEDOUT) {
		ret = pthread_cond_timedwait(&crew.work, &crew.lock, &until);
		/* awake, also if the work it was called for is gone: nobody would be called while this was still counted */
		if (crew.called)
			crew.called--;
	}
	crew.idle--;
	return any_ready();
}

static void *member_main(void *arg)
{
	unsigned int leaving = (unsigned int)(uintptr_t)arg;
	struct bl_work *work;

	pthread_setname_np(pthread_self(), "barlane-file");
	pthread_mutex_lock(&crew.lock);
	do {
		while ((work = take()))
			work_one(work);
	} while (crew.leaving == leaving && sleep_idle(leaving));
	crew.nr--;
	pthread_cond_broadcast(&crew.gone);
	pthread_mutex_unlock(&crew.lock);
	return NULL;
}

static size_t append(struct bl_work *chain)
{
	size_t nr = 0;

	for (struct bl_work *work = chain, *next; work; work = next, nr++) {
		struct queue *queue = &crew.queues[work->prompt];

		next = work->next;
		work->next = NULL;
		work->prev = queue->last;
		work->queued = true;
		if (queue->last)
			queue->last->next = work;
		else
			queue->first = work;
		queue->last = work;
	}
	return nr;
}

/* There is nobody to do it: as it was handed over. The lock was held since, and without threads nothing else is queued. */
static void take_chain_out(struct bl_work *chain)
{
	for (struct bl_work *work = chain, *next; work; work = next) {
		next = work->next;
		take_out(work);
		work->next = next;
	}
}

int bl_crew_submit(struct bl_work *chain)
{
	bool alone;
	size_t nr;
	int err;

	if (!chain)
		return 0;
	pthread_once(&once, set_up);
	pthread_mutex_lock(&crew.lock);
	nr = append(chain);
	err = call_one();
	/* sleepers are woken together: each takes tens of microseconds to be there */
	for (size_t i = 1; i < nr && !err && crew.idle > crew.called; i++)
		call_one();
	alone = err && !crew.nr;
	if (alone)
		take_chain_out(chain);
	pthread_mutex_unlock(&crew.lock);
	if (alone)
		return fail(EAGAIN, "thread: %s", strerror(err));
	if (err)
		no_further_thread(err);
	return 0;
}

bool bl_crew_withdraw(struct bl_work *work)
{
	bool queued;

	pthread_mutex_lock(&crew.lock);
	queued = work->queued;
	if (queued)
		take_out(work);
	pthread_mutex_unlock(&crew.lock);
	return queued;
}

unsigned int bl_crew_size(void)
{
	unsigned int nr;

	pthread_mutex_lock(&crew.lock);
	nr = crew.nr;
	pthread_mutex_unlock(&crew.lock);
	return nr;
}

int bl_crew_stop(uint64_t timeout_ns)
{
	struct timespec until = timespec_of(bl_now_ns() + timeout_ns);
	int ret = 0;

	pthread_once(&once, set_up);
	pthread_mutex_lock(&crew.lock);
	crew.leaving++;
	pthread_cond_broadcast(&crew.work);
	while (crew.nr && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&crew.gone, &crew.lock, &until);
	if (crew.nr)
		ret = fail(ETIMEDOUT, "%u threads are still busy", crew.nr);
	else
		ret = 0;
	pthread_mutex_unlock(&crew.lock);
	return ret;
}
