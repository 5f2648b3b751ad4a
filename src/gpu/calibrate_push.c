// SPDX-License-Identifier: MIT
/*
 * What reads by engine push take, beside what the others do. It is measured apart from those, since push may be enabled
 * after them, and needs a channel: once per GPU, by the first thread that could use it. What is read is memory of the
 * channel's own, so nothing is allocated here but 64 KiB of ordinary memory.
 */
#define log_fmt(fmt) "gpu/calibrate: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate.h"
#include "push.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_GPUS    64
#define SHARE	    4U	       /* of the time that the other engines have: one in so many */
#define MORE_NS	    100000000U /* that others wait for beyond the time for measuring */
#define NR_SAMPLES  6U
#define MIN_SAMPLES 3U
#define NR_SIZES    (16U - BL_COST_MIN_SHIFT + 1)

_Static_assert(1UL << (BL_COST_MIN_SHIFT + NR_SIZES - 1) == BL_PUSH_MAX_LEN, "the longest read is measured");

enum state { UNKNOWN, RUNNING, DONE, FAILED };

/**
 * struct gpu - a GPU
 * @state:   enum state
 * @refused: why not, once FAILED
 * @table:   written while RUNNING, then never again
 */
struct gpu {
	atomic_int state;
	struct bl_refusal refused;
	struct bl_cost_table table;
};

static struct gpu gpus[MAX_GPUS];

/**
 * struct trial - what is measured on
 * @cuda:     driver library
 * @target:   GPU memory
 * @va:       where in it
 * @host:     host memory, ordinary and pinned
 * @end_ns:   when to stop
 * @clock_ns: what reading the clock takes
 * @rows:     results, by kind of host memory
 */
struct trial {
	const struct bl_cuda *cuda;
	struct bl_ce_target target;
	uint64_t va;
	void *host[2];
	uint64_t end_ns;
	uint64_t clock_ns;
	struct bl_cost_row rows[2];
};

/* One read, as auto would do it. */
static int read_once(struct trial *trial, int pinned, size_t len, uint64_t *ns_p)
{
	const struct bl_ce_copy copy = {.target = &trial->target,
					.va = trial->va,
					.host = trial->host[pinned],
					.len = len,
					.dir = BL_COPY_FROM};
	uint64_t start = bl_now_ns(), spent;
	bool begun;
	int ret;

	ret = bl_push_run(trial->cuda, NULL, &copy, &begun);
	spent = bl_now_ns() - start;
	/* 0 stands for unknown */
	*ns_p = spent > trial->clock_ns ? spent - trial->clock_ns : 1;
	return ret;
}

/* -ETIME when time ran out. The first read is not timed: it launches the kernel, and finds out about the memory. */
static int measure_size(struct trial *trial, int pinned, unsigned int i)
{
	size_t len = (size_t)1 << (BL_COST_MIN_SHIFT + i);
	uint64_t ns[NR_SAMPLES], first;
	unsigned int nr = 0;
	int ret;

	ret = read_once(trial, pinned, len, &first);
	while (!ret && nr < NR_SAMPLES && bl_now_ns() < trial->end_ns)
		ret = read_once(trial, pinned, len, &ns[nr++]);
	if (ret)
		return ret;
	if (nr < MIN_SAMPLES)
		return -ETIME;
	trial->rows[pinned].ns[i] = bl_median(ns, nr);
	return 0;
}

/* Coarse first, and from the longest down, so that time that runs out leaves the whole range. */
static int measure_all(struct trial *trial)
{
	int ret = 0;

	for (unsigned int stride = 4; stride && !ret; stride /= 2) {
		for (unsigned int back = 0; back < NR_SIZES && !ret; back += stride) {
			unsigned int i = NR_SIZES - 1 - back;

			for (int pinned = 0; pinned < 2 && !ret; pinned++) {
				if (!trial->rows[pinned].ns[i])
					ret = measure_size(trial, pinned, i);
			}
		}
	}
	return ret == -ETIME ? 0 : ret;
}

static int measure(const struct bl_pin *pin, struct bl_push *push, struct trial *trial)
{
	int ret;

	trial->cuda = bl_cuda();
	trial->target = (struct bl_ce_target){
		.device = pin->ce.device,
		.ordinal = pin->ce.ordinal,
		.context = push->context,
		.asked = push->doorbell_va,
		.buffer_id = push->sentinel,
		.base = push->doorbell_va,
		.size = BL_PUSH_DOORBELL_SIZE,
		.push = push,
	};
	trial->va = push->doorbell_va + BL_GPU_PAGE_SIZE;
	trial->host[0] = aligned_alloc(4096, BL_PUSH_MAX_LEN);
	trial->host[1] = (char *)push->words + BL_PUSH_TRIAL;
	if (!trial->host[0])
		return fail(ENOMEM, "out of memory");
	memset(trial->host[0], 0, BL_PUSH_MAX_LEN);
	trial->clock_ns = bl_clock_cost();
	trial->end_ns = bl_now_ns() + bl_calibration_budget_ns() / SHARE;
	ret = measure_all(trial);
	free(trial->host[0]);
	return ret;
}

/* A kernel that did not begin, a context that went, push disabled meanwhile: that says nothing about the next time. */
static bool may_try_again(int err)
{
	return err == -EBUSY || err == -EINVAL || err == -EOPNOTSUPP;
}

/* The smallest size of a class in which push is picked somewhere. */
static size_t first_pick(const struct bl_cost_table *table)
{
	for (unsigned int i = 0; i < NR_SIZES; i++) {
		for (unsigned int pinned = 0; pinned < 2; pinned++) {
			enum bl_engine engine = (enum bl_engine)table->pick[BL_COPY_FROM][pinned][i];

			if (engine == BL_ENGINE_PUSH || engine == BL_ENGINE_AUTO)
				return (size_t)1 << (BL_COST_MIN_SHIFT + i);
		}
	}
	return SIZE_MAX;
}

/* The state is RUNNING, and this thread's to end. */
static int run(const struct bl_pin *pin, struct bl_push *push, const struct bl_cost_table *others, struct gpu *gpu)
{
	struct trial trial = {0};
	size_t from;
	int ret;

	ret = measure(pin, push, &trial);
	if (ret && may_try_again(ret)) {
		atomic_store(&gpu->state, UNKNOWN);
		return ret;
	}
	if (ret) {
		bl_refusal_note(&gpu->refused, ret);
		log_info("device %d: engine push is not used by auto: %s", pin->ce.ordinal, gpu->refused.why);
		atomic_store_explicit(&gpu->state, FAILED, memory_order_release);
		return 0;
	}
	gpu->table = *others;
	bl_cost_add(&gpu->table, BL_ENGINE_PUSH, BL_COPY_FROM, trial.rows, BL_PUSH_MAX_LEN);
	from = first_pick(&gpu->table);
	if (from == SIZE_MAX)
		log_info("device %d: engine push is not the fastest for any read", pin->ce.ordinal);
	else
		log_info("device %d: engine push reads from %zu bytes on, where it is the fastest", pin->ce.ordinal,
			 from);
	bl_push_begin_at(pin->ce.ordinal, from);
	/* pairs with the acquire in state_of(): the table comes first */
	atomic_store_explicit(&gpu->state, DONE, memory_order_release);
	return 0;
}

static int state_of(struct gpu *gpu)
{
	return atomic_load_explicit(&gpu->state, memory_order_acquire);
}

static struct gpu *gpu_of(const struct bl_pin *pin)
{
	return &gpus[pin->ce.ordinal % MAX_GPUS];
}

static int run_if_first(struct bl_pin *pin, const struct bl_cost_table *others, struct gpu *gpu)
{
	struct bl_push *push = bl_push_known(bl_cuda(), &pin->ce);
	int unknown = UNKNOWN, ret;

	if (!push)
		return fail_quiet(ENODATA, "engine push: no channel in the context of the memory");
	if (!atomic_compare_exchange_strong(&gpu->state, &unknown, RUNNING))
		return 0;
	bl_fail_hush(1);
	ret = run(pin, push, others, gpu);
	bl_fail_hush(-1);
	return ret;
}

const struct bl_cost_table *bl_calibrate_push(struct bl_pin *pin)
{
	struct gpu *gpu = gpu_of(pin);
	const struct bl_cost_table *others;

	if (state_of(gpu) == UNKNOWN) {
		others = bl_calibrate(pin);
		if (others)
			run_if_first(pin, others, gpu);
	}
	return state_of(gpu) == DONE ? &gpu->table : NULL;
}

int bl_calibrate_push_wait(struct bl_pin *pin, const struct bl_cost_table *others, const struct bl_cost_table **table_p)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct gpu *gpu = gpu_of(pin);
	uint64_t end = bl_now_ns() + bl_calibration_budget_ns() / SHARE + MORE_NS;
	int ret;

	ret = run_if_first(pin, others, gpu);
	if (ret == -EBUSY || ret == -EOPNOTSUPP)
		return fail_quiet(ENODATA, "engine push could not be measured: %s", bl_last_error(NULL));
	if (ret)
		return ret;
	while (state_of(gpu) == RUNNING) {
		if (bl_now_ns() > end)
			return fail(EAGAIN, "device %d: another thread is still measuring", pin->ce.ordinal);
		nanosleep(&pause, NULL);
	}
	if (state_of(gpu) == UNKNOWN)
		return fail(EAGAIN, "device %d: another thread could not measure", pin->ce.ordinal);
	if (state_of(gpu) == FAILED)
		return fail_quiet(EOPNOTSUPP, "engine push: %s", gpu->refused.why);
	*table_p = &gpu->table;
	return 0;
}

void bl_calibrate_push_forget(void)
{
	for (size_t i = 0; i < MAX_GPUS; i++)
		atomic_store(&gpus[i].state, UNKNOWN);
}
