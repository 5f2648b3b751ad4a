// SPDX-License-Identifier: MIT
/* Bytes of the GPU that are watched arriving in a lane's landing ring. */
#include "copy/arrive.h"
#include "copy/fence.h"
#include "lane.h"
#include "util/clock.h"
#include "util/tsan.h"

/* Looks at the ring for one at the clock; and how long nothing comes before the GPU is asked for a report. */
#define POLLS	    16U
#define PATIENCE_NS 20000U

bool bl_lane_lands(struct bl_lane *lane, uint64_t va, size_t len)
{
	return !((va | len) % sizeof(uint32_t)) && len <= BL_LAND_MAX && bl_land_open(lane->cuda, &lane->land);
}

int bl_lane_land(struct bl_lane *lane, uint64_t va, size_t len, struct bl_landing *landing)
{
	landing->at = bl_land_take(&lane->land, len);
	landing->len = len;
	lane->landing = true;
	return bl_ce_post(lane->cuda, lane->ce, BL_COPY_FROM, va, landing->at, len);
}

/* Whether all of it has come. No report is asked for meanwhile: it would hold up what is posted next. */
static bool watch(const struct bl_land *land, const struct bl_landing *landing)
{
	uint64_t since = 0;
	size_t done = 0, before;

	for (unsigned int polls = 1;; polls++) {
		before = done;
		done = bl_arrive_look(landing->at, done, landing->len, land->mark);
		if (done == landing->len)
			break;
		if (done != before)
			since = 0;
		else if (polls % POLLS == 0 && !since)
			since = bl_now_ns();
		else if (polls % POLLS == 0 && bl_now_ns() - since > PATIENCE_NS)
			return false;
	}
	/* these looks before all that reads it again, a drive as well as this CPU */
	bl_fence_full();
	BL_TSAN_TAKE(landing->at);
	return true;
}

static __attribute__((noinline, cold)) int wait_for_report(struct bl_lane *lane, const struct bl_landing *landing)
{
	int ret;

	bl_ce_mark(lane->cuda, lane->ce);
	ret = bl_ce_wait(lane->cuda, lane->ce, lane->ce->seq);
	/* words that are the mark: the same bytes shall not be waited for so long again. Else the GPU was busy */
	if (!ret && bl_arrive_look(landing->at, 0, landing->len, lane->land.mark) < landing->len)
		bl_land_choose(&lane->land);
	return ret;
}

int bl_lane_landed(struct bl_lane *lane, const struct bl_landing *landing)
{
	int ret = 0;

	/* the GPU is at it: there is time */
	bl_land_tidy(&lane->land);
	if (!watch(&lane->land, landing))
		ret = wait_for_report(lane, landing);
	if (!ret)
		lane->landing = false;
	return ret;
}
