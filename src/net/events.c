// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/events: " fmt
#include "events.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/log.h"
#include "util/clock.h"

/* More than that wait for nobody: later ones are lost, and counted. */
#define MAX_EVENTS 1024

struct bl_event {
	struct doca_verbs_async_event what;
	const void *key;
	enum bl_object_kind kind;
	struct bl_object *object;
	struct bl_event *next;
};

static struct bl_event_source *sources;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A child finds the lists whole. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* Handlers run in the reverse order: this lock is taken before that of objects, as everywhere. */
int bl_events_open(struct bl_event_queue *queue)
{
	bl_object_forks();
	pthread_once(&once, watch_forks);
	*queue = (struct bl_event_queue){ .fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) };
	queue->end = &queue->first;
	return queue->fd < 0 ? fail(errno, "eventfd: %s", strerror(errno)) : 0;
}

static void free_list(struct bl_event *event)
{
	while (event) {
		struct bl_event *next = event->next;

		free(event);
		event = next;
	}
}

static void unlink_source(struct bl_event_source *source)
{
	if (!source->prev_p)
		return;
	*source->prev_p = source->next;
	if (source->next)
		source->next->prev_p = source->prev_p;
	source->prev_p = NULL;
}

void bl_events_close(struct bl_event_queue *queue)
{
	struct bl_event_source *source, *next;

	pthread_mutex_lock(&lock);
	for (source = sources; source; source = next) {
		next = source->next;
		if (source->queue == queue)
			unlink_source(source);
	}
	pthread_mutex_unlock(&lock);
	free_list(queue->first);
	free_list(queue->taken);
	close(queue->fd);
}

void bl_events_add(struct bl_event_source *source)
{
	source->forks = bl_object_forks();
	pthread_mutex_lock(&lock);
	source->next = sources;
	if (sources)
		sources->prev_p = &source->next;
	source->prev_p = &sources;
	sources = source;
	pthread_mutex_unlock(&lock);
}

/* The count of the descriptor is that of events that wait, so a read under the lock does not block. */
static void uncount(struct bl_event_queue *queue)
{
	eventfd_t one;

	queue->nr--;
	eventfd_read(queue->fd, &one);
}

void bl_events_remove(struct bl_event_source *source)
{
	struct bl_event_queue *queue = source->queue;
	struct bl_event **place = &queue->first;

	pthread_mutex_lock(&lock);
	unlink_source(source);
	while (*place) {
		struct bl_event *event = *place;

		if (event->key != source->key || event->kind != source->kind) {
			place = &event->next;
			continue;
		}
		*place = event->next;
		uncount(queue);
		free(event);
	}
	queue->end = place;
	pthread_mutex_unlock(&lock);
}

static enum bl_object_kind kind_of(enum doca_verbs_event_type type)
{
	switch (type) {
	case DOCA_VERBS_EVENT_QP_FATAL:
	case DOCA_VERBS_EVENT_QP_REQ_ERR:
	case DOCA_VERBS_EVENT_QP_ACCESS_ERR:
		return BL_QP;
	case DOCA_VERBS_EVENT_CQ_ERR:
		return BL_CQ;
	default:
		return BL_CONTEXT;
	}
}

static void push(const struct bl_event_source *source, enum doca_verbs_event_type type, uint32_t num)
{
	struct bl_event_queue *queue = source->queue;
	struct bl_event *event = queue->nr < MAX_EVENTS ? calloc(1, sizeof(*event)) : NULL;

	if (!event) {
		if (!queue->lost++)
			log_warn("event %d of number 0x%x is lost, and maybe more: %u wait to be taken", type, num,
				 queue->nr);
		return;
	}
	event->key = source->key;
	event->kind = source->kind;
	event->what.event_type = type;
	if (source->kind == BL_QP)
		event->what.element.qp = (struct doca_verbs_qp *)(uintptr_t)source->key;
	else if (source->kind == BL_CQ)
		event->what.element.cq = (struct doca_verbs_cq *)(uintptr_t)source->key;
	else
		event->what.element.port_num = (int)num;
	*queue->end = event;
	queue->end = &event->next;
	queue->nr++;
	eventfd_write(queue->fd, 1);
}

void bl_events_tell(const struct bl_nic *nic, enum doca_verbs_event_type type, uint32_t num)
{
	enum bl_object_kind kind = kind_of(type);
	unsigned int forks = bl_object_forks();

	pthread_mutex_lock(&lock);
	for (const struct bl_event_source *source = sources; source; source = source->next) {
		if (source->nic != nic || source->kind != kind || source->forks != forks)
			continue;
		if (kind == BL_CONTEXT || source->num == num)
			push(source, type, num);
	}
	pthread_mutex_unlock(&lock);
}

void bl_events_stop(struct bl_event_queue *queue)
{
	pthread_mutex_lock(&lock);
	/* one more than there are events: it stays readable for all who wait */
	if (!queue->stopped)
		eventfd_write(queue->fd, 1);
	queue->stopped = true;
	pthread_mutex_unlock(&lock);
}

/* Whether its object is still there; then it is used. Whoever destroys it has taken it before, or finds it in use. */
static bool use(struct bl_event *event)
{
	int ret;

	bl_fail_hush(1);
	ret = bl_object_get(event->kind, event->key, &event->object);
	bl_fail_hush(-1);
	return !ret;
}

/* Takes the first event whose object is there. Return: 0, -EAGAIN, -ESHUTDOWN. */
static int pop(struct bl_event_queue *queue, struct doca_verbs_async_event *what)
{
	int ret = -EAGAIN;

	pthread_mutex_lock(&lock);
	if (queue->stopped)
		ret = -ESHUTDOWN;
	while (queue->first && ret == -EAGAIN) {
		struct bl_event *event = queue->first;

		queue->first = event->next;
		if (!queue->first)
			queue->end = &queue->first;
		uncount(queue);
		if (!use(event)) {
			free(event);
			continue;
		}
		event->next = queue->taken;
		queue->taken = event;
		*what = event->what;
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Until something may be there: 0, -ETIMEDOUT or -EINTR. */
static int await(const struct bl_event_queue *queue, int timeout_ms, uint64_t deadline_ns)
{
	struct pollfd fd = { .fd = queue->fd, .events = POLLIN };
	uint64_t now = bl_now_ns();
	int ms = -1;

	if (timeout_ms >= 0) {
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		ms = (int)((deadline_ns - now + 999999) / 1000000);
	}
	return poll(&fd, 1, ms) < 0 ? -errno : 0;
}

int bl_events_take(struct ibv_context *context, struct bl_event_queue *queue, int timeout_ms,
		   struct doca_verbs_async_event *event)
{
	uint64_t deadline_ns = bl_now_ns() + (timeout_ms > 0 ? (uint64_t)timeout_ms * 1000000 : 0);
	struct doca_verbs_async_event what;
	int ret = pop(queue, &what);

	while (ret == -EAGAIN && timeout_ms) {
		ret = await(queue, timeout_ms, deadline_ns);
		if (ret)
			return ret;
		ret = pop(queue, &what);
	}
	if (ret)
		return ret;
	what.context = context;
	*event = what;
	return 0;
}

static bool is_alike(const struct bl_event *event, const struct doca_verbs_async_event *what)
{
	if (event->what.event_type != what->event_type)
		return false;
	switch (kind_of(what->event_type)) {
	case BL_QP:
		return event->what.element.qp == what->element.qp;
	case BL_CQ:
		return event->what.element.cq == what->element.cq;
	default:
		return event->what.element.port_num == what->element.port_num;
	}
}

int bl_events_ack(struct bl_event_queue *queue, const struct doca_verbs_async_event *what)
{
	struct bl_event **place = &queue->taken, *event;

	pthread_mutex_lock(&lock);
	while (*place && !is_alike(*place, what))
		place = &(*place)->next;
	event = *place;
	if (event)
		*place = event->next;
	pthread_mutex_unlock(&lock);
	if (!event)
		return fail(EINVAL, "event %d: it was not taken, or is acknowledged already", what->event_type);
	bl_object_put(event->object);
	free(event);
	return 0;
}
