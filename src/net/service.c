// SPDX-License-Identifier: MIT
/*
 * A thread that goes over a set of queue pairs. A pass takes no lock: who takes a queue pair away stores so, and waits
 * until the pass that may still use it is over.
 */
#define log_fmt(fmt) "service: " fmt
#include "net/service.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "net/backoff.h"
#include "net/cpus.h"
#include "net/log.h"
#include "net/proxy.h"
#include "util/clock.h"

#define SLEEP_US     100
#define SLEEP_US_MAX 100000

/**
 * struct set - queue pairs that are served
 * @room: places
 * @qps:  queue pairs, NULL: a hole
 */
struct set {
	size_t room;
	struct bl_gpu_qp *_Atomic qps[];
};

/**
 * struct bl_service - a thread and what it serves
 * @object:  as it is known to others, when it is the program's
 * @thread:  the thread
 * @lock:    guards changes; the thread takes it to sleep
 * @wake:    something has changed
 * @set:     served now; replaced by a larger one, never changed in size
 * @nr:	     queue pairs in it
 * @changes: counts what @wake tells of
 * @pass:    odd while the thread goes over a set
 * @stop:    leave
 * @max_us:  longest sleep
 */
struct bl_service {
	struct bl_object object;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct set *_Atomic set;
	_Atomic(size_t) nr;
	_Atomic(uint64_t) changes;
	_Atomic(uint64_t) pass;
	_Atomic(bool) stop;
	uint32_t max_us;
};

/* Loads and stores of @pass and of what is served are sequentially consistent, see quiesce(). */
static bool go_over(struct bl_service *service)
{
	bool worked = false;
	struct set *set;

	atomic_fetch_add(&service->pass, 1);
	set = atomic_load(&service->set);
	for (size_t i = 0; i < set->room; i++) {
		struct bl_gpu_qp *qp = atomic_load(&set->qps[i]);

		if (qp)
			worked |= bl_proxy_serve(qp);
	}
	atomic_fetch_add(&service->pass, 1);
	return worked;
}

/*
 * What was taken away is not used any more when this returns. Either the thread's pass began before, then it is seen
 * here to be odd and is waited for, or the pass will see the change: both sides store, then load.
 */
static void quiesce(struct bl_service *service)
{
	uint64_t pass = atomic_load(&service->pass);

	while (pass & 1 && atomic_load(&service->pass) == pass)
		sched_yield();
}

/* Until something changes, or @us microseconds have passed; 0: only the former. */
static void sleep_us(struct bl_service *service, uint64_t changes, uint32_t us)
{
	uint64_t until_ns = bl_now_ns() + (uint64_t)us * 1000;
	struct timespec until = { (time_t)(until_ns / 1000000000U), (long)(until_ns % 1000000000U) };
	int ret = 0;

	pthread_mutex_lock(&service->lock);
	while (atomic_load(&service->changes) == changes && ret != ETIMEDOUT) {
		if (us)
			ret = pthread_cond_timedwait(&service->wake, &service->lock, &until);
		else
			ret = pthread_cond_wait(&service->wake, &service->lock);
	}
	pthread_mutex_unlock(&service->lock);
}

static void *serve(void *arg)
{
	struct bl_service *service = arg;
	struct bl_backoff backoff = { .max_us = service->max_us };
	uint32_t us = 0;

	for (;;) {
		/* before the rest is looked at: a change in between is not slept over */
		uint64_t changes = atomic_load(&service->changes);

		if (atomic_load(&service->stop))
			return NULL;
		switch (bl_backoff_next(&backoff, go_over(service), &us)) {
		case BL_BACKOFF_SPIN:
			break;
		case BL_BACKOFF_YIELD:
			sched_yield();
			break;
		case BL_BACKOFF_SLEEP:
			sleep_us(service, changes, atomic_load(&service->nr) ? us : 0);
			break;
		}
	}
}

/* The lock is held. */
static void changed(struct bl_service *service)
{
	atomic_fetch_add(&service->changes, 1);
	pthread_cond_signal(&service->wake);
}

/* A larger set with all that is in the old one, NULL: out of memory. */
static struct set *grow(const struct set *old)
{
	size_t room = old ? 2 * old->room : 8;
	struct set *set = calloc(1, sizeof(*set) + room * sizeof(set->qps[0]));

	if (!set)
		return NULL;
	set->room = room;
	for (size_t i = 0; old && i < old->room; i++)
		atomic_init(&set->qps[i], atomic_load(&old->qps[i]));
	return set;
}

static size_t place_of(struct set *set, const struct bl_gpu_qp *qp)
{
	size_t i = 0;

	while (i < set->room && atomic_load(&set->qps[i]) != qp)
		i++;
	return i;
}

int bl_service_add(struct bl_service *service, struct bl_gpu_qp *qp)
{
	struct set *set, *old;
	size_t place;
	int ret = 0;

	pthread_mutex_lock(&service->lock);
	set = old = atomic_load(&service->set);
	place = place_of(set, NULL);
	if (place == set->room) {
		set = grow(old);
		if (!set) {
			ret = fail(ENOMEM, "out of memory");
			goto unlock;
		}
		atomic_store(&service->set, set);
		quiesce(service);
		free(old);
	}
	atomic_store(&set->qps[place], qp);
	atomic_fetch_add(&service->nr, 1);
	changed(service);
unlock:
	pthread_mutex_unlock(&service->lock);
	return ret;
}

void bl_service_remove(struct bl_service *service, struct bl_gpu_qp *qp)
{
	struct set *set;
	size_t place;

	pthread_mutex_lock(&service->lock);
	set = atomic_load(&service->set);
	place = place_of(set, qp);
	if (place < set->room) {
		atomic_store(&set->qps[place], NULL);
		atomic_fetch_sub(&service->nr, 1);
		quiesce(service);
	}
	pthread_mutex_unlock(&service->lock);
}

struct bl_gpu_qp *bl_service_any(struct bl_service *service)
{
	struct bl_gpu_qp *qp = NULL;
	struct set *set;

	pthread_mutex_lock(&service->lock);
	set = atomic_load(&service->set);
	for (size_t i = 0; i < set->room && !qp; i++)
		qp = atomic_load(&set->qps[i]);
	pthread_mutex_unlock(&service->lock);
	return qp;
}

/* Where the thread may run, when the program says so. */
static void choose_cpus(pthread_attr_t *attr)
{
	const char *text = getenv("BARLANE_NET_SERVICE_CPUS");
	cpu_set_t cpus;

	if (!text || !*text)
		return;
	if (bl_cpus_parse(text, &cpus))
		log_warn("BARLANE_NET_SERVICE_CPUS %s: not a list of CPUs such as 0-3,8: not looked at", text);
	else
		pthread_attr_setaffinity_np(attr, sizeof(cpus), &cpus);
}

/* Signals are for the program's own threads. 0, or the error. */
static int start(struct bl_service *service, const char *name)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	choose_cpus(&attr);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&service->thread, &attr, serve, service);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(service->thread, name);
	return err;
}

static void init_sync(struct bl_service *service)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&service->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&service->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void discard(struct bl_service *service)
{
	pthread_cond_destroy(&service->wake);
	pthread_mutex_destroy(&service->lock);
	free(atomic_load(&service->set));
	free(service);
}

int bl_service_new(const char *name, struct bl_service **service_p)
{
	struct bl_service *service = calloc(1, sizeof(*service));
	struct set *set = grow(NULL);
	int err;

	if (!service || !set) {
		free(service);
		free(set);
		return fail(ENOMEM, "out of memory");
	}
	init_sync(service);
	atomic_store(&service->set, set);
	service->max_us = (uint32_t)bl_net_env_number("BARLANE_NET_SERVICE_SLEEP_US", 1, SLEEP_US_MAX, SLEEP_US);
	err = start(service, name);
	if (err) {
		discard(service);
		return fail(ECHILD, "thread: %s", strerror(err));
	}
	*service_p = service;
	return 0;
}

void bl_service_free(struct bl_service *service)
{
	pthread_mutex_lock(&service->lock);
	atomic_store(&service->stop, true);
	changed(service);
	pthread_mutex_unlock(&service->lock);
	pthread_join(service->thread, NULL);
	discard(service);
}

struct bl_object *bl_service_object(struct bl_service *service)
{
	return &service->object;
}
