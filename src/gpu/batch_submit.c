// SPDX-License-Identifier: MIT
/*
 * The begin of a batch: all copies are checked and planned before the first is begun, so that a refused batch leaves
 * nothing behind.
 */
#define log_fmt(fmt) "gpu/batch: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"
#include "gpu/engine.h"
#include "util/log.h"

#define MAX_DIRECT (1UL << 30)

/*
 * What AUTO leaves to the CPU, which does it in the call: copies below a size, up to a sum. From about 2 KiB on a read
 * by the CPU takes longer than having the copy engine do it in the background (copy-engine.md); writes are as fast as
 * staging them would be.
 */
static const struct {
	size_t each;
	size_t sum;
} by_cpu[BL_NR_DIRS] = {
	[BL_COPY_TO] = { 32U << 10, 1U << 20 },
	[BL_COPY_FROM] = { 2U << 10, 64U << 10 },
};

/**
 * struct plan - a batch being planned
 * @batch:   the batch
 * @cuda:    driver library, NULL when there is none
 * @sum:     bytes that AUTO gave to the CPU, by direction
 * @host:    pinned buffer that was met last
 * @size:    bytes of it, 0: none
 * @asked:   pin that ce was asked about last
 * @answer:  whether it can copy there
 * @why:     if not
 */
struct plan {
	struct bl_batch *batch;
	const struct bl_cuda *cuda;
	size_t sum[BL_NR_DIRS];
	uintptr_t host;
	size_t size;
	struct bl_pin *asked;
	int answer;
	char why[200];
};

static int check_call(const struct bl_copy_op *ops, size_t nr, uint32_t flags, const bl_batch_t *batch_p)
{
	if (!batch_p)
		return fail(EINVAL, "batch: no place for the handle");
	if (flags)
		return fail(EINVAL, "batch: unknown flags 0x%x", flags);
	if (nr > BL_BATCH_COPIES)
		return fail(E2BIG, "batch of %zu copies: the most is %u", nr, BL_BATCH_COPIES);
	if (!ops && nr)
		return fail(EINVAL, "batch of %zu copies: no array", nr);
	return bl_check_owner();
}

static int check_op(const struct bl_copy_op *op)
{
	if (op->reserved[0] || op->reserved[1])
		return fail(EINVAL, "reserved fields are not 0");
	if (op->dir > BL_COPY_FROM)
		return fail(EINVAL, "no direction %u", op->dir);
	if (op->engine != BL_ENGINE_AUTO && op->engine != BL_ENGINE_CPU && op->engine != BL_ENGINE_CE)
		return fail(EINVAL, "no engine %u for a batch", op->engine);
	if (!op->host && op->len)
		return fail(EINVAL, "host %p len 0x%zx", op->host, op->len);
	return 0;
}

static int use_pin(struct plan *plan, const struct bl_copy_op *op, struct bl_pin **pin_p)
{
	struct bl_batch *batch = plan->batch;
	struct bl_pin *pin = batch->nr_pins ? batch->pins[batch->nr_pins - 1] : NULL;
	int ret;

	if (!pin || pin->id != op->pin) {
		ret = bl_batch_pin_use(op->pin, &pin);
		if (ret)
			return ret;
		batch->pins[batch->nr_pins++] = pin;
	}
	/* no lock: a pin in use stays mapped */
	if (op->off > pin->mapping.len || op->len > pin->mapping.len - op->off)
		return fail(EINVAL, "off 0x%" PRIx64 " len 0x%zx is not inside the mapping of 0x%zx bytes", op->off,
			    op->len, pin->mapping.len);
	*pin_p = pin;
	return 0;
}

/* Whether ce can copy to and from a pin at all, asked once per row of copies with the same pin. */
static int ask_ce(struct plan *plan, struct bl_pin *pin)
{
	int ret;

	if (plan->asked == pin)
		return plan->answer ? fail(-plan->answer, "%s", plan->why) : 0;
	ret = bl_engine_prepare(pin);
	if (!ret) {
		plan->cuda = bl_cuda();
		ret = bl_ce_check_target(plan->cuda, &pin->ce);
	}
	plan->asked = pin;
	plan->answer = ret;
	if (ret)
		snprintf(plan->why, sizeof(plan->why), "%s", bl_last_error(NULL));
	return ret;
}

static int find_part(struct plan *plan, const struct bl_pin *pin, enum bl_copy_dir dir, struct bl_batch_part **part_p)
{
	struct bl_batch *batch = plan->batch;
	struct bl_batch_part *part;
	int ret;

	for (part = batch->parts; part < batch->parts + batch->nr_parts; part++) {
		if (part->lane->context == pin->ce.context && part->dir == dir) {
			*part_p = part;
			return 0;
		}
	}
	if (batch->nr_parts == BL_BATCH_PARTS)
		return fail(EOPNOTSUPP, "a batch can have copies in %u contexts and directions", BL_BATCH_PARTS);
	ret = bl_lane_find(plan->cuda, &pin->ce, &part->lane);
	if (ret)
		return ret;
	part->dir = dir;
	batch->nr_parts++;
	*part_p = part;
	return 0;
}

/* Inside the pinned buffer that was met last. */
static bool in_buffer(const struct plan *plan, const void *host, size_t len)
{
	size_t off = (uintptr_t)host - plan->host;

	return off < plan->size && len <= plan->size - off;
}

/* Most copies of a batch go to one buffer: CUDA is asked once for where it begins and ends. */
static bool is_pinned(struct plan *plan, const void *host, size_t len)
{
	CUdeviceptr base = 0;
	size_t size = 0;

	if (in_buffer(plan, host, len))
		return true;
	if (!bl_ce_pinned(plan->cuda, host, len))
		return false;
	if (!plan->cuda->cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (uintptr_t)host) &&
	    !plan->cuda->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, (uintptr_t)host)) {
		plan->host = base;
		plan->size = size;
	}
	return true;
}

static bool same_memory(const struct bl_cuda *cuda, const void *a, const void *b)
{
	uint64_t ids[2] = { 0 };

	return !cuda->cuPointerGetAttribute(&ids[0], CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)a) &&
	       !cuda->cuPointerGetAttribute(&ids[1], CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)b) && ids[0] == ids[1];
}

/* A copy that goes on where the one before it in the array ended; CUDA takes no transfer across two pinned buffers. */
static bool goes_on(const struct plan *plan, const struct bl_move *last, const struct bl_move *move)
{
	return last && last->pin == move->pin && last->pinned == move->pinned && last->va + last->len == move->va &&
	       last->host + last->len == move->host && last->first + last->nr == move->first &&
	       (!move->pinned || in_buffer(plan, last->host, last->len + move->len) ||
		same_memory(plan->cuda, last->host, move->host));
}

static struct bl_move *new_move(struct plan *plan, const struct bl_move *move)
{
	struct bl_move *new = &plan->batch->moves[plan->batch->nr_moves++];

	*new = *move;
	new->batch = plan->batch;
	return new;
}

/* Nothing is changed on an error, so that the CPU may do the copy. */
static int plan_ce(struct plan *plan, struct bl_move *move)
{
	struct bl_batch_part *part = NULL;
	int ret;

	ret = ask_ce(plan, move->pin);
	if (!ret)
		ret = bl_ce_check_range(&move->pin->ce, move->va, move->len);
	if (!ret)
		ret = find_part(plan, move->pin, move->dir, &part);
	if (ret)
		return ret;
	move->pinned = is_pinned(plan, move->host, move->len);
	if (!move->pinned && !part->staged) {
		ret = bl_lane_stage(plan->cuda, part->lane);
		if (ret)
			return ret;
		part->staged = true;
	}
	atomic_fetch_add(&part->lane->load, move->len);
	if (goes_on(plan, part->last, move)) {
		part->last->len += move->len;
		part->last->nr++;
		return 0;
	}
	move->lane = part->lane;
	move = new_move(plan, move);
	if (part->last)
		part->last->next = move;
	else
		part->first = move;
	part->last = move;
	return 0;
}

static bool auto_by_cpu(struct plan *plan, const struct bl_copy_op *op)
{
	if (op->len >= by_cpu[op->dir].each || plan->sum[op->dir] + op->len > by_cpu[op->dir].sum)
		return false;
	plan->sum[op->dir] += op->len;
	return true;
}

static int plan_op(struct plan *plan, size_t i, const struct bl_copy_op *op)
{
	struct bl_pin *pin = NULL;
	struct bl_move move = { .host = op->host, .len = op->len, .first = i, .nr = 1 };
	int ret;

	ret = check_op(op);
	if (!ret)
		ret = use_pin(plan, op, &pin);
	if (ret)
		return ret;
	if (!op->len) {
		plan->batch->done++;
		return 0;
	}
	move.pin = pin;
	move.va = pin->backing.va + op->off;
	move.dir = (enum bl_copy_dir)op->dir;
	ret = -EAGAIN;
	if (op->engine == BL_ENGINE_CE || (op->engine == BL_ENGINE_AUTO && !auto_by_cpu(plan, op)))
		ret = plan_ce(plan, &move);
	if (!ret || (ret != -EAGAIN && op->engine == BL_ENGINE_CE))
		return ret;
	if (ret != -EAGAIN)
		log_info("engine ce cannot be used (%s): the CPU copies", bl_last_error(NULL));
	move.lane = NULL;
	new_move(plan, &move);
	return 0;
}

static int plan_all(struct plan *plan, const struct bl_copy_op *ops, size_t nr)
{
	int ret;

	for (size_t i = 0; i < nr; i++) {
		bl_fail_hush(1);
		ret = plan_op(plan, i, &ops[i]);
		bl_fail_hush(-1);
		if (ret)
			return fail(-ret, "batch of %zu copies: copy %zu: %s", nr, i, bl_last_error(NULL));
	}
	return 0;
}

static struct bl_batch *batch_new(size_t nr)
{
	struct bl_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	pthread_mutex_init(&batch->lock, NULL);
	atomic_init(&batch->refs, 2);
	batch->nr = nr;
	batch->failed = nr;
	batch->pins = calloc(nr ? nr : 1, sizeof(*batch->pins));
	batch->moves = calloc(nr ? nr : 1, sizeof(*batch->moves));
	if (!batch->pins || !batch->moves) {
		bl_batch_discard(batch);
		return NULL;
	}
	return batch;
}

/* What goes through the ring on its way to the host. */
static size_t staged_bytes(const struct bl_batch *batch)
{
	size_t sum = 0;

	for (size_t i = 0; i < batch->nr_moves; i++) {
		if (batch->moves[i].lane && !batch->moves[i].pinned && batch->moves[i].dir == BL_COPY_FROM)
			sum += batch->moves[i].len;
	}
	return sum;
}

/*
 * Several copies share the ring, so that no transfer takes more than a quarter of it. Whether the host side is written
 * past the caches depends on all of it: many short reads fill them as one long read does.
 */
static void cut(struct bl_move *move, bool stream)
{
	bool unused;

	move->chunk = move->pinned ? MAX_DIRECT : bl_ce_chunk(move->len, &unused);
	move->stream = stream && !move->pinned;
	if (!move->pinned && move->chunk > BL_CE_RING_SIZE / 4)
		move->chunk = BL_CE_RING_SIZE / 4;
}

static void *mapped_at(const struct bl_move *move)
{
	return (char *)move->pin->mapping.addr + (move->va - move->pin->backing.va);
}

/* The copy engine first: it works while the CPU does its own. */
static void begin(struct plan *plan)
{
	struct bl_batch *batch = plan->batch;
	struct bl_move *move;
	bool stream;

	bl_ce_chunk(staged_bytes(batch), &stream);
	for (size_t i = 0; i < batch->nr_moves; i++)
		cut(&batch->moves[i], stream);
	for (size_t i = 0; i < batch->nr_parts; i++) {
		if (batch->parts[i].first)
			bl_lane_add(plan->cuda, &batch->parts[i], mapped_at(batch->parts[i].first));
	}
	for (move = batch->moves; move < batch->moves + batch->nr_moves; move++) {
		if (move->lane)
			continue;
		bl_engine_by_cpu(move->pin, move->va - move->pin->backing.va, move->host, move->len, move->dir);
		bl_batch_note(batch, 1);
	}
	if (bl_batch_note(batch, 0))
		bl_batch_finish(batch);
}

int bl_batch_submit(const struct bl_copy_op *ops, size_t nr, uint32_t flags, bl_batch_t *batch_p)
{
	struct plan plan = { 0 };
	bl_batch_t id;
	int ret;

	ret = check_call(ops, nr, flags, batch_p);
	if (ret)
		return ret;
	plan.batch = batch_new(nr);
	if (!plan.batch)
		return fail(ENOMEM, "batch of %zu copies: out of memory", nr);
	ret = plan_all(&plan, ops, nr);
	if (ret)
		goto discard;
	/* from the begin on the batch may end, and with its handle go, at any time */
	atomic_store(&plan.batch->left, plan.batch->nr_moves + 1);
	ret = bl_batch_publish(plan.batch);
	if (ret)
		goto discard;
	id = plan.batch->id;
	begin(&plan);
	*batch_p = id;
	return 0;
discard:
	bl_batch_discard(plan.batch);
	return ret;
}
