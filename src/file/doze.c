// SPDX-License-Identifier: MIT
#include "doze.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "io.h"
#include "tune.h"
#include "util/clock.h"

#define NEW_SHARE 8	 /* a wait counts for an eighth of what is known, those before it for the rest */
#define MOST_NS	  500000 /* a sleep is not longer, whatever is known */

static _Atomic(uint64_t) ns_per_mib; /* 0: not known yet */

static uint64_t expected(size_t bytes)
{
	return atomic_load_explicit(&ns_per_mib, memory_order_relaxed) * bytes >> 20;
}

/* Of two threads at the same moment one may be lost. */
static void learn(size_t bytes, uint64_t ns)
{
	uint64_t old = atomic_load_explicit(&ns_per_mib, memory_order_relaxed), now = (ns << 20) / bytes;

	if (old)
		now = old - old / NEW_SHARE + now / NEW_SHARE;
	atomic_store_explicit(&ns_per_mib, now ? now : 1, memory_order_relaxed);
}

/* Whether it slept. A sleep ends later than it is asked to, by the thread's slack and the time to wake up. */
static bool sleep_until(uint64_t end)
{
	const struct bl_file_tune *tune = bl_file_tune();
	uint64_t late_ns = (bl_io_crowded() ? tune->doze_late_many_us : tune->doze_late_us) * 1000ULL;
	uint64_t now = bl_now_ns(), ns;
	struct timespec nap = { 0 };

	if (!late_ns || end < now + late_ns)
		return false;
	ns = end - now - late_ns;
	nap.tv_nsec = ns < MOST_NS ? (long)ns : MOST_NS;
	nanosleep(&nap, NULL);
	return true;
}

void bl_doze_posted(struct bl_doze *doze, size_t len, bool anew)
{
	if (anew)
		*doze = (struct bl_doze){ .since = bl_now_ns() };
	doze->bytes += len;
}

int bl_doze_wait(struct bl_doze *doze, struct bl_lane *lane, unsigned int slot)
{
	uint64_t took = expected(doze->bytes);
	bool slept = sleep_until(doze->since + took);
	int ret = bl_lane_look(lane, slot);

	if (ret == -EAGAIN) {
		ret = bl_lane_wait(lane, slot);
		took = bl_now_ns() - doze->since;
	} else if (slept) {
		took /= 2; /* when it ended is not known; next time the sleep is a little shorter */
	} else {
		took = 0;
	}
	if (!ret && took && doze->bytes)
		learn(doze->bytes, took);
	doze->bytes = 0;
	return ret;
}
