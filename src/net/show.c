// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "show: " fmt
#include "net/show.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "net/export.h"
#include "net/log.h"
#include "net/service.h"
#include "net/shown_gpu.h"
#include "util/clock.h"
#include "util/tsan.h"

#define PERIOD_NS 50000000U

/* Device code writes words of its own with stores that are no atomics, on a CPU that stands for a GPU too. */
#if BL_TSAN
#define LOOKS_AT_GPU __attribute__((no_sanitize("thread")))
#else
#define LOOKS_AT_GPU
#endif

/**
 * struct shows - what is shown
 * @life:   one change at a time; above @lock
 * @lock:   guards the list, and the thread's looks
 * @wake:   @stop has changed
 * @memory: to be looked at
 * @first:  list by @next_shown
 * @thread: there is one while the list is not empty
 * @stop:   it has to end
 */
static struct shows {
	pthread_mutex_t life;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct bl_shown memory;
	struct bl_gpu_qp *first;
	pthread_t thread;
	bool stop;
} shows = { .life = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

static struct bl_shown_gpu *shown(void)
{
	return (struct bl_shown_gpu *)shows.memory.head;
}

LOOKS_AT_GPU static uint64_t word_of(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static uint32_t half_of(const uint32_t *half)
{
	return __atomic_load_n(half, __ATOMIC_RELAXED);
}

/* Who makes or resets the object may be waiting for the GPU: what was seen the last time stays. */
static void show_object(struct bl_shown_gpu_qp *to, struct bl_gpu_qp *qp)
{
	const struct doca_gpu_dev_verbs_qp *dev;

	if (pthread_mutex_trylock(&qp->lock))
		return;
	dev = qp->pub.qp_gpu_h;
	if (dev) {
		to->reserved = word_of(&dev->sq_rsvd_index);
		to->ready = word_of(&dev->sq_ready_index);
		to->submitted = word_of(&dev->sq_wqe_pi);
		to->completed = word_of(&dev->cq_sq.cqe_ci);
		to->rq_posted = word_of(&dev->rq_wqe_pi);
	}
	to->flags = (to->flags & ~(uint32_t)BL_SHOWN_GPU_OBJECT) | (dev ? BL_SHOWN_GPU_OBJECT : 0);
	/* that of the object goes with it */
	if (atomic_load_explicit(&qp->word, memory_order_relaxed)) {
		to->word = word_of(atomic_load_explicit(&qp->word, memory_order_relaxed));
		to->flags |= BL_SHOWN_GPU_WORD;
	}
	pthread_mutex_unlock(&qp->lock);
}

static void show_records(struct bl_shown_gpu_qp *to, const struct bl_gpu_qp *qp)
{
	if (!qp->dbrec)
		return;
	to->records[0] = be32toh(half_of(&qp->dbrec[DOCA_GPUNETIO_IB_MLX5_RCV_DBR])) & 0xffff;
	to->records[1] = be32toh(half_of(&qp->dbrec[DOCA_GPUNETIO_IB_MLX5_SND_DBR])) & 0xffff;
	to->flags |= BL_SHOWN_GPU_RECORD;
}

static void show_one(struct bl_shown_gpu_qp *to, struct bl_gpu_qp *qp)
{
	bool is_same = to->qpn == qp->begin.sq_num;

	bl_shown_begin(&to->seq);
	to->flags = (is_same ? to->flags & BL_SHOWN_GPU_OBJECT : 0) | (qp->watched ? BL_SHOWN_GPU_WATCHED : 0) |
		    (qp->fold_cqe ? BL_SHOWN_GPU_FOLDED : 0) | (qp->pub.cpu_proxy ? BL_SHOWN_GPU_PROXIED : 0) |
		    (bl_served_by(qp) == BL_NET_RINGER_PROGRAM ? BL_SHOWN_GPU_ALONE : 0) |
		    (atomic_load(&qp->fold_failed) ? BL_SHOWN_GPU_FOLD_FAILED : 0);
	to->qpn = qp->begin.sq_num;
	to->handler = qp->begin.nic_handler;
	to->ringer = bl_export_ringer(qp);
	to->timeout_ms = qp->begin.cq_sq.timeout_ms;
	to->sq_nr = qp->begin.sq_wqe_num;
	to->stop = half_of(&qp->control->stop);
	snprintf(to->nic, sizeof(to->nic), "%.31s", qp->verbs->context->ibv.device->name);
	snprintf(to->reason, sizeof(to->reason), "%s", qp->reason);
	to->served = word_of(&qp->pub.sq_wqe_pi_last);
	to->rings = atomic_load_explicit(&qp->rings, memory_order_relaxed);
	to->folded = word_of(&qp->folded);
	show_object(to, qp);
	show_records(to, qp);
	bl_shown_end(&to->seq);
}

/* The lock is held. */
static void show_all(void)
{
	struct bl_shown_gpu *all = shown();
	uint32_t nr = 0;

	for (struct bl_gpu_qp *qp = shows.first; qp; qp = qp->next_shown, nr++) {
		if (nr < BL_SHOWN_GPU_QPS)
			show_one(&all->qps[nr], qp);
	}
	bl_shown_begin(&all->seq);
	all->nr = nr;
	all->first = nr < BL_SHOWN_GPU_QPS ? nr : BL_SHOWN_GPU_QPS;
	all->now_ns = bl_now_ns();
	bl_shown_end(&all->seq);
}

static void *look(void *arg)
{
	pthread_mutex_lock(&shows.lock);
	while (!shows.stop) {
		uint64_t until_ns = bl_now_ns() + PERIOD_NS;
		struct timespec until = { (time_t)(until_ns / 1000000000U), (long)(until_ns % 1000000000U) };

		show_all();
		pthread_cond_timedwait(&shows.wake, &shows.lock, &until);
	}
	pthread_mutex_unlock(&shows.lock);
	return NULL;
}

/* Signals are for the program's own threads. 0, or the error. */
static int start_thread(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&shows.wake, &attr);
	pthread_condattr_destroy(&attr);
	shows.stop = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&shows.thread, NULL, look, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		pthread_cond_destroy(&shows.wake);
	else
		pthread_setname_np(shows.thread, "barlane-show");
	return err;
}

/* For the first one. */
static int begin(void)
{
	int ret = bl_shown_open(&shows.memory, BL_SHOWN_GPU, BL_SHOWN_GPU_VERSION, sizeof(struct bl_shown_gpu));

	if (ret)
		return ret;
	ret = start_thread();
	if (ret) {
		log_info("thread: %s; \"barlane dump\" will not show what GPUs do", strerror(ret));
		bl_shown_close(&shows.memory, false);
		return -ret;
	}
	bl_shown_ready(&shows.memory);
	return 0;
}

static void end(void)
{
	pthread_mutex_lock(&shows.lock);
	shows.stop = true;
	pthread_cond_signal(&shows.wake);
	pthread_mutex_unlock(&shows.lock);
	pthread_join(shows.thread, NULL);
	pthread_cond_destroy(&shows.wake);
	bl_shown_close(&shows.memory, false);
}

void bl_show_gpu_qp(struct bl_gpu_qp *qp)
{
	pthread_mutex_lock(&shows.life);
	if (shows.memory.head || !begin()) {
		pthread_mutex_lock(&shows.lock);
		qp->next_shown = shows.first;
		shows.first = qp;
		qp->is_shown = true;
		pthread_mutex_unlock(&shows.lock);
	}
	pthread_mutex_unlock(&shows.life);
}

void bl_hide_gpu_qp(struct bl_gpu_qp *qp)
{
	struct bl_gpu_qp **place = &shows.first;

	if (!qp->is_shown)
		return;
	pthread_mutex_lock(&shows.life);
	pthread_mutex_lock(&shows.lock);
	while (*place != qp)
		place = &(*place)->next_shown;
	*place = qp->next_shown;
	qp->is_shown = false;
	pthread_mutex_unlock(&shows.lock);
	if (!shows.first)
		end();
	pthread_mutex_unlock(&shows.life);
}
