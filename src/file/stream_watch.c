// SPDX-License-Identifier: MIT
/* Operations of streams that were begun, and the thread that gives them up at their deadlines. */
#define log_fmt(fmt) "file/stream: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream_op.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/thread.h"

#define IDLE_NS	   10000000000ULL
#define DEFAULT_MS 60000ULL
#define MAX_MS	   86400000ULL

/**
 * struct watch - operations, the oldest and so that of the next deadline first
 * @lock:    guards the rest
 * @users:   operations that exist; the thread stays as long as there are any
 * @running: the thread exists
 * @first:   oldest
 * @last:    youngest
 */
static struct watch {
	pthread_mutex_t lock;
	unsigned int users;
	bool running;
	struct bl_stream_op *first;
	struct bl_stream_op *last;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t timeout_ns;
static pthread_once_t timeout_once = PTHREAD_ONCE_INIT;

static void read_timeout(void)
{
	const char *text = secure_getenv("BARLANE_FILE_ASYNC_TIMEOUT_MS");
	unsigned long long ms;
	char *end;

	timeout_ns = DEFAULT_MS * 1000000U;
	if (!text || !*text)
		return;
	errno = 0;
	ms = strtoull(text, &end, 10);
	if (errno || *end || *text == '-' || !ms || ms > MAX_MS)
		log_warn("BARLANE_FILE_ASYNC_TIMEOUT_MS \"%s\": not 1 to %llu; %llu is used", text, MAX_MS, DEFAULT_MS);
	else
		timeout_ns = ms * 1000000U;
}

uint64_t bl_stream_timeout_ns(void)
{
	pthread_once(&timeout_once, read_timeout);
	return timeout_ns;
}

void bl_stream_watch_forget(void)
{
	watch = (struct watch){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

/* The lock is held. */
static void take_out(struct bl_stream_op *op)
{
	if (op->next)
		op->next->prev = op->prev;
	else
		watch.last = op->prev;
	if (op->prev)
		op->prev->next = op->next;
	else
		watch.first = op->next;
	op->next = op->prev = NULL;
	op->watched = false;
}

/* An operation whose time is over, and which this thread holds now; NULL: none. */
static struct bl_stream_op *take_late(void)
{
	struct bl_stream_op *op = watch.first;

	if (!op || bl_now_ns() < op->deadline_ns)
		return NULL;
	take_out(op);
	return op;
}

/*
 * Nobody wakes this thread: what is added later is due no sooner than a time-out from then, and it never sleeps longer
 * than that.
 */
static void nap(void)
{
	uint64_t ns = bl_stream_timeout_ns(), now_ns = bl_now_ns();
	struct timespec ts;

	if (ns > IDLE_NS)
		ns = IDLE_NS;
	if (watch.first && watch.first->deadline_ns < now_ns + ns)
		ns = watch.first->deadline_ns > now_ns ? watch.first->deadline_ns - now_ns : 0;
	pthread_mutex_unlock(&watch.lock);
	ts = (struct timespec){ (time_t)(ns / 1000000000U), (long)(ns % 1000000000U) };
	nanosleep(&ts, NULL);
	pthread_mutex_lock(&watch.lock);
}

static void *watch_main(void *arg)
{
	struct bl_stream_op *op;

	pthread_setname_np(pthread_self(), "barlane-watch");
	pthread_mutex_lock(&watch.lock);
	do {
		nap();
		while ((op = take_late())) {
			pthread_mutex_unlock(&watch.lock);
			bl_stream_op_end(op, -ETIMEDOUT);
			bl_stream_op_put(op);
			pthread_mutex_lock(&watch.lock);
		}
	} while (watch.users);
	watch.running = false;
	pthread_mutex_unlock(&watch.lock);
	return NULL;
}

int bl_stream_watch_begin(void)
{
	int ret = 0;

	bl_stream_timeout_ns();
	pthread_mutex_lock(&watch.lock);
	if (!watch.running)
		ret = bl_thread_start(watch_main, NULL);
	if (!ret) {
		watch.running = true;
		watch.users++;
	}
	pthread_mutex_unlock(&watch.lock);
	return ret ? fail(EAGAIN, "thread: %s", strerror(ret)) : 0;
}

void bl_stream_watch_end(void)
{
	pthread_mutex_lock(&watch.lock);
	watch.users--;
	pthread_mutex_unlock(&watch.lock);
}

bool bl_stream_watch_idle(void)
{
	bool idle;

	pthread_mutex_lock(&watch.lock);
	idle = !watch.users;
	pthread_mutex_unlock(&watch.lock);
	return idle;
}

void bl_stream_watch(struct bl_stream_op *op)
{
	pthread_mutex_lock(&watch.lock);
	op->deadline_ns = bl_now_ns() + bl_stream_timeout_ns();
	op->prev = watch.last;
	op->next = NULL;
	if (watch.last)
		watch.last->next = op;
	else
		watch.first = op;
	watch.last = op;
	op->watched = true;
	pthread_mutex_unlock(&watch.lock);
}

void bl_stream_unwatch(struct bl_stream_op *op)
{
	bool watched;

	pthread_mutex_lock(&watch.lock);
	watched = op->watched;
	if (watched)
		take_out(op);
	pthread_mutex_unlock(&watch.lock);
	if (watched)
		bl_stream_op_put(op);
}
