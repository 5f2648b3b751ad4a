// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/lane: " fmt
#include "lane.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "config.h"
#include "pinned.h"
#include "tune.h"
#include "util/log.h"

#define BUSY (1ULL << 32) /* above all numbers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the lists */
static struct bl_lane *idle;
static struct bl_lane *late; /* requests that were given up, and may not have ended */
static atomic_uint nr_lanes;

/* The lane's context is current. */
static void get_memory(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	lane->memory = bl_pinned_new(cuda, BL_CE_RING_SIZE);
	if (lane->memory)
		lane->ce->ring = lane->memory;
}

/* The last one used in the context: its memory is in some cache. */
static struct bl_lane *take_idle(CUcontext context)
{
	struct bl_lane **link = &idle, *lane;

	pthread_mutex_lock(&lock);
	while (*link && (*link)->context != context)
		link = &(*link)->next;
	lane = *link;
	if (lane)
		*link = lane->next;
	pthread_mutex_unlock(&lock);
	return lane;
}

static void give(struct bl_lane **list, struct bl_lane *lane)
{
	pthread_mutex_lock(&lock);
	lane->next = *list;
	*list = lane;
	pthread_mutex_unlock(&lock);
}

static struct bl_lane *take_all(struct bl_lane **list)
{
	struct bl_lane *all;

	pthread_mutex_lock(&lock);
	all = *list;
	*list = NULL;
	pthread_mutex_unlock(&lock);
	return all;
}

/* A context may go between the look at it and this, which is no error of anybody's. */
static int enter(const struct bl_cuda *cuda, const struct bl_lane *lane, struct bl_cuda_scope *scope)
{
	struct bl_cuda_ptr ptr = { .va = (uintptr_t)lane->ce->flag, .context = lane->context };
	int ret;

	bl_fail_hush(1);
	ret = bl_cuda_enter(cuda, &ptr, scope);
	bl_fail_hush(-1);
	return ret;
}

/*
 * Nothing is under way in it. A context that is gone took the channel's stream and memory with it; nothing is given back
 * then, also if CUDA could only not be asked. A request never gives memory back: CUDA waits for all work of the GPU first,
 * and the request may be what that waits for, as an operation of a stream.
 */
static void drop(const struct bl_cuda *cuda, struct bl_lane *lane, bool alive)
{
	struct bl_cuda_scope scope;

	bl_uring_close(&lane->uring);
	if (alive && !enter(cuda, lane, &scope)) {
		cuda->cuStreamDestroy(lane->ce->stream);
		if (lane->ce->table_va)
			cuda->cuMemFree(lane->ce->table_va);
		if (lane->ce->table)
			cuda->cuMemFreeHost(lane->ce->table);
		bl_pinned_unregister(cuda, lane->memory);
		bl_pinned_unregister(cuda, lane->land.memory);
		if (!lane->memory && lane->ce->ring)
			cuda->cuMemFreeHost(lane->ce->ring);
		cuda->cuMemFreeHost(lane->ce->flag);
		bl_cuda_leave(cuda, &scope);
	}
	bl_pinned_free(lane->memory, BL_CE_RING_SIZE);
	bl_pinned_free(lane->land.memory, BL_LAND_SIZE);
	pthread_mutex_destroy(&lane->ce->lock);
	free(lane->ce);
	free(lane);
	atomic_fetch_sub(&nr_lanes, 1);
}

/* Drop idle lanes: all, or those whose context is gone. */
static void sweep(const struct bl_cuda *cuda, bool all)
{
	struct bl_lane *list = take_all(&idle), *lane;

	while ((lane = list)) {
		bool alive = bl_ce_alive(cuda, lane->ce);

		list = lane->next;
		if (all || !alive)
			drop(cuda, lane, alive);
		else
			give(&idle, lane);
	}
}

/* Whether neither disk nor GPU is at it any more. A context that is gone took its transfers with it, but not the disk's. */
static bool has_ended(const struct bl_cuda *cuda, struct bl_lane *lane, bool alive)
{
	struct bl_cuda_scope scope;
	int ret;

	if (!bl_uring_idle(&lane->uring))
		return false;
	if (!alive)
		return true;
	if (enter(cuda, lane, &scope))
		return false;
	bl_fail_hush(1);
	/* a stream that is idle touches no memory, whatever became of its transfers */
	ret = bl_ce_query(cuda, lane->ce);
	bl_fail_hush(-1);
	bl_cuda_leave(cuda, &scope);
	return !ret;
}

/* Late lanes that have ended after all are as good as any; without what may be left in their rings. */
static void look_at_late(const struct bl_cuda *cuda)
{
	struct bl_lane *list = take_all(&late), *lane;

	while ((lane = list)) {
		bool alive = bl_ce_alive(cuda, lane->ce);

		list = lane->next;
		if (!has_ended(cuda, lane, alive)) {
			give(&late, lane);
		} else if (!alive) {
			drop(cuda, lane, false);
		} else {
			log_info("what was under way in a staging area has ended: it is used again");
			bl_uring_close(&lane->uring);
			lane->ce->broken = 0;
			give(&idle, lane);
		}
	}
}

void bl_lane_drop_idle(void)
{
	if (!bl_cuda())
		return;
	look_at_late(bl_cuda());
	sweep(bl_cuda(), true);
}

/* What the slabs of the configuration add up to is the bound, in areas of our own size; one there is always. */
static unsigned int most_lanes(void)
{
	const struct bl_slab_array *slabs = &bl_file_config()->posix_pool_slabs;
	uint64_t kb = 0, kind, most = bl_file_tune()->lanes;

	for (int i = 0; i < slabs->nr; i++) {
		if (__builtin_mul_overflow(slabs->size_kb[i], slabs->count[i], &kind) ||
		    __builtin_add_overflow(kb, kind, &kb))
			return (unsigned int)most;
	}
	kb /= BL_CE_RING_SIZE >> 10;
	if (kb < most)
		most = kb ? kb : 1;
	return (unsigned int)most;
}

/* One more, if there may be. The context is current. */
static int make(const struct bl_cuda *cuda, CUcontext context, struct bl_lane **lane_p)
{
	struct bl_lane *lane;
	int ret;

	if (atomic_fetch_add(&nr_lanes, 1) >= most_lanes()) {
		ret = fail_quiet(EBUSY, "all staging areas are in use, or GPU or disk are still at them");
		goto uncount;
	}
	lane = calloc(1, sizeof(*lane));
	if (!lane) {
		ret = fail(ENOMEM, "out of memory");
		goto uncount;
	}
	lane->context = context;
	ret = bl_ce_new(cuda, context, &lane->ce);
	if (ret)
		goto free_lane;
	*lane_p = lane;
	return 0;
free_lane:
	free(lane);
uncount:
	atomic_fetch_sub(&nr_lanes, 1);
	return ret;
}

static struct bl_lane *take(const struct bl_cuda *cuda, CUcontext context)
{
	struct bl_lane *lane;

	while ((lane = take_idle(context)) && !bl_ce_alive(cuda, lane->ce))
		drop(cuda, lane, false);
	return lane;
}

static int find(const struct bl_cuda *cuda, CUcontext context, struct bl_lane **lane_p)
{
	struct bl_lane *lane = take(cuda, context);
	int ret = 0;

	if (!lane) {
		look_at_late(cuda);
		lane = take(cuda, context);
	}
	if (!lane)
		ret = make(cuda, context, &lane);
	if (ret == -EBUSY) {
		sweep(cuda, false);
		ret = make(cuda, context, &lane);
	}
	if (ret)
		return ret;
	if (!lane->ce->ring)
		get_memory(cuda, lane);
	ret = bl_ce_ring(cuda, lane->ce);
	if (ret)
		give(&idle, lane); /* the channel is good for another time */
	else
		*lane_p = lane;
	return ret;
}

int bl_lane_get(const struct bl_ce_target *target, size_t slot, struct bl_lane **lane_p)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_scope scope;
	struct bl_lane *lane;
	int ret;

	ret = bl_ce_enter(cuda, target, &scope);
	if (ret)
		return ret;
	ret = find(cuda, target->context, &lane);
	if (ret) {
		bl_cuda_leave(cuda, &scope);
		return ret;
	}
	lane->cuda = cuda;
	lane->scope = scope;
	lane->slot = slot;
	lane->unsure = false;
	lane->landing = false;
	lane->nr = (unsigned int)(BL_CE_RING_SIZE / slot);
	for (unsigned int i = 0; i < lane->nr; i++)
		lane->busy[i] = 0;
	*lane_p = lane;
	return 0;
}

void bl_lane_put(struct bl_lane *lane, bool ended)
{
	bl_cuda_leave(lane->cuda, &lane->scope);
	if (!ended || lane->ce->broken) {
		log_warn("a staging area is set aside: what was under way in it has not ended");
		give(&late, lane);
		return;
	}
	give(&idle, lane);
}

int bl_lane_post(struct bl_lane *lane, unsigned int i, enum bl_copy_dir dir, uint64_t va, void *host, size_t len)
{
	int ret = bl_ce_post(lane->cuda, lane->ce, dir, va, host, len);

	if (ret) {
		lane->unsure = true;
		return ret;
	}
	bl_ce_mark(lane->cuda, lane->ce);
	lane->busy[i] = BUSY | lane->ce->seq;
	return 0;
}

int bl_lane_wait(struct bl_lane *lane, unsigned int i)
{
	int ret;

	if (!lane->busy[i])
		return 0;
	ret = bl_ce_wait(lane->cuda, lane->ce, (uint32_t)lane->busy[i]);
	if (!ret)
		lane->busy[i] = 0;
	return ret;
}

int bl_lane_look(struct bl_lane *lane, unsigned int i)
{
	int ret;

	if (!lane->busy[i])
		return 0;
	if (lane->ce->counts && !bl_ce_counted(lane->ce, (uint32_t)lane->busy[i]))
		return -EAGAIN;
	ret = lane->ce->counts ? 0 : bl_ce_query(lane->cuda, lane->ce);
	if (!ret)
		lane->busy[i] = 0;
	return ret;
}

int bl_lane_drain(struct bl_lane *lane)
{
	bool busy = false;
	int ret;

	if (lane->ce->broken)
		return -lane->ce->broken;
	for (unsigned int i = 0; i < lane->nr; i++)
		busy |= lane->busy[i];
	if (!busy && !lane->unsure && !lane->landing)
		return 0;
	/* what failed to start may have started in part, without a number; what is watched has none either */
	if (lane->unsure || lane->landing)
		bl_ce_mark(lane->cuda, lane->ce);
	ret = bl_ce_wait(lane->cuda, lane->ce, lane->ce->seq);
	for (unsigned int i = 0; i < lane->nr && !ret; i++)
		lane->busy[i] = 0;
	return ret;
}

int bl_lane_uring(struct bl_lane *lane)
{
	if (lane->uring.ring)
		return 0;
	return bl_uring_open(&lane->uring, lane->ce->ring, BL_CE_RING_SIZE);
}

void bl_file_lane_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	idle = late = NULL;
	atomic_store(&nr_lanes, 0);
}
