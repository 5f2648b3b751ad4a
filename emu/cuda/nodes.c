// SPDX-License-Identifier: MIT
/*
 * Descriptors that stand for device nodes. Each is a socket that is connected to nothing: a real descriptor with real
 * limits, whose inode tells one open file from another, which dup() and fork() share as they would a device file, and
 * whose mmap(2) fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counts.h"
#include "rm_state.h"

static struct emu_file *files;

static bool fd_is_file(int fd, const struct emu_file *file)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISSOCK(st.st_mode) && st.st_ino == file->ino;
}

static void add_fd(struct emu_file *file, int fd)
{
	int slot = -1;

	for (int i = 0; i < EMU_FILE_FDS; i++) {
		if (file->fds[i] == fd)
			return;
		if (slot < 0 && !fd_is_file(file->fds[i], file))
			slot = i;
	}
	if (slot >= 0)
		file->fds[slot] = fd;
}

/* A socket of its own inode; the number of descriptors and what fails when there are too many are the system's. */
static int make_fd(int flags, ino_t *ino_p)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		close(fd);
		return -EIO;
	}
	*ino_p = st.st_ino;
	return fd;
}

int emu_file_open(enum emu_file_kind kind, int flags, struct emu_file **file_p)
{
	struct emu_file *file = calloc(1, sizeof(*file));
	int fd;

	if (!file)
		return -ENOMEM;
	fd = make_fd(flags, &file->ino);
	if (fd < 0) {
		free(file);
		return fd;
	}
	file->kind = kind;
	file->pid = getpid();
	file->accmode = flags & O_ACCMODE;
	file->holders = 1;
	for (int i = 0; i < EMU_FILE_FDS; i++)
		file->fds[i] = -1;
	file->fds[0] = fd;
	file->next = files;
	files = file;
	*file_p = file;
	return fd;
}

struct emu_file *emu_files(void)
{
	return files;
}

struct emu_file *emu_file_find(int fd)
{
	struct stat st;

	if (!files || fd < 0 || fstat(fd, &st) || !S_ISSOCK(st.st_mode))
		return NULL;
	for (struct emu_file *file = files; file; file = file->next) {
		if (file->ino != st.st_ino)
			continue;
		add_fd(file, fd);
		return file;
	}
	return NULL;
}

bool emu_file_is_ours(const struct emu_file *file)
{
	return file->pid == getpid();
}

bool emu_file_has_fd(const struct emu_file *file)
{
	for (int i = 0; i < EMU_FILE_FDS; i++) {
		if (fd_is_file(file->fds[i], file))
			return true;
	}
	return false;
}

void emu_file_hold(struct emu_file *file)
{
	file->holders++;
}

static void unlink_file(const struct emu_file *file)
{
	struct emu_file **link = &files;

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
}

/* What the driver's release does. The file leaves the list first: nothing may find it half torn down. */
static void release(struct emu_file *file)
{
	unlink_file(file);
	switch (file->kind) {
	case EMU_FILE_CTL:
		rm_clients_of_file_free(file);
		break;
	case EMU_FILE_DEV:
		rm_map_file_gone(file);
		if (file->ctl)
			emu_file_put(file->ctl);
		break;
	case EMU_FILE_GDRDRV:
		gdr_release(file);
		break;
	case EMU_FILE_DMABUF:
		break;
	}
	if (file->mem)
		emu_mem_put(file->mem);
	free(file);
}

void emu_file_put(struct emu_file *file)
{
	if (!--file->holders)
		release(file);
}

/* The last descriptor is gone: the driver's flush and, if nothing else holds the file, release. */
static void last_fd_closed(struct emu_file *file)
{
	file->closed = true;
	if (!emu_file_is_ours(file)) {
		unlink_file(file); /* the parent still has it; what it was is none of the child's business */
		return;
	}
	if (file->kind == EMU_FILE_DEV)
		rm_map_file_closing(file);
	emu_file_put(file);
}

/* Before it is closed: from then on another thread may have the number for a file of its own. */
static void forget_fd(struct emu_file *file, int fd)
{
	for (int i = 0; i < EMU_FILE_FDS; i++) {
		if (file->fds[i] == fd)
			file->fds[i] = -1;
	}
}

int emu_file_close(struct emu_file *file, int fd)
{
	int ret;

	forget_fd(file, fd);
	ret = close(fd);
	if (!file->closed && !emu_file_has_fd(file))
		last_fd_closed(file);
	return ret;
}

/* Exported objects and dma-bufs are closed with close(2) by programs that know nothing of this table. */
static bool is_closed_elsewhere(const struct emu_file *file)
{
	return file->mem;
}

void emu_files_reap(bool all)
{
	bool again;

	do {
		again = false;
		for (struct emu_file *file = files; file; file = file->next) {
			/* holders that are VMAs or device files keep it in the list after its last descriptor */
			if (!emu_file_is_ours(file) || (!all && !is_closed_elsewhere(file)) || file->closed ||
			    emu_file_has_fd(file))
				continue;
			last_fd_closed(file);
			again = true;
			break;
		}
	} while (again);
}

void emu_rm_reap(void)
{
	rm_lock();
	emu_files_reap(false);
	rm_unlock();
}

bool emu_gpu_is_open(const struct emu_gpu *gpu)
{
	for (struct emu_file *file = files; file; file = file->next) {
		if (file->kind == EMU_FILE_DEV && file->gpu == gpu && emu_file_is_ours(file) && emu_file_has_fd(file))
			return true;
	}
	return false;
}

bool emu_gpu_is_attached(const struct emu_gpu *gpu)
{
	for (struct rm_client *client = rm_clients(); client; client = client->next) {
		if (!client->file)
			return true; /* CUDA is up */
	}
	for (struct emu_file *file = files; file; file = file->next) {
		if (file->gpu == gpu || file->attached & 1U << gpu->index)
			return true;
	}
	return false;
}
