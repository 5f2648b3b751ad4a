// SPDX-License-Identifier: MIT
/*
 * Each thread counts for itself: counters that threads share would cost more than a short copy. A thread's counters
 * stay when it ends, and are handed on.
 */
#define log_fmt(fmt) "gpu/engine: " fmt
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "engine.h"
#include "util/log.h"

/**
 * struct counters - of one thread
 * @next: list of all
 * @used: a living thread has them
 * @calls: copies by engine and direction; written by the thread only
 * @bytes: likewise
 * @again: what the thread remembers of its last copies; here, since memory of threads is scarce in libraries loaded late
 */
struct counters {
	struct counters *next;
	bool used;
	_Atomic(uint64_t) calls[BL_NR_ENGINES][BL_NR_DIRS];
	_Atomic(uint64_t) bytes[BL_NR_ENGINES][BL_NR_DIRS];
	struct bl_again again;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct counters *all;
static __thread struct counters *mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void thread_ends(void *arg)
{
	struct counters *counters = arg;

	pthread_mutex_lock(&list_lock);
	counters->used = false;
	pthread_mutex_unlock(&list_lock);
	mine = NULL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&list_lock);
}

static void make_key(void)
{
	if (pthread_key_create(&key, thread_ends))
		log_warn("no thread key: counters of threads that end are not used again");
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* NULL without memory: then nothing is counted. */
static __attribute__((noinline, cold)) struct counters *claim(void)
{
	struct counters *counters;

	pthread_once(&key_once, make_key);
	pthread_mutex_lock(&list_lock);
	for (counters = all; counters && counters->used; counters = counters->next)
		;
	if (!counters) {
		counters = calloc(1, sizeof(*counters));
		if (counters) {
			counters->next = all;
			all = counters;
		}
	}
	if (counters)
		counters->used = true;
	pthread_mutex_unlock(&list_lock);
	if (counters)
		pthread_setspecific(key, counters);
	mine = counters;
	return counters;
}

static void add(_Atomic(uint64_t) *sum, uint64_t value)
{
	/* one writer: no locked instruction is needed */
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + value, memory_order_relaxed);
}

struct bl_again *bl_engine_again(void)
{
	return mine ? &mine->again : NULL;
}

void bl_engine_count(enum bl_engine engine, enum bl_copy_dir dir, size_t len)
{
	struct counters *counters = mine ? mine : claim();

	if (!counters)
		return;
	add(&counters->calls[engine][dir], 1);
	add(&counters->bytes[engine][dir], len);
}

int bl_engine_stats(enum bl_engine engine, struct bl_engine_stats *stats)
{
	struct bl_engine_stats sum = { 0 };

	if (!stats || (engine != BL_ENGINE_CPU && engine != BL_ENGINE_CE && engine != BL_ENGINE_PUSH))
		return fail(EINVAL, "stats: %s", stats ? "only cpu, ce and push copy" : "no place for the answer");
	pthread_mutex_lock(&list_lock);
	for (struct counters *counters = all; counters; counters = counters->next) {
		for (unsigned int dir = 0; dir < BL_NR_DIRS; dir++) {
			sum.calls[dir] += atomic_load_explicit(&counters->calls[engine][dir], memory_order_relaxed);
			sum.bytes[dir] += atomic_load_explicit(&counters->bytes[engine][dir], memory_order_relaxed);
		}
	}
	pthread_mutex_unlock(&list_lock);
	*stats = sum;
	return 0;
}
