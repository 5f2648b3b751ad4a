// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/fio: " fmt
#include "fio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "config.h"
#include "util/fork.h"
#include "util/log.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* What of the caller's open flags a second descriptor of the file must have too. */
#define KEPT_FLAGS (O_ACCMODE | O_SYNC | O_DSYNC)

/*
 * Another open file of the same inode. The name may be gone or another file's by now; /proc has the inode itself. The file
 * system may refuse O_DIRECT.
 */
static int open_again(const struct bl_file *file, int own, int direct)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", own);
	fd = open(path, (file->flags & KEPT_FLAGS) | direct | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		ret = -errno;
		log_info("fd %d: cannot be opened again %s O_DIRECT (%s: %s)%s", file->fd, direct ? "with" : "without",
			 path, strerror(errno),
			 direct ? ": it is read through the page cache" : ": writes must be aligned");
		return ret;
	}
	ret = bl_fork_fd_add(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/*
 * That there is no second descriptor to be had, now or later: no /proc, no permission, no such kind of descriptor. All else
 * (a file system that has become read-only or broken, too many open files) is an error of the moment.
 */
static bool refused(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EACCES || err == -EPERM || err == -ELOOP || err == -EINVAL ||
	       err == -EOPNOTSUPP;
}

/* -1 says that nobody tried yet, so the error that looks the same is given another name. */
static int get_fd(struct bl_file *file, atomic_int *mine, atomic_int *other, int direct)
{
	int fd = atomic_load_explicit(mine, memory_order_acquire);
	int fresh;

	if (fd != -1)
		return fd;
	fresh = open_again(file, atomic_load_explicit(other, memory_order_acquire), direct);
	if (fresh == -1)
		fresh = -EACCES;
	if (fresh < 0 && !refused(fresh))
		return fresh;
	if (atomic_compare_exchange_strong(mine, &fd, fresh))
		return fresh;
	if (fresh >= 0) {
		bl_fork_fd_remove(fresh);
		close(fresh);
	}
	return fd;
}

int bl_fio_cached_fd(struct bl_file *file)
{
	return get_fd(file, &file->cached_fd, &file->direct_fd, 0);
}

int bl_fio_direct_fd(struct bl_file *file)
{
	if (!file->align && !(file->flags & O_DIRECT))
		return -EINVAL;
	return get_fd(file, &file->direct_fd, &file->cached_fd, O_DIRECT);
}

bool bl_fio_direct(struct bl_file *file)
{
	if (file->flags & O_DIRECT)
		return file->align;
	return __builtin_expect(bl_file_config()->force_odirect_mode, 0) && bl_fio_direct_fd(file) >= 0;
}

/* File systems whose files are in memory and nowhere else: a plain read never waits. */
static bool in_memory(const struct bl_file *file)
{
	return file->magic == TMPFS_MAGIC || file->magic == RAMFS_MAGIC || file->magic == HUGETLBFS_MAGIC;
}

bool bl_fio_knows_cached(const struct bl_file *file)
{
	return !atomic_load_explicit(&file->no_nowait, memory_order_relaxed) || in_memory(file);
}

/* Files in memory are read plainly, where the kernel does not know reads of what is cached. */
static ssize_t read_once(const struct bl_file *file, int fd, void *buf, size_t len, off_t pos)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	ssize_t nr;

	if (!atomic_load_explicit(&file->no_nowait, memory_order_relaxed))
		nr = preadv2(fd, &iov, 1, pos, RWF_NOWAIT);
	else if (in_memory(file))
		nr = pread(fd, buf, len, pos);
	else
		return -EAGAIN;
	return nr < 0 ? -errno : nr;
}

ssize_t bl_fio_read_cached(struct bl_file *file, void *buf, size_t len, off_t pos)
{
	int fd = bl_fio_cached_fd(file);
	ssize_t nr;

	if (fd < 0)
		return -EAGAIN;
	do {
		nr = read_once(file, fd, buf, len, pos);
		if (nr == -EOPNOTSUPP || nr == -ENOSYS)
			nr = atomic_exchange(&file->no_nowait, true) ? -EAGAIN : -EINTR;
	} while (nr == -EINTR);
	return nr;
}

/* The kernel takes no more than a device's largest request at a time: so it is asked for one piece after the other. */
void bl_fio_read_ahead(struct bl_file *file, size_t len, off_t pos, size_t step)
{
	int fd = bl_fio_cached_fd(file);

	for (size_t off = 0; off < len && fd >= 0; off += step)
		posix_fadvise(fd, pos + (off_t)off, (off_t)(len - off < step ? len - off : step), POSIX_FADV_WILLNEED);
}

/* All of it, however many calls that takes. */
static size_t read_all(int fd, char *buf, size_t len, off_t pos, int *err_p)
{
	size_t done = 0;
	ssize_t nr;

	*err_p = 0;
	while (done < len) {
		nr = pread(fd, buf + done, len - done, pos + (off_t)done);
		if (nr > 0)
			done += (size_t)nr;
		else if (!nr)
			break;
		else if (errno != EINTR) {
			*err_p = -errno;
			break;
		}
	}
	return done;
}

static size_t write_all(int fd, const char *buf, size_t len, off_t pos, int *err_p)
{
	size_t done = 0;
	ssize_t nr;

	*err_p = 0;
	while (done < len) {
		nr = pwrite(fd, buf + done, len - done, pos + (off_t)done);
		if (nr > 0) {
			done += (size_t)nr;
		} else if (!nr) {
			*err_p = -EIO; /* a device that takes nothing and says nothing */
			break;
		} else if (errno != EINTR) {
			*err_p = -errno;
			break;
		}
	}
	return done;
}

size_t bl_fio_read(struct bl_file *file, void *buf, size_t len, off_t pos, int *err_p)
{
	int fd = bl_fio_cached_fd(file);

	if (fd < 0)
		fd = atomic_load(&file->direct_fd); /* all there is */
	return read_all(fd, buf, len, pos, err_p);
}

/*
 * Blocks, whole ones but for the last of the file. A count that is no multiple of a block is the end of the file or an
 * interrupted read: reading its last block again tells.
 */
static size_t read_blocks(const struct bl_file *file, int fd, char *buf, size_t len, off_t pos, int *err_p)
{
	size_t done = 0, from;
	ssize_t nr;

	*err_p = 0;
	while (done < len) {
		from = done & ~(size_t)(file->align - 1);
		nr = pread(fd, buf + from, len - from, pos + (off_t)from);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			*err_p = -errno;
		if (nr <= 0 || from + (size_t)nr <= done)
			break;
		done = from + (size_t)nr;
	}
	return done;
}

size_t bl_fio_read_direct(struct bl_file *file, void *buf, size_t len, off_t pos, size_t *skip_p, int *err_p)
{
	size_t skip = (size_t)pos & (file->align - 1);
	size_t want = (skip + len + file->align - 1) & ~(size_t)(file->align - 1);
	size_t got;

	*skip_p = skip;
	got = read_blocks(file, atomic_load(&file->direct_fd), buf, want, pos - (off_t)skip, err_p);
	if (*err_p == -EINVAL && !got) {
		*skip_p = 0;
		return bl_fio_read(file, buf, len, pos, err_p);
	}
	got = got > skip ? got - skip : 0;
	if (got < len)
		return got;
	*err_p = 0;
	return len;
}

size_t bl_fio_read_any(struct bl_file *file, void *buf, size_t len, off_t pos, size_t *skip_p, int *err_p)
{
	if (bl_fio_direct(file))
		return bl_fio_read_direct(file, buf, len, pos, skip_p, err_p);
	*skip_p = 0;
	return bl_fio_read(file, buf, len, pos, err_p);
}

static size_t write_cached(struct bl_file *file, const char *buf, size_t len, off_t pos, int *err_p)
{
	int fd = bl_fio_cached_fd(file);

	if (fd >= 0)
		return write_all(fd, buf, len, pos, err_p);
	*err_p = fail(refused(fd) ? EINVAL : -fd,
		      "fd %d: write of 0x%zx at 0x%llx is no multiple of %u as O_DIRECT wants it, and the file cannot be "
		      "opened without (%s)",
		      file->fd, len, (long long)pos, file->align, strerror(-fd));
	return 0;
}

/*
 * The ends of a direct write that are no whole blocks go through the page cache, one after the other with the middle: the
 * kernel writes a dirty page out before it writes past it, and drops it afterwards.
 */
static size_t write_direct(struct bl_file *file, const char *buf, size_t len, off_t pos, int *err_p)
{
	size_t mask = file->align - 1;
	size_t head = -(size_t)pos & mask, middle, done = 0;

	if (head > len)
		head = len;
	middle = (len - head) & ~mask;
	if ((uintptr_t)(buf + head) & mask)
		return write_cached(file, buf, len, pos, err_p);
	*err_p = 0;
	if (head)
		done = write_cached(file, buf, head, pos, err_p);
	if (done == head && middle) {
		done += write_all(atomic_load(&file->direct_fd), buf + head, middle, pos + (off_t)head, err_p);
		if (done == head && *err_p == -EINVAL)
			return done + write_cached(file, buf + done, len - done, pos + (off_t)done, err_p);
	}
	if (done == head + middle && done < len)
		done += write_cached(file, buf + done, len - done, pos + (off_t)done, err_p);
	return done;
}

size_t bl_fio_write(struct bl_file *file, const void *buf, size_t len, off_t pos, int *err_p)
{
	if (bl_fio_direct(file))
		return write_direct(file, buf, len, pos, err_p);
	return write_cached(file, buf, len, pos, err_p);
}
