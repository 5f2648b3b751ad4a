// SPDX-License-Identifier: MIT
/* Eight threads copy with all engines at once: through one pin, and with GDRCOPY_ENGINE through one handle each. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define NR_THREADS 8
#define AREA	   (1UL << 20)
#define ROUNDS	   60

static bl_pin_t pin;
static gdr_mh_t handle;
static char *map;

struct worker {
	pthread_t thread;
	unsigned int nr;
	const char *what;
};

static int by_engine(uint64_t off, void *host, size_t len, enum bl_copy_dir dir, unsigned int how)
{
	if (how < 3)
		return bl_copy(pin, off, host, len, dir, (enum bl_engine)how);
	return dir == BL_COPY_TO ? bl_copy_to(pin, map + off, host, len) : bl_copy_from(pin, host, map + off, len);
}

static int by_handle(uint64_t off, void *host, size_t len, enum bl_copy_dir dir, unsigned int how)
{
	return dir == BL_COPY_TO ? gdr_copy_to_mapping(handle, map + off, host, len) :
				   gdr_copy_from_mapping(handle, host, map + off, len);
}

/* As by_engine(), and half of the reads go by push. */
static int by_push(uint64_t off, void *host, size_t len, enum bl_copy_dir dir, unsigned int how)
{
	if (how < 2 && dir == BL_COPY_FROM && len <= 65536)
		return bl_copy(pin, off, host, len, dir, BL_ENGINE_PUSH);
	return by_engine(off, host, len, dir, how);
}

typedef int (*copy_fn)(uint64_t off, void *host, size_t len, enum bl_copy_dir dir, unsigned int how);

static copy_fn copy;

/* Write with one engine, read with another: the bytes are this thread's. */
static void rounds(struct worker *worker, unsigned char *sent, unsigned char *seen)
{
	unsigned int seed = worker->nr + 1;

	for (int i = 0; i < ROUNDS && !worker->what; i++) {
		/* one of so many is long */
		size_t len = (size_t)rand_r(&seed) % (i % (TAP_TSAN ? 16 : 4) ? 5000 : AREA - 64) + 1;
		size_t off = (size_t)rand_r(&seed) % 64;
		uint64_t at = worker->nr * AREA + off;

		for (size_t j = 0; j < len; j++)
			sent[j] = (unsigned char)(j * 5 + worker->nr + (unsigned int)i);
		if (copy(at, sent, len, BL_COPY_TO, (unsigned int)rand_r(&seed) % 4))
			worker->what = "a write failed";
		else if (copy(at, seen, len, BL_COPY_FROM, (unsigned int)rand_r(&seed) % 4))
			worker->what = "a read failed";
		else if (memcmp(sent, seen, len))
			worker->what = "a read shows other bytes than were written";
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	void *pinned = NULL, *ordinary = malloc(AREA);

	if (!ordinary || world.cuda->cuCtxSetCurrent(worker->nr % 3 ? world.context : NULL))
		worker->what = "no memory or no context";
	else if (world.cuda->cuCtxSetCurrent(world.context) || world.cuda->cuMemHostAlloc(&pinned, AREA, 0))
		worker->what = "no pinned memory";
	else if (worker->nr % 2)
		rounds(worker, ordinary, pinned);
	else
		rounds(worker, pinned, ordinary);
	free(ordinary);
	return NULL;
}

static void run_threads(void)
{
	struct worker workers[NR_THREADS];

	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .nr = i };
		check_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %u: %s", i, workers[i].what);
	}
}

static void mix(const void *arg)
{
	struct bl_engine_stats cpu, ce;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, world_alloc(NR_THREADS * AREA), NR_THREADS * AREA, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, NR_THREADS * AREA, BL_MAP_NONE, &addr), 0);
	map = addr;
	copy = by_engine;
	run_threads();
	check_eq(bl_engine_stats(BL_ENGINE_CPU, &cpu), 0);
	check_eq(bl_engine_stats(BL_ENGINE_CE, &ce), 0);
	check(cpu.calls[BL_COPY_TO] && cpu.calls[BL_COPY_FROM] && ce.calls[BL_COPY_TO] && ce.calls[BL_COPY_FROM]);
	/* all copies but those of bl_copy_to() and bl_copy_from() are counted, also of threads that ended */
	check(cpu.calls[BL_COPY_TO] + ce.calls[BL_COPY_TO] > NR_THREADS * ROUNDS / 2);
	check(cpu.calls[BL_COPY_TO] + ce.calls[BL_COPY_TO] < NR_THREADS * ROUNDS);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void threads_mix_engines(void)
{
	child_run(mix, NULL, NULL);
}

static int over;

/* Kernels are told to leave all the time. */
static void *toggle(void *arg)
{
	for (unsigned int i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		struct timespec nap = { .tv_nsec = 300000 };

		bl_push_enable(0, i % 3 ? 100 : 3000);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static void mix_push(const void *arg)
{
	struct bl_engine_stats stats;
	pthread_t thread;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, world_alloc(NR_THREADS * AREA), NR_THREADS * AREA, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, NR_THREADS * AREA, BL_MAP_NONE, &addr), 0);
	map = addr;
	copy = by_push;
	check_eq(bl_push_enable(0, 1000), 0);
	check_eq(pthread_create(&thread, NULL, toggle, NULL), 0);
	run_threads();
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	check_eq(bl_engine_stats(BL_ENGINE_PUSH, &stats), 0);
	check(stats.calls[BL_COPY_FROM] > NR_THREADS * ROUNDS / 4);
	check_eq(bl_push_disable(0), 0);
	check_eq(bl_close(ctx), 0);
	/* no thread that stands for a block is left behind */
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	world_check_rules();
}

static void threads_mix_engines_and_push(void)
{
	child_run(mix_push, NULL, (const char *[]){ "BARLANE_PUSH_START_US", "9000000", NULL });
}

static void native_errors_are_negative(void)
{
	bl_pin_t found;
	char byte = 0;
	uint64_t off;

	check_eq(bl_pin_find(map, &found, &off), 0);
	check_eq(world.fault("cuda.memcpy:1"), 0);
	check_eq(bl_copy_to(found, map, &byte, 1), -EIO);
	check_eq(bl_copy_to(found, map, &byte, 1), 0);
	check_eq(world.fault("cuda.memcpy:1"), 0);
	check_eq(bl_copy_from(found, &byte, map, 1), -EIO);
	check_eq(bl_copy_from(found, &byte, map, 1), 0);
}

/* @arg: name of the engine that must have copied, NULL for none */
static void legacy(const void *arg)
{
	struct bl_engine_stats cpu, ce;
	bl_pin_t found;
	CUdeviceptr va;
	char byte = 0;
	uint64_t off;
	void *addr;
	gdr_t g;

	world_enter();
	va = world_alloc(NR_THREADS * AREA);
	g = gdr_open();
	check(g);
	check_eq(gdr_pin_buffer(g, va, NR_THREADS * AREA, 0, 0, &handle), 0);
	check_eq(gdr_map(g, handle, &addr, NR_THREADS * AREA), 0);
	map = addr;
	copy = by_handle;
	run_threads();
	if (bl_pin_find(map, &found, &off) == -ENOENT)
		skip("libgdrapi carries a core of its own in this build, whose counters cannot be read");
	check_eq(bl_engine_stats(BL_ENGINE_CPU, &cpu), 0);
	check_eq(bl_engine_stats(BL_ENGINE_CE, &ce), 0);
	if (!arg || !strcmp(arg, "ce"))
		check_eq(cpu.calls[BL_COPY_TO], 0);
	if (!arg)
		check_eq(ce.calls[BL_COPY_TO], 0);
	else
		check_eq(cpu.calls[BL_COPY_TO] + ce.calls[BL_COPY_TO], NR_THREADS * ROUNDS);
	if (arg && !strcmp(arg, "ce")) {
		/* errors have the original's sign, and through the native API its own */
		check_eq(world.fault("cuda.memcpy:1"), 0);
		check_eq(gdr_copy_to_mapping(handle, map, &byte, 1), EIO);
		check_eq(gdr_copy_to_mapping(handle, map, &byte, 1), 0);
		check_eq(world.fault("cuda.memcpy:1"), 0);
		check_eq(gdr_copy_from_mapping(handle, &byte, map, 1), EIO);
		check_eq(gdr_copy_from_mapping(handle, &byte, map, 1), 0);
		native_errors_are_negative();
	}
	check_eq(gdr_copy_to_mapping(handle, map - 1, &byte, 1), EINVAL);
	check_eq(gdr_unmap(g, handle, map, NR_THREADS * AREA), 0);
	check_eq(gdr_copy_to_mapping(handle, map, &byte, 1), EINVAL);
	/* read at each mapping */
	unsetenv("GDRCOPY_ENGINE");
	check_eq(gdr_map(g, handle, &addr, AREA), 0);
	check_eq(bl_engine_stats(BL_ENGINE_CE, &ce), 0);
	check_eq(gdr_copy_to_mapping(handle, addr, &byte, 1), 0);
	check_eq(bl_engine_stats(BL_ENGINE_CE, &cpu), 0);
	check_eq(cpu.calls[BL_COPY_TO], ce.calls[BL_COPY_TO]);
	check_eq(gdr_close(g), 0);
	world_check_rules();
}

static void variable_chooses_for_gdrapi(void)
{
	child_run(legacy, NULL, NULL);
	child_run(legacy, NULL, (const char *[]){ "GDRCOPY_ENGINE", "cpu", NULL });
	child_run(legacy, NULL, (const char *[]){ "GDRCOPY_ENGINE", "", NULL });
	child_run(legacy, NULL, (const char *[]){ "GDRCOPY_ENGINE", "dma", NULL });
	child_run(legacy, "ce", (const char *[]){ "GDRCOPY_ENGINE", "ce", NULL });
	child_run(legacy, "auto", (const char *[]){ "GDRCOPY_ENGINE", "auto", NULL });
}

static void count_calls(const void *arg)
{
	struct bl_emu_counts before, after;
	static char buf[1 << 20];
	void *addr;
	gdr_t g;

	world_enter();
	g = gdr_open();
	check(g);
	check_eq(gdr_pin_buffer(g, world_alloc(sizeof(buf)), sizeof(buf), 0, 0, &handle), 0);
	check_eq(gdr_map(g, handle, &addr, sizeof(buf)), 0);
	world.counts(&before);
	check_eq(gdr_copy_to_mapping(handle, addr, buf, sizeof(buf)), 0);
	check_eq(gdr_copy_from_mapping(handle, buf, addr, sizeof(buf)), 0);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
}

static void gdrapi_calls_no_cuda_without_it(void)
{
	child_run(count_calls, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "eight threads mix engines on one pin", threads_mix_engines },
	{ "eight threads mix engines and push, whose kernel comes and goes", threads_mix_engines_and_push },
	{ "GDRCOPY_ENGINE chooses for gdrapi, at each mapping", variable_chooses_for_gdrapi },
	{ "without it gdrapi calls no CUDA in a copy", gdrapi_calls_no_cuda_without_it },
};

TAP_MAIN(tests)
