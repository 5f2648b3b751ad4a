// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "copy/helper: " fmt
#include "helper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"

#define STACK_SIZE  (128UL << 10)
#define EAGER_LOOKS 1000U  /* looks before the other threads are given the CPU */
#define AWAKE_NS    50000U /* how long a thread looks for the next copy before it sleeps: what waking it would take */
#define AWAKE_LOOKS 16U	   /* looks for one at the clock */

#define WORTH_WAKING 16U /* blocks that are left for whom a helper wakes */

/**
 * struct helpers - the threads
 * @lock:   guards what follows
 * @work:   @places is not 0
 * @never:  no more of them can be had
 * @nr:     threads that run
 * @split:  lent, NULL: none
 * @places: threads that may still join it; looked at without @lock
 * @awake:  threads that look at @places, and do so under @lock before they sleep, so they need not be woken; they leave
 *          it under @lock
 */
static struct helpers {
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool never;
	unsigned int nr;
	struct bl_split *split;
	_Atomic(unsigned int) places;
	_Atomic(unsigned int) awake;
} helpers = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };

void bl_split_relax(unsigned int looks)
{
	if (looks > EAGER_LOOKS)
		sched_yield();
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

bool bl_split_step(struct bl_split *split)
{
	size_t i = atomic_load_explicit(&split->next, memory_order_relaxed);

	do {
		if (i >= atomic_load_explicit(&split->ready, memory_order_acquire) || atomic_load(&split->ended))
			return false;
	} while (!atomic_compare_exchange_weak(&split->next, &i, i + 1));
	split->run(split->copy, i);
	return true;
}

static void help(struct bl_split *split)
{
	unsigned int looks = 0;

	while (!atomic_load(&split->ended) && atomic_load(&split->next) < split->nr) {
		if (bl_split_step(split))
			looks = 0;
		else
			bl_split_relax(looks++);
	}
}

/* Copies often come in rows, and the wake-up of a thread takes as long as a copy of 1 MiB. */
static void stay_awake(void)
{
	uint64_t end = bl_now_ns() + AWAKE_NS;

	atomic_fetch_add(&helpers.awake, 1);
	for (unsigned int looks = 1; !atomic_load_explicit(&helpers.places, memory_order_relaxed); looks++) {
		if (looks % AWAKE_LOOKS == 0 && bl_now_ns() > end)
			return;
		bl_split_relax(looks);
	}
}

static struct bl_split *join(bool awake)
{
	struct bl_split *split;
	bool wake;

	pthread_mutex_lock(&helpers.lock);
	if (awake)
		atomic_fetch_sub(&helpers.awake, 1);
	while (!atomic_load(&helpers.places))
		pthread_cond_wait(&helpers.work, &helpers.lock);
	split = helpers.split;
	atomic_fetch_add(&split->inside, 1);
	atomic_fetch_sub(&helpers.places, 1);
	/* the next one, so that the caller pays for one only; it takes as long as some blocks */
	wake = atomic_load(&helpers.places) > atomic_load(&helpers.awake) &&
	       atomic_load(&split->next) + WORTH_WAKING < split->nr;
	pthread_mutex_unlock(&helpers.lock);
	if (wake)
		pthread_cond_signal(&helpers.work);
	return split;
}

/* It never ends: the shared libraries that contain it are never unmapped. */
static void *thread(void *unused)
{
	for (bool awake = false;; awake = true) {
		struct bl_split *split = join(awake);

		help(split);
		/* the last time that it is touched */
		atomic_fetch_sub(&split->inside, 1);
		stay_awake();
	}
	return NULL;
}

/* How many threads there may be: one on the caller's own CPU would only be in the way. */
static unsigned int limit(void)
{
	const char *text = getenv("BARLANE_COPY_HELPER");
	cpu_set_t cpus;

	if (text && !strcmp(text, "0"))
		return 0;
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? BL_HELPERS : (unsigned int)CPU_COUNT(&cpus) - 1;
}

static int start_one(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t id;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&id, &attr, thread, NULL);
	if (err == EINVAL) {
		/* what the program has of thread-local memory is on the stack too, and may be more than that */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&id, &attr, thread, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	/* it never ends, so its id stays good */
	if (!err)
		pthread_setname_np(id, "barlane-copy");
	return err;
}

static void start(unsigned int nr)
{
	unsigned int most = limit();

	for (int err = 0; helpers.nr < nr && helpers.nr < most && !err; helpers.nr += !err) {
		err = start_one();
		if (!err)
			continue;
		log_info("%u threads for long copies, and no more: %s", helpers.nr, strerror(err));
		helpers.never = true;
	}
}

void bl_helper_lend(struct bl_split *split, unsigned int nr)
{
	pthread_mutex_lock(&helpers.lock);
	if (!helpers.split) {
		if (helpers.nr < nr && !helpers.never)
			start(nr);
		nr = nr < helpers.nr ? nr : helpers.nr;
	} else {
		nr = 0;
	}
	if (nr) {
		helpers.split = split;
		atomic_store(&helpers.places, nr);
	}
	pthread_mutex_unlock(&helpers.lock);
}

void bl_helper_wake(struct bl_split *split)
{
	bool wake;

	pthread_mutex_lock(&helpers.lock);
	/* whoever has come, or is about to, wakes the others */
	wake = helpers.split == split && !atomic_load(&helpers.awake) && !atomic_load(&split->inside);
	pthread_mutex_unlock(&helpers.lock);
	if (wake)
		pthread_cond_signal(&helpers.work);
}

void bl_helper_return(struct bl_split *split)
{
	atomic_store(&split->ended, true);
	pthread_mutex_lock(&helpers.lock);
	if (helpers.split == split) {
		helpers.split = NULL;
		atomic_store(&helpers.places, 0);
	}
	pthread_mutex_unlock(&helpers.lock);
	for (unsigned int looks = 0; atomic_load(&split->inside); looks++)
		bl_split_relax(looks);
}

void bl_helper_forget(void)
{
	pthread_mutex_init(&helpers.lock, NULL);
	pthread_cond_init(&helpers.work, NULL);
	helpers.never = false;
	helpers.nr = 0;
	helpers.split = NULL;
	atomic_store(&helpers.places, 0);
	atomic_store(&helpers.awake, 0);
}
