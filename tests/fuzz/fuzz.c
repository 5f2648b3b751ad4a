// SPDX-License-Identifier: MIT
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/sys.h"
#include "util/log.h"

/* Descriptors that the kernel never gives; the table is the only one who sees them. */
#define FIRST_FD 100000
#define MAX_FDS	 256

static const uint8_t *input;
static size_t left;
static const struct fuzz_driver *driver;
static bool is_open[MAX_FDS];
static int nr_open, nr_mapped, nr_texts;

void fuzz_begin(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
}

uint8_t fuzz_byte(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

void fuzz_bytes(void *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = fuzz_byte();
}

uint64_t fuzz_number(void)
{
	uint64_t number = 0;

	fuzz_bytes(&number, fuzz_byte() % 9);
	return number;
}

char *fuzz_text(char *to, size_t size)
{
	size_t len = fuzz_byte() % size;

	fuzz_bytes(to, len);
	to[len] = '\0';
	return to;
}

int fuzz_errno(void)
{
	static const int errs[] = {EIO, ENOMEM, EINVAL, EACCES, ENODEV, EMFILE, 524, ENOTTY};

	return errs[fuzz_byte() % (sizeof(errs) / sizeof(errs[0]))];
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

static int text_file(const char *path)
{
	char text[600];
	size_t len;
	int fd = memfd_create("text", MFD_CLOEXEC);

	must(fd >= 0);
	if (driver->text) {
		driver->text(path, text, sizeof(text));
		len = strlen(text);
	} else {
		len = fuzz_byte() * 2U;
		fuzz_bytes(text, len);
	}
	must(write(fd, text, len) == (ssize_t)len && !lseek(fd, 0, SEEK_SET));
	nr_texts++;
	return fd;
}

int fuzz_fd(void)
{
	int fd = 0;

	while (fd < MAX_FDS && is_open[fd])
		fd++;
	must(fd < MAX_FDS);
	is_open[fd] = true;
	nr_open++;
	return FIRST_FD + fd;
}

static int sys_open(const char *path, int flags)
{
	int what = driver->has(path);

	if (!what)
		return refuse(ENOENT);
	if (fuzz_byte() % 16 == 15)
		return refuse(fuzz_errno());
	return what == 2 ? text_file(path) : fuzz_fd();
}

static int sys_close(int fd)
{
	if (fd < FIRST_FD) {
		nr_texts--;
		return close(fd);
	}
	must(fd - FIRST_FD < MAX_FDS && is_open[fd - FIRST_FD]);
	is_open[fd - FIRST_FD] = false;
	nr_open--;
	return 0;
}

static int sys_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	must(fd >= FIRST_FD && fd - FIRST_FD < MAX_FDS && is_open[fd - FIRST_FD]);
	if (fuzz_byte() % 16 == 15)
		return refuse(fuzz_byte() % 2 ? EINTR : fuzz_errno());
	ret = driver->ioctl(request, arg);
	return ret ? refuse(-ret) : 0;
}

static void *sys_mmap(void *hint, size_t len, int prot, int flags, int fd, off_t off)
{
	void *addr;

	must((fd == -1 && flags & MAP_ANONYMOUS) || (fd >= FIRST_FD && is_open[fd - FIRST_FD]));
	if (fuzz_byte() % 16 == 15) {
		refuse(fuzz_errno());
		return MAP_FAILED;
	}
	addr = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	nr_mapped += addr != MAP_FAILED;
	return addr;
}

static int sys_munmap(void *addr, size_t len)
{
	must(!munmap(addr, len));
	nr_mapped--;
	return 0;
}

static int sys_madvise(void *addr, size_t len, int advice)
{
	return fuzz_byte() % 16 == 15 ? refuse(fuzz_errno()) : madvise(addr, len, advice);
}

static const struct bl_sys table = {
	.version = BL_SYS_VERSION,
	.name = "fuzz",
	.open = sys_open,
	.close = sys_close,
	.ioctl = sys_ioctl,
	.mmap = sys_mmap,
	.munmap = sys_munmap,
	.madvise = sys_madvise,
};

void fuzz_sys(const struct fuzz_driver *with)
{
	driver = with;
	bl_sys_set(&table);
	bl_log_set_level(BL_LOG_OFF);
}

void fuzz_end(void)
{
	must(nr_open == 0);
	must(nr_mapped == 0);
	must(nr_texts == 0);
}
