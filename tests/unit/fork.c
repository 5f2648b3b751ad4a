// SPDX-License-Identifier: MIT
#include "util/fork.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static int forgotten;

static void forget(void)
{
	forgotten++;
}

/* What a child answers: 0 when all was as it should be. */
static void child_says_yes(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid)
		syscall(SYS_exit_group, fn());
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

static int is_no_child(void)
{
	return bl_fork_is_child();
}

static int is_child(void)
{
	return !bl_fork_is_child();
}

/* Must be the first test: nothing was set up yet. */
static void before_the_first_use_nobody_is_a_child(void)
{
	check(!bl_fork_is_child());
	child_says_yes(is_no_child);
}

static void a_forked_process_notices(void)
{
	check_eq(bl_fork_init(forget), 0);
	check_eq(forgotten, 0);
	check(!bl_fork_is_child());
	child_says_yes(is_child);
	check(!bl_fork_is_child());
}

/* A fork that no handler of libc sees. */
static void a_raw_fork_is_noticed_too(void)
{
	long pid;
	int status;

	check_eq(bl_fork_init(forget), 0);
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	check(pid >= 0);
	if (!pid)
		syscall(SYS_exit_group, bl_fork_is_child() ? 0 : 1);
	check_eq(waitpid((pid_t)pid, &status, 0), pid);
	check_eq(status, 0);
}

static int grandchild_notices(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(bl_fork_is_child() ? 0 : 1);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void a_childs_child_notices(void)
{
	check_eq(bl_fork_init(forget), 0);
	child_says_yes(grandchild_notices);
}

static int child_starts_anew(void)
{
	if (bl_fork_init(forget) || forgotten != 1 || bl_fork_is_child())
		return 1;
	/* a second time changes nothing */
	if (bl_fork_init(forget) || forgotten != 1)
		return 2;
	return grandchild_notices();
}

static void a_child_that_starts_anew_forgets_once_and_is_an_owner(void)
{
	check_eq(bl_fork_init(forget), 0);
	forgotten = 0;
	child_says_yes(child_starts_anew);
	check_eq(forgotten, 0);
}

static int fds[4];

static int open_in(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int only_registered_ones_are_closed(void)
{
	/* what was closed is not registered any more */
	if (bl_fork_fd_remove(fds[0]) || bl_fork_fd_remove(fds[2]))
		return 2;
	return open_in(fds[0]) || !open_in(fds[1]) || open_in(fds[2]) || !open_in(fds[3]);
}

static void children_close_what_is_registered(void)
{
	check_eq(bl_fork_init(forget), 0);
	for (int i = 0; i < 4; i++) {
		fds[i] = eventfd(0, 0);
		check(fds[i] >= 0);
	}
	check_eq(bl_fork_fd_add(fds[0]), 0);
	check_eq(bl_fork_fd_add(fds[1]), 0);
	check_eq(bl_fork_fd_add(fds[2]), 0);
	check(bl_fork_fd_remove(fds[1]));
	check(!bl_fork_fd_remove(fds[1]));
	child_says_yes(only_registered_ones_are_closed);
	/* the parent keeps its own, and its registrations */
	for (int i = 0; i < 4; i++)
		check(open_in(fds[i]));
	child_says_yes(only_registered_ones_are_closed);
	for (int i = 0; i < 4; i++) {
		bl_fork_fd_remove(fds[i]);
		close(fds[i]);
	}
}

/* In a child numbers are free again: a descriptor that it opens there stays open in its own children. */
static int child_reuses_the_number(void)
{
	int fd = eventfd(0, 0), status;
	pid_t pid;

	if (fd != fds[0])
		return 1;
	pid = fork();
	if (!pid)
		_exit(open_in(fd) ? 0 : 1);
	return waitpid(pid, &status, 0) != pid || status;
}

static void a_registration_is_not_inherited(void)
{
	check_eq(bl_fork_init(forget), 0);
	fds[0] = eventfd(0, 0);
	check(fds[0] >= 0);
	check_eq(bl_fork_fd_add(fds[0]), 0);
	child_says_yes(child_reuses_the_number);
	bl_fork_fd_remove(fds[0]);
	close(fds[0]);
}

static int high_one_is_closed(void)
{
	return open_in(fds[0]);
}

static void high_descriptors_are_closed_too(void)
{
	struct rlimit limit;
	int low = eventfd(0, 0);

	check_eq(bl_fork_init(forget), 0);
	check(!getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_max < 20000)
		skip("the limit of open files is %llu", (unsigned long long)limit.rlim_max);
	limit.rlim_cur = 20000;
	check(!setrlimit(RLIMIT_NOFILE, &limit));
	fds[0] = fcntl(low, F_DUPFD, 19000);
	check(fds[0] >= 19000);
	check_eq(bl_fork_fd_add(fds[0]), 0);
	child_says_yes(high_one_is_closed);
	bl_fork_fd_remove(fds[0]);
	close(fds[0]);
	close(low);
}

static void a_number_that_cannot_be_registered_is_enomem(void)
{
	check_eq(bl_fork_fd_add(-1), -ENOMEM);
	check_eq(bl_fork_fd_add(512 * 4096), -ENOMEM);
	check(!bl_fork_fd_remove(-1));
	check(!bl_fork_fd_remove(512 * 4096));
	check(!bl_fork_fd_remove(400 * 4096));
}

static atomic_int in_window, fork_done;

static void *hold_window(void *arg)
{
	struct timespec wait = {.tv_nsec = 200 * 1000 * 1000};

	bl_fork_window_enter();
	atomic_store(&in_window, 1);
	nanosleep(&wait, NULL);
	/* a fork that came through meanwhile is a failure */
	*(int *)arg = atomic_load(&fork_done);
	bl_fork_window_leave();
	return NULL;
}

static void a_fork_waits_for_the_window(void)
{
	pthread_t thread;
	int early = -1, status;
	pid_t pid;

	check_eq(bl_fork_init(forget), 0);
	check(!pthread_create(&thread, NULL, hold_window, &early));
	while (!atomic_load(&in_window))
		sched_yield();
	pid = fork();
	if (!pid) {
		/* the child's lock is usable */
		bl_fork_window_enter();
		bl_fork_window_leave();
		/* past the sanitizer, which would miss the thread that is not here */
		syscall(SYS_exit_group, 0);
	}
	atomic_store(&fork_done, 1);
	pthread_join(thread, NULL);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(early, 0);
}

static void *enter_and_leave(void *arg)
{
	atomic_int *stop = arg;

	while (!atomic_load(stop)) {
		bl_fork_window_enter();
		bl_fork_window_leave();
	}
	return NULL;
}

static void forks_and_windows_get_along(void)
{
	pthread_t threads[3];
	atomic_int stop = 0;

	check_eq(bl_fork_init(forget), 0);
	for (int i = 0; i < 3; i++)
		check(!pthread_create(&threads[i], NULL, enter_and_leave, &stop));
	for (int i = 0; i < 50; i++)
		child_says_yes(is_child);
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *init(void *arg)
{
	return (void *)(intptr_t)bl_fork_init(forget);
}

static int threads_start_a_child_anew(void)
{
	pthread_t threads[4];
	void *ret = NULL, *one;

	for (int i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, init, NULL))
			return 1;
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &one);
		ret = one ? one : ret;
	}
	return ret || forgotten != 1 || bl_fork_is_child();
}

static void threads_of_a_child_forget_once_together(void)
{
	check_eq(bl_fork_init(forget), 0);
	forgotten = 0;
	child_says_yes(threads_start_a_child_anew);
}

static const struct tap_test tests[] = {
	{"before the first use nobody is a child", before_the_first_use_nobody_is_a_child},
	{"a forked process notices", a_forked_process_notices},
	{"a raw fork is noticed too", a_raw_fork_is_noticed_too},
	{"a child's child notices", a_childs_child_notices},
	{"a child that starts anew forgets once and is an owner",
	 a_child_that_starts_anew_forgets_once_and_is_an_owner},
	{"children close what is registered", children_close_what_is_registered},
	{"a registration is not inherited", a_registration_is_not_inherited},
	{"high descriptors are closed too", high_descriptors_are_closed_too},
	{"a number that cannot be registered is ENOMEM", a_number_that_cannot_be_registered_is_enomem},
	{"a fork waits for the window", a_fork_waits_for_the_window},
	{"forks and windows get along", forks_and_windows_get_along},
	{"threads of a child forget once together", threads_of_a_child_forget_once_together},
};

TAP_MAIN(tests)
