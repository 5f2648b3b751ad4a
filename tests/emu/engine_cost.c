// SPDX-License-Identifier: MIT
/* bl_copy_cost(), and the measurement behind it: on a machine that works, that is slow, that fails. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define SIZE	   (4UL << 20)
#define NR_THREADS 8

static bl_ctx_t ctx;
static bl_pin_t pin;
static void *addr, *host;

static void use(CUdeviceptr va)
{
	ctx = world_open("rm");
	if (bl_pin(ctx, va, SIZE, 0, 0, 0, &pin) || bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "pin and map: %s", bl_last_error(NULL));
}

static void set_up(void)
{
	world_enter();
	use(world_alloc(SIZE));
	host = calloc(1, SIZE);
	check(host);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int ask(size_t len, enum bl_engine engine, uint64_t *ns)
{
	return bl_copy_cost(pin, len, BL_COPY_FROM, 1, engine, ns, NULL);
}

static uint64_t cost(size_t len, enum bl_copy_dir dir, int pinned, enum bl_engine engine, enum bl_engine *by)
{
	uint64_t ns = 0;

	if (bl_copy_cost(pin, len, dir, pinned, engine, &ns, by))
		tap_end(TAP_FAILED, "cost of len 0x%zx dir %d pinned %d engine %d: %s", len, dir, pinned, engine,
			bl_last_error(NULL));
	check(ns > 0);
	return ns;
}

static uint64_t calls(enum bl_engine engine)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(engine, &stats), 0);
	return stats.calls[BL_COPY_TO] + stats.calls[BL_COPY_FROM];
}

static void check_kind(enum bl_copy_dir dir, int pinned)
{
	enum bl_engine by;

	for (size_t len = 1; len <= 1UL << 34; len *= 2) {
		uint64_t cpu = cost(len, dir, pinned, BL_ENGINE_CPU, &by), ce, best, slack;

		check_eq(by, BL_ENGINE_CPU);
		ce = cost(len, dir, pinned, BL_ENGINE_CE, &by);
		check_eq(by, BL_ENGINE_CE);
		best = cpu < ce ? cpu : ce;
		slack = best / 10 > 50 ? best / 10 : 50;
		check(cost(len, dir, pinned, BL_ENGINE_AUTO, &by) <= best + slack);
		check(by == BL_ENGINE_CPU || by == BL_ENGINE_CE);
		check_eq(cost(len, dir, pinned, BL_ENGINE_AUTO, NULL), by == BL_ENGINE_CPU ? cpu : ce);
		/* beyond what is measured nothing gets cheaper */
		if (len >= 2UL << 20) {
			check(cost(2 * len, dir, pinned, BL_ENGINE_CPU, NULL) >= cpu);
			check(cost(2 * len, dir, pinned, BL_ENGINE_CE, NULL) >= ce);
		}
	}
	check(cost(64UL << 20, dir, pinned, BL_ENGINE_CPU, NULL) > 10 * cost(4096, dir, pinned, BL_ENGINE_CPU, NULL));
	/* a line whose last two points are noise is level */
	check(cost(SIZE_MAX, dir, pinned, BL_ENGINE_CPU, NULL) >= cost(1UL << 34, dir, pinned, BL_ENGINE_CPU, NULL));
}

static void all_kinds(const void *arg)
{
	set_up();
	for (int i = 0; i < 4; i++)
		check_kind((enum bl_copy_dir)(i / 2), i % 2);
	check_eq(calls(BL_ENGINE_CPU), 0);
	check_eq(calls(BL_ENGINE_CE), 0);
	world_check_rules();
}

static void every_engine_has_a_cost(void)
{
	child_run(all_kinds, NULL, (const char *[]){ "BARLANE_CALIBRATION_MS", "8000", NULL });
}

static void measured_once(const void *arg)
{
	struct bl_emu_counts before, after;
	struct snapshot snapshot;
	uint64_t ns;

	set_up();
	snapshot_take(&snapshot);
	ask(4096, BL_ENGINE_AUTO, &ns);
	snapshot_check(&snapshot);
	world.counts(&before);
	for (size_t len = 1; len < 10000; len++)
		ask(len, (enum bl_engine)(len % 3), &ns);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
}

static void later_calls_only_look(void)
{
	child_run(measured_once, NULL, NULL);
}

/* Each copy by ce takes 3 ms, those by the CPU some microseconds: the CPU is far better, and auto takes it. */
static void slow_ce(const void *arg)
{
	enum bl_engine by;

	set_up();
	for (size_t len = 64; len <= 64UL << 10; len *= 4) {
		check(cost(len, BL_COPY_FROM, 1, BL_ENGINE_CE, NULL) >= 3000000);
		cost(len, BL_COPY_FROM, 1, BL_ENGINE_AUTO, &by);
		check_eq(by, BL_ENGINE_CPU);
	}
	check_eq(bl_copy(pin, 0, host, 64UL << 10, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(bl_copy(pin, 0, host, 64UL << 10, BL_COPY_TO, BL_ENGINE_AUTO), 0);
	check_eq(calls(BL_ENGINE_CPU), 2);
	check_eq(calls(BL_ENGINE_CE), 0);
}

static void a_slow_engine_is_not_taken(void)
{
	child_run(slow_ce, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "3000", "BARLANE_CALIBRATION_MS", "8000",
						   NULL });
}

/* A copy by ce takes 60 ms, all that would be measured more than half a minute. */
static void everything_slow(const void *arg)
{
	uint64_t start, ns = 77;

	set_up();
	start = now_ms();
	check_eq(ask(1UL << 20, BL_ENGINE_CE, &ns), -ENODATA);
	/* far from both, also on a machine that has other things to do */
	check(now_ms() - start < 15000);
	check_has(bl_last_error(NULL), "not measured in the time for it");
	check_eq(ns, 77);
	check_eq(ask(1UL << 20, BL_ENGINE_AUTO, &ns), -ENODATA);
	/* nor is auto's choice one that was not measured */
	check_eq(bl_copy(pin, 0, host, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(calls(BL_ENGINE_CE), 0);
}

static void the_time_for_it_is_bounded(void)
{
	child_run(everything_slow, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "60000", NULL });
	child_run(everything_slow, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "60000", "BARLANE_CALIBRATION_MS",
							   "0x", NULL });
}

/* The engine is left out, and the CPU measured all the same. */
static void ce_fails(const void *arg)
{
	enum bl_engine by;
	uint64_t ns;

	set_up();
	check_eq(world.fault(arg), 0);
	cost(1UL << 20, BL_COPY_FROM, 1, BL_ENGINE_AUTO, &by);
	check_eq(world.fault(""), 0);
	check_eq(by, BL_ENGINE_CPU);
	cost(1UL << 20, BL_COPY_TO, 0, BL_ENGINE_CPU, NULL);
	check_eq(ask(1UL << 20, BL_ENGINE_CE, &ns), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "engine ce: ");
	check_has(bl_last_error(NULL), "CUDA_ERROR_");
	check_eq(bl_copy(pin, 0, host, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(calls(BL_ENGINE_CE), 0);
	world_check_rules();
}

static void an_engine_that_fails_is_left_out(void)
{
	static const char *const env[] = { "BARLANE_CALIBRATION_MS", "8000", NULL };

	child_run(ce_fails, "cuda.memcpy:1", env);
	child_run(ce_fails, "cuda.memcpy:100", env);
	child_run(ce_fails, "cuda.newstream:1", env);
}

static void nothing_to_measure_with(const void *arg)
{
	struct snapshot before;
	uint64_t ns;

	set_up();
	snapshot_take(&before);
	check_eq(world.fault(arg), 0);
	check_eq(ask(4096, BL_ENGINE_CPU, &ns), -ENODATA);
	check_has(bl_last_error(NULL), "not measured: ");
	check_eq(world.fault(""), 0);
	check_eq(ask(4096, BL_ENGINE_AUTO, &ns), -ENODATA);
	check_eq(ask(4096, BL_ENGINE_CE, &ns), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "engine ce: ");
	snapshot_check(&before);
}

static void without_memory_there_is_no_answer(void)
{
	child_run(nothing_to_measure_with, "cuda.alloc:*", NULL);
	child_run(nothing_to_measure_with, "cuda.host:1", NULL);
	child_run(nothing_to_measure_with, "rm.dup:1", NULL);
	child_run(nothing_to_measure_with, "rm.map:1", NULL);
}

/* Memory whose context is gone says so, and leaves the GPU to be measured by others. */
static void context_gone(const void *arg)
{
	bl_pin_t orphan;
	CUcontext own;
	uint64_t ns;

	set_up();
	check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
	use(world_alloc(SIZE));
	orphan = pin;
	check_eq(bl_copy(orphan, 0, host, 4096, BL_COPY_TO, BL_ENGINE_CE), 0);
	check_eq(world.cuda->cuCtxDestroy(own), CUDA_SUCCESS);
	check_eq(ask(4096, BL_ENGINE_CPU, &ns), -EINVAL);
	check_eq(bl_copy(orphan, 0, host, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	use(world_alloc(SIZE));
	cost(4096, BL_COPY_FROM, 1, BL_ENGINE_CE, NULL);
	pin = orphan;
	cost(4096, BL_COPY_FROM, 1, BL_ENGINE_CE, NULL);
}

static void a_destroyed_context_spoils_nothing(void)
{
	child_run(context_gone, NULL, (const char *[]){ "BARLANE_CALIBRATION_MS", "8000", NULL });
}

static void arguments(const void *arg)
{
	uint64_t ns = 77;
	pid_t child;
	int status;

	set_up();
	check_eq(bl_copy_cost(pin, 0, BL_COPY_TO, 0, BL_ENGINE_CPU, &ns, NULL), -EINVAL);
	check_has(bl_last_error(NULL), "length 0");
	check_eq(bl_copy_cost(pin, 1, (enum bl_copy_dir)2, 0, BL_ENGINE_CPU, &ns, NULL), -EINVAL);
	check_has(bl_last_error(NULL), "no direction 2");
	check_eq(bl_copy_cost(pin, 1, BL_COPY_TO, 0, (enum bl_engine)99, &ns, NULL), -EINVAL);
	check_has(bl_last_error(NULL), "no engine 99");
	check_eq(bl_copy_cost(pin, 1, BL_COPY_TO, 0, BL_ENGINE_CPU, NULL, NULL), -EINVAL);
	check_eq(bl_copy_cost(0, 1, BL_COPY_TO, 0, BL_ENGINE_CPU, &ns, NULL), -EINVAL);
	check_eq(bl_copy_cost(pin + 1, 1, BL_COPY_TO, 0, BL_ENGINE_CPU, &ns, NULL), -EINVAL);
	child = fork();
	if (!child)
		_exit(ask(1, BL_ENGINE_CPU, &ns) != -EACCES);
	check_eq(waitpid(child, &status, 0), child);
	check_eq(status, 0);
	check_eq(bl_unmap(ctx, pin, addr, SIZE), 0);
	check_eq(ask(1, BL_ENGINE_CPU, &ns), -EINVAL);
	check_has(bl_last_error(NULL), "not a mapped pin");
	check_eq(ns, 77);
}

static void wrong_arguments_are_einval(void)
{
	child_run(arguments, NULL, NULL);
}

static void *ask_and_copy(void *arg)
{
	unsigned char *bytes = calloc(1, SIZE / NR_THREADS);
	uint64_t *ns = arg;

	if (!bytes || world.cuda->cuCtxSetCurrent(world.context) ||
	    bl_copy(pin, 0, bytes, SIZE / NR_THREADS, BL_COPY_FROM, BL_ENGINE_AUTO) ||
	    ask(64UL << 10, BL_ENGINE_AUTO, ns))
		*ns = 0;
	free(bytes);
	return NULL;
}

static void threads_agree(const void *arg)
{
	pthread_t threads[NR_THREADS];
	uint64_t ns[NR_THREADS];

	set_up();
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, ask_and_copy, &ns[i]), 0);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NR_THREADS; i++)
		check(ns[i] && ns[i] == ns[0]);
	world_check_rules();
}

static void threads_get_one_answer(void)
{
	child_run(threads_agree, NULL, (const char *[]){ "BARLANE_CALIBRATION_MS", "4000", NULL });
}

static pthread_barrier_t together;

static void *ask_only(void *arg)
{
	uint64_t ns;

	pthread_barrier_wait(&together);
	*(int *)arg = world.cuda->cuCtxSetCurrent(world.context) ? -EIO : ask(4096, BL_ENGINE_CE, &ns);
	return NULL;
}

/* The first try takes 200 ms and more: one thread is in it, the other gives up after 1 + 100 ms. */
static void no_endless_wait(const void *arg)
{
	pthread_t threads[2];
	int rets[2];

	set_up();
	check_eq(pthread_barrier_init(&together, NULL, 2), 0);
	for (int i = 0; i < 2; i++)
		check_eq(pthread_create(&threads[i], NULL, ask_only, &rets[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check(rets[0] == -EAGAIN || rets[1] == -EAGAIN);
	check(rets[0] == -ENODATA || rets[1] == -ENODATA);
}

static void others_do_not_wait_for_ever(void)
{
	child_run(no_endless_wait, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "200000", "BARLANE_CALIBRATION_MS",
							   "1", NULL });
}

static int read_by(enum bl_engine engine)
{
	return bl_copy(pin, 0, host, 4096, BL_COPY_FROM, engine);
}

/* A process that ends while threads stand for blocks leaves them behind, which ThreadSanitizer does not like. */
static void end_push(void)
{
	check_eq(world.fault(""), 0);
	check_eq(bl_push_disable(0), 0);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
}

/* A GPU that is full says nothing about the next time. */
static void push_later(const void *arg)
{
	uint64_t ns;

	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	check_eq(ask(4096, BL_ENGINE_CPU, &ns), 0);
	check_eq(world.fault("cuda.late:1:1500"), 0);
	check_eq(ask(4096, BL_ENGINE_PUSH, &ns), -ENODATA);
	check_has(bl_last_error(NULL), "does not begin");
	check_eq(read_by(BL_ENGINE_AUTO), 0);
	check_eq(calls(BL_ENGINE_PUSH), 0);
	for (int i = 0; i < 400 && ask(4096, BL_ENGINE_PUSH, &ns); i++)
		usleep(20000);
	check_eq(ask(4096, BL_ENGINE_PUSH, &ns), 0);
	end_push();
}

/* A kernel that does not answer is not tried by auto again. */
static void push_fails(const void *arg)
{
	uint64_t ns;

	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	check_eq(world.fault("cuda.deaf:1:2500"), 0);
	check_eq(ask(4096, BL_ENGINE_PUSH, &ns), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "within 700 ms");
	for (int i = 0; i < 400 && read_by(BL_ENGINE_PUSH); i++)
		usleep(20000);
	check_eq(read_by(BL_ENGINE_PUSH), 0);
	check_eq(read_by(BL_ENGINE_AUTO), 0);
	check_eq(calls(BL_ENGINE_PUSH), 2);
	check_eq(ask(4096, BL_ENGINE_PUSH, &ns), -EOPNOTSUPP);
	end_push();
}

static void push_that_fails_is_left_to_who_names_it(void)
{
	child_run(push_later, NULL, (const char *[]){ "BARLANE_PUSH_START_US", "500000", "BARLANE_CALIBRATION_MS",
						      "8000", NULL });
	child_run(push_fails, NULL, (const char *[]){ "BARLANE_CE_TIMEOUT_MS", "700", "BARLANE_CALIBRATION_MS", "8000",
						      "BARLANE_PUSH_START_US", "8000000", NULL });
}

static const struct tap_test tests[] = {
	{ "every engine has a cost, and auto that of the best", every_engine_has_a_cost },
	{ "later calls only look", later_calls_only_look },
	{ "a slow engine is not taken", a_slow_engine_is_not_taken },
	{ "the time for measuring is bounded, and what was left out is unknown", the_time_for_it_is_bounded },
	{ "an engine that fails is left out", an_engine_that_fails_is_left_out },
	{ "without memory to measure on there is no answer", without_memory_there_is_no_answer },
	{ "a destroyed context spoils nothing", a_destroyed_context_spoils_nothing },
	{ "wrong arguments are EINVAL", wrong_arguments_are_einval },
	{ "threads get one answer", threads_get_one_answer },
	{ "others do not wait for ever", others_do_not_wait_for_ever },
	{ "push whose measurement fails is left to who names it", push_that_fails_is_left_to_who_names_it },
};

TAP_MAIN(tests)
