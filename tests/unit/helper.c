// SPDX-License-Identifier: MIT
/* Long copies that a second thread helps with: each block once, nothing after the end, and never a need for the thread. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
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
	bl_helper_lend(&job->split);
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
		bl_helper_forget();
		_exit(run());
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
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
static void the_helper_takes_blocks(void)
{
	static struct job job;

	want_two_cpus();
	job_init(&job, 0);
	atomic_store(&job.split.ready, BLOCKS);
	bl_helper_lend(&job.split);
	while (atomic_load(&job.split.next) < BLOCKS)
		sched_yield();
	bl_helper_return(&job.split);
	check_eq(atomic_load(&job.helped), BLOCKS);
	check_eq(not_once(&job), 0);
}

static void nothing_is_copied_after_the_end(void)
{
	static struct job job;
	unsigned int before;

	want_two_cpus();
	for (int round = 0; round < 20; round++) {
		job_init(&job, 200);
		atomic_store(&job.split.ready, BLOCKS);
		bl_helper_lend(&job.split);
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

	for (int i = 0; i < 8; i++)
		check_eq(pthread_create(&ids[i], NULL, caller, &bad[i]), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 8; i++)
		check_eq(bad[i], 0);
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
	bl_helper_lend(&job.split);
	while (atomic_load(&job.split.next) < BLOCKS)
		sched_yield();
	bl_helper_return(&job.split);
	return not_once(&job) || !atomic_load(&job.helped);
}

static void a_child_starts_its_own(void)
{
	if (TAP_TSAN)
		skip("ThreadSanitizer knows no threads in a child of a threaded process");
	want_two_cpus();
	each_block_is_copied_once();
	in_child(child_anew);
}

static const struct tap_test tests[] = {
	{ "each block is copied once", each_block_is_copied_once },
	{ "the helper takes blocks", the_helper_takes_blocks },
	{ "nothing is copied after the end", nothing_is_copied_after_the_end },
	{ "callers at the same time are served", callers_at_the_same_time_are_served },
	{ "no thread on one CPU", no_thread_on_one_cpu },
	{ "no thread when it is not wanted", no_thread_when_it_is_not_wanted },
	{ "a child starts its own", a_child_starts_its_own },
};

TAP_MAIN(tests)
