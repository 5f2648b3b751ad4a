// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/batch: " fmt
#include "batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/log.h"

#define SAID_NS 1000000000ULL /* for a thread that lost its CPU between the two */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_slots slots;
static size_t nr_batches;

void bl_batch_forget(void)
{
	pthread_mutex_init(&table_lock, NULL);
	bl_slots_forget(&slots);
	nr_batches = 0;
	bl_lane_forget();
}

static void batch_free(struct bl_batch *batch)
{
	pthread_mutex_destroy(&batch->lock);
	free(batch->moves);
	free(batch->pins);
	free(batch);
}

static void batch_put(struct bl_batch *batch)
{
	if (atomic_fetch_sub(&batch->refs, 1) == 1)
		batch_free(batch);
}

static void release_pins(struct bl_batch *batch)
{
	for (size_t i = 0; i < batch->nr_pins; i++)
		bl_batch_pin_done(batch->pins[i]);
	batch->nr_pins = 0;
}

void bl_batch_discard(struct bl_batch *batch)
{
	for (size_t i = 0; i < batch->nr_moves; i++) {
		if (batch->moves[i].lane)
			atomic_fetch_sub(&batch->moves[i].lane->load, batch->moves[i].len);
	}
	release_pins(batch);
	batch_free(batch);
}

int bl_batch_publish(struct bl_batch *batch)
{
	int ret;

	pthread_mutex_lock(&table_lock);
	if (nr_batches >= BL_BATCH_LIMIT)
		ret = fail(EAGAIN, "batch: %u batches exist: free some that have ended", BL_BATCH_LIMIT);
	else if (bl_slots_add(&slots, batch, &batch->id))
		ret = fail(ENOMEM, "batch: no room for another handle");
	else
		ret = 0;
	nr_batches += !ret;
	pthread_mutex_unlock(&table_lock);
	return ret;
}

void bl_batch_blame(struct bl_batch *batch, size_t first, int error)
{
	pthread_mutex_lock(&batch->lock);
	if (first < batch->failed) {
		batch->failed = first;
		batch->error = error;
		snprintf(batch->reason, sizeof(batch->reason), "%s", bl_last_error(NULL));
	}
	pthread_mutex_unlock(&batch->lock);
}

bool bl_batch_note(struct bl_batch *batch, size_t nr)
{
	pthread_mutex_lock(&batch->lock);
	batch->done += nr;
	pthread_mutex_unlock(&batch->lock);
	return atomic_fetch_sub(&batch->left, 1) == 1;
}

void bl_batch_finish(struct bl_batch *batch)
{
	release_pins(batch);
	/* who sees the end may free the host memory and end the pins */
	atomic_store(&batch->ended, true);
	batch_put(batch);
}

static int batch_get(bl_batch_t id, struct bl_batch **batch_p)
{
	struct bl_batch *batch;
	int ret;

	ret = bl_check_owner();
	if (ret)
		return ret;
	pthread_mutex_lock(&table_lock);
	batch = bl_slots_object(&slots, id);
	if (batch)
		atomic_fetch_add(&batch->refs, 1);
	pthread_mutex_unlock(&table_lock);
	if (!batch)
		return fail(EINVAL, "batch 0x%" PRIx64 ": no such batch (freed already?)", id);
	*batch_p = batch;
	return 0;
}

/* Visit the lanes of a batch; whether anything moved. */
static bool drive(struct bl_batch *batch)
{
	bool moved = false;

	for (size_t i = 0; i < batch->nr_parts && !atomic_load(&batch->ended); i++)
		moved |= bl_lane_visit(bl_cuda(), batch->parts[i].lane);
	return moved;
}

/*
 * Once all is copied, whoever saw that gives the pins back and then says so: one who has ended a pin may be here in
 * between, and was promised that the batch has ended.
 */
static bool look(struct bl_batch *batch)
{
	uint64_t start;

	drive(batch);
	start = bl_now_ns();
	while (!atomic_load(&batch->ended) && !atomic_load(&batch->left) && bl_now_ns() - start < SAID_NS)
		bl_batch_pause(start);
	return atomic_load(&batch->ended);
}

/* @running: what to return while it is. */
static int verdict(struct bl_batch *batch, bool ended, int running, struct bl_batch_status *status)
{
	struct bl_batch_status now = { .nr = batch->nr, .running = !ended };
	int ret = running;

	pthread_mutex_lock(&batch->lock);
	now.done = batch->done;
	now.failed = batch->failed;
	now.error = batch->error;
	if (ended)
		ret = !batch->error ? 0 :
				      fail(-batch->error, "batch 0x%" PRIx64 ": copy %zu: %s", batch->id, batch->failed,
					   batch->reason);
	pthread_mutex_unlock(&batch->lock);
	if (status)
		*status = now;
	return ret;
}

int bl_batch_test(bl_batch_t id, struct bl_batch_status *status)
{
	struct bl_batch *batch = NULL;
	int ret;

	ret = batch_get(id, &batch);
	if (ret)
		return ret;
	ret = verdict(batch, look(batch), -EAGAIN, status);
	batch_put(batch);
	return ret;
}

static uint64_t end_of(uint64_t start, uint64_t timeout_ns)
{
	if (timeout_ns == BL_BATCH_TIMEOUT)
		return bl_ce_deadline();
	return timeout_ns < UINT64_MAX - start ? start + timeout_ns : UINT64_MAX;
}

int bl_batch_wait(bl_batch_t id, uint64_t timeout_ns, struct bl_batch_status *status)
{
	uint64_t start = bl_now_ns(), end = end_of(start, timeout_ns);
	struct bl_batch *batch = NULL;
	uint64_t moved = start;
	bool ended;
	int ret;

	ret = batch_get(id, &batch);
	if (ret)
		return ret;
	for (;;) {
		if (drive(batch))
			moved = bl_now_ns();
		ended = atomic_load(&batch->ended);
		if (ended || bl_now_ns() >= end)
			break;
		bl_batch_pause(moved);
	}
	ret = verdict(batch, ended, -ETIMEDOUT, status);
	if (!ended)
		fail_quiet(ETIMEDOUT, "batch 0x%" PRIx64 ": has not ended yet", id);
	batch_put(batch);
	return ret;
}

/* Take the handle away: one caller gets to give it up, all others see a stale one. */
static int unpublish(struct bl_batch *batch)
{
	bool own;

	pthread_mutex_lock(&table_lock);
	own = bl_slots_object(&slots, batch->id) == batch;
	if (own) {
		bl_slots_remove(&slots, batch->id);
		nr_batches--;
	}
	pthread_mutex_unlock(&table_lock);
	if (!own)
		return fail(EINVAL, "batch: freed already");
	batch_put(batch);
	return 0;
}

int bl_batch_free(bl_batch_t id)
{
	struct bl_batch *batch = NULL;
	int ret;

	ret = batch_get(id, &batch);
	if (ret)
		return ret;
	if (look(batch))
		ret = unpublish(batch);
	else
		ret = fail(EBUSY, "batch 0x%" PRIx64 ": has not ended: wait for it first", id);
	batch_put(batch);
	return ret;
}
