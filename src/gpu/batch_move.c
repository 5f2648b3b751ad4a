// SPDX-License-Identifier: MIT
/* A visit to a lane: pieces that the GPU has finished come off the row, and moves that wait become pieces. */
#define log_fmt(fmt) "gpu/batch: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "gpu/engine.h"
#include "util/clock.h"
#include "util/log.h"

#define QUERY_NS   100000U /* between looks for a device error while the counter is polled */
#define RING_ALIGN 256U
#define RING_PART  (BL_CE_RING_SIZE / 8) /* marked and filled again by itself: the GPU works on the others meanwhile */

/**
 * struct visit - what one visit knows
 * @cuda:    driver library
 * @lane:    its channel's lock is held
 * @scope:   for leaving the context
 * @entered: the context is
 * @idle:    the stream was found idle: what was posted before the visit is complete
 * @checked: pin whose memory was found to be there
 * @ended:   batches whose last move ended
 */
struct visit {
	const struct bl_cuda *cuda;
	struct bl_lane *lane;
	struct bl_cuda_scope scope;
	bool entered;
	bool idle;
	const struct bl_pin *checked;
	struct bl_batch *ended;
};

static int enter(struct visit *visit)
{
	int ret;

	if (visit->entered)
		return 0;
	ret = bl_lane_enter(visit->cuda, visit->lane, &visit->scope);
	visit->entered = !ret;
	return ret;
}

static void end_if_over(struct visit *visit, struct bl_move *move)
{
	if (move->ended != move->posted || (!move->error && move->posted != move->len))
		return;
	atomic_fetch_sub(&visit->lane->load, move->len);
	if (!move->error)
		bl_engine_count(BL_ENGINE_CE, move->dir, move->len);
	if (bl_batch_note(move->batch, move->nr)) {
		move->batch->next = visit->ended;
		visit->ended = move->batch;
	}
}

/* Called while the reason is the thread's last one. */
static void set_error(struct bl_move *move, int error)
{
	if (move->error)
		return;
	move->error = error;
	bl_batch_blame(move->batch, move->first, error);
}

static void unqueue(struct bl_lane *lane)
{
	lane->queue = lane->queue->next;
	if (!lane->queue)
		lane->queue_end = &lane->queue;
}

static void copy_out(const struct bl_lane *lane, const struct bl_piece *piece)
{
	const struct bl_move *move = piece->move;
	unsigned char *host = move->host + piece->off;
	const unsigned char *ring = lane->ce->ring + piece->ring;

	/* large reads go past the caches, as those of bl_copy() do */
	if (move->stream)
		bl_cpu_copy_select(BL_MAP_WC)->to(host, ring, piece->len);
	else
		memcpy(host, ring, piece->len);
}

static void end_piece(struct visit *visit, int error)
{
	struct bl_lane *lane = visit->lane;
	struct bl_piece *piece = &lane->pieces[lane->tail % BL_LANE_PIECES];
	struct bl_move *move = piece->move;

	if (error)
		set_error(move, error);
	if (!move->pinned) {
		if (!error && move->dir == BL_COPY_FROM)
			copy_out(lane, piece);
		lane->ring_tail = piece->ring_end;
	}
	lane->tail++;
	move->ended += piece->len;
	end_if_over(visit, move);
}

/* 0: the GPU has passed the mark, -EAGAIN: not yet, else the error that broke the channel. */
static int passed(struct visit *visit, uint32_t seq)
{
	struct bl_lane *lane = visit->lane;
	uint64_t now;
	int ret;

	if (visit->idle || bl_ce_counted(lane->ce, seq))
		return 0;
	now = bl_now_ns();
	if (lane->ce->counts && now < lane->next_query)
		return -EAGAIN;
	lane->next_query = now + QUERY_NS;
	ret = enter(visit);
	if (ret)
		lane->ce->broken = -ret;
	else
		ret = bl_ce_query(visit->cuda, lane->ce);
	visit->idle = !ret;
	return ret;
}

/* Nothing in this lane will be heard of again. */
static void fail_all(struct visit *visit, int error)
{
	struct bl_lane *lane = visit->lane;
	struct bl_move *move;

	/* the queue first: its moves may have pieces, with the last of which they end */
	while ((move = lane->queue)) {
		unqueue(lane);
		set_error(move, error);
		end_if_over(visit, move);
	}
	while (lane->tail != lane->head)
		end_piece(visit, error);
	lane->marked = lane->head;
	lane->unmarked = 0;
}

/* Bytes of the ring that lie together: false when there are none left; *end_p: how much is used with them. */
static bool ring_room(const struct bl_lane *lane, size_t len, size_t *at_p, size_t *end_p)
{
	size_t head = lane->ring_head, need = (len + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;

	if (head % BL_CE_RING_SIZE + need > BL_CE_RING_SIZE)
		head += BL_CE_RING_SIZE - head % BL_CE_RING_SIZE;
	if (head + need - lane->ring_tail > BL_CE_RING_SIZE)
		return false;
	*at_p = head % BL_CE_RING_SIZE;
	*end_p = head + need;
	return true;
}

static int check_memory(struct visit *visit, const struct bl_move *move)
{
	int ret;

	if (visit->checked == move->pin)
		return 0;
	ret = bl_ce_check_target(visit->cuda, &move->pin->ce);
	if (ret)
		return fail(EIDRM, "%s", bl_last_error(NULL));
	visit->checked = move->pin;
	return 0;
}

static void mark(struct visit *visit)
{
	struct bl_lane *lane = visit->lane;

	if (lane->marked == lane->head)
		return;
	bl_ce_mark(visit->cuda, lane->ce);
	lane->marked = lane->head;
	lane->unmarked = 0;
}

/* The next piece of a move: -EAGAIN when there is no room. */
static int post_piece(struct visit *visit, struct bl_move *move)
{
	struct bl_lane *lane = visit->lane;
	struct bl_piece *piece = &lane->pieces[lane->head % BL_LANE_PIECES];
	size_t len = move->len - move->posted < move->chunk ? move->len - move->posted : move->chunk;
	unsigned char *host = move->host + move->posted, *at = host;
	int ret;

	if (lane->head - lane->tail == BL_LANE_PIECES)
		return -EAGAIN;
	if (!move->pinned) {
		if (!ring_room(lane, len, &piece->ring, &piece->ring_end))
			return -EAGAIN;
		at = lane->ce->ring + piece->ring;
	}
	ret = check_memory(visit, move);
	if (!ret)
		ret = enter(visit);
	if (ret)
		return ret;
	if (!move->pinned && move->dir == BL_COPY_TO)
		memcpy(at, host, len);
	ret = bl_ce_post(visit->cuda, lane->ce, move->dir, move->va + move->posted, at, len);
	if (ret)
		return ret;
	piece->move = move;
	piece->off = move->posted;
	piece->len = len;
	piece->seq = lane->ce->seq + 1;
	if (!move->pinned) {
		lane->unmarked += piece->ring_end - lane->ring_head;
		lane->ring_head = piece->ring_end;
	}
	lane->head++;
	move->posted += len;
	if (lane->head - lane->marked >= BL_LANE_MARK || lane->unmarked >= RING_PART)
		mark(visit);
	return 0;
}

static void post(struct visit *visit)
{
	struct bl_lane *lane = visit->lane;
	struct bl_move *move;
	int ret = 0;

	while ((move = lane->queue) && ret != -EAGAIN) {
		if (lane->ce->broken)
			ret = fail(lane->ce->broken, "an earlier batch in this context has failed and not ended");
		else
			ret = post_piece(visit, move);
		if (ret == -EAGAIN)
			break;
		if (!ret && move->posted < move->len)
			continue;
		unqueue(lane);
		if (!ret)
			continue;
		/* the others of its batch are tried all the same; what was posted of this one has to end first */
		set_error(move, ret);
		end_if_over(visit, move);
	}
	mark(visit);
}

/* Of what is under way now; what is posted here is for the next visit, so that a visit ends. */
static void retire(struct visit *visit)
{
	struct bl_lane *lane = visit->lane;
	size_t end = lane->head, refill = lane->ring_tail + RING_PART;
	int ret = 0;

	while (lane->tail != end) {
		ret = passed(visit, lane->pieces[lane->tail % BL_LANE_PIECES].seq);
		if (ret)
			break;
		end_piece(visit, 0);
		if (lane->ring_tail >= refill) {
			post(visit);
			refill = lane->ring_tail + RING_PART;
		}
	}
	if (ret && ret != -EAGAIN)
		fail_all(visit, ret);
}

/* The lock is held, and given up; then batches that ended are finished. Whether anything moved. */
static bool visit_locked(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	struct visit visit = { .cuda = cuda, .lane = lane };
	size_t head = lane->head, tail = lane->tail;
	struct bl_batch *batch;
	bool moved;

	/* whoever sees the errors in a status gets the reason there; this call may be about another batch */
	bl_fail_hush(1);
	if (atomic_load(&lane->dead) || !bl_ce_alive(cuda, lane->ce)) {
		atomic_store(&lane->dead, true);
		fail_all(&visit, fail(ECANCELED, "the context of the memory was destroyed"));
	} else {
		retire(&visit);
		post(&visit);
	}
	if (visit.entered)
		bl_cuda_leave(cuda, &visit.scope);
	bl_fail_hush(-1);
	moved = lane->head != head || lane->tail != tail;
	pthread_mutex_unlock(&lane->ce->lock);
	while ((batch = visit.ended)) {
		visit.ended = batch->next;
		bl_batch_finish(batch);
	}
	return moved;
}

bool bl_lane_visit(const struct bl_cuda *cuda, struct bl_lane *lane)
{
	if (!atomic_load(&lane->load) || pthread_mutex_trylock(&lane->ce->lock))
		return false;
	return visit_locked(cuda, lane);
}

void bl_lane_add(const struct bl_cuda *cuda, struct bl_batch_part *part, const void *mapped)
{
	struct bl_lane *lane = part->lane;

	pthread_mutex_lock(&lane->ce->lock);
	bl_ce_flush(lane->ce, mapped);
	*lane->queue_end = part->first;
	lane->queue_end = &part->last->next;
	visit_locked(cuda, lane);
}
