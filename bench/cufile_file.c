// SPDX-License-Identifier: MIT
/* The files of cufile_bw: eight bytes at a time that depend on their offset, so that no two places look alike. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cufile_bw.h"

#define CHUNK (4UL << 20)

static uint64_t word(uint64_t off, uint64_t salt)
{
	return (off + 8) * 0x9e3779b97f4a7c15U ^ salt;
}

void bw_pattern(void *buf, size_t len, uint64_t off, uint64_t salt)
{
	uint64_t *to = buf;

	for (size_t i = 0; i < len / 8; i++)
		to[i] = word(off + i * 8, salt);
}

size_t bw_pattern_differs(const void *buf, size_t len, uint64_t off, uint64_t salt)
{
	const uint64_t *from = buf;

	for (size_t i = 0; i < len / 8; i++) {
		if (from[i] != word(off + i * 8, salt))
			return i * 8;
	}
	return len;
}

static int complain(const char *what, const char *path)
{
	fprintf(stderr, "cufile_bw: %s %s: %s\n", what, path, strerror(errno));
	return -1;
}

/* Whether it has the right bytes already, as far as one in sixteen pieces shows. */
static bool is_made(int fd, uint64_t size, void *buf)
{
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_size != size)
		return false;
	for (uint64_t off = 0; off < size; off += 16 * CHUNK) {
		size_t len = size - off < 4096 ? size - off : 4096;

		if (pread(fd, buf, len, (off_t)off) != (ssize_t)len || bw_pattern_differs(buf, len, off, 0) != len)
			return false;
	}
	return true;
}

static int fill(int fd, uint64_t size, void *buf)
{
	for (uint64_t off = 0; off < size;) {
		size_t len = size - off < CHUNK ? size - off : CHUNK;
		ssize_t put;

		bw_pattern(buf, len, off, 0);
		put = pwrite(fd, buf, len, (off_t)off);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0 || put % 8)
			return -1;
		off += (uint64_t)put;
	}
	return ftruncate(fd, (off_t)size) || fsync(fd) ? -1 : 0;
}

int bw_file_make(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	void *buf = malloc(CHUNK);
	int ret = -1;

	if (fd < 0 || !buf)
		ret = complain("cannot make", path);
	else if (is_made(fd, size, buf))
		ret = 0;
	else if (fill(fd, size, buf))
		ret = complain("cannot fill", path);
	else
		ret = 0;
	free(buf);
	if (fd >= 0)
		close(fd);
	return ret;
}

int bw_file_warm(int fd)
{
	void *buf = malloc(CHUNK);
	off_t off = 0;
	ssize_t got = buf ? 1 : -1;

	while (got > 0) {
		got = pread(fd, buf, CHUNK, off);
		off += got;
	}
	free(buf);
	return got ? -1 : 0;
}

int bw_file_drop(int fd)
{
	return fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ? -1 : 0;
}
