// SPDX-License-Identifier: MIT
/* The file that the counters lie in, and finding those of others. */
#include "stats_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* A file that is looked at. Blocks want more alignment than malloc() has. */
struct view {
	int fd;
	struct bl_stats_shm shm;
};

static struct view *view_of(const struct bl_stats_shm *shm)
{
	return (struct view *)((uintptr_t)shm - offsetof(struct view, shm));
}

static int read_file(int fd, struct bl_stats_shm *shm)
{
	ssize_t len;

	do {
		len = pread(fd, shm, sizeof(*shm), 0);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	return len == sizeof(*shm) ? 0 : -EPROTO;
}

static int check(const struct bl_stats_shm *shm, pid_t pid)
{
	uint64_t ticks;

	if (shm->magic != BL_STATS_MAGIC || shm->version != BL_STATS_VERSION || shm->size != sizeof(*shm))
		return -EPROTO;
	if (shm->pid != (uint32_t)pid || bl_stats_started(pid, &ticks) || ticks != shm->started)
		return -ESTALE;
	return 0;
}

/* Only root looks at what others have made. */
static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPROTO;
	return geteuid() && st.st_uid != geteuid() ? -EACCES : 0;
}

static int open_in(const char *dir, pid_t pid, const struct bl_stats_shm **shm_p)
{
	struct view *view;
	char path[4096];
	int ret;

	ret = bl_stats_name(dir, pid, path, sizeof(path));
	if (ret)
		return ret;
	view = aligned_alloc(_Alignof(struct view), sizeof(*view));
	if (!view)
		return -ENOMEM;
	view->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (view->fd < 0) {
		ret = -errno;
		goto free_view;
	}
	ret = check_owner(view->fd);
	if (!ret)
		ret = read_file(view->fd, &view->shm);
	if (!ret)
		ret = check(&view->shm, pid);
	if (ret)
		goto close_fd;
	*shm_p = &view->shm;
	return 0;
close_fd:
	close(view->fd);
free_view:
	free(view);
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

int bl_stats_shm_refresh(const struct bl_stats_shm *shm)
{
	struct view *view = view_of(shm);
	struct bl_stats_shm *fresh = aligned_alloc(_Alignof(struct bl_stats_shm), sizeof(*fresh));
	int ret;

	if (!fresh)
		return -ENOMEM;
	ret = read_file(view->fd, fresh);
	if (!ret)
		memcpy(&view->shm, fresh, sizeof(*fresh));
	free(fresh);
	return ret;
}

void bl_stats_shm_close(const struct bl_stats_shm *shm)
{
	struct view *view = view_of(shm);

	close(view->fd);
	free(view);
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
