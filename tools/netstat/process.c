// SPDX-License-Identifier: MIT
/*
 * Processes, and what they show: descriptors with a name in /proc/PID/fd. The kernel lets the same user look, and root.
 * Somebody may give a file of his own such a name, on a file system that does not answer: it is opened only when it lies
 * where the memory of memfd_create() does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/tree.h"
#include "netstat/netstat.h"

#define LINK "/memfd:" BL_SHOWN_NAME " (deleted)"

/* The file system that a descriptor is on; -1: the kernel does not say. */
static long mount_of(const char *fdinfo)
{
	char text[512];
	const char *at;

	if (tool_tree_read(&tool_tree_machine, text, sizeof(text), "%s", fdinfo) <= 0)
		return -1;
	at = strstr(text, "mnt_id:");
	return at ? strtol(at + strlen("mnt_id:"), NULL, 10) : -1;
}

static long memfd_mount(void)
{
	static long known = -2;
	char path[64];
	int fd;

	if (known != -2)
		return known;
	known = -1;
	fd = memfd_create("barlane", MFD_CLOEXEC);
	if (fd < 0)
		return known;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	known = mount_of(path);
	close(fd);
	return known;
}

/* In the process' own namespaces its number may be another one: the last of NSpid. */
static uint32_t own_pid(pid_t pid)
{
	char text[4096], *at, *end;
	unsigned long number = (unsigned long)pid;

	if (tool_tree_read(&tool_tree_machine, text, sizeof(text), "/proc/%d/status", (int)pid) <= 0)
		return (uint32_t)pid;
	at = strstr(text, "\nNSpid:");
	if (!at)
		return (uint32_t)pid;
	at += strlen("\nNSpid:");
	for (; *at && *at != '\n'; at = end) {
		unsigned long value = strtoul(at, &end, 10);

		if (end == at)
			break;
		number = value;
	}
	return (uint32_t)number;
}

static void add(struct netstat_process *process, const char *name, uint32_t own)
{
	struct bl_shown_head head = { .pid = 0 };
	struct netstat_source source;
	char path[128], link[PATH_MAX];
	int fd;

	if (process->nr == NETSTAT_FILES)
		return;
	if (tool_tree_link(&tool_tree_machine, link, sizeof(link), "%s/fd/%.16s", process->dir, name) < 0 ||
	    strcmp(link, LINK) != 0)
		return;
	snprintf(path, sizeof(path), "%s/fdinfo/%.16s", process->dir, name);
	if (mount_of(path) != memfd_mount())
		return;
	snprintf(path, sizeof(path), "%s/fd/%.16s", process->dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	source = netstat_source_fd(fd);
	/* what a child has of its parent is the parent's */
	if (netstat_kind(&source, &head) == -ENODATA || (head.magic == BL_SHOWN_MAGIC && head.pid != own))
		close(fd);
	else
		process->fds[process->nr++] = fd;
}

void netstat_look(struct netstat_process *process)
{
	char text[1024];
	const char *at;

	process->state = '?';
	if (tool_tree_read(&tool_tree_machine, text, sizeof(text), "%s/stat", process->dir) <= 0)
		return;
	/* the name in brackets may hold anything */
	at = strrchr(text, ')');
	if (at && at[1] == ' ' && at[2] > ' ' && at[2] <= '~')
		process->state = at[2];
}

static void set_name(struct netstat_process *process)
{
	if (tool_tree_read(&tool_tree_machine, process->name, sizeof(process->name), "/proc/%d/comm",
			   (int)process->pid) <= 0)
		snprintf(process->name, sizeof(process->name), "?");
	/* bytes that a terminal would obey and JSON does not know */
	for (char *at = process->name; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

static int explain(const struct netstat_process *process, int err)
{
	if (process->state == 'Z' || process->state == 'X')
		return tool_fail(ESRCH, "process %d has ended, and its parent has not noticed: nothing is left to be seen",
				 (int)process->pid);
	if (err == ENOENT || err == ESRCH)
		return tool_fail(ESRCH, "there is no process %d", (int)process->pid);
	if (err == EACCES || err == EPERM)
		return tool_fail(EACCES, "process %d is another user's, or has forbidden others to look (prctl PR_SET_DUMPABLE, "
				 "capabilities)", (int)process->pid);
	return tool_fail(err, "descriptors of process %d: %s", (int)process->pid, strerror(err));
}

/* A thread that has not ended, where the first one has: it left by pthread_exit(). */
static int find_thread(const char *name, void *arg)
{
	struct netstat_process *process = arg;

	snprintf(process->dir, sizeof(process->dir), "/proc/%d/task/%.16s", (int)process->pid, name);
	netstat_look(process);
	return process->state != 'Z' && process->state != '?';
}

/* Where its files in /proc are, and its state. */
static void set_dir(struct netstat_process *process)
{
	char tasks[64];

	snprintf(process->dir, sizeof(process->dir), "/proc/%d", (int)process->pid);
	netstat_look(process);
	if (process->state != 'Z' || netstat_has_ended(process))
		return;
	snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)process->pid);
	tool_tree_each(&tool_tree_machine, tasks, find_thread, process);
}

int netstat_open(pid_t pid, struct netstat_process *process)
{
	struct dirent *entry;
	char path[128];
	uint32_t own;
	DIR *dir;
	int err;

	*process = (struct netstat_process){ .pid = pid };
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	set_dir(process);
	snprintf(path, sizeof(path), "%s/fd", process->dir);
	dir = opendir(path);
	err = errno;
	if (!dir || process->state == 'Z') {
		if (dir)
			closedir(dir);
		netstat_close(process);
		return explain(process, dir ? ESRCH : err);
	}
	set_name(process);
	own = own_pid(pid);
	while ((entry = readdir(dir))) {
		if (*entry->d_name != '.')
			add(process, entry->d_name, own);
	}
	closedir(dir);
	if (process->nr)
		return 0;
	netstat_close(process);
	return netstat_has_ended(process) ? tool_fail(ESRCH, "process %d has ended while it was looked at", (int)pid) :
					    tool_fail(ENOENT, "process %d has no NIC of the network lane open", (int)pid);
}

void netstat_close(struct netstat_process *process)
{
	for (unsigned int i = 0; i < process->nr; i++)
		close(process->fds[i]);
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
	process->nr = 0;
}

bool netstat_has_ended(const struct netstat_process *process)
{
	struct pollfd poll_fd = { .fd = process->pidfd, .events = POLLIN };
	char path[64];

	if (process->pidfd >= 0)
		return poll(&poll_fd, 1, 0) > 0;
	snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	return access(path, F_OK) != 0;
}

void netstat_each(void (*visit)(const struct netstat_process *process, void *arg), void *arg)
{
	struct netstat_process process;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0 || pid > INT_MAX || netstat_open((pid_t)pid, &process))
			continue;
		visit(&process, arg);
		netstat_close(&process);
	}
	if (dir)
		closedir(dir);
}
