// SPDX-License-Identifier: MIT
#include "common/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int kernel_open(const char *path, int flags)
{
	return open(path, flags);
}

const struct tool_tree tool_tree_machine = {"", kernel_open, close};

static int make_path(const struct tool_tree *tree, char *path, const char *fmt, va_list ap)
{
	int root = snprintf(path, PATH_MAX, "%s", tree->root);
	int rest;

	if (root < 0 || root >= PATH_MAX)
		return -ENAMETOOLONG;
	rest = vsnprintf(path + root, (size_t)(PATH_MAX - root), fmt, ap);
	return rest < 0 || rest >= PATH_MAX - root ? -ENAMETOOLONG : 0;
}

/* Declares path[] and fills it from the arguments behind @fmt; ret is 0 or -errno. */
#define PATH(tree, fmt)                                                                                                \
	char path[PATH_MAX];                                                                                           \
	va_list ap;                                                                                                    \
	int ret;                                                                                                       \
                                                                                                                       \
	va_start(ap, fmt);                                                                                             \
	ret = make_path(tree, path, fmt, ap);                                                                          \
	va_end(ap)

static int read_open(int fd, void *buf, size_t size)
{
	size_t len = 0;
	ssize_t got;

	do {
		got = read(fd, (char *)buf + len, size - len);
		if (got > 0)
			len += (size_t)got;
	} while (len < size && (got > 0 || (got < 0 && errno == EINTR)));
	return got < 0 ? -errno : (int)len;
}

static int read_bytes(const struct tool_tree *tree, const char *path, void *buf, size_t size)
{
	int fd, ret;

	fd = tree->open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read_open(fd, buf, size);
	tree->close(fd);
	return ret;
}

int tool_tree_bytes(const struct tool_tree *tree, void *buf, size_t size, const char *fmt, ...)
{
	PATH(tree, fmt);
	return ret ? ret : read_bytes(tree, path, buf, size);
}

static int read_tail(int fd, void *buf, size_t size, uint64_t *whole_p)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)size && lseek(fd, st.st_size - (off_t)size, SEEK_SET) < 0)
		return -errno;
	ret = read_open(fd, buf, size);
	if (ret >= 0)
		*whole_p = (uint64_t)st.st_size;
	return ret;
}

int tool_tree_tail(const struct tool_tree *tree, void *buf, size_t size, uint64_t *whole_p, const char *fmt, ...)
{
	int fd;

	PATH(tree, fmt);
	if (ret)
		return ret;
	fd = tree->open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read_tail(fd, buf, size, whole_p);
	tree->close(fd);
	return ret;
}

static int read_text(const struct tool_tree *tree, const char *path, char *buf, size_t size)
{
	int len = read_bytes(tree, path, buf, size - 1);

	buf[0] = len < 0 ? '\0' : buf[0];
	if (len < 0)
		return len;
	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return len;
}

int tool_tree_read(const struct tool_tree *tree, char *buf, size_t size, const char *fmt, ...)
{
	PATH(tree, fmt);
	buf[0] = '\0';
	return ret ? ret : read_text(tree, path, buf, size);
}

int tool_tree_number(const struct tool_tree *tree, long *value_p, const char *fmt, ...)
{
	char text[32], *end;
	long value;

	PATH(tree, fmt);
	if (!ret)
		ret = read_text(tree, path, text, sizeof(text));
	if (ret < 0)
		return ret;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end)
		return -EINVAL;
	*value_p = value;
	return 0;
}

int tool_tree_link(const struct tool_tree *tree, char *buf, size_t size, const char *fmt, ...)
{
	ssize_t len;

	PATH(tree, fmt);
	if (ret)
		return ret;
	len = readlink(path, buf, size);
	if (len < 0)
		return -errno;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	buf[len] = '\0';
	return (int)len;
}

int tool_tree_stat(const struct tool_tree *tree, struct stat *st, const char *fmt, ...)
{
	PATH(tree, fmt);
	if (ret)
		return ret;
	return stat(path, st) ? -errno : 0;
}

int tool_tree_try(const struct tool_tree *tree, int flags, const char *path)
{
	char whole[PATH_MAX];
	int fd;

	if (snprintf(whole, sizeof(whole), "%s%s", tree->root, path) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	fd = tree->open(whole, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	tree->close(fd);
	return 0;
}

int tool_tree_each(const struct tool_tree *tree, const char *path, int (*visit)(const char *name, void *arg), void *arg)
{
	char whole[PATH_MAX];
	struct dirent *entry;
	int nr = 0;
	DIR *dir;

	if (snprintf(whole, sizeof(whole), "%s%s", tree->root, path) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	dir = opendir(whole);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		nr++;
		if (visit && visit(entry->d_name, arg))
			break;
	}
	closedir(dir);
	return nr;
}
