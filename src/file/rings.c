// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/rings: " fmt
#include "rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "buffer.h"
#include "tune.h"
#include "util/log.h"
#include "util/ref.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_ring *idle, *late;
static unsigned int nr;

static void close_all(struct bl_ring *list)
{
	while (list) {
		struct bl_ring *ring = list;

		list = ring->next;
		bl_uring_close(&ring->uring);
		if (ring->buffer)
			bl_buffer_put(ring->buffer);
		free(ring);
	}
}

/*
 * Late ones whose requests have ended; lock held. What they still had to submit must not be, so they are not used
 * again.
 */
static struct bl_ring *take_ended(void)
{
	struct bl_ring **at = &late, *ended = NULL;

	while (*at) {
		struct bl_ring *ring = *at;

		if (!bl_uring_idle(&ring->uring)) {
			at = &ring->next;
			continue;
		}
		*at = ring->next;
		ring->next = ended;
		ended = ring;
		nr--;
	}
	return ended;
}

static int make(struct bl_ring **ring_p)
{
	struct bl_ring *ring = calloc(1, sizeof(*ring));
	int ret = ring ? bl_uring_open(&ring->uring, NULL, 0) : -ENOMEM;

	if (!ret) {
		*ring_p = ring;
		return 0;
	}
	free(ring);
	pthread_mutex_lock(&lock);
	nr--;
	pthread_mutex_unlock(&lock);
	return ret;
}

int bl_ring_get(struct bl_ring **ring_p)
{
	struct bl_ring *ended, *ring;
	bool room;

	pthread_mutex_lock(&lock);
	ended = take_ended();
	ring = idle;
	room = nr < bl_file_tune()->lanes;
	if (ring)
		idle = ring->next;
	else if (room)
		nr++;
	pthread_mutex_unlock(&lock);
	close_all(ended);
	if (!ring)
		return room ? make(ring_p) : -EBUSY;
	*ring_p = ring;
	return 0;
}

void bl_ring_put(struct bl_ring *ring, struct bl_buffer *buffer)
{
	bool ended = !ring->uring.nr;

	if (!ended)
		log_debug("%u requests have not ended: the ring is set aside", ring->uring.nr);
	if (!ended && bl_ref_get(&buffer->refs))
		ring->buffer = buffer;
	pthread_mutex_lock(&lock);
	ring->next = ended ? idle : late;
	*(ended ? &idle : &late) = ring;
	pthread_mutex_unlock(&lock);
}

void bl_ring_drop_idle(void)
{
	struct bl_ring *ended, *list;

	pthread_mutex_lock(&lock);
	ended = take_ended();
	list = idle;
	idle = NULL;
	for (struct bl_ring *ring = list; ring; ring = ring->next)
		nr--;
	pthread_mutex_unlock(&lock);
	close_all(ended);
	close_all(list);
}

void bl_ring_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	idle = late = NULL;
	nr = 0;
}
