// SPDX-License-Identifier: MIT
#include "align.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Linux 6.1: what older headers lack, at the places that the kernel's ABI gives it. */
#define DIOALIGN_MASK 0x2000U
#define DIO_MEM_AT    152
#define DIO_OFFSET_AT 156

static uint32_t usable(uint32_t align)
{
	return align && align <= BL_ALIGN_MAX && !(align & (align - 1)) ? align : 0;
}

static uint32_t word_at(const void *stx, size_t at)
{
	return *(const uint32_t *)((const char *)stx + at);
}

/* Whether the kernel knows; *align_p is 0 where the file has no direct I/O. */
static int from_statx(int fd, uint32_t *align_p)
{
	_Alignas(8) unsigned char stx[256] = { 0 };
	uint32_t mem, off;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, DIOALIGN_MASK, stx) || !(word_at(stx, 0) & DIOALIGN_MASK))
		return 0;
	mem = word_at(stx, DIO_MEM_AT);
	off = word_at(stx, DIO_OFFSET_AT);
	*align_p = mem && off ? usable(mem > off ? mem : off) : 0;
	return 1;
}

static uint32_t number_in(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return usable((uint32_t)strtoul(text, NULL, 10));
}

/* Logical block size of the disk below, which a partition shares with its disk. */
static uint32_t from_sysfs(dev_t dev)
{
	static const char *const forms[] = { "/sys/dev/block/%u:%u/queue/logical_block_size",
					     "/sys/dev/block/%u:%u/../queue/logical_block_size" };
	uint32_t align = 0;
	char path[96];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !align; i++) {
		snprintf(path, sizeof(path), i ? forms[1] : forms[0], major(dev), minor(dev));
		align = number_in(path);
	}
	return align;
}

uint32_t bl_align_of(int fd)
{
	uint32_t align = 0;
	struct stat st;
	int size = 0;

	if (from_statx(fd, &align))
		return align;
	if (fstat(fd, &st))
		return 0;
	if (S_ISBLK(st.st_mode))
		align = ioctl(fd, BLKSSZGET, &size) ? 0 : usable((uint32_t)size);
	else
		align = from_sysfs(st.st_dev);
	return align ? align : BL_ALIGN_MAX;
}
