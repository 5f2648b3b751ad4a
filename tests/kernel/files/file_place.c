// SPDX-License-Identifier: MIT
/* file_place FILE OFF LEN: where on its device those bytes of a file are, in sectors of 512 bytes; they must lie together. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static int place(int fd, uint64_t off, uint64_t len, uint64_t *at_p)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} ask = { .map = { .fm_start = off, .fm_length = len, .fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 1 } };
	const struct fiemap_extent *extent = ask.map.fm_extents;

	if (ioctl(fd, FS_IOC_FIEMAP, &ask))
		return -errno;
	if (!ask.map.fm_mapped_extents || extent->fe_logical > off || extent->fe_logical + extent->fe_length < off + len)
		return -ENXIO;
	*at_p = extent->fe_physical + (off - extent->fe_logical);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t at = 0;
	int fd, ret;

	if (argc != 4) {
		fprintf(stderr, "usage: file_place FILE OFF LEN\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : place(fd, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0), &at);
	if (ret) {
		fprintf(stderr, "file_place: %s: %s\n", argv[1], strerror(-ret));
		return 1;
	}
	printf("%" PRIu64 "\n", at / 512);
	return 0;
}
