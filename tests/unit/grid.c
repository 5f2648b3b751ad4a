// SPDX-License-Identifier: MIT
/* Threads of the CPU as a GPU's grid: places, meetings, shared memory, and all the ways to end early. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/grid/grid.h"
#include "tests/tap.h"

#define ALL 0xffffffffU

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct bl_grid_result result;
static int no_threads_after = -1; /* pthread_create() fails after so many */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (!no_threads_after)
		return EAGAIN;
	if (no_threads_after > 0)
		no_threads_after--;
	return __real_pthread_create(id, attr, run, arg);
}

static struct bl_grid flat(unsigned int blocks, unsigned int threads, void (*run)(void *), void *arg)
{
	return (struct bl_grid){ .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .run = run, .arg = arg,
				 .timeout_ms = 30000 };
}

static int run(unsigned int blocks, unsigned int threads, void (*fn)(void *), void *arg)
{
	struct bl_grid grid = flat(blocks, threads, fn, arg);

	return bl_grid_run(&grid, &result);
}

static unsigned int linear(void)
{
	const struct bl_thread *self = bl_thread_self();
	const struct bl_dim3 *t = &self->thread, *d = &self->block_dim;

	return t->x + d->x * (t->y + d->y * t->z);
}

static void count_place(void *arg)
{
	const struct bl_thread *self = bl_thread_self();
	atomic_int *seen = arg;
	unsigned int block = self->block.x + self->grid_dim.x * (self->block.y + self->grid_dim.y * self->block.z);
	unsigned int threads = self->block_dim.x * self->block_dim.y * self->block_dim.z;

	if (self->lane == linear() % 32)
		atomic_fetch_add(&seen[block * threads + linear()], 1);
}

static void every_thread_runs_once(void)
{
	static atomic_int seen[3 * 2 * 4 * 5 * 3 * 2];
	struct bl_grid grid = { .grid = { 3, 2, 4 }, .block = { 5, 3, 2 }, .run = count_place, .arg = seen };

	memset(seen, 0, sizeof(seen));
	check_eq(bl_grid_run(&grid, &result), 0);
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		check_eq(seen[i], 1);
	check_str(result.text, "");
}

static void sum_block(void *arg)
{
	atomic_uint *wrong = arg;
	uint32_t *words = bl_thread_shared(0, 128 * sizeof(uint32_t));
	unsigned int me = linear(), sum = 0;

	for (unsigned int round = 1; round <= 5; round++) {
		words[me] = me * round;
		bl_thread_syncblock();
		sum = 0;
		for (unsigned int i = 0; i < 128; i++)
			sum += words[i];
		if (sum != round * 127 * 128 / 2)
			atomic_fetch_add(wrong, 1);
		bl_thread_syncblock();
	}
}

static void blocks_meet(void)
{
	atomic_uint wrong = 0;
	struct bl_grid grid = flat(2, 128, sum_block, &wrong);

	grid.shared = 128 * sizeof(uint32_t);
	check_eq(bl_grid_run(&grid, &result), 0);
	check_eq(wrong, 0);
}

static void exchange(void *arg)
{
	atomic_uint *wrong = arg;
	unsigned int lane = bl_thread_self()->lane;
	uint32_t half = lane < 16 ? 0x0000ffff : 0xffff0000, odd = lane & 1 ? 0xaaaaaaaa : 0x55555555;

	for (unsigned int round = 0; round < 20; round++) {
		if (bl_thread_shfl(ALL, lane * 3 + round, lane + 1) != (lane + 1) % 32 * 3 + round)
			atomic_fetch_add(wrong, 1);
		if (bl_thread_ballot(half, lane % 3 == 0) != (0x49249249U & half))
			atomic_fetch_add(wrong, 1);
		if (bl_thread_shfl(odd, lane, lane & 1 ? 31 : 0) != (lane & 1 ? 31U : 0U))
			atomic_fetch_add(wrong, 1);
		/* who is not in the mask gives nothing */
		if (bl_thread_shfl(odd, lane, lane ^ 1) != lane)
			atomic_fetch_add(wrong, 1);
		bl_thread_syncwarp(ALL);
	}
}

static void lanes_exchange(void)
{
	atomic_uint wrong = 0;

	check_eq(run(2, 64, exchange, &wrong), 0);
	check_eq(wrong, 0);
}

static void leave_in_turn(void *arg)
{
	atomic_uint *wrong = arg;
	unsigned int lane = bl_thread_self()->lane;

	for (unsigned int round = 0; round < lane; round++) {
		if (bl_thread_ballot(ALL, 1) != (ALL << (round + 1) & 0x000fffff))
			atomic_fetch_add(wrong, 1);
		bl_thread_syncblock();
	}
}

/* Twenty lanes: lane n leaves after n rounds, and each vote is of those that are left. */
static void lanes_that_ended_are_not_waited_for(void)
{
	atomic_uint wrong = 0;

	check_eq(run(1, 20, leave_in_turn, &wrong), 0);
	check_eq(wrong, 0);
}

static void use_shared(void *arg)
{
	static const char first, second;
	atomic_uint *wrong = arg;
	unsigned char *dynamic = bl_thread_shared(8, 56);
	uint64_t *a = bl_thread_shared_static(&first, 24), *b = bl_thread_shared_static(&second, 24);

	if (!dynamic || !a || !b || a == b || a != bl_thread_shared_static(&first, 24) || dynamic[55] || a[2] || b[2])
		atomic_fetch_add(wrong, 1);
	if (bl_thread_shared(8, 57) || bl_thread_shared(65, 0) || bl_thread_shared(UINT64_MAX, 2))
		atomic_fetch_add(wrong, 1);
	if (bl_thread_shared_static(&first, 25) || bl_thread_shared_static(wrong, BL_GRID_STATIC_SHARED))
		atomic_fetch_add(wrong, 1);
	bl_thread_syncblock();
	if (!linear()) {
		dynamic[55] = 1;
		a[2] = b[2] = 1;
	}
}

/* Four hundred blocks of eight threads in forty threads: block after block, and each finds its memory zero. */
static void more_blocks_than_threads_run_in_turn(void)
{
	atomic_uint wrong = 0;
	struct bl_grid grid = flat(400, 8, use_shared, &wrong);

	grid.shared = 64;
	grid.max_threads = 40;
	check_eq(bl_grid_run(&grid, &result), 0);
	check_eq(wrong, 0);
}

static void pass_on_token(void *arg)
{
	atomic_uint *token = arg;
	unsigned int me = bl_thread_self()->block.x * 64 + linear();

	for (unsigned int round = 0; round < 2; round++) {
		while (atomic_load(token) != round * 512 + me)
			bl_thread_yield();
		atomic_fetch_add(token, 1);
	}
}

static void five_hundred_that_poll_get_on(void)
{
	atomic_uint token = 0;

	check_eq(run(8, 64, pass_on_token, &token), 0);
	check_eq(token, 2 * 512);
}

static void wait_for_ever(void *arg)
{
	if (linear() == 1)
		bl_thread_syncwarp(0x2);
	else if (linear() < 4)
		bl_thread_syncwarp(ALL);
	else
		bl_thread_syncblock();
}

static void deadlock_is_named(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_FREE, BL_GRID_UNIFORM, BL_GRID_PCT };

	for (size_t i = 0; i < 3; i++) {
		struct bl_grid grid = flat(1, 40, wait_for_ever, NULL);

		grid.order = orders[i];
		check_eq(bl_grid_run(&grid, &result), -EDEADLK);
		check_eq(result.nr_unfinished, 39);
		check_eq(result.nr_abandoned, 0);
		check_has(result.text, "deadlock");
		check_has(result.text, "block 0,0,0 thread 0: in syncwarp, mask ffffffff\n");
		check_has(result.text, "block 0,0,0 threads 2-3: in syncwarp, mask ffffffff\n");
		check_has(result.text, "block 0,0,0 threads 4-39: in syncblock\n");
	}
}

static void forget_itself(void *arg)
{
	bl_thread_syncwarp(linear() == 5 ? 0x1 : ALL);
}

static void mask_without_its_own_lane_is_an_error(void)
{
	check_eq(run(1, 32, forget_itself, NULL), -EINVAL);
	check_has(result.text, "own lane");
	check_has(result.text, "thread 5: ");
}

static void poll_for_ever(void *arg)
{
	if (linear())
		bl_thread_syncblock();
	for (;;)
		bl_thread_yield();
}

static void deadline_ends_polling(void)
{
	struct bl_grid grid = flat(2, 33, poll_for_ever, NULL);

	grid.timeout_ms = 50;
	check_eq(bl_grid_run(&grid, &result), -ETIMEDOUT);
	check_eq(result.nr_unfinished, 66);
	check_eq(result.nr_abandoned, 0);
	check_has(result.text, "deadline");
}

/* Threads that count themselves; the last one stops the grid. */
struct crowd {
	uint32_t stop;
	atomic_uint here;
	unsigned int all;
	pthread_mutex_t held;
};

static void arrive(struct crowd *crowd)
{
	if (atomic_fetch_add(&crowd->here, 1) + 1 == crowd->all)
		__atomic_store_n(&crowd->stop, 1, __ATOMIC_RELEASE);
}

static void listen_to_nobody(void *arg)
{
	struct crowd *crowd = arg;
	volatile int never = 0;

	arrive(crowd);
	while (!never)
		;
}

static void threads_that_do_not_listen_are_ended(void)
{
	struct crowd crowd = { .all = 3 };
	struct bl_grid grid = flat(1, 3, listen_to_nobody, &crowd);

	grid.stop = &crowd.stop;
	check_eq(bl_grid_run(&grid, &result), -ECANCELED);
	check_eq(result.nr_unfinished, 3);
	check_eq(result.nr_abandoned, 0);
	check_has(result.text, "threads 0-2: running\n");
}

static void stop_by_itself(void *arg)
{
	uint32_t *stop = arg;

	if (linear() == 7)
		__atomic_store_n(stop, 1, __ATOMIC_RELEASE);
	for (;;)
		bl_thread_yield();
}

static void stop_flag_ends_the_grid(void)
{
	uint32_t stop = 0;
	struct bl_grid grid = flat(1, 16, stop_by_itself, &stop);

	grid.timeout_ms = BL_GRID_NO_TIMEOUT;
	grid.stop = &stop;
	check_eq(bl_grid_run(&grid, &result), -ECANCELED);
	check_eq(result.nr_unfinished, 16);
}

static void fault(void *arg)
{
	if (linear() == 9 && bl_thread_self()->block.x)
		*(volatile int *)arg = 1;
	bl_thread_syncblock();
}

static void fault_ends_the_grid_and_not_the_process(void)
{
	static const enum bl_grid_order orders[] = { BL_GRID_FREE, BL_GRID_UNIFORM };

	for (size_t i = 0; i < 2; i++) {
		struct bl_grid grid = flat(2, 16, fault, (void *)0x1230);

		grid.order = orders[i];
		check_eq(bl_grid_run(&grid, &result), -EFAULT);
		check_has(result.text, "faulted");
		check_has(result.text, "block 1,0,0 thread 9: faulted by signal 11, address 0x1230");
		check_eq(result.nr_abandoned, 0);
	}
}

static unsigned int dig(volatile unsigned int *above)
{
	volatile unsigned int here[128];

	here[0] = *above + 1;
	return here[0] ? dig(here) + here[0] : 0;
}

static void overflow(void *arg)
{
	volatile unsigned int first = 0;

	dig(&first);
}

static void stack_overflow_is_a_fault_too(void)
{
	if (SANITIZED)
		skip("sanitizers look at overflows themselves");
	check_eq(run(1, 2, overflow, NULL), -EFAULT);
	check_has(result.text, "faulted by signal 11");
}

static void no_work(void *arg)
{
}

static void lock_it(void *arg)
{
	struct crowd *crowd = arg;

	arrive(crowd);
	pthread_mutex_lock(&crowd->held);
	pthread_mutex_unlock(&crowd->held);
	for (;;)
		bl_thread_yield();
}

/* In the C library, where no signal may take it out. It goes on when it can, and ends then. */
static void thread_that_cannot_be_ended_is_left_behind(void)
{
	static struct crowd crowd = { .all = 2, .held = PTHREAD_MUTEX_INITIALIZER };
	struct bl_grid grid = flat(1, 2, lock_it, &crowd);

	grid.stop = &crowd.stop;
	pthread_mutex_lock(&crowd.held);
	check_eq(bl_grid_run(&grid, &result), -ECANCELED);
	pthread_mutex_unlock(&crowd.held);
	check_eq(result.nr_unfinished, 2);
	/* one that was late on a busy machine can be taken out */
	check(result.nr_abandoned >= 1 && result.nr_abandoned <= 2);
	check_has(result.text, "threads could not be ended");
	check_eq(run(1, 2, no_work, NULL), 0);
}

static sigjmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

static void faults_of_other_threads_go_where_they_went(void)
{
	struct sigaction mine = { .sa_handler = jump_back }, old;
	volatile int *nowhere = (volatile int *)0x1230;

	sigaction(SIGSEGV, &mine, &old);
	check_eq(run(1, 1, no_work, NULL), 0);
	if (!sigsetjmp(back, 1)) {
		*nowhere = 1;
		check(!"reached");
	}
	sigaction(SIGSEGV, &old, NULL);
}

static void missing_threads_are_eagain(void)
{
	no_threads_after = 5;
	check_eq(run(1, 8, no_work, NULL), -EAGAIN);
	no_threads_after = -1;
	check_has(result.text, "not started");
	check_eq(run(1, 8, no_work, NULL), 0);
}

static void nest(void *arg)
{
	struct bl_grid grid = flat(1, 1, no_work, NULL);
	int *ret = arg;

	*ret = bl_grid_run(&grid, NULL);
}

static void bad_grids_are_refused(void)
{
	struct bl_grid grid = flat(1, 1, no_work, NULL);
	int ret = 0;

	check_eq(run(0, 1, no_work, NULL), -EINVAL);
	check_eq(run(1, 0, no_work, NULL), -EINVAL);
	check_eq(run(1, 1, NULL, NULL), -EINVAL);
	check_eq(run(1, 1025, no_work, NULL), -E2BIG);
	grid.timeout_ms = BL_GRID_NO_TIMEOUT;
	check_eq(bl_grid_run(&grid, NULL), -EINVAL);
	grid = flat(1, 64, no_work, NULL);
	grid.max_threads = 63;
	check_eq(bl_grid_run(&grid, NULL), -E2BIG);
	grid = flat(1, 1, no_work, NULL);
	grid.shared = BL_GRID_MAX_SHARED + 1;
	check_eq(bl_grid_run(&grid, NULL), -E2BIG);
	grid = (struct bl_grid){ .grid = { ALL, ALL, ALL }, .block = { 1, 1, 1 }, .run = no_work };
	check_eq(bl_grid_run(&grid, NULL), -EINVAL);
	check_eq(run(1, 1, nest, &ret), 0);
	check_eq(ret, -EINVAL);
}

static void one_thread_is_alone_outside(void)
{
	const struct bl_thread *self = bl_thread_self();

	check_eq(self->block_dim.x * self->block_dim.y * self->block_dim.z, 1);
	check_eq(self->grid_dim.x * self->grid_dim.y * self->grid_dim.z, 1);
	check_eq(self->lane + self->thread.x + self->block.x, 0);
	bl_thread_syncwarp(1);
	bl_thread_syncblock();
	bl_thread_step();
	bl_thread_yield();
	check_eq(bl_thread_shfl(1, 77, 0), 77);
	check_eq(bl_thread_ballot(1, 5), 1);
	check_eq(bl_thread_ballot(1, 0), 0);
	check(!bl_thread_shared(0, 1));
	check(!bl_thread_shared_static(self, 1));
}

static const struct tap_test tests[] = {
	{ "every_thread_of_a_grid_runs_once_in_its_place", every_thread_runs_once },
	{ "threads_of_a_block_meet_and_share_memory", blocks_meet },
	{ "lanes_exchange_values_by_whole_and_by_partial_masks", lanes_exchange },
	{ "lanes_that_ended_are_not_waited_for", lanes_that_ended_are_not_waited_for },
	{ "more_blocks_than_threads_run_in_turn_with_fresh_memory", more_blocks_than_threads_run_in_turn },
	{ "five_hundred_threads_that_poll_get_on", five_hundred_that_poll_get_on },
	{ "deadlock_of_a_grid_is_found_and_its_threads_named", deadlock_is_named },
	{ "mask_without_its_own_lane_is_an_error", mask_without_its_own_lane_is_an_error },
	{ "deadline_ends_a_grid_that_polls", deadline_ends_polling },
	{ "threads_that_never_call_are_ended", threads_that_do_not_listen_are_ended },
	{ "thread_that_cannot_be_ended_is_left_behind_and_counted", thread_that_cannot_be_ended_is_left_behind },
	{ "stop_flag_ends_a_grid", stop_flag_ends_the_grid },
	{ "fault_in_a_grid_ends_the_grid_and_not_the_process", fault_ends_the_grid_and_not_the_process },
	{ "stack_overflow_in_a_grid_is_a_fault_too", stack_overflow_is_a_fault_too },
	{ "faults_of_other_threads_go_where_they_went", faults_of_other_threads_go_where_they_went },
	{ "grid_without_enough_threads_is_eagain_and_runs_nothing", missing_threads_are_eagain },
	{ "bad_grids_are_refused", bad_grids_are_refused },
	{ "a_thread_outside_of_a_grid_is_alone", one_thread_is_alone_outside },
};

TAP_MAIN(tests)
