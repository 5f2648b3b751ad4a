// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/shm: " fmt
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fds.h"
#include "util/fork.h"
#include "util/log.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22 /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static bool size_is_valid(uint64_t size)
{
	return size >= BL_SHM_MIN_SIZE && size >= page_size() && size <= BL_SHM_MAX_SIZE && !(size & (size - 1));
}

/* The words, and the ring twice in a row, over address space that is reserved for them. */
static int map_parts(int fd, char *base, size_t size, int prot)
{
	size_t page = page_size();

	if (mmap(base, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	for (int i = 0; i < 2; i++) {
		if (mmap(base + page + (size_t)i * size, size, prot, MAP_SHARED | MAP_FIXED, fd, (off_t)page) ==
		    MAP_FAILED)
			return -errno;
	}
	if (madvise(base, page + 2 * size, MADV_DONTFORK))
		return -errno;
	/* or the first packets on each page are slow; where the kernel does not know how, they are */
	(void)madvise(base + page, 2 * size, prot & PROT_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	return 0;
}

static int map(int fd, size_t size, int prot, struct bl_shm_ring *ring)
{
	size_t len = page_size() + 2 * size;
	char *base;
	int ret;

	base = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return fail(errno, "ring of %zu bytes: address space: %s", size, strerror(errno));
	bl_fork_window_enter();
	ret = map_parts(fd, base, size, prot);
	bl_fork_window_leave();
	if (ret) {
		munmap(base, len);
		return fail(-ret, "ring of %zu bytes: map: %s", size, strerror(-ret));
	}
	*ring = (struct bl_shm_ring){
		.base = base,
		.len = len,
		.words = (struct bl_shm_words *)(void *)base,
		.data = base + page_size(),
		.size = size,
	};
	return 0;
}

static int make_file(void)
{
	int fd = memfd_create("barlane-snic", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/* kernels before 6.3 do not know that flag; the others may insist on it */
	return fd < 0 && errno == EINVAL ? memfd_create("barlane-snic", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

int bl_shm_memory_make(size_t size, struct bl_shm_ring *ring, int *fd_p)
{
	off_t len = (off_t)(page_size() + size);
	int fd, ret;

	if (!size_is_valid(size))
		return fail(EINVAL, "ring of %zu bytes: not a power of two of at least %lu", size, BL_SHM_MIN_SIZE);
	bl_fork_window_enter();
	fd = bl_shm_fd_own(make_file());
	bl_fork_window_leave();
	if (fd < 0)
		return fail(-fd, "ring of %zu bytes: memory file: %s", size, strerror(-fd));
	/* all pages now: later there is nobody who could be told that there are none */
	if (ftruncate(fd, len) || fallocate(fd, 0, 0, len) || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL)) {
		ret = fail(errno, "ring of %zu bytes: memory: %s", size, strerror(errno));
		goto close;
	}
	ret = map(fd, size, PROT_READ | PROT_WRITE, ring);
	if (ret)
		goto close;
	*fd_p = fd;
	return 0;
close:
	bl_shm_fd_close(fd);
	return ret;
}

/*
 * A file of the right size that stays so, and is all there: its pages need not be found while packets wait. Huge pages
 * never have that size.
 */
static const char *flaw_of(int fd, uint64_t size)
{
	struct stat st;
	int seals;

	if (!size_is_valid(size))
		return "the size is out of range";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return "it is not a file";
	if ((uint64_t)st.st_size != page_size() + size)
		return "the file has another size";
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS)
		return "the file's size is not sealed";
	if ((uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size)
		return "the file has holes";
	return NULL;
}

int bl_shm_memory_take(int fd, uint64_t size, struct bl_shm_ring *ring)
{
	const char *flaw = flaw_of(fd, size);

	if (flaw)
		return fail(EPROTO, "memory from a peer for a ring of %" PRIu64 " bytes: %s", size, flaw);
	return map(fd, (size_t)size, PROT_READ, ring);
}

void bl_shm_memory_unmap(struct bl_shm_ring *ring)
{
	if (ring->base)
		munmap(ring->base, ring->len);
	*ring = (struct bl_shm_ring){0};
}
