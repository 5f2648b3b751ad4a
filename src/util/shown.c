// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "shown: " fmt
#include "shown.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fork.h"
#include "log.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

static int make(size_t size, uint64_t *inode_p)
{
	struct rlimit limit;
	struct stat st;
	int fd, ret;

	/* to go beyond it would be a signal, whose end is the process' */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size)
		return -EFBIG;
	fd = memfd_create(BL_SHOWN_NAME, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(BL_SHOWN_NAME, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fstat(fd, &st)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*inode_p = st.st_ino;
	return fd;
}

/* Inside of the fork window. */
static int map(int fd, size_t size, struct bl_shown_head **head_p)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int ret;

	if (addr == MAP_FAILED)
		return -errno;
	if (madvise(addr, size, MADV_DONTFORK)) {
		ret = -errno;
		munmap(addr, size);
		return ret;
	}
	*head_p = addr;
	return 0;
}

static int open_inside(struct bl_shown *shown, size_t size)
{
	int ret;

	shown->fd = make(size, &shown->inode);
	if (shown->fd < 0)
		return shown->fd;
	ret = bl_fork_fd_add(shown->fd);
	if (ret)
		goto close_fd;
	ret = map(shown->fd, size, &shown->head);
	if (!ret)
		return 0;
	bl_fork_fd_remove(shown->fd);
close_fd:
	close(shown->fd);
	return ret;
}

int bl_shown_open(struct bl_shown *shown, enum bl_shown_kind kind, uint32_t version, size_t size)
{
	int ret;

	*shown = (struct bl_shown){ .fd = -1 };
	bl_fork_window_enter();
	ret = open_inside(shown, size);
	bl_fork_window_leave();
	if (ret) {
		shown->fd = -1;
		log_info("%zu bytes: %s; \"barlane dump\" will not show this", size, strerror(-ret));
		return ret;
	}
	shown->head->kind = kind;
	shown->head->version = version;
	shown->head->size = (uint32_t)size;
	shown->head->pid = (uint32_t)getpid();
	return 0;
}

void bl_shown_ready(struct bl_shown *shown)
{
	/* all that was written before the word that makes it valid */
	atomic_store_explicit(&shown->head->magic, BL_SHOWN_MAGIC, memory_order_release);
}

/* It may be another one by now, of a program that has closed all that it did not know. */
static bool is_ours(const struct bl_shown *shown)
{
	struct stat st;

	return !fstat(shown->fd, &st) && st.st_ino == shown->inode && S_ISREG(st.st_mode) && !st.st_nlink;
}

void bl_shown_close(struct bl_shown *shown, bool is_child)
{
	if (!shown->head)
		return;
	/* a child forked in between must neither keep the descriptor nor close one that reuses its number */
	bl_fork_window_enter();
	if ((bl_fork_fd_remove(shown->fd) || !is_child) && is_ours(shown))
		close(shown->fd);
	if (!is_child)
		munmap(shown->head, shown->head->size);
	bl_fork_window_leave();
	*shown = (struct bl_shown){ .fd = -1 };
}
