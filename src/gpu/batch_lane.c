// SPDX-License-Identifier: MIT
/*
 * The lanes of the contexts. A context takes stream, counter and ring with it; the struct stays, so that a look at it
 * is safe.
 */
#define log_fmt(fmt) "gpu/batch: " fmt
#include <errno.h>
#include <stdlib.h>

#include "batch.h"
#include "util/log.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct bl_lane *) lanes;

void bl_lane_forget(void)
{
	pthread_mutex_init(&list_lock, NULL);
	atomic_store(&lanes, NULL);
}

int bl_lane_enter(const struct bl_cuda *cuda, const struct bl_lane *lane, struct bl_cuda_scope *scope)
{
	struct bl_cuda_ptr ptr = { .ordinal = lane->ordinal, .device = lane->device, .context = lane->context };

	return bl_cuda_enter(cuda, &ptr, scope);
}

bool bl_lane_visit_all(const struct bl_cuda *cuda)
{
	bool moved = false;

	/* acquire: with a lane come its fields; the links behind it do not change */
	for (struct bl_lane *lane = atomic_load_explicit(&lanes, memory_order_acquire); lane; lane = lane->next)
		moved |= bl_lane_visit(cuda, lane);
	return moved;
}

/* A lane that failed takes nothing before its stream is idle: then nothing uses its ring any more. */
static bool usable(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	struct bl_ce *ce = lane->ce;
	bool ok;

	pthread_mutex_lock(&ce->lock);
	ok = !ce->broken || !cuda->cuStreamQuery(ce->stream);
	if (ok && ce->broken) {
		ce->broken = 0;
		lane->ring_head = lane->ring_tail = 0;
	}
	pthread_mutex_unlock(&ce->lock);
	return ok;
}

/* The least busy one; *nr_p: how many the context has. The context is current. */
static struct bl_lane *least_busy(const struct bl_cuda *cuda, const struct bl_ce_target *target, unsigned int *nr_p)
{
	struct bl_lane *lane, *best = NULL;

	for (lane = atomic_load(&lanes); lane; lane = lane->next) {
		/* a context may be at the address of one that was destroyed: what that one left is not used */
		if (lane->context != target->context || atomic_load(&lane->dead) || !bl_ce_alive(cuda, lane->ce))
			continue;
		++*nr_p;
		if (usable(cuda, lane) && (!best || atomic_load(&lane->load) < atomic_load(&best->load)))
			best = lane;
	}
	return best;
}

/* Contexts come and go: give back what a lane without one does not need. */
static void bury(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	struct bl_ce *ce = lane->ce;

	if (atomic_load(&lane->load) || bl_ce_alive(cuda, ce))
		return;
	pthread_mutex_lock(&ce->lock);
	atomic_store(&lane->dead, true);
	free(lane->pieces);
	lane->pieces = NULL;
	pthread_mutex_unlock(&ce->lock);
}

static int new_lane(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_lane **lane_p)
{
	struct bl_lane *lane = calloc(1, sizeof(*lane));
	int ret;

	if (!lane)
		return fail(ENOMEM, "lane: out of memory");
	lane->pieces = calloc(BL_LANE_PIECES, sizeof(*lane->pieces));
	if (!lane->pieces) {
		ret = fail(ENOMEM, "lane: out of memory");
		goto free_lane;
	}
	ret = bl_ce_new(cuda, target->context, &lane->ce);
	if (ret)
		goto free_lane;
	for (struct bl_lane *old = atomic_load(&lanes); old; old = old->next)
		bury(cuda, old);
	lane->context = target->context;
	lane->device = target->device;
	lane->ordinal = target->ordinal;
	lane->queue_end = &lane->queue;
	lane->next = atomic_load(&lanes);
	atomic_store_explicit(&lanes, lane, memory_order_release);
	*lane_p = lane;
	return 0;
free_lane:
	free(lane->pieces);
	free(lane);
	return ret;
}

static int find_entered(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_lane **lane_p)
{
	unsigned int nr = 0;
	struct bl_lane *best = least_busy(cuda, target, &nr);
	int ret;

	if (best && (!atomic_load(&best->load) || nr >= BL_LANES)) {
		*lane_p = best;
		return 0;
	}
	if (nr >= BL_LANES)
		return fail(EIO, "earlier batches in this context failed and have not ended on the GPU");
	bl_fail_hush(best ? 1 : 0);
	ret = new_lane(cuda, target, lane_p);
	bl_fail_hush(best ? -1 : 0);
	if (ret && best) {
		log_debug("one lane less: %s", bl_last_error(NULL));
		*lane_p = best;
		return 0;
	}
	return ret;
}

int bl_lane_find(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_lane **lane_p)
{
	struct bl_cuda_ptr ptr = {
		.va = target->asked,
		.ordinal = target->ordinal,
		.device = target->device,
		.context = target->context,
	};
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_cuda_enter(cuda, &ptr, &scope);
	if (ret)
		return ret;
	pthread_mutex_lock(&list_lock);
	ret = find_entered(cuda, target, lane_p);
	pthread_mutex_unlock(&list_lock);
	bl_cuda_leave(cuda, &scope);
	return ret;
}

int bl_lane_stage(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_lane_enter(cuda, lane, &scope);
	if (ret)
		return ret;
	pthread_mutex_lock(&lane->ce->lock);
	ret = bl_ce_ring(cuda, lane->ce);
	pthread_mutex_unlock(&lane->ce->lock);
	bl_cuda_leave(cuda, &scope);
	return ret;
}
