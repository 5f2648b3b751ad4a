// SPDX-License-Identifier: MIT
/*
 * Pins and the batches that use them. A pin in use keeps its mapping, its hold on the memory and its context; who wants
 * to end it waits, and does the work of the batches meanwhile.
 */
#define log_fmt(fmt) "gpu/batch: " fmt
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <time.h>

#include "batch.h"
#include "util/clock.h"
#include "util/log.h"
#include "view.h"

#define SPIN_NS	 1000000U
#define YIELD_NS 10000000U
#define NAP_NS	 50000

void bl_batch_pause(uint64_t since)
{
	uint64_t passed = bl_now_ns() - since;

	if (passed < SPIN_NS)
		return;
	if (passed < YIELD_NS)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

int bl_batch_pin_use(bl_pin_t id, struct bl_pin **pin_p)
{
	struct bl_pin *pin = NULL;
	bool mapped;
	int ret;

	ret = bl_pin_get_any(id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	mapped = !pin->dead && !pin->orphan && pin->mapping.addr;
	if (mapped)
		pin->batches++;
	pthread_mutex_unlock(&pin->lock);
	if (!mapped) {
		bl_pin_put(pin);
		return fail(EINVAL, "handle 0x%" PRIx64 " is not a mapped pin", id);
	}
	*pin_p = pin;
	return 0;
}

void bl_batch_pin_done(struct bl_pin *pin)
{
	bool last;

	pthread_mutex_lock(&pin->lock);
	pin->batches--;
	last = !pin->batches && pin->orphan;
	pthread_mutex_unlock(&pin->lock);
	if (last)
		bl_pin_destroy(pin);
	bl_pin_put(pin);
}

int bl_batch_pin_lock(struct bl_pin *pin)
{
	uint64_t moved = 0, end = 0;

	for (;;) {
		pthread_mutex_lock(&pin->lock);
		if (!pin->batches)
			return 0;
		pthread_mutex_unlock(&pin->lock);
		/* in use, so that it is known and there is a driver library, unless the CPU is at it */
		if ((bl_cuda() && bl_lane_visit_all(bl_cuda())) || !moved)
			moved = bl_now_ns();
		if (!end)
			end = bl_ce_deadline();
		else if (bl_now_ns() > end)
			return fail(ETIMEDOUT,
				    "va 0x%" PRIx64 ": a batch of copies that uses the pin has not ended in time",
				    pin->asked);
		bl_batch_pause(moved);
	}
}
