// SPDX-License-Identifier: MIT
/*
 * Files of counters whose process was killed. Who removes one must be sure that it is nobody's: it is of this user, was made
 * in this PID namespace, and its process is no more.
 */
#define log_fmt(fmt) "file/stats: " fmt
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stats_export.h"
#include "stats_file.h"
#include "util/log.h"

uint32_t bl_stats_pid_ns(void)
{
	struct stat st;
	char self[16];
	ssize_t len;

	/* a /proc of another namespace tells nothing of this one */
	len = readlink("/proc/self", self, sizeof(self) - 1);
	self[len > 0 ? len : 0] = '\0';
	if (atoi(self) != (int)getpid() || stat("/proc/self/ns/pid", &st))
		return 0;
	return (uint32_t)st.st_ino;
}

static bool is_dead(pid_t pid, uint64_t started)
{
	uint64_t ticks;

	if (kill(pid, 0) && errno == ESRCH)
		return true;
	/* the number may be another process' by now */
	return !bl_stats_started(pid, &ticks) && ticks != started;
}

/* Only the head is read, and not mapped: somebody may cut the file off. */
static bool is_stale(int fd, pid_t pid, uint32_t pid_ns, struct stat *st)
{
	struct bl_stats_shm head;

	if (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
	    pread(fd, &head, offsetof(struct bl_stats_shm, uuid), 0) != offsetof(struct bl_stats_shm, uuid))
		return false;
	return head.magic == BL_STATS_MAGIC && head.version == BL_STATS_VERSION && head.pid == (uint32_t)pid &&
	       head.pid_ns == pid_ns && is_dead(pid, head.started);
}

/*
 * A process that has just got the number may have made its own file in place of the stale one: what is put aside is looked
 * at before it goes.
 */
static void remove_file(int dir, const char *name, const struct stat *stale)
{
	char aside[64];
	struct stat st;

	snprintf(aside, sizeof(aside), ".%.40s.%d", name, (int)getpid());
	if (renameat(dir, name, dir, aside))
		return;
	if (!fstatat(dir, aside, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == stale->st_dev && st.st_ino == stale->st_ino) {
		unlinkat(dir, aside, 0);
		log_debug("%s removed: its process was killed", name);
	} else if (renameat(dir, aside, dir, name)) {
		log_info("%s: %s", name, strerror(errno));
	}
}

static void sweep(const char *path, uint32_t pid_ns)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir = opendir(path);
	pid_t pid;
	int fd;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid = bl_stats_pid_of(entry->d_name);
		if (pid <= 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			continue;
		if (is_stale(fd, pid, pid_ns, &st))
			remove_file(dirfd(dir), entry->d_name, &st);
		close(fd);
	}
	closedir(dir);
}

void bl_stats_files_sweep(void)
{
	uint32_t pid_ns = bl_stats_pid_ns();

	for (int i = 0; pid_ns && bl_stats_dir(i); i++)
		sweep(bl_stats_dir(i), pid_ns);
}
