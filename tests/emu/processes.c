// SPDX-License-Identifier: MIT
/* Forks, threads and streams that meet a mapping of provider rm. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

/* What a forked child may find out: a bit per call that did not answer EACCES. */
static int try_everything(bl_ctx_t ctx, bl_pin_t pin, void *addr, CUdeviceptr ptr)
{
	struct bl_provider_info provider;
	struct bl_pin_info info;
	bl_pin_t another;
	char byte = 1;
	void *va;
	int bad = 0;

	bad |= (bl_pin(ctx, ptr, 65536, 0, 0, 0, &another) != -EACCES) << 0;
	bad |= (bl_map(ctx, pin, 65536, BL_MAP_NONE, &va) != -EACCES) << 1;
	bad |= (bl_unmap(ctx, pin, addr, 65536) != -EACCES) << 2;
	bad |= (bl_unpin(ctx, pin) != -EACCES) << 3;
	bad |= (bl_pin_info(ctx, pin, &info) != -EACCES) << 4;
	bad |= (bl_copy_to(pin, addr, &byte, 1) != -EACCES) << 5;
	bad |= (bl_copy_from(pin, &byte, addr, 1) != -EACCES) << 6;
	bad |= (bl_ctx_provider(ctx, &provider) != -EACCES) << 7;
	return bad;
}

static int child_status(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void forks(const void *arg)
{
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	pid_t pid;

	world_enter();
	ptr = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
	pid = fork();
	if (!pid) {
		bl_last_error(NULL);
		_exit(try_everything(ctx, pin, addr, ptr));
	}
	check_eq(child_status(pid), 0);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)addr = 1;
		_exit(0);
	}
	check_eq(child_status(pid), 1000 + SIGSEGV);
	pid = fork();
	if (!pid) {
		bl_ctx_t own;

		/* closing what was inherited is allowed, once, and harms nobody */
		if (bl_close(ctx) || bl_close(ctx) != -EINVAL)
			_exit(1);
		/* a context of its own is a new start: what was inherited is gone, new handles are its own */
		if (bl_open("rm", &own) || bl_unpin(own, pin) != -EINVAL || bl_close(own))
			_exit(2);
		_exit(0);
	}
	check_eq(child_status(pid), 0);
	world_check_mapping(pin, addr, ptr, 65536);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void forked_child_gets_nothing_and_harms_nothing(void)
{
	child_run(forks, NULL, NULL);
}

/* Descriptors of a child: those that the library opened must be closed in it. */
static void child_fds(const void *arg)
{
	CUdeviceptr ptr;
	bl_pin_t pins[8];
	bl_ctx_t ctx;
	void *addr;
	int before, now;
	pid_t pid;

	world_enter();
	ptr = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pins[0]), 0);
	check_eq(bl_close(ctx), 0);
	before = world_fds();
	ctx = world_open("rm");
	for (int i = 0; i < 8; i++) {
		check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map(ctx, pins[i], 65536, BL_MAP_NONE, &addr), 0);
	}
	now = world_fds();
	check_eq(now, before + 2); /* control node and device node; mappings cost none */
	pid = fork();
	if (!pid)
		_exit(world_fds() != before);
	check_eq(child_status(pid), 0);
	check_eq(world_fds(), now);
	check_eq(bl_close(ctx), 0);
}

static void child_keeps_no_descriptor(void)
{
	child_run(child_fds, NULL, NULL);
}

struct worker {
	bl_ctx_t ctx;
	CUdeviceptr ptr;
	unsigned int seed;
	double deadline;
	long rounds;
	const char *failed;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static const char *one_round(struct worker *w)
{
	CUdeviceptr va = w->ptr + (rand_r(&w->seed) % 16) * 65536ULL;
	unsigned int sent = (unsigned int)rand_r(&w->seed), seen = 0;
	bl_pin_t pin;
	void *addr;

	if (bl_pin(w->ctx, va, 65536, 0, 0, 0, &pin))
		return "pin";
	if (bl_map(w->ctx, pin, 65536, BL_MAP_NONE, &addr))
		return "map";
	if (bl_copy_to(pin, (char *)addr + 64, &sent, sizeof(sent)) ||
	    bl_copy_from(pin, &seen, (char *)addr + 64, sizeof(seen)) || seen != sent)
		return "copy";
	if (rand_r(&w->seed) % 2 && bl_unmap(w->ctx, pin, addr, 65536))
		return "unmap";
	if (bl_unpin(w->ctx, pin))
		return "unpin";
	return NULL;
}

/* One worker's pages are its own, so that what it reads is what it wrote. */
static void *work(void *arg)
{
	struct worker *w = arg;

	while (!w->failed && now_s() < w->deadline) {
		w->failed = one_round(w);
		w->rounds++;
		if (w->rounds % 64 == 0) {
			pid_t pid = fork();

			if (!pid)
				_exit(bl_unpin(w->ctx, 1) != -EACCES);
			if (child_status(pid))
				w->failed = "fork";
		}
	}
	return NULL;
}

static void stress(const void *arg)
{
	const char *seconds = getenv("BL_STRESS_SECONDS");
	struct worker workers[8] = { 0 };
	pthread_t threads[8];
	struct snapshot before;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;

	world_enter();
	ptr = world_alloc(16 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	snapshot_take(&before);
	for (unsigned int i = 0; i < 8; i++) {
		workers[i] = (struct worker){ .ctx = ctx,
					      .ptr = ptr + i * 2 * MIB,
					      .seed = i + 1,
					      .deadline = now_s() + (seconds ? atof(seconds) : 2) };
		check_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++) {
		if (workers[i].failed)
			tap_end(TAP_FAILED, "seed %d round %ld: %s: %s", i + 1, workers[i].rounds, workers[i].failed,
				bl_last_error(NULL));
		check(workers[i].rounds > 0);
	}
	snapshot_check(&before);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void eight_threads_and_forks_lose_nothing(void)
{
	child_run(stress, NULL, NULL);
}

struct capture {
	CUstream stream;
	CUresult begun;
	CUresult ended;
	CUgraph graph;
	int step;
	pthread_mutex_t lock;
	pthread_cond_t moved;
};

static void move_to(struct capture *c, int step)
{
	pthread_mutex_lock(&c->lock);
	c->step = step;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

static void wait_until(struct capture *c, int step)
{
	pthread_mutex_lock(&c->lock);
	while (c->step < step)
		pthread_cond_wait(&c->moved, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

static void *capturing_thread(void *arg)
{
	struct capture *c = arg;

	world.cuda->cuCtxSetCurrent(world.context);
	world.cuda->cuStreamCreate(&c->stream, CU_STREAM_DEFAULT);
	c->begun = world.cuda->cuStreamBeginCapture(c->stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	move_to(c, 1);
	wait_until(c, 2);
	c->ended = world.cuda->cuStreamEndCapture(c->stream, &c->graph);
	return NULL;
}

static void pins_during_capture(const void *arg)
{
	struct capture c = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };
	pthread_t thread;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	int ret;

	world_enter();
	ptr = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(pthread_create(&thread, NULL, capturing_thread, &c), 0);
	wait_until(&c, 1);
	ret = bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin); /* the self-test allocates and copies */
	if (!ret)
		ret = bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr);
	move_to(&c, 2);
	pthread_join(thread, NULL);
	check_eq(ret, 0);
	check_eq(c.begun, CUDA_SUCCESS);
	check_eq(c.ended, CUDA_SUCCESS);
	world_check_mapping(pin, addr, ptr, 65536);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void first_pin_leaves_the_capture_of_another_thread_alone(void)
{
	child_run(pins_during_capture, NULL, NULL);
}

static void *pin_without_context(void *arg)
{
	struct worker *w = arg;
	CUcontext current = NULL;

	world.cuda->cuCtxGetCurrent(&current);
	if (current)
		w->failed = "there is a context";
	else
		w->failed = one_round(w);
	world.cuda->cuCtxGetCurrent(&current);
	if (current)
		w->failed = "a context stayed behind";
	return NULL;
}

static void no_context(const void *arg)
{
	struct worker w = { 0 };
	pthread_t thread;

	world_enter();
	w.ptr = world_alloc(2 * MIB);
	w.ctx = world_open("rm");
	check_eq(pthread_create(&thread, NULL, pin_without_context, &w), 0);
	pthread_join(thread, NULL);
	check_str(w.failed ? w.failed : "", "");
	w.ptr = world_vmm(2 * MIB, 1);
	check_eq(pthread_create(&thread, NULL, pin_without_context, &w), 0);
	pthread_join(thread, NULL);
	check_str(w.failed ? w.failed : "", "");
	check_eq(bl_close(w.ctx), 0);
}

static void thread_without_a_context_can_pin(void)
{
	child_run(no_context, NULL, NULL);
}

static void opens_without_cuda(const void *arg)
{
	struct bl_emu_counts before, after;
	struct bl_provider_info infos[3];
	bl_ctx_t ctx;

	world_enter();
	world.counts(&before);
	ctx = world_open("rm");
	check_eq(bl_close(ctx), 0);
	check_eq(bl_provider_list(infos, 3), 3);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
	check_eq(after.nodes, before.nodes);
	check_eq(after.clients, before.clients);
}

static void opening_makes_no_cuda_call(void)
{
	child_run(opens_without_cuda, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "forked_child_gets_nothing_and_harms_nothing", forked_child_gets_nothing_and_harms_nothing },
	{ "child_keeps_no_descriptor", child_keeps_no_descriptor },
	{ "eight_threads_and_forks_lose_nothing", eight_threads_and_forks_lose_nothing },
	{ "first_pin_leaves_the_capture_of_another_thread_alone",
	  first_pin_leaves_the_capture_of_another_thread_alone },
	{ "thread_without_a_context_can_pin", thread_without_a_context_can_pin },
	{ "opening_makes_no_cuda_call", opening_makes_no_cuda_call },
};

TAP_MAIN(tests)
