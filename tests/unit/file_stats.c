// SPDX-License-Identifier: MIT
/* What is counted, in which units, and how another process sees it. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cufile.h"
#include "file/driver.h"
#include "file/stats_export.h"
#include "file/stats_file.h"
#include "file_counting.h"
#include "file_root.h"
#include "tap.h"
#include "temp_dir.h"

static char dir[] = "/tmp/barlane-stats-XXXXXX";

static CUfileStatsLevel1_t l1;
static CUfileStatsLevel2_t l2;
static CUfileStatsLevel3_t l3;

static void levels_are_0_to_3(void)
{
	int level = 9;

	check_eq(cuFileGetStatsLevel(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(4).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(-1).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(0).err, OK);
	check_eq(cuFileGetStatsLevel(&level).err, OK);
	check_eq(level, 0);
	check_eq(cuFileStatsStart().err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStatsStop().err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileStatsReset().err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetStatsL1(&l1).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(1).err, OK);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(cuFileGetStatsL1(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileGetStatsL2(&l2).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(2).err, OK);
	check_eq(cuFileGetStatsL2(&l2).err, OK);
	check_eq(cuFileGetStatsL3(&l3).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileSetStatsLevel(3).err, OK);
	check_eq(cuFileGetStatsL3(&l3).err, OK);
}

static void level_1_sums_up(void)
{
	begin(1);
	bl_stats_io(BL_PATH_PLAIN, false, 1000, 3000, -1, false);
	bl_stats_io(BL_PATH_STAGED, false, 3000, 5000, 0, false);
	bl_stats_io(BL_PATH_MAPPED, false, -EIO, 9000000, 0, false);
	bl_stats_io(BL_PATH_PLAIN, true, 70, 10000, -1, false);
	bl_stats_op(BL_OP_HANDLE_REGISTER, 0);
	bl_stats_op(BL_OP_HANDLE_REGISTER, -EINVAL);
	bl_stats_op(BL_OP_BUF_DEREGISTER, 0);
	usleep(2000);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(l1.read_ops.ok, 2);
	check_eq(l1.read_ops.err, 1);
	check_eq(l1.write_ops.ok, 1);
	check_eq(l1.read_bytes, 4000);
	check_eq(l1.write_bytes, 70);
	check_eq(l1.read_lat_sum_us, 8);
	check_eq(l1.read_lat_avg_us, 4);
	check_eq(l1.write_lat_avg_us, 10);
	check_eq(l1.hdl_register_ops.ok, 1);
	check_eq(l1.hdl_register_ops.err, 1);
	check_eq(l1.buf_deregister_ops.ok, 1);
	/* some 2 ms have gone by: less than 4000 bytes per ms, and not nothing */
	check(l1.read_bw_bytes_per_sec > 0 && l1.read_bw_bytes_per_sec <= 2000000);
	check(l1.read_ops_per_sec > 0 && l1.read_ops_per_sec <= 1000);
	/* both are cut to whole numbers */
	check(l1.read_bw_bytes_per_sec / l1.read_ops_per_sec - 1980 < 40);
}

static void batches_are_counted_apart(void)
{
	begin(1);
	bl_stats_op(BL_OP_BATCH_SETUP, 0);
	bl_stats_op(BL_OP_BATCH_SUBMIT, 0);
	for (int i = 0; i < 4; i++)
		bl_stats_op(BL_OP_BATCH_ENQUEUED, 0);
	bl_stats_batch_io(BL_PATH_PLAIN, false, 100, 2000, 8000);
	bl_stats_batch_io(BL_PATH_NVFS, false, 300, 2000, 12000);
	bl_stats_batch_io(BL_PATH_PLAIN, true, -EIO, 2000, 12000);
	bl_stats_op(BL_OP_BATCH_SUBMIT, 0);
	bl_stats_batch_io(BL_PATH_PLAIN, true, 7, 2000, 4000);
	for (int i = 0; i < 4; i++)
		bl_stats_op(BL_OP_BATCH_PROCESSED, 0);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(l1.read_ops.ok, 0);
	check_eq(l1.batch_setup_ops.ok, 1);
	check_eq(l1.batch_submit_ops.ok, 2);
	check_eq(l1.batch_total_submit_ops.ok, 2);
	check_eq(l1.batch_enqueued_ops.ok, 4);
	check_eq(l1.batch_posix_enqueued_ops.ok, 3);
	check_eq(l1.batch_processed_ops.ok, 4);
	check_eq(l1.batch_posix_processed_ops.ok, 3);
	check_eq(l1.batch_nvfs_submit_ops.ok, 1);
	check_eq(l1.batch_read_bytes, 400);
	check_eq(l1.batch_write_bytes, 7);
	check_eq(l1.batch_submit_lat_sum_us, 8);
	check_eq(l1.batch_completion_lat_sum_us, 24);
	check_eq(l1.batch_completion_lat_avg_us, 8);
	check_eq(l1.last_batch_read_bytes, 0);
	check_eq(l1.last_batch_write_bytes, 7);
}

static void sizes_fall_into_classes(void)
{
	static const struct {
		uint64_t bytes;
		unsigned int class;
	} cases[] = {{0, 0}, {4095, 0}, {4096, 1}, {8191, 1}, {8192, 2}, {1 << 20, 9}, {1ULL << 40, 29}, {1ULL << 42, 31},
		     {1ULL << 43, 31}, {UINT64_MAX, 31}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_eq(bl_stats_size_class(cases[i].bytes), cases[i].class);
	begin(2);
	bl_stats_io(BL_PATH_PLAIN, false, 4096, 1, -1, false);
	bl_stats_io(BL_PATH_PLAIN, false, 5000, 1, -1, false);
	bl_stats_io(BL_PATH_PLAIN, true, 1 << 20, 1, -1, false);
	bl_stats_io(BL_PATH_PLAIN, true, -5, 1, -1, false);
	check_eq(cuFileGetStatsL2(&l2).err, OK);
	check_eq(l2.read_size_kb_hist[1], 2);
	check_eq(l2.write_size_kb_hist[9], 1);
	check_eq(l2.write_size_kb_hist[0], 0);
	check_eq(l2.basic.read_ops.ok, 2);
}

static void a_lower_level_counts_less(void)
{
	struct bl_stats_total total;

	begin(1);
	bl_stats_io(BL_PATH_PLAIN, false, 4096, 1, 0, true);
	bl_stats_buffer(0, 1000, 0);
	bl_stats_total(&total);
	check_eq(total.sum.sizes[0][1], 0);
	check_eq(total.sum.gpu[0].way[0].calls, 0);
	check_eq(total.sum.gpu[0].maps, 0);
	check_eq(total.sum.gpu[0].bytes, 1000);
	begin(0);
	bl_stats_io(BL_PATH_PLAIN, false, 4096, 5, 0, true);
	bl_stats_op(BL_OP_HANDLE_REGISTER, 0);
	bl_stats_total(&total);
	check_eq(total.sum.single[BL_PATH_PLAIN][0].calls, 1);
	check_eq(total.sum.single[BL_PATH_PLAIN][0].bytes, 4096);
	check_eq(total.sum.single[BL_PATH_PLAIN][0].ns, 0);
	check_eq(total.sum.ops[BL_OP_HANDLE_REGISTER][0], 0);
	/* what is registered does not begin anew */
	check_eq(total.sum.gpu[0].bytes, 1000);
	bl_stats_buffer(0, -1000, 0);
	bl_stats_total(&total);
	check_eq(total.sum.gpu[0].bytes, 0);
}

static void level_3_counts_per_gpu(void)
{
	struct bl_stats_total total;

	begin(3);
	bl_stats_io(BL_PATH_STAGED, false, 4096, 2000, 1, false);
	bl_stats_io(BL_PATH_NVFS, false, 4096, 4000, 1, false);
	bl_stats_io(BL_PATH_MAPPED, true, 10, 1000, 1, true);
	bl_stats_io(BL_PATH_MAPPED, true, -EIO, 1000, 1, true);
	bl_stats_io(BL_PATH_MAPPED, true, 10, 1000, 16, true);
	bl_stats_io(BL_PATH_MAPPED, true, 10, 1000, -1, true);
	bl_stats_buffer(1, 5000, 0);
	bl_stats_buffer(1, 5000, -ENOMEM);
	bl_stats_buffer(1, -2000, 0);
	bl_stats_total(&total);
	check_eq(total.sum.gpu[1].way[0].calls, 2);
	check_eq(total.sum.gpu[1].way[0].ns, 6000);
	check_eq(total.sum.gpu[1].nvfs[0], 1);
	check_eq(total.sum.gpu[1].way[1].calls, 1);
	check_eq(total.sum.gpu[1].way[1].errors, 1);
	check_eq(total.sum.gpu[1].unaligned[1], 1);
	check_eq(total.sum.gpu[1].maps, 1);
	check_eq(total.sum.gpu[1].map_errors, 1);
	check_eq(total.sum.gpu[1].unmaps, 1);
	check_eq(total.sum.gpu[1].bytes, 3000);
	/* without CUDA there are no GPUs to name */
	check_eq(cuFileGetStatsL3(&l3).err, OK);
	check_eq(l3.num_gpus, 0);
	check_eq(l3.detailed.basic.write_ops.ok, 3);
}

static void stopping_keeps_what_was_counted(void)
{
	begin(1);
	bl_stats_op(BL_OP_BUF_REGISTER, 0);
	check_eq(cuFileStatsStop().err, OK);
	bl_stats_op(BL_OP_BUF_REGISTER, 0);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(l1.buf_register_ops.ok, 1);
	check_eq(cuFileStatsStart().err, OK);
	bl_stats_op(BL_OP_BUF_REGISTER, 0);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(l1.buf_register_ops.ok, 2);
	check_eq(cuFileStatsReset().err, OK);
	check_eq(cuFileGetStatsL1(&l1).err, OK);
	check_eq(l1.buf_register_ops.ok, 0);
}

static void *count_much(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		bl_stats_io((enum bl_path)(i % BL_PATH_NR), i % 2, 10, 1000, i % 3, false);
		bl_stats_op(BL_OP_HANDLE_REGISTER, 0);
		bl_stats_batch_io(BL_PATH_PLAIN, true, 1, 1, 1);
	}
	return arg;
}

static void threads_lose_nothing(void)
{
	pthread_t threads[20];

	begin(3);
	for (int i = 0; i < 20; i++)
		check(!pthread_create(&threads[i], NULL, count_much, NULL));
	for (int i = 0; i < 50; i++)
		check_eq(cuFileGetStatsL3(&l3).err, OK);
	for (int i = 0; i < 20; i++)
		check(!pthread_join(threads[i], NULL));
	check_eq(cuFileGetStatsL3(&l3).err, OK);
	check_eq(l3.detailed.basic.read_ops.ok, 200000);
	check_eq(l3.detailed.basic.write_bytes, 2000000);
	check_eq(l3.detailed.basic.hdl_register_ops.ok, 400000);
	check_eq(l3.detailed.basic.batch_write_bytes, 400000);
	check_eq(l3.detailed.read_size_kb_hist[0], 200000);
}

static void see(pid_t pid, void *arg)
{
	if (pid == *(pid_t *)arg)
		*(pid_t *)arg = 0;
}

static void another_process_sees_the_counters(void)
{
	const struct bl_stats_shm *shm = NULL;
	struct bl_stats_block sum;
	pid_t self = getpid();
	char path[4096];
	struct stat st;

	begin(2);
	check_eq(bl_stats_shm_open(self, &shm), 0);
	check_eq(shm->level, 2);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	bl_stats_io(BL_PATH_STAGED, true, 123, 1, -1, false);
	check_eq(bl_stats_shm_refresh(shm), 0);
	check_eq(atomic_load(&sum.single[BL_PATH_STAGED][1].bytes) + 123,
		 (bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum), atomic_load(&sum.single[BL_PATH_STAGED][1].bytes)));
	bl_stats_shm_close(shm);
	check_eq(bl_stats_name(bl_stats_dir(0), self, path, sizeof(path)), 0);
	check(!strncmp(path, dir, strlen(dir)));
	check(!stat(path, &st));
	check_eq(st.st_mode & 0777, 0600);
	check(bl_stats_shm_each(see, &self) >= 1);
	check_eq(self, 0);
}

static pid_t start_counting(int end)
{
	int fds[2];
	pid_t pid;
	char byte;

	check(!pipe(fds));
	pid = fork();
	if (!pid) {
		alarm(30);
		close(fds[0]);
		if (cuFileDriverOpen().err || cuFileSetStatsLevel(1).err || cuFileStatsStart().err)
			_exit(1);
		bl_stats_io(BL_PATH_PLAIN, false, 55, 1, -1, false);
		if (write(fds[1], "x", 1) != 1)
			_exit(2);
		if (end)
			exit(0);
		pause();
		_exit(3);
	}
	close(fds[1]);
	check_eq(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

static void a_killed_process_leaves_a_stale_file(void)
{
	const struct bl_stats_shm *shm = NULL;
	struct bl_stats_block sum;
	char path[4096];
	int status;
	pid_t pid;

	close_all();
	pid = start_counting(0);
	check_eq(bl_stats_shm_open(pid, &shm), 0);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	check_eq(sum.single[BL_PATH_PLAIN][0].bytes, 55);
	check(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	/* the numbers stay readable for who looks, and nobody new is shown them */
	check_eq(bl_stats_shm_refresh(shm), 0);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	check_eq(sum.single[BL_PATH_PLAIN][0].bytes, 55);
	bl_stats_shm_close(shm);
	check_eq(bl_stats_shm_open(pid, &shm), -ESTALE);
	check_eq(bl_stats_name(bl_stats_dir(0), pid, path, sizeof(path)), 0);
	check(!unlink(path));
	check_eq(bl_stats_shm_open(pid, &shm), -ENOENT);
}

static void put_file(pid_t pid, const struct bl_stats_shm *shm)
{
	char path[4096];
	int fd;

	check_eq(bl_stats_name(bl_stats_dir(0), pid, path, sizeof(path)), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && write(fd, shm, sizeof(*shm)) == sizeof(*shm) && !close(fd));
}

static bool has_file(pid_t pid)
{
	char path[4096];

	check_eq(bl_stats_name(bl_stats_dir(0), pid, path, sizeof(path)), 0);
	return !access(path, F_OK);
}

static void drop_file(pid_t pid)
{
	char path[4096];

	check_eq(bl_stats_name(bl_stats_dir(0), pid, path, sizeof(path)), 0);
	check(!unlink(path));
}

static void end(pid_t pid)
{
	int status;

	check(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
}

static void the_next_process_removes_what_a_killed_one_left(void)
{
	pid_t killed, living, next;

	close_all();
	killed = start_counting(0);
	living = start_counting(0);
	end(killed);
	check(has_file(killed));
	next = start_counting(0);
	check(!has_file(killed));
	check(has_file(living) && has_file(next));
	end(living);
	end(next);
	drop_file(living);
	drop_file(next);
}

/* A number that is out of use, and a file under it that differs in one thing from that of a dead process. */
static void files_that_may_be_somebodys_stay(void)
{
	static struct bl_stats_shm good, other;
	const struct bl_stats_shm *shm;
	pid_t dead, maker;

	close_all();
	dead = start_counting(0);
	check_eq(bl_stats_shm_open(dead, &shm), 0);
	memcpy(&good, shm, sizeof(good));
	bl_stats_shm_close(shm);
	end(dead);
	check(good.pid_ns);
	for (int i = 0; i < 5; i++) {
		memcpy(&other, &good, sizeof(other));
		if (i == 0)
			other.pid_ns++;
		else if (i == 1)
			other.pid_ns = 0;
		else if (i == 2)
			other.magic = 0;
		else if (i == 3)
			other.pid++;
		put_file(dead, &other);
		maker = start_counting(1);
		check_eq(waitpid(maker, NULL, 0), maker);
		check_eq(has_file(dead), i < 4);
	}
	/* the number is another process' now: that was started at another time */
	memcpy(&other, &good, sizeof(other));
	other.pid = (uint32_t)getppid();
	put_file(getppid(), &other);
	maker = start_counting(1);
	check_eq(waitpid(maker, NULL, 0), maker);
	check(!has_file(getppid()));
}

static void a_process_that_ends_removes_its_file(void)
{
	const struct bl_stats_shm *shm = NULL;
	int status;
	pid_t pid;

	close_all();
	pid = start_counting(1);
	check(waitpid(pid, &status, 0) == pid && !status);
	check_eq(bl_stats_shm_open(pid, &shm), -ENOENT);
}

static void a_forked_child_does_not_count_for_its_parent(void)
{
	const struct bl_stats_shm *shm = NULL;
	struct bl_stats_block before, after;
	int status;
	pid_t pid;

	begin(1);
	check_eq(bl_stats_shm_open(getpid(), &shm), 0);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &before);
	pid = fork();
	if (!pid) {
		bl_stats_io(BL_PATH_PLAIN, false, 1000, 1, -1, false);
		bl_stats_op(BL_OP_HANDLE_DEREGISTER, 0);
		exit(0);
	}
	check(waitpid(pid, &status, 0) == pid);
	check_eq(bl_stats_shm_refresh(shm), 0);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &after);
	check_eq(memcmp(&before, &after, sizeof(before)), 0);
	bl_stats_shm_close(shm);
	/* and its exit took nothing away */
	check_eq(bl_stats_shm_open(getpid(), &shm), 0);
	bl_stats_shm_close(shm);
}

static void make(const char *name, const void *bytes, size_t len)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !close(fd));
}

static void a_file_of_something_else_is_refused(void)
{
	static struct bl_stats_shm fake = {.magic = BL_STATS_MAGIC, .version = BL_STATS_VERSION, .size = sizeof(fake), .pid = 1};
	const struct bl_stats_shm *shm = NULL;
	char path[300];

	make("barlane-1.stat", &fake, 100);
	check_eq(bl_stats_shm_open(1, &shm), -EPROTO);
	make("barlane-1.stat", &fake, sizeof(fake));
	check_eq(bl_stats_shm_open(1, &shm), -ESTALE);
	fake.version++;
	make("barlane-1.stat", &fake, sizeof(fake));
	check_eq(bl_stats_shm_open(1, &shm), -EPROTO);
	fake.version--;
	fake.magic = 0;
	make("barlane-1.stat", &fake, sizeof(fake));
	check_eq(bl_stats_shm_open(1, &shm), -EPROTO);
	snprintf(path, sizeof(path), "%s/barlane-1.stat", dir);
	check(!unlink(path) && !symlink("/etc/passwd", path));
	check(bl_stats_shm_open(1, &shm) < 0);
	check_eq(bl_stats_shm_open(0, &shm), -ENOENT);
	check_eq(bl_stats_shm_open(-1, &shm), -ENOENT);
}

/* Its owner may do so at any time, and root looks at the files of all. */
static void a_file_that_is_cut_off_harms_nobody_who_looks(void)
{
	const struct bl_stats_shm *shm = NULL;
	struct bl_stats_block sum;
	char path[4096];
	pid_t pid;

	close_all();
	pid = start_counting(0);
	check_eq(bl_stats_shm_open(pid, &shm), 0);
	check_eq(bl_stats_name(bl_stats_dir(0), pid, path, sizeof(path)), 0);
	end(pid);
	check(!truncate(path, 0));
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	check_eq(sum.single[BL_PATH_PLAIN][0].bytes, 55);
	check_eq(bl_stats_shm_refresh(shm), -EPROTO);
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sum);
	check_eq(sum.single[BL_PATH_PLAIN][0].bytes, 55);
	bl_stats_shm_close(shm);
	drop_file(pid);
}

static void nowhere_to_write_is_no_failure(void)
{
	int status;
	pid_t pid;

	close_all();
	pid = fork();
	if (!pid) {
		alarm(30);
		setenv("XDG_RUNTIME_DIR", "/proc/none", 1);
		if (cuFileDriverOpen().err || cuFileSetStatsLevel(1).err || cuFileStatsStart().err)
			_exit(1);
		bl_stats_io(BL_PATH_PLAIN, false, 55, 1, -1, false);
		if (cuFileGetStatsL1(&l1).err || l1.read_bytes != 55)
			_exit(2);
		exit(0);
	}
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
}

/* Level 1 of the header of 1.20 has 112 bytes more at its end. */
static void a_program_of_a_later_header_is_not_harmed(void)
{
	static struct {
		unsigned char first[512];
		unsigned char more[112];
		uint64_t read_hist[32], write_hist[32];
		uint32_t num_gpus;
		unsigned char gpus[16 * 248];
	} later;

	begin(3);
	bl_stats_io(BL_PATH_PLAIN, false, 4096 << 14, 1000, -1, false);
	memset(&later, 0xa5, sizeof(later));
	check_eq(cuFileGetStatsL1((CUfileStatsLevel1_t *)&later).err, OK);
	check_eq(((CUfileStatsLevel1_t *)&later)->read_bytes, 4096 << 14);
	for (size_t i = 0; i < sizeof(later.more); i++)
		check_eq(later.more[i], 0xa5);
	memset(&later, 0xa5, sizeof(later));
	check_eq(cuFileGetStatsL2((CUfileStatsLevel2_t *)&later).err, OK);
	check_eq(later.read_hist[1], 1); /* class 15, 14 off */
	check_eq(later.write_hist[17], 0);
	for (int i = 18; i < 32; i++)
		check_eq(later.write_hist[i], 0xa5a5a5a5a5a5a5a5);
	memset(&later, 0xa5, sizeof(later));
	check_eq(cuFileGetStatsL3((CUfileStatsLevel3_t *)&later).err, OK);
	check_eq(later.num_gpus, 0);
}

static const struct tap_test tests[] = {
	{"levels are 0 to 3", levels_are_0_to_3},
	{"level 1 sums up", level_1_sums_up},
	{"batches are counted apart", batches_are_counted_apart},
	{"sizes fall into classes", sizes_fall_into_classes},
	{"a lower level counts less", a_lower_level_counts_less},
	{"level 3 counts per GPU", level_3_counts_per_gpu},
	{"stopping keeps what was counted", stopping_keeps_what_was_counted},
	{"threads lose nothing", threads_lose_nothing},
	{"another process sees the counters", another_process_sees_the_counters},
	{"a killed process leaves a stale file", a_killed_process_leaves_a_stale_file},
	{"the next process removes what a killed one left", the_next_process_removes_what_a_killed_one_left},
	{"files that may be somebody's stay", files_that_may_be_somebodys_stay},
	{"a file that is cut off harms nobody who looks", a_file_that_is_cut_off_harms_nobody_who_looks},
	{"a process that ends removes its file", a_process_that_ends_removes_its_file},
	{"a forked child does not count for its parent", a_forked_child_does_not_count_for_its_parent},
	{"a program of a later header is not harmed", a_program_of_a_later_header_is_not_harmed},
	{"a file of something else is refused", a_file_of_something_else_is_refused},
	{"nowhere to write is no failure", nowhere_to_write_is_no_failure},
};

int main(int argc, char **argv)
{
	if (temp_dir_make(dir))
		return 2;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	setenv("CUFILE_ENV_PATH_JSON", "/dev/null/none", 1);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
