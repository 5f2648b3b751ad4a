// SPDX-License-Identifier: MIT
/* The file that the counters lie in, and finding those of others. */
#define log_fmt(fmt) "file/stats: " fmt
#include "stats_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".stat"
#define PREFIX "barlane-"

const char *bl_stats_dir(int nr)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	if (runtime && *runtime == '/')
		return nr == 0 ? runtime : nr == 1 ? "/dev/shm" : NULL;
	return nr == 0 ? "/dev/shm" : NULL;
}

int bl_stats_name(const char *dir, pid_t pid, char *path, size_t size)
{
	int len = snprintf(path, size, "%s/" PREFIX "%d" SUFFIX, dir, (int)pid);

	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

pid_t bl_stats_pid_of(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	pid = strtol(name + strlen(PREFIX), &end, 10);
	return strcmp(end, SUFFIX) || pid <= 0 || pid > INT32_MAX ? 0 : (pid_t)pid;
}

int bl_stats_started(pid_t pid, uint64_t *ticks_p)
{
	char path[64], text[1024], *field;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -EIO;
	text[len] = '\0';
	/* the second field, a name in brackets, may hold anything */
	field = strrchr(text, ')');
	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!field)
		return -EIO;
	*ticks_p = strtoull(field + 1, NULL, 10);
	return 0;
}

static int check(const struct bl_stats_shm *shm, pid_t pid)
{
	uint64_t ticks;

	if (atomic_load_explicit(&shm->magic, memory_order_acquire) != BL_STATS_MAGIC ||
	    shm->version != BL_STATS_VERSION || shm->size != sizeof(*shm))
		return -EPROTO;
	if (shm->pid != (uint32_t)pid || bl_stats_started(pid, &ticks) || ticks != shm->started)
		return -ESTALE;
	return 0;
}

static int open_in(const char *dir, pid_t pid, const struct bl_stats_shm **shm_p)
{
	char path[4096];
	struct stat st;
	int fd, ret;
	void *addr;

	ret = bl_stats_name(dir, pid, path, sizeof(path));
	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) ? -errno : 0;
	/* a file that its owner can make shorter is only looked at when the owner is oneself, or root's look is wanted */
	if (!ret && (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(**shm_p)))
		ret = -EPROTO;
	if (!ret && geteuid() && st.st_uid != geteuid())
		ret = -EACCES;
	addr = ret ? MAP_FAILED : mmap(NULL, sizeof(**shm_p), PROT_READ, MAP_SHARED, fd, 0);
	if (!ret && addr == MAP_FAILED)
		ret = -errno;
	close(fd);
	if (ret)
		return ret;
	ret = check(addr, pid);
	if (ret)
		munmap(addr, sizeof(**shm_p));
	else
		*shm_p = addr;
	return ret;
}

int bl_stats_shm_open(pid_t pid, const struct bl_stats_shm **shm_p)
{
	int ret = -ENOENT;

	if (pid <= 0)
		return -ENOENT;
	for (int i = 0; ret && bl_stats_dir(i); i++) {
		int this = open_in(bl_stats_dir(i), pid, shm_p);

		/* the first directory that has something to say about it */
		if (!this || ret == -ENOENT)
			ret = this;
	}
	return ret;
}

void bl_stats_shm_close(const struct bl_stats_shm *shm)
{
	munmap((void *)(uintptr_t)shm, sizeof(*shm));
}

static int each_in(const char *path, void (*visit)(pid_t pid, void *arg), void *arg)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int nr = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t pid = bl_stats_pid_of(entry->d_name);
		const struct bl_stats_shm *shm;

		if (!pid || open_in(path, pid, &shm))
			continue;
		bl_stats_shm_close(shm);
		visit(pid, arg);
		nr++;
	}
	closedir(dir);
	return nr;
}

int bl_stats_shm_each(void (*visit)(pid_t pid, void *arg), void *arg)
{
	int nr = 0, ret = -ENOENT;

	for (int i = 0; bl_stats_dir(i); i++) {
		int this = each_in(bl_stats_dir(i), visit, arg);

		nr += this > 0 ? this : 0;
		ret = this >= 0 ? 0 : ret;
	}
	return ret ? ret : nr;
}
