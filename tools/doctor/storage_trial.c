// SPDX-License-Identifier: MIT
/* Trials with the kernel itself. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "doctor/devx.h"
#include "doctor/storage.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* A file without a name goes away with its descriptor. */
static void try_fs(const char *folder, struct doctor_fs_can *can)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	int flags;

	if (fd < 0)
		return;
	if (pwrite(fd, &byte, 1, 0) == 1) {
		can->nowait = DOCTOR_CAN;
		if (preadv2(fd, &iov, 1, 0, RWF_NOWAIT) < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
			can->nowait = DOCTOR_CAN_NOT;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && !fcntl(fd, F_SETFL, flags | O_DIRECT))
		can->direct = DOCTOR_CAN;
	else if (errno == EINVAL)
		can->direct = DOCTOR_CAN_NOT;
	close(fd);
}

static int try_uring(void)
{
	void *lib;

	/* no ring has no entries: whoever complains of that could make one */
	if (syscall(SYS_io_uring_setup, 0, NULL) < 0 && errno != EINVAL && errno != EFAULT)
		return -errno;
	/* as libcufile has it; the last function that it needs came with 2.2 */
	lib = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -ENOENT;
	return dlsym(lib, "io_uring_submit_and_wait_timeout") ? 0 : -ENOPKG;
}

/* It stays: unloading what may have started threads is no one's business here. */
static int try_verbs(void)
{
	return dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL) ? 0 : -ENOENT;
}

const struct doctor_trials doctor_trials_kernel = { try_fs, try_uring, try_verbs, doctor_try_devx };
