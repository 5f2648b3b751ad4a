// SPDX-License-Identifier: MIT
/* Links and forks: children inherit nothing, clean up without a word to anybody, and do not keep their parent alive. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "tap.h"
#include "util/fork.h"

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;

static void forget_nothing(void)
{
}

/**
 * struct bed - a link with a peer on both sides and a loop
 * @before: descriptors before there was any of it
 */
struct bed {
	struct port a, b;
	struct bl_snic_path *ab, *ba, *aa;
	int before;
};

static void bed_make(struct bed *bed)
{
	check_eq(bl_fork_init(forget_nothing), 0);
	bed->before = count_fds();
	port_open(&bed->a);
	port_open(&bed->b);
	bed->ab = port_path(&bed->a, bed->b.gid);
	bed->ba = port_path(&bed->b, bed->a.gid);
	bed->aa = port_path(&bed->a, bed->a.gid);
	check(port_send(bed->ab, 0, 100) && port_send(bed->ba, 0, 100) && port_send(bed->aa, 0, 100));
	check(port_poll_until(&bed->a, 2) && port_poll_until(&bed->b, 1));
}

static void still_talks(struct bed *bed)
{
	for (uint32_t i = 0; i < 100; i++)
		check(port_send(bed->ab, i, 100) && port_send(bed->ba, i, 100) && port_send(bed->aa, i, 100));
	check(port_poll_until(&bed->a, 202) && port_poll_until(&bed->b, 101));
	check_eq(bed->a.bad + bed->b.bad, 0);
	check_eq(shm->path_state(bed->ab) | shm->path_state(bed->ba), 0);
}

static void bed_free(struct bed *bed)
{
	shm->path_close(bed->ab);
	shm->path_close(bed->ba);
	shm->path_close(bed->aa);
	port_close(&bed->a);
	port_close(&bed->b);
}

static bool has_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	while (maps && fgets(line, sizeof(line), maps))
		found = found || strstr(line, "barlane-snic");
	if (maps)
		fclose(maps);
	return found || !maps;
}

static int inherits_nothing(struct bed *bed)
{
	if (count_fds() != bed->before)
		return 1;
	if (has_rings())
		return 2;
	shm->forget(bed->a.link);
	shm->forget(bed->b.link);
	return count_fds() == bed->before ? 0 : 3;
}

static void a_child_inherits_neither_descriptors_nor_rings(void)
{
	struct bed bed;
	int status;
	pid_t pid;

	bed_make(&bed);
	check(has_rings());
	pid = fork();
	check(pid >= 0);
	if (!pid)
		_exit(inherits_nothing(&bed));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	still_talks(&bed);
	bed_free(&bed);
}

/* Numbers that are free again may be other descriptors by the time that the child cleans up. */
static int keeps_its_own(struct bed *bed)
{
	int fds[32], before;

	for (int i = 0; i < 32; i++)
		fds[i] = dup(0);
	before = count_fds();
	shm->forget(bed->a.link);
	shm->forget(bed->b.link);
	return fds[31] < 0 || count_fds() != before;
}

static void what_a_child_opens_itself_stays_open(void)
{
	struct bed bed;
	int status;
	pid_t pid;

	bed_make(&bed);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		_exit(keeps_its_own(&bed));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	bed_free(&bed);
}

/* No handler of libc sees it: all descriptors are there. */
static void in_a_raw_child_they_are_closed_by_forget(void)
{
	struct bed bed;
	int status;
	long pid;

	bed_make(&bed);
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	check(pid >= 0);
	if (!pid) {
		shm->forget(bed.a.link);
		shm->forget(bed.b.link);
		syscall(SYS_exit_group, count_fds() != bed.before);
	}
	check_eq(waitpid((pid_t)pid, &status, 0), pid);
	check_eq(status, 0);
	still_talks(&bed);
	bed_free(&bed);
}

static void a_child_that_lives_on_does_not_hide_its_parents_end(void)
{
	struct bl_snic_path *path;
	int pipes[2], status;
	struct port a, b;
	uint8_t gid[16];
	pid_t pid, child = 0;

	check_eq(bl_fork_init(forget_nothing), 0);
	port_open(&a);
	check(!pipe(pipes));
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* a process with a link and a child of its own; it tells both, and waits to be killed */
		if (bl_fork_init(forget_nothing) || shm->open("parent", b.gid, &b.link))
			_exit(1);
		child = fork();
		if (!child) {
			pause();
			_exit(0);
		}
		if (write(pipes[1], b.gid, 16) != 16 || write(pipes[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		for (;;)
			shm->wait(b.link, UINT64_MAX);
	}
	check_eq(read(pipes[0], gid, 16), 16);
	check_eq(read(pipes[0], &child, sizeof(child)), sizeof(child));
	path = port_path(&a, gid);
	check_eq(shm->path_state(path), 0);
	kill(pid, SIGKILL);
	check_eq(waitpid(pid, &status, 0), pid);
	status = port_sees_death(&a, path);
	kill(child, SIGKILL);
	check(status);
	shm->path_close(path);
	close(pipes[0]);
	close(pipes[1]);
	port_close(&a);
}

static const struct tap_test tests[] = {
	{"a child inherits neither descriptors nor rings", a_child_inherits_neither_descriptors_nor_rings},
	{"what a child opens itself stays open", what_a_child_opens_itself_stays_open},
	{"in a raw child they are closed by forget", in_a_raw_child_they_are_closed_by_forget},
	{"a child that lives on does not hide its parent's end", a_child_that_lives_on_does_not_hide_its_parents_end},
};

TAP_MAIN(tests)
