// SPDX-License-Identifier: MIT
#include "file_faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gpu/cuda.h"

static struct {
	_Atomic(enum faulty_what) what;
	dev_t dev;
	ino_t ino;
	unsigned int period;
	int err;
	off_t after;
	atomic_uint calls;
	atomic_uint hits;
} faulty;

void faulty_set(enum faulty_what what, int fd, unsigned int period, int err, off_t after)
{
	struct stat st = { 0 };

	atomic_store(&faulty.what, FAULTY_NONE);
	if (fd >= 0)
		fstat(fd, &st);
	faulty.dev = st.st_dev;
	faulty.ino = st.st_ino;
	faulty.period = period;
	faulty.err = err;
	faulty.after = after;
	atomic_store(&faulty.calls, 0);
	atomic_store(&faulty.hits, 0);
	atomic_store(&faulty.what, what);
}

unsigned int faulty_hits(void)
{
	return atomic_load(&faulty.hits);
}

static bool is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == faulty.dev && st.st_ino == faulty.ino;
}

static bool strikes(void)
{
	if ((atomic_fetch_add(&faulty.calls, 1) + 1) % faulty.period)
		return false;
	atomic_fetch_add(&faulty.hits, 1);
	return true;
}

static bool is_pinned(uintptr_t buf)
{
	unsigned int type = 0;

	return bl_cuda() &&
	       !bl_cuda()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buf) &&
	       type == CU_MEMORYTYPE_HOST;
}

static bool is_out_of_reach(int fd, uintptr_t buf)
{
	if (atomic_load(&faulty.what) != FAULTY_PINNED || !is_file(fd) || !is_pinned(buf) || !strikes())
		return false;
	errno = faulty.err;
	return true;
}

/* Whether the call fails; *len_p may become shorter. */
static bool goes_wrong(enum faulty_what error, int fd, size_t *len_p, off_t pos)
{
	enum faulty_what what = atomic_load(&faulty.what);

	if ((what != FAULTY_SHORT && what != FAULTY_EINTR && what != error) || !is_file(fd))
		return false;
	if (what == error && pos + (off_t)*len_p <= faulty.after)
		return false;
	if (what == error && pos < faulty.after) {
		*len_p = (size_t)(faulty.after - pos);
		return false;
	}
	if (!strikes())
		return false;
	if (what == FAULTY_SHORT) {
		*len_p = *len_p % 512 || *len_p == 512 ? (*len_p + 1) / 2 : (*len_p / 2 + 511) & ~511UL;
		return false;
	}
	errno = what == FAULTY_EINTR ? EINTR : faulty.err;
	return true;
}

#define SHOWN __attribute__((visibility("default")))

SHOWN ssize_t pread64(int fd, void *buf, size_t len, off_t pos);
static atomic_uintptr_t last_source;

const void *faulty_last_source(void)
{
	return (const void *)atomic_load(&last_source);
}

SHOWN ssize_t pwrite64(int fd, const void *buf, size_t len, off_t pos);
SHOWN ssize_t preadv64v2(int fd, const struct iovec *iov, int nr, off_t pos, int flags);
SHOWN int open64(const char *path, int flags, ...);
SHOWN void *dlopen(const char *name, int mode);

ssize_t pread64(int fd, void *buf, size_t len, off_t pos)
{
	if (is_out_of_reach(fd, (uintptr_t)buf) || goes_wrong(FAULTY_READ, fd, &len, pos))
		return -1;
	return syscall(SYS_pread64, fd, buf, len, pos);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t pos)
{
	if (is_file(fd))
		atomic_store(&last_source, (uintptr_t)buf);
	if (is_out_of_reach(fd, (uintptr_t)buf) || goes_wrong(FAULTY_WRITE, fd, &len, pos))
		return -1;
	return syscall(SYS_pwrite64, fd, buf, len, pos);
}

ssize_t preadv64v2(int fd, const struct iovec *iov, int nr, off_t pos, int flags)
{
	struct iovec first = *iov;

	if (is_out_of_reach(fd, (uintptr_t)first.iov_base))
		return -1;
	if (goes_wrong(atomic_load(&faulty.what) == FAULTY_NOWAIT ? FAULTY_NOWAIT : FAULTY_READ, fd, &first.iov_len, pos))
		return -1;
	return syscall(SYS_preadv2, fd, nr == 1 ? &first : iov, nr, pos, 0, flags);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	if (atomic_load(&faulty.what) == FAULTY_REOPEN && !strncmp(path, "/proc/self/fd/", 14) && strikes()) {
		errno = faulty.err;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* A name that nobody has makes the loader say what it says of any missing library. */
void *dlopen(const char *name, int mode)
{
	static void *(*next)(const char *, int);
	enum faulty_what what = atomic_load(&faulty.what);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	if (name && !strcmp(name, "liburing.so.2") && (what == FAULTY_PINNED || (what == FAULTY_URING && strikes())))
		name = "liburing.so.none";
	return next(name, mode);
}
