/* SPDX-License-Identifier: MIT */
/* nvfs_fixture.h - steps that tests of the nvidia-fs client share */
#ifndef TESTS_UNIT_NVFS_FIXTURE_H
#define TESTS_UNIT_NVFS_FIXTURE_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fake_nvfs.h"
#include "file/nvfs_io.h"
#include "tap.h"
#include "util/clock.h"

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KB	     1024UL
#define MB	     (1024UL * 1024)
#define SOON_NS	     60000000000ULL /* no test waits as long */

/* The byte of a file at an offset; no two blocks are the same. */
static inline uint8_t file_byte(uint64_t off)
{
	return (uint8_t)(off * 7 + (off >> 12) * 31 + (off >> 20) + 1);
}

/* A file without a name, in a folder that has holes. */
static inline int file_new(size_t len)
{
	static uint8_t some[64 * KB];
	const char *dir = getenv("TMPDIR");
	int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	check(fd >= 0);
	for (size_t off = 0; off < len; off += sizeof(some)) {
		size_t n = len - off < sizeof(some) ? len - off : sizeof(some);

		for (size_t i = 0; i < n; i++)
			some[i] = file_byte(off + i);
		check_eq(pwrite(fd, some, n, (off_t)off), n);
	}
	return fd;
}

/* The GPU's bytes at an offset are the file's. */
static inline bool gpu_has(size_t gpu_off, uint64_t pos, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (fake_gpu()[gpu_off + i] != file_byte(pos + i))
			return false;
	}
	return true;
}

static inline bool gpu_is(size_t gpu_off, uint8_t value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (fake_gpu()[gpu_off + i] != value)
			return false;
	}
	return true;
}

/**
 * struct nvfs - a client with one file and one range of GPU memory
 * @dev:   the module
 * @pool:  mappings of the range
 * @range: the memory
 * @fd:    the file
 */
struct nvfs {
	struct bl_nvfs_dev *dev;
	struct bl_nvfs_pool *pool;
	struct bl_nvfs_range range;
	int fd;
};

static inline struct nvfs nvfs_open(size_t file_len, size_t gpu_off, size_t gpu_len)
{
	struct nvfs n = {.range = {FAKE_GPU_VA + gpu_off, gpu_len, FAKE_GPU_PDEV}};
	char why[256];

	check_eq(bl_nvfs_dev_open(&n.dev, why, sizeof(why)), 0);
	check_eq(bl_nvfs_pool_new(n.dev, &n.range, 1, &n.pool), 0);
	n.fd = file_new(file_len);
	return n;
}

static inline void nvfs_drop(struct nvfs *n)
{
	bl_nvfs_pool_put(n->pool);
	bl_nvfs_dev_put(n->dev);
	close(n->fd);
}

static inline void nvfs_close(struct nvfs *n)
{
	nvfs_drop(n);
	fake_nvfs_end();
}

static inline int zero_gpu(void *priv, uint64_t va, size_t len)
{
	memset(fake_gpu() + (va - FAKE_GPU_VA), 0, len);
	return 0;
}

/* A request of one piece at a time; tests change what they are about. */
static inline struct bl_nvfs_request nvfs_request(const struct nvfs *n, bool write, size_t gpu_off, uint64_t pos,
						  size_t len)
{
	struct stat st;

	check_eq(fstat(n->fd, &st), 0);
	return (struct bl_nvfs_request){
		.fd = n->fd,
		.inum = st.st_ino,
		.major = major(st.st_dev),
		.minor = minor(st.st_dev),
		.va = FAKE_GPU_VA + gpu_off,
		.pos = pos,
		.len = len,
		.write = write,
		.piece = 16 * MB,
		.window = 1,
		.deadline_ns = bl_now_ns() + SOON_NS,
		.zero = zero_gpu,
	};
}

#endif
