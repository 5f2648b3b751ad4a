// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/mmap: " fmt
#include "mmap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/sys.h"
#include "util/fork.h"
#include "util/log.h"

int bl_device_mmap(int fd, size_t len, off_t off, void **addr_p)
{
	const struct bl_sys *sys = bl_sys();
	void *addr;
	int ret = 0;

	bl_fork_window_enter();
	addr = sys->mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	if (addr == MAP_FAILED) {
		ret = -errno;
	} else if (sys->madvise(addr, len, MADV_DONTFORK)) {
		ret = -errno;
		if (sys->munmap(addr, len))
			ret = -EBUSY;
	}
	bl_fork_window_leave();
	if (!ret)
		*addr_p = addr;
	return ret;
}

int bl_device_unmap(void *priv, struct bl_backing *backing, struct bl_mapping *mapping)
{
	if (bl_sys()->munmap(mapping->addr, mapping->len))
		return fail(errno, "unmap va 0x%" PRIx64 " len 0x%zx: %s", backing->va, mapping->len, strerror(errno));
	return 0;
}

int bl_device_open(const char *path)
{
	const struct bl_sys *sys = bl_sys();
	int fd, ret = 0;

	/* a fork between the two would leave the child a copy */
	bl_fork_window_enter();
	fd = sys->open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		ret = -errno;
	else
		ret = bl_fork_fd_add(fd);
	bl_fork_window_leave();
	if (ret && fd >= 0)
		sys->close(fd);
	return ret ? ret : fd;
}

void bl_device_close(int fd)
{
	/* a child forked in between must neither keep the descriptor nor close one that reuses its number */
	bl_fork_window_enter();
	bl_fork_fd_remove(fd);
	bl_sys()->close(fd);
	bl_fork_window_leave();
}
