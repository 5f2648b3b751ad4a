// SPDX-License-Identifier: MIT
/*
 * From which size on the copy engine is faster. It depends on CPU, GPU and link, so it is measured where the program
 * runs: once per GPU, on GPU memory and host memory of its own, for a limited time. What cannot be measured in that
 * time keeps the values found on one H200.
 *
 * GPU and pinned memory of the measurement stay with the context: to free either waits for kernels, and one of them may
 * wait for the very thread that copies.
 */
#define log_fmt(fmt) "gpu/calibrate: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"
#include "gpu/cuda_ptr.h"
#include "util/log.h"

#define MAX_GPUS   64
#define AREA	   (2UL << 20)
#define BUDGET_NS  40000000ULL
#define NR_SAMPLES 5
#define FROM_CAP   (2UL << 20)

enum state { UNKNOWN, RUNNING, DONE, FAILED };

/**
 * struct limits - of one GPU
 * @state: enum state
 * @from:  smallest size for ce, by direction and whether host memory is pinned; valid with DONE
 */
struct limits {
	atomic_int state;
	size_t from[BL_NR_DIRS][2];
};

static struct limits gpus[MAX_GPUS];
static pthread_mutex_t floor_lock = PTHREAD_MUTEX_INITIALIZER;
static bool floor_measured;

static const size_t initial[BL_NR_DIRS][2] = {
	[BL_COPY_TO] = { SIZE_MAX, 512UL << 10 },
	[BL_COPY_FROM] = { 16UL << 10, 8UL << 10 },
};

/**
 * struct bed - what is measured on
 * @pin:     the pin that asked
 * @cuda:    driver library
 * @end_ns:  when to stop
 * @va:      GPU memory
 * @target:  the same, for ce
 * @backing: its pin
 * @mapping: its mapping
 * @host:    host memory, ordinary and pinned
 */
struct bed {
	const struct bl_pin *pin;
	const struct bl_cuda *cuda;
	uint64_t end_ns;
	uint64_t va;
	struct bl_ce_target target;
	struct bl_backing backing;
	struct bl_mapping mapping;
	void *host[2];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void by_cpu(const struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len)
{
	if (dir == BL_COPY_TO)
		bed->pin->cpu->to(bed->mapping.addr, bed->host[pinned], len);
	else
		bed->pin->cpu->from(bed->host[pinned], bed->mapping.addr, len);
}

static int by_ce(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len)
{
	struct bl_ce_copy copy = {
		.target = &bed->target,
		.va = bed->va,
		.host = bed->host[pinned],
		.len = len,
		.dir = dir,
		.pinned = pinned,
	};

	return bl_ce_run(bed->cuda, &copy);
}

/* Medians, of samples taken in turns; the first of each is not counted. -ETIME when there is no time left for it. */
static int measure(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len, uint64_t *cpu_p, uint64_t *ce_p)
{
	uint64_t cpu[NR_SAMPLES], ce[NR_SAMPLES], start, middle;
	int ret;

	for (int i = -1; i < NR_SAMPLES; i++) {
		start = now_ns();
		/* one try is always made: that ce does not work at all must show */
		if (i >= 0 && start > bed->end_ns)
			return -ETIME;
		by_cpu(bed, dir, pinned, len);
		middle = now_ns();
		ret = by_ce(bed, dir, pinned, len);
		if (ret)
			return ret;
		if (i < 0)
			continue;
		cpu[i] = middle - start;
		ce[i] = now_ns() - middle;
	}
	qsort(cpu, NR_SAMPLES, sizeof(cpu[0]), compare);
	qsort(ce, NR_SAMPLES, sizeof(ce[0]), compare);
	*cpu_p = cpu[NR_SAMPLES / 2];
	*ce_p = ce[NR_SAMPLES / 2];
	return 0;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * The first of two sizes in a row at which ce is faster: one alone may be chance. When time runs out before, *from_p is
 * kept unless the CPU was faster there.
 */
static int find_limit(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t *from_p)
{
	size_t first = SIZE_MAX;
	uint64_t cpu, ce;
	int ret;

	for (size_t len = 1024; len <= AREA; len *= 2) {
		ret = measure(bed, dir, pinned, len, &cpu, &ce);
		if (ret == -ETIME) {
			*from_p = max(*from_p, min(first, len));
			return 0;
		}
		if (ret)
			return ret;
		if (ce >= cpu)
			first = SIZE_MAX;
		else if (first == SIZE_MAX)
			first = len;
		else
			break;
	}
	*from_p = first;
	return 0;
}

/* The context of the pin's memory is current. */
static int set_up_memory(struct bed *bed)
{
	const struct bl_cuda *cuda = bed->cuda;
	CUdeviceptr va;
	CUresult err;

	bed->host[0] = aligned_alloc(4096, AREA);
	if (!bed->host[0])
		return fail(ENOMEM, "out of memory");
	memset(bed->host[0], 0, AREA);
	err = cuda->cuMemHostAlloc(&bed->host[1], AREA, CU_MEMHOSTALLOC_PORTABLE);
	if (err)
		return fail(bl_cuda_errno(err), "%lu bytes of pinned memory: %s", AREA, bl_cuda_strerror(err));
	memset(bed->host[1], 0, AREA);
	err = cuda->cuMemAlloc(&va, AREA);
	if (err)
		return fail(bl_cuda_errno(err), "%lu bytes of GPU memory: %s", AREA, bl_cuda_strerror(err));
	bed->va = va;
	return bl_ce_target_init(cuda, va, 0, &bed->target);
}

static int measure_all(struct bed *bed, struct limits *limits)
{
	static const struct {
		enum bl_copy_dir dir;
		int pinned;
	} order[] = { { BL_COPY_FROM, 1 }, { BL_COPY_FROM, 0 }, { BL_COPY_TO, 1 }, { BL_COPY_TO, 0 } };
	uint64_t end = bed->end_ns, now;
	int ret = 0;

	memcpy(limits->from, initial, sizeof(initial));
	for (size_t i = 0; i < 4 && !ret; i++) {
		/* an equal share of what is left, so that one slow kind does not leave the others unmeasured */
		now = now_ns();
		bed->end_ns = now + (end > now ? end - now : 0) / (4 - i);
		ret = find_limit(bed, order[i].dir, order[i].pinned, &limits->from[order[i].dir][order[i].pinned]);
	}
	return ret;
}

/* Through the provider itself: this pin has no handle and belongs to nobody. */
static int measure_mapped(struct bed *bed, struct limits *limits)
{
	const struct bl_provider_ops *ops = bed->pin->ops;
	void *priv = bed->pin->ctx->priv;
	struct bl_request req = { .va = bed->va, .len = AREA };
	int ret;

	ret = ops->pin(priv, &req, &bed->backing);
	if (ret)
		return ret;
	if (bed->backing.va > req.va || req.va + AREA > bed->backing.va + bed->backing.len) {
		ret = fail(EPROTO, "the pin does not cover its memory");
		goto unpin;
	}
	bed->mapping = (struct bl_mapping){ .len = bed->backing.len, .type = bed->pin->mapping.type };
	ret = ops->map(priv, &bed->backing, &bed->mapping);
	if (ret)
		goto unpin;
	/* where the memory does not begin on a page the pin begins before it */
	bed->mapping.addr = (char *)bed->mapping.addr + (req.va - bed->backing.va);
	ret = measure_all(bed, limits);
	bed->mapping.addr = (char *)bed->mapping.addr - (req.va - bed->backing.va);
	ops->unmap(priv, &bed->backing, &bed->mapping);
unpin:
	ops->unpin(priv, &bed->backing);
	return ret;
}

static int calibrate(const struct bl_pin *pin, struct limits *limits)
{
	struct bed bed = { .pin = pin, .cuda = bl_cuda(), .end_ns = now_ns() + BUDGET_NS };
	struct bl_cuda_ptr ptr = { .va = pin->ce.asked, .ordinal = pin->ce.ordinal, .device = pin->ce.device,
				   .context = pin->ce.context };
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_cuda_enter(bed.cuda, &ptr, &scope);
	if (ret)
		return ret;
	ret = set_up_memory(&bed);
	if (!ret)
		ret = measure_mapped(&bed, limits);
	free(bed.host[0]);
	bl_cuda_leave(bed.cuda, &scope);
	return ret;
}

/* What no GPU does with ce need not be looked at: lift the floor of bl_engine_large(). */
static void lift_floor(const struct limits *limits)
{
	pthread_mutex_lock(&floor_lock);
	for (unsigned int dir = 0; dir < BL_NR_DIRS; dir++) {
		size_t from = min(FROM_CAP, min(limits->from[dir][0], limits->from[dir][1]));

		if (floor_measured)
			from = min(from, atomic_load(&bl_engine_from[dir]));
		atomic_store(&bl_engine_from[dir], from);
	}
	floor_measured = true;
	pthread_mutex_unlock(&floor_lock);
}

static void run(const struct bl_pin *pin, struct limits *limits)
{
	int ret = calibrate(pin, limits);

	if (ret) {
		log_info("device %d: engine ce is not used by auto: %s", pin->ce.ordinal, bl_last_error(NULL));
		atomic_store(&limits->state, FAILED);
		return;
	}
	log_info("device %d: ce from %zu and %zu bytes (read; pinned, other host memory), %zu and %zu (write)",
		 pin->ce.ordinal, limits->from[BL_COPY_FROM][1], limits->from[BL_COPY_FROM][0],
		 limits->from[BL_COPY_TO][1], limits->from[BL_COPY_TO][0]);
	lift_floor(limits);
	/* pairs with the acquire in bl_calibrate(): the sizes come first */
	atomic_store_explicit(&limits->state, DONE, memory_order_release);
}

size_t bl_calibrate(struct bl_pin *pin, enum bl_copy_dir dir, bool pinned)
{
	struct limits *limits = &gpus[pin->ce.ordinal % MAX_GPUS];
	int state = atomic_load_explicit(&limits->state, memory_order_acquire), unknown = UNKNOWN;

	if (state == UNKNOWN && atomic_compare_exchange_strong(&limits->state, &unknown, RUNNING)) {
		run(pin, limits);
		state = atomic_load_explicit(&limits->state, memory_order_acquire);
	}
	return state == DONE ? limits->from[dir][pinned] : SIZE_MAX;
}

void bl_calibrate_forget(void)
{
	pthread_mutex_init(&floor_lock, NULL);
	for (size_t i = 0; i < MAX_GPUS; i++)
		atomic_store(&gpus[i].state, UNKNOWN);
}
