/* SPDX-License-Identifier: MIT */
/*
 * events.h - what NICs tell by themselves, and the queues of contexts that programs take it from
 *
 * A NIC tells of a number; sources know whose that is. Events of a queue pair or completion queue go to the context that it
 * was made with, those of a port or device to all contexts of the NIC. An event that a program has taken keeps its object
 * in use until it is acknowledged.
 *
 * One lock guards it all; it is taken under a NIC's own, and that of objects under it.
 */
#ifndef BL_NET_EVENTS_H
#define BL_NET_EVENTS_H

#include "gpunetio/host/doca_verbs_bridge.h"
#include "nic.h"
#include "object.h"

struct bl_event;

/**
 * struct bl_event_queue - of a context
 * @fd:	    eventfd, readable as long as there is something to take, or @stopped
 * @first, @end: events that wait, the oldest first
 * @taken:  those that the program has, and has not acknowledged
 * @nr:	    events that wait
 * @lost:   events that found no room
 * @stopped: nobody waits any more
 */
struct bl_event_queue {
	int fd;
	struct bl_event *first;
	struct bl_event **end;
	struct bl_event *taken;
	unsigned int nr;
	unsigned int lost;
	bool stopped;
};

/**
 * struct bl_event_source - a context, queue pair or completion queue that events may be about
 * @nic:    what tells of it
 * @kind:   BL_CONTEXT, BL_QP or BL_CQ
 * @num:    of the NIC's; 0 of a context
 * @key:    as the program knows it
 * @queue:  where its events go
 * @forks:  of bl_object_forks(): a child's NICs know nothing of it
 * @next, @prev_p: list
 */
struct bl_event_source {
	const struct bl_nic *nic;
	enum bl_object_kind kind;
	uint32_t num;
	const void *key;
	struct bl_event_queue *queue;
	unsigned int forks;
	struct bl_event_source *next;
	struct bl_event_source **prev_p;
};

/* A queue, and its end, which takes all sources of it away. Return: 0, or -errno with the reason. */
int bl_events_open(struct bl_event_queue *queue);
void bl_events_close(struct bl_event_queue *queue);

/* Events may come from now on; @source has all but its links filled in. */
void bl_events_add(struct bl_event_source *source);

/* No more come, and those that wait are dropped: the object is not to be found any more. */
void bl_events_remove(struct bl_event_source *source);

/**
 * bl_events_tell() - A NIC has something to say
 * @nic:  who
 * @type: what
 * @num:  of the queue pair, completion queue or port
 *
 * Context: under the NIC's lock; does not wait for anything but other calls of this file.
 */
void bl_events_tell(const struct bl_nic *nic, enum doca_verbs_event_type type, uint32_t num);

/* Has calls of a context that wait come back, and later ones fail. */
void bl_events_stop(struct bl_event_queue *queue);

/**
 * bl_events_take() - Take the oldest event of a context
 * @context:    as the program knows it
 * @queue:      its queue
 * @timeout_ms: longest wait; < 0: for ever
 * @event:      receives it; its object is in use from now on
 *
 * Return: 0, -EAGAIN (@timeout_ms is 0 and there is none), -ETIMEDOUT, -EINTR, -ESHUTDOWN; none is logged.
 */
int bl_events_take(struct ibv_context *context, struct bl_event_queue *queue, int timeout_ms,
		   struct doca_verbs_async_event *event);

/* The program is done with an event. Return: 0, -EINVAL: it has none like that. */
int bl_events_ack(struct bl_event_queue *queue, const struct doca_verbs_async_event *event);

#endif
