// SPDX-License-Identifier: MIT
#include "fds.h"

#include <errno.h>
#include <unistd.h>

#include "util/fork.h"

int bl_shm_fd_own(int fd)
{
	int ret;

	if (fd < 0)
		return -errno;
	ret = bl_fork_fd_add(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

void bl_shm_fd_close(int fd)
{
	int saved = errno;

	if (fd < 0)
		return;
	/* a child forked in between must neither keep the descriptor nor close one that reuses its number */
	bl_fork_window_enter();
	bl_fork_fd_remove(fd);
	close(fd);
	bl_fork_window_leave();
	errno = saved;
}

void bl_shm_fd_forget(int fd)
{
	/* the number may be another descriptor's by now, unless it is still registered */
	if (fd >= 0 && bl_fork_fd_remove(fd))
		close(fd);
}
