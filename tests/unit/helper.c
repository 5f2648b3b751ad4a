// SPDX-License-Identifier: MIT
/* Long copies that other threads help with: each block once, nothing after the end, and never a need for the threads. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy/helper.h"
#include "tap.h"

#define BLOCKS 500U

/**
 * struct job - blocks that count who copied them
 * @split: what is lent
 * @owner: the thread that lends
 * @times: how often each block was copied
 * @helped: blocks that were copied by another thread
 * @pause_us: how long the other thread takes for a block
 */
struct job {
	struct bl_split split;
	pthread_t owner;
	_Atomic(unsigned int) times[BLOCKS];
	_Atomic(unsigned int) helped;
	unsigned int pause_us;
};

/* More than the stack that a helper has when nobody else wants any of it. */
static __thread unsigned char large[512 << 10];

static int fake_cpus; /* of the caller, 0: those that it has */

/* In place of the C library's. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	memset(cpus, 0, size);
	if (!fake_cpus)
		return syscall(SYS_sched_getaffinity, pid, size, cpus) < 0 ? -1 : 0;
	for (int i = 0; i < fake_cpus; i++)
		CPU_SET(i, cpus);
	return 0;
}

static void copy_block(void *arg, size_t i)
{
	struct job *job = arg;

	if (!pthread_equal(job->owner, pthread_self())) {
		atomic_fetch_add(&job->helped, 1);
		if (job->pause_us)
			usleep(job->pause_us);
	}
	atomic_fetch_add(&job->times[i], 1);
}

static void job_init(struct job *job, unsigned int pause_us)
{
	memset(job, 0, sizeof(*job));
	job->split.run = copy_block;
	job->split.copy = job;
	job->split.nr = BLOCKS;
	job->owner = pthread_self();
	job->pause_us = pause_us;
}

/* A caller's part: blocks become ready bit by bit, as transfers end. */
static void job_run(struct job *job)
{
	bl_helper_lend(&job->split, BL_HELPERS);
	bl_helper_wake(&job->split);
	for (size_t ready = 1; ready <= BLOCKS; ready++) {
		atomic_store(&job->split.ready, ready);
		bl_split_step(&job->split);
	}
	while (bl_split_step(&job->split))
		;
	bl_helper_return(&job->split);
}

static unsigned int not_once(const struct job *job)
{
	unsigned int bad = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		bad += atomic_load(&job->times[i]) != 1;
	return bad;
}

static unsigned int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int nr = 0;

	check(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		nr += entry->d_name[0] != '.';
	closedir(dir);
	return nr;
}

static void want_two_cpus(void)
{
	cpu_set_t cpus;

	check(!sched_getaffinity(0, sizeof(cpus), &cpus));
	if (CPU_COUNT(&cpus) < 2)
		skip("needs two CPUs");
}

/* Runs in a child, where no helper has been started. */
static void in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid) {
		fake_cpus = 0;
		bl_helper_forget();
		_exit(run());
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

static void in_threaded_child(int (*run)(void))
{
	if (TAP_TSAN)
		skip("ThreadSanitizer knows no threads in a child of a threaded process");
	in_child(run);
}

static void each_block_is_copied_once(void)
{
	static struct job job;

	for (int round = 0; round < 200; round++) {
		job_init(&job, 0);
		job_run(&job);
		check_eq(not_once(&job), 0);
	}
}

/* The caller does nothing but wait: the blocks are copied all the same. */
static void helpers_take_blocks(void)
{
	static struct job job;

	want_two_cpus();
	large[0] = 1;
	job_init(&job, 0);
	atomic_store(&job.split.ready, BLOCKS);
	bl_helper_lend(&job.split, BL_HELPERS);
	bl_helper_wake(&job.split);
	while (atomic_load(&job.split.next) < BLOCKS)
		sched_yield();
	bl_helper_return(&job.split);
	check_eq(atomic_load(&job.helped), BLOCKS);
	check_eq(not_once(&job), 0);
}

/* Rests of all lengths between them: helpers are awake, about to sleep, or asleep. */
static void helpers_come_whenever_it_is(void)
{
	static struct job job;

	want_two_cpus();
	for (unsigned int round = 0; round < 1000; round++) {
		job_init(&job, 0);
		atomic_store(&job.split.ready, BLOCKS);
		bl_helper_lend(&job.split, BL_HELPERS);
		bl_helper_wake(&job.split);
		while (atomic_load(&job.split.next) < BLOCKS)
			sched_yield();
		bl_helper_return(&job.split);
		check_eq(not_once(&job), 0);
		usleep(round % 100);
	}
}

static void nothing_is_copied_after_the_end(void)
{
	static struct job job;
	unsigned int before;

	want_two_cpus();
	for (int round = 0; round < 20; round++) {
		job_init(&job, 200);
		atomic_store(&job.split.ready, BLOCKS);
		bl_helper_lend(&job.split, BL_HELPERS);
		bl_helper_wake(&job.split);
		for (int i = 0; i < round; i++)
			bl_split_step(&job.split);
		usleep(round * 50U);
		bl_helper_return(&job.split);
		before = atomic_load(&job.helped);
		check(!bl_split_step(&job.split));
		usleep(1000);
		check_eq(atomic_load(&job.helped), before);
		for (size_t i = 0; i < BLOCKS; i++)
			check_eq(atomic_load(&job.times[i]), i < atomic_load(&job.split.next));
	}
}

static void *caller(void *bad)
{
	struct job *job = malloc(sizeof(*job));

	for (int round = 0; job && round < 200; round++) {
		job_init(job, 0);
		job_run(job);
		*(unsigned int *)bad += not_once(job);
	}
	*(unsigned int *)bad += !job;
	free(job);
	return NULL;
}

static void callers_at_the_same_time_are_served(void)
{
	unsigned int bad[8] = { 0 };
	pthread_t ids[8];

	fake_cpus = BL_HELPERS + 1;
	for (int i = 0; i < 8; i++)
		check_eq(pthread_create(&ids[i], NULL, caller, &bad[i]), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	fake_cpus = 0;
	for (int i = 0; i < 8; i++)
		check_eq(bad[i], 0);
}

/* All that may help are needed: each takes a block and waits for the others. */
static void meet(void *arg, size_t i)
{
	struct job *job = arg;

	atomic_fetch_add(&job->times[i], 1);
	atomic_fetch_add(&job->helped, 1);
	while (atomic_load(&job->helped) < BL_HELPERS)
		usleep(100);
}

static int child_with_all(void)
{
	static struct job job;

	fake_cpus = BL_HELPERS + 1;
	job_init(&job, 0);
	job.split.run = meet;
	job.split.nr = BL_HELPERS;
	atomic_store(&job.split.ready, BL_HELPERS);
	bl_helper_lend(&job.split, BL_HELPERS);
	bl_helper_wake(&job.split);
	while (atomic_load(&job.helped) < BL_HELPERS)
		usleep(100);
	bl_helper_return(&job.split);
	return threads() != BL_HELPERS + 1;
}

static void several_help_at_the_same_time(void)
{
	in_threaded_child(child_with_all);
}

static unsigned int threads_after(unsigned int nr)
{
	static struct job job;

	job_init(&job, 0);
	bl_helper_lend(&job.split, nr);
	bl_helper_wake(&job.split);
	bl_helper_return(&job.split);
	return threads();
}

static int child_that_counts(void)
{
	fake_cpus = 3;
	if (threads_after(0) != 1 || threads_after(1) != 2 || threads_after(1) != 2)
		return 1;
	/* one CPU is the caller's */
	if (threads_after(BL_HELPERS) != 3)
		return 2;
	fake_cpus = 2 * BL_HELPERS;
	return threads_after(BL_HELPERS) == BL_HELPERS + 1 ? 0 : 3;
}

static void no_more_threads_than_asked_for(void)
{
	in_threaded_child(child_that_counts);
}

/* Threads of this process but the caller that are not asleep. */
static unsigned int awake(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int nr = 0;
	char path[300], state;

	check(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "r");
		nr += !file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1 || state != 'S';
		if (file)
			fclose(file);
	}
	closedir(dir);
	return nr;
}

static int child_that_waits(void)
{
	static struct job job;

	fake_cpus = BL_HELPERS + 1;
	job_init(&job, 0);
	job_run(&job);
	/* whoever does not sleep in the end is never seen to do so ten times in a row */
	for (int times = 0; times < 10; times = awake() ? 0 : times + 1)
		usleep(1000);
	return 0;
}

static void they_sleep_between_copies(void)
{
	in_threaded_child(child_that_waits);
}

static int child_without_helper(void)
{
	static struct job job;

	job_init(&job, 0);
	job_run(&job);
	return not_once(&job) || atomic_load(&job.helped) || threads() != 1;
}

static int child_on_one_cpu(void)
{
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) || child_without_helper();
}

static void no_thread_on_one_cpu(void)
{
	in_child(child_on_one_cpu);
}

static int child_that_refuses(void)
{
	return setenv("BARLANE_COPY_HELPER", "0", 1) || child_without_helper();
}

static void no_thread_when_it_is_not_wanted(void)
{
	in_child(child_that_refuses);
}

static int child_anew(void)
{
	static struct job job;

	job_init(&job, 0);
	atomic_store(&job.split.ready, BLOCKS);
	bl_helper_lend(&job.split, BL_HELPERS);
	bl_helper_wake(&job.split);
	while (atomic_load(&job.split.next) < BLOCKS)
		sched_yield();
	bl_helper_return(&job.split);
	return not_once(&job) || !atomic_load(&job.helped);
}

static void a_child_starts_its_own(void)
{
	want_two_cpus();
	each_block_is_copied_once();
	in_threaded_child(child_anew);
}

static const struct tap_test tests[] = {
	{ "each block is copied once", each_block_is_copied_once },
	{ "helpers take blocks", helpers_take_blocks },
	{ "helpers come after rests of all lengths", helpers_come_whenever_it_is },
	{ "nothing is copied after the end", nothing_is_copied_after_the_end },
	{ "callers at the same time are served", callers_at_the_same_time_are_served },
	{ "several help at the same time", several_help_at_the_same_time },
	{ "no more threads than asked for, or than other CPUs", no_more_threads_than_asked_for },
	{ "they sleep between copies", they_sleep_between_copies },
	{ "no thread on one CPU", no_thread_on_one_cpu },
	{ "no thread when it is not wanted", no_thread_when_it_is_not_wanted },
	{ "a child starts its own", a_child_starts_its_own },
};

TAP_MAIN(tests)
