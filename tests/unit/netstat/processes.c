// SPDX-License-Identifier: MIT
/* Other processes: stopped, killed, forked, of other users, and such that have nothing to show. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "look.h"
#include "softnic/show.h"
#include "softnic/snic.h"
#include "tap.h"
#include "util/clock.h"
#include "util/fork.h"

#define SECOND 1000000000ULL

static void forget_nothing(void)
{
}

/* In a child: open a NIC, say so, and wait for the end. */
static void be_shown(int ready, const char *name)
{
	struct bl_snic_attr attr = {.name = name};
	struct bl_snic *nic;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bl_snic_open(&attr, &nic) || write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* @prepare: what the child does first, or NULL. Return: its number; it has a NIC. */
static pid_t start(void (*prepare)(void), const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	check_eq(pipe(ready), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		close(ready[0]);
		if (prepare)
			prepare();
		be_shown(ready[1], name);
	}
	close(ready[1]);
	check_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	int status;

	check_eq(kill(pid, SIGKILL), 0);
	check_eq(waitpid(pid, &status, 0), pid);
}

/* Fails when the state does not come. */
static void await_state(pid_t pid, char state)
{
	struct netstat_process process = {.pid = pid};
	uint64_t until = bl_now_ns() + 10 * SECOND;

	snprintf(process.dir, sizeof(process.dir), "/proc/%d", (int)pid);
	do {
		netstat_look(&process);
		check(bl_now_ns() < until);
	} while (process.state != state);
}

static void a_process_that_is_stopped_is_shown(void)
{
	struct netstat_process process;
	struct netstat_all all;
	char hints[4][NETSTAT_HINT];
	pid_t pid = start(NULL, "n0");

	check_eq(kill(pid, SIGSTOP), 0);
	await_state(pid, 'T');
	check_eq(netstat_open(pid, &process), 0);
	check_eq(netstat_load(&process, true, &all), 0);
	check_eq(all.nr, 1);
	check_str(all.nics[0].port.name, "n0");
	check_str(netstat_process_state(process.state), "stopped by a signal");
	check_eq(netstat_nic_hints(&process, &all.nics[0], hints, 4), 1);
	check_has(hints[0], "stopped by a signal, and its NIC with it");
	check(!netstat_has_ended(&process));
	netstat_free(&all);
	netstat_close(&process);
	stop(pid);
}

static void a_process_that_ends_while_it_is_looked_at_leaves_its_last_picture(void)
{
	struct netstat_process process;
	struct netstat_all all;
	pid_t pid = start(NULL, "n0");

	check_eq(netstat_open(pid, &process), 0);
	check_eq(kill(pid, SIGKILL), 0);
	await_state(pid, 'Z');
	/* its other threads take a little longer */
	for (uint64_t until = bl_now_ns() + 10 * SECOND; !netstat_has_ended(&process);)
		check(bl_now_ns() < until);
	check_eq(netstat_load(&process, true, &all), 0);
	check_str(all.nics[0].port.name, "n0");
	netstat_free(&all);
	netstat_close(&process);
	/* its parent has not noticed */
	check_eq(netstat_open(pid, &process), -ESRCH);
	check_has(tool_why(), "has ended, and its parent has not noticed");
	check_eq(waitpid(pid, NULL, 0), pid);
	check_eq(netstat_open(pid, &process), -ESRCH);
	check_has(tool_why(), "there is no process");
}

static void *show_and_stay(void *arg)
{
	be_shown(*(int *)arg, "n0");
	return NULL;
}

/* Its first thread has left, and it goes on. */
static void a_process_whose_first_thread_has_left_is_shown(void)
{
	/* the stack of a thread that has left is not what it was */
	static int ready[2];
	char byte;
	pid_t pid;

	check_eq(pipe(ready), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		pthread_t thread;

		close(ready[0]);
		if (pthread_create(&thread, NULL, show_and_stay, &ready[1]))
			_exit(1);
		pthread_exit(NULL);
	}
	close(ready[1]);
	check_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	await_state(pid, 'Z');
	check_eq(look(pid)->nr, 1);
	check_str(look(pid)->nics[0].port.name, "n0");
	stop(pid);
}

static void a_process_without_nics_is_told_apart(void)
{
	struct netstat_process process;

	check_eq(netstat_open(getpid(), &process), -ENOENT);
	check_has(tool_why(), "has no NIC of the network lane open");
}

/* Whether it is found by looking at all. */
static void find(const struct netstat_process *process, void *arg)
{
	pid_t *wanted = arg;

	if (process->pid == *wanted)
		*wanted = 0;
}

static void processes_are_listed(void)
{
	pid_t pids[3], wanted;

	for (int i = 0; i < 3; i++)
		pids[i] = start(NULL, "n0");
	for (int i = 0; i < 3; i++) {
		wanted = pids[i];
		netstat_each(find, &wanted);
		check_eq(wanted, 0);
		stop(pids[i]);
	}
	wanted = pids[0];
	netstat_each(find, &wanted);
	check_eq(wanted, pids[0]);
}

static void be_nobody(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
}

static void hide(void)
{
	if (prctl(PR_SET_DUMPABLE, 0))
		_exit(1);
}

/* As another user. Return: what came of it. */
static int as_nobody(pid_t pid)
{
	struct netstat_process process;
	int status;
	pid_t child = fork();

	check(child >= 0);
	if (!child) {
		be_nobody();
		_exit(-netstat_open(pid, &process) | (strstr(tool_why(), "is another user's") ? 0x80 : 0));
	}
	check_eq(waitpid(child, &status, 0), child);
	check(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void other_users_may_not_look(void)
{
	struct netstat_process process;
	pid_t pid;

	if (geteuid())
		skip("not root: there is no other user to be");
	pid = start(NULL, "n0");
	check_eq(as_nobody(pid), EACCES | 0x80);
	stop(pid);
	/* root may, and so may the same user */
	pid = start(be_nobody, "n0");
	check_eq(netstat_open(pid, &process), 0);
	netstat_close(&process);
	check_eq(as_nobody(pid), 0);
	stop(pid);
	pid = start(hide, "n0");
	check_eq(as_nobody(pid), EACCES | 0x80);
	stop(pid);
}

/* What a child has of its parent is not shown as its own, whichever way it was made. */
static void a_child_does_not_show_its_parents_nic(void)
{
	struct bl_snic_attr attr = {.name = "parent"};
	struct netstat_process process;
	struct bl_snic *nic;
	pid_t pid;

	check_eq(bl_fork_init(forget_nothing), 0);
	check_eq(bl_snic_open(&attr, &nic), 0);
	for (int raw = 0; raw < 2; raw++) {
		pid = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) : fork();
		check(pid >= 0);
		if (!pid) {
			for (;;)
				pause();
		}
		check_eq(netstat_open(pid, &process), -ENOENT);
		stop(pid);
	}
	check_str(look(getpid())->nics[0].port.name, "parent");
	/* with one of its own, that alone; ThreadSanitizer wants no threads after such a fork */
	if (!TAP_TSAN) {
		pid = start(NULL, "child");
		check_eq(look(pid)->nr, 1);
		check_str(look(pid)->nics[0].port.name, "child");
		stop(pid);
	}
	bl_snic_close(nic);
	check_eq(netstat_open(getpid(), &process), -ENOENT);
}

/* In a child: another namespace, with a process that has a NIC; its number out here goes to @told. */
static void be_outside(int told, int ready)
{
	pid_t inner;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWPID : CLONE_NEWPID))
		_exit(7);
	inner = fork();
	if (!inner)
		be_shown(ready, "inner");
	if (inner < 0 || write(told, &inner, sizeof(inner)) != sizeof(inner))
		_exit(1);
	for (;;)
		pause();
}

/* Its number in there is 1. */
static void a_process_in_another_namespace_is_shown(void)
{
	int told[2], ready[2], status;
	pid_t inner = 0, outer;
	char byte;

	check_eq(pipe(told), 0);
	check_eq(pipe(ready), 0);
	outer = fork();
	check(outer >= 0);
	if (!outer) {
		close(told[0]);
		close(ready[0]);
		be_outside(told[1], ready[1]);
	}
	close(told[1]);
	close(ready[1]);
	if (read(told[0], &inner, sizeof(inner)) != sizeof(inner)) {
		check_eq(waitpid(outer, &status, 0), outer);
		check_eq(WEXITSTATUS(status), 7);
		skip("PID namespaces are not allowed");
	}
	check_eq(read(ready[0], &byte, 1), 1);
	close(told[0]);
	close(ready[0]);
	check(inner > 1);
	check_str(look(inner)->nics[0].port.name, "inner");
	stop(outer);
}

/* Of the name alone nothing follows. */
static void a_file_of_that_name_is_no_nic(void)
{
	struct netstat_process process;
	struct netstat_all all;
	struct bl_shown_head head = {.kind = BL_SHOWN_NIC, .version = BL_SHOWN_NIC_VERSION + 1, .pid = (uint32_t)getpid()};
	int fd = memfd_create(BL_SHOWN_NAME, 0);

	check(fd >= 0);
	check_eq(netstat_open(getpid(), &process), 0);
	check_eq(netstat_load(&process, true, &all), -EPROTO);
	check_has(tool_why(), "of another version of the library");
	netstat_close(&process);
	head.magic = BL_SHOWN_MAGIC;
	check_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	check_eq(netstat_open(getpid(), &process), 0);
	check_eq(netstat_load(&process, true, &all), -EPROTO);
	netstat_close(&process);
	/* not ready yet */
	head.magic = 0;
	check_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	check_eq(netstat_open(getpid(), &process), -ENOENT);
	close(fd);
}

static const struct tap_test tests[] = {
	{"a_process_without_nics_is_told_apart", a_process_without_nics_is_told_apart},
	{"a_process_that_is_stopped_is_shown", a_process_that_is_stopped_is_shown},
	{"a_process_that_ends_while_it_is_looked_at_leaves_its_last_picture",
	 a_process_that_ends_while_it_is_looked_at_leaves_its_last_picture},
	{"a_process_whose_first_thread_has_left_is_shown", a_process_whose_first_thread_has_left_is_shown},
	{"processes_are_listed", processes_are_listed},
	{"other_users_may_not_look", other_users_may_not_look},
	{"a_child_does_not_show_its_parents_nic", a_child_does_not_show_its_parents_nic},
	{"a_process_in_another_namespace_is_shown", a_process_in_another_namespace_is_shown},
	{"a_file_of_that_name_is_no_nic", a_file_of_that_name_is_no_nic},
};

TAP_MAIN(tests)
