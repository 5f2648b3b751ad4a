/* SPDX-License-Identifier: MIT */
/*
 * nvfs_io.h - requests through the module: cut into pieces, several of them under way, holes filled in
 *
 * A request of one piece waits in the kernel, with the limit that the drive's driver sets (nvme_core.io_timeout).
 * Several pieces, or one that is to be polled, are asynchronous: they end by a word in the page for reports, and are
 * given up at the deadline.
 */
#ifndef BL_FILE_NVFS_IO_H
#define BL_FILE_NVFS_IO_H

#include "nvfs_pool.h"

/* Most pieces of one request that are under way. */
#define BL_NVFS_WINDOW 16

/**
 * struct bl_nvfs_request - what is to be moved
 * @fd:     the file, with O_DIRECT
 * @inum:   its inode, not 0
 * @major:  device of its file system; of a block device its own
 * @minor:  see @major
 * @va:     device address of the first byte, whole blocks, inside of the pool's range
 * @pos:    offset in the file, whole blocks
 * @len:    bytes, whole blocks, > 0
 * @write:  GPU to file
 * @poll:   bytes up to which a request of one piece is polled; 0: never
 * @piece:  largest piece, whole GPU pages
 * @window: pieces under way, 1 to BL_NVFS_WINDOW
 * @deadline_ns: CLOCK_MONOTONIC
 * @zero:   zeroes GPU memory, for holes; any error makes another path read the piece. NULL: holes are for other paths
 * @priv:   for @zero
 * @done:   out: bytes moved, from the first on without a gap
 * @pieces: out: requests that the module was given
 * @holes:  out: bytes that @zero zeroed
 * @reason: out: -errno behind the return value; with -EAGAIN what the module said, or 0 where it did nothing wrong
 * @unbound: out: @reason is why the memory could not be bound; it says nothing of the file
 */
struct bl_nvfs_request {
	int fd;
	uint64_t inum;
	uint32_t major;
	uint32_t minor;
	uint64_t va;
	uint64_t pos;
	size_t len;
	bool write;
	size_t poll;
	size_t piece;
	unsigned int window;
	uint64_t deadline_ns;
	int (*zero)(void *priv, uint64_t va, size_t len);
	void *priv;
	size_t done;
	unsigned int pieces;
	size_t holes;
	int reason;
	bool unbound;
};

/**
 * bl_nvfs_transfer() - Carry a request out
 * @pool: mappings of the memory
 * @rq:   the request
 *
 * Any thread. When it returns nothing is under way but what -ETIMEDOUT gave up: the drive may reach that memory until the
 * pool goes.
 * Return: 0 (all, or up to the end of the file), -EAGAIN (the rest is for another path, see @reason), -ETIMEDOUT, or what
 * the file system or the drive said: -ENOSPC, -EDQUOT, -EFBIG, -EROFS, -ENODATA and the like. @done counts in each case.
 */
int bl_nvfs_transfer(struct bl_nvfs_pool *pool, struct bl_nvfs_request *rq);

/**
 * bl_nvfs_batch() - Carry several requests out by one call of the module, or a few
 * @pool: mappings of the memory
 * @rqs:  requests, each of which the module takes as a whole: @piece, @window and @poll are not looked at
 * @nr:   how many, 1 to NVIDIA_FS_MAX_BATCH
 *
 * For Barlane's module alone. Any thread; waits in the kernel for all of them. A request whose @done is its @len was carried
 * out. Any other moved nothing that counts, has -errno or 0 in @reason, and is for bl_nvfs_transfer() or another path: it
 * reaches the end of the file, say, or failed, or the module refused it.
 * Return: how many calls of the module it took.
 */
unsigned int bl_nvfs_batch(struct bl_nvfs_pool *pool, struct bl_nvfs_request *const *rqs, unsigned int nr);

/* Between nvfs_io.c and nvfs_batch.c. Whether a request lies in the pool's range, whole blocks of it. */
bool bl_nvfs_fits(const struct bl_nvfs_range *range, const struct bl_nvfs_request *rq);

/* What the module is asked, at @off of the request; the mapping's page is made ready for its report. */
struct nvidia_fs_io bl_nvfs_entry(const struct bl_nvfs_request *rq, const struct bl_nvfs_map *map, size_t off, size_t len);

/* Give a mapping back to the pool, or drop it: one that did not take a request, @err, may be of no use for the next one. */
void bl_nvfs_give(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map, int err);

#endif
