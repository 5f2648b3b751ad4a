// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/sys: " fmt
#include "sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/log.h"

static int kernel_open(const char *path, int flags)
{
	return open(path, flags);
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

static const struct bl_sys kernel_sys = {
	.version = BL_SYS_VERSION,
	.name = "kernel",
	.open = kernel_open,
	.close = close,
	.ioctl = kernel_ioctl,
	.mmap = mmap,
	.munmap = munmap,
	.madvise = madvise,
};

static int refuse_open(const char *path, int flags)
{
	errno = ENOSYS;
	return -1;
}

static int refuse_ioctl(int fd, unsigned long request, void *arg)
{
	errno = ENOSYS;
	return -1;
}

static void *refuse_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	errno = ENOSYS;
	return MAP_FAILED;
}

/* A run that asked for a stand-in which cannot be had must not reach real devices. */
static const struct bl_sys refusing_sys = {
	.version = BL_SYS_VERSION,
	.name = "none",
	.open = refuse_open,
	.close = close,
	.ioctl = refuse_ioctl,
	.mmap = refuse_mmap,
	.munmap = munmap,
	.madvise = madvise,
};

static _Atomic(const struct bl_sys *) current;
static const struct bl_sys *chosen;
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;

static const struct bl_sys *load(const char *path)
{
	const struct bl_sys *sys;
	bl_sys_fn get;
	void *lib;

	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		log_warn("BARLANE_SYSCALLS %s: %s", path, dlerror());
		return &refusing_sys;
	}
	*(void **)&get = dlsym(lib, BL_SYS_SYMBOL);
	sys = get ? get() : NULL;
	if (!sys || sys->version != BL_SYS_VERSION) {
		log_warn("BARLANE_SYSCALLS %s: no table of version %d", path, BL_SYS_VERSION);
		dlclose(lib);
		return &refusing_sys;
	}
	return sys;
}

static void choose(void)
{
	const char *path = secure_getenv("BARLANE_SYSCALLS");

	chosen = path && *path ? load(path) : &kernel_sys;
	if (chosen != &kernel_sys)
		log_info("system calls go to %s", chosen->name);
}

const struct bl_sys *bl_sys(void)
{
	const struct bl_sys *sys = atomic_load_explicit(&current, memory_order_acquire);

	if (sys)
		return sys;
	pthread_once(&choose_once, choose);
	return chosen;
}

void bl_sys_set(const struct bl_sys *sys)
{
	atomic_store_explicit(&current, sys, memory_order_release);
}

int bl_sys_read_file(const char *path, char *buf, size_t size)
{
	const struct bl_sys *sys = bl_sys();
	size_t len = 0;
	ssize_t got;
	int fd, ret;

	fd = sys->open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buf + len, size - 1 - len);
		if (got > 0)
			len += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	ret = got < 0 ? -errno : 0;
	sys->close(fd);
	if (ret)
		return ret;
	while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' ' || buf[len - 1] == '\t'))
		len--;
	buf[len] = '\0';
	return (int)len;
}
