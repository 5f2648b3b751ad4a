// SPDX-License-Identifier: MIT
/* Counters at their edges: read while others count, in children, and where a call is interrupted. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/stats_export.h"
#include "file_counting.h"
#include "temp_dir.h"
#include "util/log.h"

static char dir[] = "/tmp/barlane-counts-XXXXXX";

/* Some calls are led through here: fallocate() is interrupted so many times, and a GPU is there without CUDA. */
static atomic_int interrupts;
static bool one_gpu;

int __real_posix_fallocate64(int fd, off_t off, off_t len);
int __wrap_posix_fallocate64(int fd, off_t off, off_t len);
int __real_bl_stats_uuids(uint8_t uuid[BL_STATS_GPUS][16]);
int __wrap_bl_stats_uuids(uint8_t uuid[BL_STATS_GPUS][16]);

int __wrap_posix_fallocate64(int fd, off_t off, off_t len)
{
	if (atomic_load(&interrupts) && atomic_fetch_sub(&interrupts, 1) > 0)
		return EINTR;
	return __real_posix_fallocate64(fd, off, len);
}

int __wrap_bl_stats_uuids(uint8_t uuid[BL_STATS_GPUS][16])
{
	if (!one_gpu)
		return __real_bl_stats_uuids(uuid);
	memset(uuid[0], 1, 16);
	return 1;
}

static CUfileStatsLevel1_t l1;
static CUfileStatsLevel3_t l3;

static void *submit_much(void *arg)
{
	for (int i = 0; i < 100000; i++) {
		bl_stats_op(BL_OP_BATCH_SUBMIT, 0);
		bl_stats_batch_io(BL_PATH_PLAIN, i & 1, 100, 1, 1);
	}
	return arg;
}

/* Who reads them while others submit must not see the mark of a submission without what was counted before it. */
static void bytes_of_the_last_batch_are_never_less_than_none(void)
{
	pthread_t threads[2];
	int bad = 0;

	begin(1);
	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, submit_much, NULL));
	for (int i = 0; i < 2000; i++) {
		if (cuFileGetStatsL1(&l1).err || l1.last_batch_read_bytes > 1ULL << 40 ||
		    l1.last_batch_write_bytes > 1ULL << 40)
			bad++;
	}
	for (int i = 0; i < 2; i++)
		check(!pthread_join(threads[i], NULL));
	check_eq(bad, 0);
}

/* By DMA alone: it may be seen that a request went by the module before it is seen that there was one. */
static void a_request_that_is_counted_in_part_makes_no_number_wrap(void)
{
	static struct bl_stats_total total;

	total = (struct bl_stats_total){.us = 1000};
	total.sum.gpu[0].way[0].calls = 5;
	total.sum.gpu[0].nvfs[0] = 6;
	total.sum.gpu[0].way[1].calls = 5;
	total.sum.gpu[0].nvfs[1] = 3;
	one_gpu = true;
	bl_stats_fill3(&total, &l3);
	one_gpu = false;
	check_eq(l3.num_gpus, 1);
	check_eq(l3.per_gpu_stats[0].n_posix_reads, 0);
	check_eq(l3.per_gpu_stats[0].n_posix_writes, 2);
}

static bool is_sane(void)
{
	return !cuFileGetStatsL1(&l1).err && l1.read_bytes < 1ULL << 40 && l1.read_ops.ok < 1ULL << 40 &&
	       l1.batch_write_bytes < 1ULL << 40 && l1.last_batch_write_bytes < 1ULL << 40;
}

/* What its parent counted in the file is not there to be subtracted from. */
static void the_counters_of_a_child_are_no_less_than_none(void)
{
	int status;
	pid_t pid;

	begin(1);
	bl_stats_io(BL_PATH_PLAIN, false, 1000, 1, -1, false);
	bl_stats_batch_io(BL_PATH_PLAIN, true, 500, 1, 1);
	bl_stats_op(BL_OP_BATCH_SUBMIT, 0);
	check_eq(cuFileStatsReset().err, OK);
	pid = fork();
	if (!pid)
		_exit(is_sane() ? 0 : 1);
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
	close_all();
	pid = fork();
	if (!pid)
		_exit(cuFileDriverOpen().err || !is_sane() || l1.last_batch_write_bytes ? 1 : 0);
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
}

static void a_level_of_the_configuration_goes_with_it(void)
{
	int level = 9;

	close_all();
	check_eq(cuFileSetStatsLevel(0).err, OK);
	check_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROFILE_STATS, 2).err, OK);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileGetStatsLevel(&level).err, OK);
	check_eq(level, 2);
	close_all();
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileGetStatsLevel(&level).err, OK);
	check_eq(level, 0);
	/* what the program itself asked for stays */
	check_eq(cuFileSetStatsLevel(1).err, OK);
	close_all();
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(cuFileGetStatsLevel(&level).err, OK);
	check_eq(level, 1);
}

static void others_see_that_the_driver_is_closed(void)
{
	const struct bl_stats_shm *shm = NULL;

	begin(2);
	check_eq(bl_stats_shm_open(getpid(), &shm), 0);
	check_eq(shm->level, 2);
	close_all();
	check_eq(cuFileSetStatsLevel(3).err, OK);
	check_eq(bl_stats_shm_refresh(shm), 0);
	check_eq(shm->level, 0);
	check_eq(cuFileDriverOpen().err, OK);
	check_eq(bl_stats_shm_refresh(shm), 0);
	check_eq(shm->level, 3);
	bl_stats_shm_close(shm);
}

static atomic_int nr_said;

static void hear(enum bl_log_level level, const char *text)
{
	atomic_fetch_add(&nr_said, 1);
}

static void an_error_is_said_once(void)
{
	begin(0);
	bl_log_set_level(BL_LOG_ERROR);
	bl_log_set_sink(hear);
	cuFileStatsStart();
	cuFileStatsStop();
	cuFileStatsReset();
	cuFileSetStatsLevel(9);
	bl_log_set_sink(NULL);
	bl_log_set_level(BL_LOG_OFF);
	check_eq(nr_said, 4);
}

/* tmpfs gives room back that it was about to give when a signal comes, whatever the signal is about. */
static void a_signal_does_not_keep_counters_from_being_seen(void)
{
	const struct bl_stats_shm *shm = NULL;
	int status;
	pid_t pid;

	close_all();
	pid = fork();
	if (!pid) {
		alarm(30);
		atomic_store(&interrupts, 3);
		begin(1);
		exit(bl_stats_shm_open(getpid(), &shm) ? 1 : 0);
	}
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
}

static const struct tap_test tests[] = {
	{"bytes of the last batch are never less than none", bytes_of_the_last_batch_are_never_less_than_none},
	{"a request that is counted in part makes no number wrap", a_request_that_is_counted_in_part_makes_no_number_wrap},
	{"the counters of a child are no less than none", the_counters_of_a_child_are_no_less_than_none},
	{"a level of the configuration goes with it", a_level_of_the_configuration_goes_with_it},
	{"others see that the driver is closed", others_see_that_the_driver_is_closed},
	{"an error is said once", an_error_is_said_once},
	{"a signal does not keep counters from being seen", a_signal_does_not_keep_counters_from_being_seen},
};

int main(int argc, char **argv)
{
	if (temp_dir_make(dir))
		return 2;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	setenv("CUFILE_ENV_PATH_JSON", "/dev/null/none", 1);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
