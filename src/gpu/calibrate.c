// SPDX-License-Identifier: MIT
/*
 * What copies take with each engine. It depends on CPU, GPU and link, so it is measured where the program runs: once per
 * GPU, for a limited time, by the first thread that needs to know.
 */
#define log_fmt(fmt) "gpu/calibrate: " fmt
#include "calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/cuda_ptr.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_GPUS   64
#define DEFAULT_MS 40UL
#define MAX_MS	   10000UL
#define FROM_CAP   (2UL << 20)
#define MORE_NS	   100000000U /* that others wait for beyond the time for measuring */

enum state { UNKNOWN, RUNNING, DONE, FAILED };

/**
 * struct gpu - a GPU
 * @state: enum state
 * @cal:   written while RUNNING, then never again
 */
struct gpu {
	atomic_int state;
	struct bl_calibration cal;
};

static struct gpu gpus[MAX_GPUS];
static pthread_mutex_t floor_lock = PTHREAD_MUTEX_INITIALIZER;
static bool floor_measured;

uint64_t bl_calibration_budget_ns(void)
{
	const char *text = getenv("BARLANE_CALIBRATION_MS");
	unsigned long ms = DEFAULT_MS;
	char *end = NULL;

	if (text && *text) {
		errno = 0;
		ms = strtoul(text, &end, 10);
		if (*end || !ms || errno || ms > MAX_MS) {
			log_warn("BARLANE_CALIBRATION_MS %s ignored: not a number of milliseconds up to %lu", text, MAX_MS);
			ms = DEFAULT_MS;
		}
	}
	return ms * 1000000;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What no GPU does with another engine than the CPU need not be looked at: move the floor of bl_engine_large(). */
static void move_floor(const struct bl_cost_table *table)
{
	pthread_mutex_lock(&floor_lock);
	for (unsigned int dir = 0; dir < BL_NR_DIRS; dir++) {
		size_t from = min(bl_cost_first(table, (enum bl_copy_dir)dir, false),
				  bl_cost_first(table, (enum bl_copy_dir)dir, true));

		/* a GPU that was not measured yet must still get its turn */
		from = min(FROM_CAP, from);
		if (floor_measured)
			from = min(from, atomic_load(&bl_engine_from[dir]));
		atomic_store(&bl_engine_from[dir], from);
	}
	floor_measured = true;
	pthread_mutex_unlock(&floor_lock);
}

/* For messages: a length from which on another engine copies. */
static const char *from_text(size_t from, char text[24])
{
	if (from == SIZE_MAX)
		return "never";
	snprintf(text, 24, "%zu", from);
	return text;
}

static void tell(int ordinal, const struct bl_calibration *cal)
{
	const struct bl_cost_table *table = &cal->table;
	char text[4][24];

	for (unsigned int engine = BL_ENGINE_CPU; engine < BL_NR_ENGINES; engine++) {
		if (cal->refused[engine].err)
			log_info("device %d: engine %s is not used by auto: %s", ordinal,
				 bl_engine_name((enum bl_engine)engine), cal->refused[engine].why);
	}
	log_info("device %d: bytes from which not the CPU copies: read %s (pinned memory), %s (other), write %s, %s",
		 ordinal, from_text(bl_cost_first(table, BL_COPY_FROM, true), text[0]),
		 from_text(bl_cost_first(table, BL_COPY_FROM, false), text[1]),
		 from_text(bl_cost_first(table, BL_COPY_TO, true), text[2]),
		 from_text(bl_cost_first(table, BL_COPY_TO, false), text[3]));
}

/* The state is RUNNING, and this thread's to end. */
static int run(const struct bl_pin *pin, struct gpu *gpu)
{
	struct bl_cuda_ptr ptr = { .va = pin->ce.asked, .ordinal = pin->ce.ordinal, .device = pin->ce.device,
				   .context = pin->ce.context };
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_cuda_enter(bl_cuda(), &ptr, &scope);
	if (ret) {
		/* this memory's context is gone, which says nothing about the GPU */
		atomic_store(&gpu->state, UNKNOWN);
		return ret;
	}
	memset(&gpu->cal, 0, sizeof(gpu->cal));
	ret = bl_bed_measure(pin, bl_calibration_budget_ns(), &gpu->cal);
	bl_cuda_leave(bl_cuda(), &scope);
	if (ret) {
		bl_refusal_note(&gpu->cal.refused[BL_ENGINE_AUTO], ret);
		log_info("device %d: auto uses the CPU: %s", pin->ce.ordinal, gpu->cal.refused[BL_ENGINE_AUTO].why);
		atomic_store_explicit(&gpu->state, FAILED, memory_order_release);
		return 0;
	}
	tell(pin->ce.ordinal, &gpu->cal);
	move_floor(&gpu->cal.table);
	/* pairs with the acquire in state_of(): the results come first */
	atomic_store_explicit(&gpu->state, DONE, memory_order_release);
	return 0;
}

static int state_of(struct gpu *gpu)
{
	return atomic_load_explicit(&gpu->state, memory_order_acquire);
}

static int run_if_first(const struct bl_pin *pin, struct gpu *gpu)
{
	int unknown = UNKNOWN, ret;

	if (!atomic_compare_exchange_strong(&gpu->state, &unknown, RUNNING))
		return 0;
	bl_fail_hush(1);
	ret = run(pin, gpu);
	bl_fail_hush(-1);
	return ret;
}

static struct gpu *gpu_of(const struct bl_pin *pin)
{
	return &gpus[pin->ce.ordinal % MAX_GPUS];
}

const struct bl_cost_table *bl_calibrate(const struct bl_pin *pin)
{
	struct gpu *gpu = gpu_of(pin);
	int state = state_of(gpu);

	if (state == UNKNOWN) {
		run_if_first(pin, gpu);
		state = state_of(gpu);
	}
	return state == DONE ? &gpu->cal.table : NULL;
}

int bl_calibrate_wait(const struct bl_pin *pin, const struct bl_calibration **cal_p)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct gpu *gpu = gpu_of(pin);
	uint64_t end = 0;
	int ret;

	ret = run_if_first(pin, gpu);
	if (ret)
		return ret;
	while (state_of(gpu) == RUNNING) {
		if (!end)
			end = bl_now_ns() + bl_calibration_budget_ns() + MORE_NS;
		if (bl_now_ns() > end)
			return fail(EAGAIN, "device %d: another thread is still measuring", pin->ce.ordinal);
		nanosleep(&pause, NULL);
	}
	if (state_of(gpu) == UNKNOWN)
		return fail(EAGAIN, "device %d: another thread could not measure", pin->ce.ordinal);
	*cal_p = &gpu->cal;
	return 0;
}

void bl_calibrate_forget(void)
{
	pthread_mutex_init(&floor_lock, NULL);
	for (size_t i = 0; i < MAX_GPUS; i++)
		atomic_store(&gpus[i].state, UNKNOWN);
}
