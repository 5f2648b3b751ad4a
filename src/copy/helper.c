// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "copy/helper: " fmt
#include "helper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/fork.h"
#include "util/log.h"

#define STACK_SIZE  (128UL << 10)
#define EAGER_LOOKS 1000U /* looks before the other thread is given the CPU */

enum state { NOT_STARTED, RUNS, NEVER };

/**
 * struct helper - the thread
 * @lock:  guards what follows
 * @work:  @split was set
 * @state: whether there is a thread
 * @id:    the thread, once it runs
 * @split: offered, not taken yet
 * @has:   what the thread works on; set under @lock, cleared without it
 */
static struct helper {
	pthread_mutex_t lock;
	pthread_cond_t work;
	enum state state;
	pthread_t id;
	struct bl_split *split;
	_Atomic(struct bl_split *) has;
} helper = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };

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

static struct bl_split *take_offer(void)
{
	struct bl_split *split;

	pthread_mutex_lock(&helper.lock);
	while (!helper.split)
		pthread_cond_wait(&helper.work, &helper.lock);
	split = helper.split;
	helper.split = NULL;
	atomic_store(&helper.has, split);
	pthread_mutex_unlock(&helper.lock);
	return split;
}

/* It never ends: the shared libraries that contain it are never unmapped. */
static void *thread(void *unused)
{
	for (;;) {
		help(take_offer());
		atomic_store(&helper.has, NULL);
	}
	return NULL;
}

/* A second thread on the same CPU would only be in the way. */
static bool wanted(void)
{
	const char *text = getenv("BARLANE_COPY_HELPER");
	cpu_set_t cpus;

	if (text && !strcmp(text, "0"))
		return false;
	return sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 1;
}

static void start(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	if (!wanted())
		return;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&helper.id, &attr, thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err) {
		log_info("no second thread for long copies: %s", strerror(err));
		helper.state = NEVER;
		return;
	}
	pthread_setname_np(helper.id, "barlane-copy");
	helper.state = RUNS;
}

void bl_helper_lend(struct bl_split *split)
{
	/* who finds the lock taken would find the helper taken, too */
	if (pthread_mutex_trylock(&helper.lock))
		return;
	if (helper.state == NOT_STARTED)
		start();
	if (helper.state == RUNS && !helper.split && !atomic_load(&helper.has)) {
		helper.split = split;
		pthread_cond_signal(&helper.work);
	}
	pthread_mutex_unlock(&helper.lock);
}

void bl_helper_return(struct bl_split *split)
{
	atomic_store(&split->ended, true);
	pthread_mutex_lock(&helper.lock);
	if (helper.split == split)
		helper.split = NULL;
	pthread_mutex_unlock(&helper.lock);
	for (unsigned int looks = 0; atomic_load(&helper.has) == split; looks++)
		bl_split_relax(looks);
}

void bl_helper_forget(void)
{
	pthread_mutex_init(&helper.lock, NULL);
	pthread_cond_init(&helper.work, NULL);
	helper.state = NOT_STARTED;
	helper.split = NULL;
	atomic_store(&helper.has, NULL);
}
