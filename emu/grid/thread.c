// SPDX-License-Identifier: MIT
#include "grid_int.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For the handler of a signal: what a CPU saves may need 11 KiB. */
#define CRASH_STACK (32UL << 10)

/* A wait that gives way so often begins to sleep; how long at least, and per thread that shares the CPU meanwhile. */
#define TURNS_TO_SLEEP	   64U
#define TURNS_WITH_CPUS	   4096U
#define SLEEP_MIN_NS	   20000U
#define SLEEP_THREAD_NS	   4000U
/* Sleeps without work in between after which they take twice as long, and how often they do: waits that long are for others. */
#define SLEEPS_A_STEP	   16U
#define SLEEP_STEPS	   2U
/*
 * So much time between two calls was work: the next is the first of another wait. Threads that have CPUs for themselves
 * are interrupted seldom: 30 to 60 ns are a look, 120 to 500 the work of a message that is sent back. What is looked at
 * after a sleep takes longer, since it is in no cache any more.
 */
#define OTHER_WAIT_NS	   20000U
#define OTHER_WITH_CPUS_NS 120U
#define OTHER_SLEPT_NS	   1000U
/* Of them, the last before the next sleep: who was asleep when the first message came is awake for the second. */
#define TURNS_BETWEEN	   64U

__thread struct grid_thread *grid_current;

uint64_t grid_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void grid_futex_wait(atomic_uint *word, unsigned int value, uint64_t ns)
{
	struct timespec limit = { .tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U) };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &limit : NULL, NULL, 0);
}

void grid_futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Actors have nothing to do when all others have ended. */
static int must_leave(const struct grid_thread *thread)
{
	const struct grid *grid = thread->grid;

	return atomic_load(&grid->stopping) || (!thread->block && !atomic_load(&grid->left));
}

static _Noreturn void leave(struct grid_thread *thread)
{
	siglongjmp(thread->out, 1);
}

void grid_enter(struct grid_thread *thread)
{
	thread->inside = 1;
	if (must_leave(thread))
		leave(thread);
}

void grid_exit(struct grid_thread *thread)
{
	if (must_leave(thread))
		leave(thread);
	atomic_store_explicit(&thread->at, GRID_AT_RUN, memory_order_relaxed);
	thread->inside = 0;
}

/* Returns 0 when the function has returned, 1 when it was left. */
static int run_guarded(struct grid_thread *thread, void (*run)(void *arg), void *arg)
{
	if (sigsetjmp(thread->out, 0)) {
		thread->armed = 0;
		return 1;
	}
	atomic_store_explicit(&thread->at, GRID_AT_RUN, memory_order_relaxed);
	thread->inside = 0;
	thread->armed = 1;
	run(arg);
	thread->armed = 0;
	return 0;
}

/* The lock of the block is held. */
static void take_block(struct grid *grid, struct grid_block *block)
{
	unsigned long long next = atomic_fetch_add(&grid->next_block, 1);

	if (next >= grid->nr_blocks) {
		block->over = 1;
		return;
	}
	block->linear = next;
	if (block->shared)
		memset(block->shared, 0, grid->what.shared);
	if (block->vars_mem)
		memset(block->vars_mem, 0, BL_GRID_STATIC_SHARED);
	block->nr_vars = 0;
	block->static_used = 0;
	grid_block_begin(block);
}

/* Lets those go who wait for the block to end; the caller, its last thread, does not wait. Lock held. */
static void wake_block(struct grid *grid, struct grid_block *block, struct grid_thread *self)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < block->nr; i++) {
		struct grid_thread *thread = &block->threads[i];

		if (thread == self || atomic_load(&thread->at) != GRID_AT_NEXT)
			continue;
		thread->can_run = 1;
		/* release: the thread sees its next block */
		atomic_store_explicit(&thread->met, 1, memory_order_release);
		nr++;
	}
	grid_awake(grid, nr);
	atomic_fetch_add(&block->epoch, 1);
	grid_futex_wake(&block->epoch);
}

/* The function has returned for this block. Returns whether there is another block to run. */
static int next_block(struct grid_thread *thread)
{
	struct grid_block *block = thread->block;
	struct grid *grid = thread->grid;
	unsigned int seen;
	int waits = 0;

	pthread_mutex_lock(&block->lock);
	grid_block_left(thread);
	if (!block->live) {
		take_block(grid, block);
		wake_block(grid, block, thread);
	} else if (atomic_load(&grid->next_block) < grid->nr_blocks) {
		atomic_store(&thread->met, 0);
		atomic_store(&thread->at, GRID_AT_NEXT);
		grid_asleep(thread);
		waits = 1;
	} else {
		atomic_store(&thread->at, GRID_AT_END);
		pthread_mutex_unlock(&block->lock);
		return 0;
	}
	seen = atomic_load(&block->epoch);
	pthread_mutex_unlock(&block->lock);
	if (waits)
		grid_wait_met(thread, &block->epoch, seen);
	if (atomic_load(&grid->stopping))
		return 0;
	if (block->over)
		atomic_store(&thread->at, GRID_AT_END);
	return !block->over;
}

static void set_block(struct grid_thread *thread)
{
	atomic_store(&thread->linear, thread->block->linear);
	thread->self.block = grid_place(thread->block->linear, &thread->grid->what.grid);
}

static void run_blocks(struct grid_thread *thread)
{
	struct grid *grid = thread->grid;

	do {
		set_block(thread);
		if (run_guarded(thread, grid->what.run, grid->what.arg))
			return;
	} while (next_block(thread));
	if (atomic_load(&grid->stopping))
		return;
	/* first: who sees nobody awake must see how many are left */
	atomic_fetch_sub(&grid->left, 1);
	grid_asleep(thread);
}

static void run_actor(struct grid_thread *thread)
{
	const struct grid *grid = thread->grid;
	const struct bl_grid_actor *actor = &grid->what.actors[thread->index - (grid->nr_threads - grid->what.nr_actors)];

	if (!run_guarded(thread, actor->run, actor->arg) || !atomic_load(&grid->stopping))
		atomic_store(&thread->at, GRID_AT_END);
}

static void run_thread(struct grid_thread *thread)
{
	struct grid *grid = thread->grid;

	if (grid_seeded(grid))
		grid_sched_await(thread);
	if (!atomic_load(&grid->stopping)) {
		if (thread->block)
			run_blocks(thread);
		else
			run_actor(thread);
	}
	if (grid_seeded(grid))
		grid_sched_end(thread);
}

void *grid_thread_main(void *arg)
{
	struct grid_thread *thread = arg;
	struct grid *grid = thread->grid;
	uint8_t stack[CRASH_STACK];
	stack_t old;

	grid_current = thread;
	grid_crash_stack(stack, sizeof(stack), &old);
	while (!atomic_load_explicit(&grid->begin, memory_order_acquire))
		grid_futex_wait(&grid->begin, 0, 0);
	if (atomic_load(&grid->begin) == 1)
		run_thread(thread);
	sigaltstack(&old, NULL);
	atomic_store(&thread->ended, 1);
	if (atomic_fetch_add(&grid->ended, 1) + 1 == grid->nr_threads)
		grid_futex_wake(&grid->ended);
	return NULL;
}

GRID_API const struct bl_thread *bl_thread_self(void)
{
	static const struct bl_thread alone = {
		.block_dim = { 1, 1, 1 },
		.grid_dim = { 1, 1, 1 },
	};

	return grid_current ? &grid_current->self : &alone;
}

/* Whether the thread has worked since it gave way last. */
static bool has_worked(const struct grid_thread *thread, bool few)
{
	uint64_t gap = grid_now_ns() - thread->gave_ns;

	if (!few)
		return gap > OTHER_WAIT_NS;
	return gap > (thread->turns == TURNS_WITH_CPUS - TURNS_BETWEEN ? OTHER_SLEPT_NS : OTHER_WITH_CPUS_NS);
}

static void sleep_some(struct grid_thread *thread)
{
	unsigned int step = thread->sleeps / SLEEPS_A_STEP;
	long ns = SLEEP_MIN_NS + (long)(thread->grid->nr_threads / thread->grid->nr_cpus) * SLEEP_THREAD_NS;
	struct timespec nap = { .tv_nsec = ns << (step < SLEEP_STEPS ? step : SLEEP_STEPS) };

	thread->sleeps++;
	nanosleep(&nap, NULL);
}

/* There are more threads than CPUs: who only looks must not keep those from work who have some. */
static void give_way(struct grid_thread *thread)
{
	bool few = thread->grid->nr_threads < thread->grid->nr_cpus;

	if (has_worked(thread, few))
		thread->turns = thread->sleeps = 0;
	if (thread->turns++ < (few ? TURNS_WITH_CPUS : TURNS_TO_SLEEP)) {
		sched_yield();
	} else {
		sleep_some(thread);
		if (few)
			thread->turns = TURNS_WITH_CPUS - TURNS_BETWEEN;
	}
	thread->gave_ns = grid_now_ns();
}

GRID_API void bl_thread_yield(void)
{
	struct grid_thread *thread = grid_current;

	if (!thread) {
		sched_yield();
		return;
	}
	grid_enter(thread);
	atomic_store_explicit(&thread->at, GRID_AT_YIELD, memory_order_relaxed);
	if (grid_seeded(thread->grid))
		grid_sched_step(thread, 1);
	else
		give_way(thread);
	grid_exit(thread);
}

GRID_API void bl_thread_step(void)
{
	struct grid_thread *thread = grid_current;

	if (!thread || (!grid_seeded(thread->grid) && !must_leave(thread)))
		return;
	grid_enter(thread);
	grid_sched_step(thread, 0);
	grid_exit(thread);
}

GRID_API void *bl_thread_shared(uint64_t off, uint64_t size)
{
	const struct grid_thread *thread = grid_current;

	if (!thread || !thread->block || off > thread->grid->what.shared || size > thread->grid->what.shared - off)
		return NULL;
	return thread->block->shared + off;
}
