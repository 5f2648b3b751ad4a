// SPDX-License-Identifier: MIT
#include "pages.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static void unload(void)
{
	try_module_unload("gdrdrv");
	try_module_unload("bl_card");
}

void card_reload(const char *parameters)
{
	static bool registered;
	int ret = 0;

	if (!registered)
		registered = !atexit(unload);
	/* a process may still be ending */
	for (int i = 0; i < 250; i++) {
		ret = try_module_unload("bl_card");
		if (!ret || ret == -ENOENT)
			break;
		usleep(20000);
	}
	check(!ret || ret == -ENOENT);
	check_eq(try_module_load("bl_card", parameters), 0);
}

int try_slice_alloc(int gpu, uint64_t len, struct gpu_mem *mem)
{
	struct bl_card_alloc alloc = { .size = len, .flags = BL_CARD_ALLOC_PAGES };

	if (ioctl(gpu, BL_CARD_IOC_ALLOC, &alloc))
		return -errno;
	*mem = (struct gpu_mem){ .len = alloc.size, .offset = alloc.offset, .handle = alloc.handle };
	return 0;
}

struct slice_mem slice_alloc(int gpu, uint64_t len)
{
	struct slice_mem mem;

	check_eq(try_slice_alloc(gpu, len, &mem.mem), 0);
	mem.at = mmap(NULL, mem.mem.len, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.mem.offset);
	check(mem.at != MAP_FAILED);
	return mem;
}

void slice_free(int gpu, struct slice_mem *mem)
{
	check_eq(munmap(mem->at, mem->mem.len), 0);
	gpu_free(gpu, &mem->mem);
}

int drive_open(void)
{
	int fd = open(DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

int64_t try_read(int fd, void *buf, size_t len, off_t pos)
{
	ssize_t ret = pread(fd, buf, len, pos);

	return ret < 0 ? -errno : ret;
}

int64_t try_write(int fd, const void *buf, size_t len, off_t pos)
{
	ssize_t ret = pwrite(fd, buf, len, pos);

	return ret < 0 ? -errno : ret;
}

void slice_check_clean(int gpu)
{
	struct bl_card_counters counts = gpu_counters(gpu);

	for (int i = 0; i < 100 && counts.used; i++) {
		usleep(20000);
		counts = gpu_counters(gpu);
	}
	check_eq(counts.used, 0);
	check_eq(counts.lingering, 0);
	check_eq(counts.late_writes, 0);
	check_eq(counts.unpoisoned, 0);
}
