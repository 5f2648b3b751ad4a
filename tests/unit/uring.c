// SPDX-License-Identifier: MIT
/* Rings of io_uring: deadlines, signals, forks, and what a request says to the kernel. */
#include "file/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/config_load.h"
#include "file/driver.h"
#include "file/uring_lib.h"
#include "tests/tap.h"
#include "util/clock.h"
#include "util/fork.h"

#define MS 1000000ULL

static char memory[8192] __attribute__((aligned(4096)));

static void forget(void)
{
}

static void must_open(struct bl_uring *uring)
{
	int ret;

	check_eq(bl_fork_init(forget), 0);
	ret = bl_uring_open(uring, memory, sizeof(memory));
	if (ret)
		skip("no io_uring: %s", strerror(-ret));
}

static int make_file(void)
{
	char path[] = "/tmp/barlane-uring-XXXXXX";
	int fd = mkstemp(path);

	check(fd >= 0);
	unlink(path);
	return fd;
}

static void bytes_go_both_ways(void)
{
	struct bl_uring_done done = { 0 };
	struct bl_uring uring;
	int fd = make_file();

	must_open(&uring);
	memset(memory, 'x', 4096);
	check_eq(bl_uring_wait(&uring, false, bl_now_ns() + 1000 * MS), -EAGAIN);
	check(!bl_uring_take(&uring, &done));
	bl_uring_post(&uring, true, fd, memory, 4096, 100, 7);
	check_eq(bl_uring_wait(&uring, true, bl_now_ns() + 10000 * MS), 0);
	check(bl_uring_take(&uring, &done));
	check_eq(done.tag, 7);
	check_eq(done.result, 4096);
	bl_uring_post(&uring, false, fd, memory + 4096, 4096, 101, 8);
	bl_uring_post(&uring, false, 1 << 20, memory, 1, 0, 9);
	for (int i = 0; i < 2; i++) {
		check_eq(bl_uring_wait(&uring, true, bl_now_ns() + 10000 * MS), 0);
		check(bl_uring_take(&uring, &done));
		check_eq(done.result, done.tag == 8 ? 4095 : -EBADF);
	}
	check_eq(memcmp(memory, memory + 4096, 4095), 0);
	bl_uring_close(&uring);
	close(fd);
}

static void as_many_as_there_may_be_are_under_way(void)
{
	struct bl_uring_done done;
	struct bl_uring uring;
	int fd = make_file();
	uint64_t seen = 0;

	must_open(&uring);
	check_eq(write(fd, memory, 4096), 4096);
	for (int round = 0; round < 5; round++, seen = 0) {
		for (uint64_t i = 0; i < BL_URING_DEPTH; i++)
			bl_uring_post(&uring, false, fd, memory, 16, 0, i);
		while (seen != (1ULL << BL_URING_DEPTH) - 1) {
			check_eq(bl_uring_wait(&uring, true, bl_now_ns() + 10000 * MS), 0);
			while (bl_uring_take(&uring, &done)) {
				check_eq(done.result, 16);
				seen |= 1ULL << done.tag;
			}
		}
	}
	bl_uring_close(&uring);
	close(fd);
}

static void nothing(int signal)
{
}

/* A pipe that nobody writes to: neither the time limit nor signals end the request, and the wait ends by the first alone. */
static void a_wait_ends_at_its_deadline_and_not_by_signals(void)
{
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = nothing };
	struct bl_uring_done done;
	struct bl_uring uring;
	uint64_t start;
	int ends[2];

	must_open(&uring);
	check_eq(pipe(ends), 0);
	bl_uring_post(&uring, false, ends[0], memory, 1, 0, 1);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	start = bl_now_ns();
	check_eq(bl_uring_wait(&uring, true, start + 200 * MS), -ETIMEDOUT);
	check(bl_now_ns() - start >= 200 * MS);
	setitimer(ITIMER_REAL, &never, NULL);
	check_eq(write(ends[1], "y", 1), 1);
	check_eq(bl_uring_wait(&uring, true, bl_now_ns() + 10000 * MS), 0);
	check(bl_uring_take(&uring, &done) && done.result == 1 && *memory == 'y');
	bl_uring_close(&uring);
	close(ends[0]);
	close(ends[1]);
}

static bool is_mapped(const void *addr)
{
	unsigned char in;

	return !mincore((void *)((uintptr_t)addr & ~4095UL), 4096, &in);
}

static void a_child_has_neither_descriptor_nor_queues(void)
{
	struct bl_uring uring;
	int status, fd;
	pid_t pid;

	must_open(&uring);
	fd = uring.ring->ring_fd;
	check(fcntl(fd, F_GETFD) >= 0 && is_mapped(uring.ring->sq.sqes) && is_mapped(uring.ring->sq.ring_ptr));
	pid = fork();
	if (!pid)
		_exit(fcntl(fd, F_GETFD) >= 0 || is_mapped(uring.ring->sq.sqes) || is_mapped(uring.ring->sq.ring_ptr));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	bl_uring_close(&uring);
	check_eq(fcntl(fd, F_GETFD), -1);
}

static void requests_carry_the_priority(void)
{
	static const struct {
		const char *word;
		int value;
	} priorities[] = { { "default", 0 }, { "low", 2 << 13 | 7 }, { "med", 2 << 13 | 4 }, { "high", 2 << 13 } };
	struct bl_uring_done done;
	struct bl_uring uring;
	int fd = make_file();

	must_open(&uring);
	setenv("CUFILE_ENV_PATH_JSON", "/nonexistent", 1);
	check_eq(bl_driver_open(), 0);
	for (unsigned int i = 0; i < 4; i++) {
		strcpy(bl_config_in_force()->io_priority, priorities[i].word);
		bl_uring_post(&uring, true, fd, memory, 1, 0, i);
		check_eq(uring.ring->sq.sqes[i].ioprio, priorities[i].value);
		check_eq(bl_uring_wait(&uring, true, bl_now_ns() + 10000 * MS), 0);
		check(bl_uring_take(&uring, &done));
		check_eq(done.result, 1);
	}
	check_eq(bl_driver_close(), 0);
	bl_uring_close(&uring);
	close(fd);
}

static const struct tap_test tests[] = {
	{ "bytes_go_both_ways", bytes_go_both_ways },
	{ "as_many_as_there_may_be_are_under_way", as_many_as_there_may_be_are_under_way },
	{ "a_wait_ends_at_its_deadline_and_not_by_signals", a_wait_ends_at_its_deadline_and_not_by_signals },
	{ "a_child_has_neither_descriptor_nor_queues", a_child_has_neither_descriptor_nor_queues },
	{ "requests_carry_the_priority", requests_carry_the_priority },
};

TAP_MAIN(tests)
