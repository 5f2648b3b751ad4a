// SPDX-License-Identifier: MIT
#include "bed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "card_uapi.h"

#define FIRST_VA 0x600000000000UL

_Noreturn void bed_die(const char *what)
{
	fprintf(stderr, "nvfs_cost: %s: %s; dmesg may say more\n", what, strerror(errno));
	exit(1);
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		bed_die(path);
	return fd;
}

uint64_t bed_largest(void)
{
	struct bl_card_info info;
	int card = open_file(BL_CARD_PATH, O_RDWR);

	if (ioctl(card, BL_CARD_IOC_INFO, &info))
		bed_die("ask the card for its size");
	close(card);
	/* the first block belongs to nobody */
	return info.size - BL_CARD_BLOCK_SIZE;
}

void bed_open(uint64_t len, struct bed *bed)
{
	struct bl_card_alloc alloc = { .size = len };
	struct bl_card_bind bind;
	struct stat st;

	bed->card = open_file(BL_CARD_PATH, O_RDWR);
	bed->node = open_file(NVIDIA_FS_PATH "0", O_RDWR);
	bed->drive = open_file(BED_DRIVE, O_RDWR | O_DIRECT);
	if (fstat(bed->drive, &st))
		bed_die("look at " BED_DRIVE);
	bed->inum = st.st_ino;
	bed->major = major(st.st_rdev);
	bed->minor = minor(st.st_rdev);
	if (ioctl(bed->card, BL_CARD_IOC_ALLOC, &alloc))
		bed_die("allocate on the card");
	bind = (struct bl_card_bind){ .va = FIRST_VA, .len = alloc.size, .handle = alloc.handle };
	if (ioctl(bed->card, BL_CARD_IOC_BIND, &bind))
		bed_die("bind memory of the card to an address");
	bed->va = FIRST_VA;
	bed->len = alloc.size;
}

static void *map_memory(size_t len, int flags, int fd)
{
	void *addr = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (addr == MAP_FAILED)
		bed_die("map memory");
	return addr;
}

void bed_shadow(const struct bed *bed, size_t shadow_len, struct nvidia_fs_meta *meta, struct bed_map *map)
{
	map->len = shadow_len;
	map->shadow = map_memory(shadow_len, MAP_SHARED, bed->node);
	map->meta = meta ? meta : map_memory(4096, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
}

static void bind_to(const struct bed *bed, const struct bed_map *map, uint64_t len, const struct nvidia_fs_meta *meta)
{
	union nvidia_fs_arg arg = { 0 };

	arg.map = (struct nvidia_fs_map){
		.size = (int64_t)len,
		.cpuvaddr = (uintptr_t)map->shadow,
		.gpuvaddr = bed->va,
		.end_fence_addr = (uintptr_t)meta,
		.sbuf_block = (uint32_t)(map->len / NVIDIA_FS_BLOCK),
	};
	if (ioctl(bed->node, NVIDIA_FS_IOC_MAP, &arg))
		bed_die("bind memory of the card to a shadow");
}

void bed_bind(const struct bed *bed, const struct bed_map *map, uint64_t len)
{
	bind_to(bed, map, len, map->meta);
}

void bed_bind_again(const struct bed *bed, const struct bed_map *map, uint64_t len)
{
	bind_to(bed, map, len, NULL);
}

void bed_unbind(const struct bed *bed, const struct bed_map *map)
{
	struct nvidia_fs_unmap arg = { .cpuvaddr = (uintptr_t)map->shadow };

	if (ioctl(bed->node, NVIDIA_FS_IOC_UNMAP, &arg))
		bed_die("give memory back and keep the shadow");
}

void bed_unmap(const struct bed_map *map)
{
	if (munmap(map->shadow, map->len))
		bed_die("unmap a shadow");
}

void bed_read(const struct bed *bed, const struct bed_map *map, uint64_t pos, size_t len)
{
	union nvidia_fs_arg arg = { 0 };

	arg.io = (struct nvidia_fs_io){
		.cpuvaddr = (uintptr_t)map->shadow,
		.offset = (int64_t)pos,
		.size = len,
		.fd = bed->drive,
		.flags = NVIDIA_FS_IO_SYNC,
	};
	arg.io.file = (struct nvidia_fs_file){ .inum = bed->inum, .majdev = bed->major, .mindev = bed->minor };
	if (ioctl(bed->node, NVIDIA_FS_IOC_READ, &arg) || arg.io.ioctl_return != (int64_t)len)
		bed_die("read into memory of the card");
}

uint64_t bed_number(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[512];
	const char *at;

	if (!file)
		bed_die(path);
	while (fgets(line, sizeof(line), file)) {
		if (word && strncmp(line, word, strlen(word)))
			continue;
		fclose(file);
		at = line + (word ? strlen(word) : 0);
		return strtoull(at + strspn(at, ": \t"), NULL, 0);
	}
	errno = ENODATA;
	bed_die(path);
}
