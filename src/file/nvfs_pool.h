/* SPDX-License-Identifier: MIT */
/*
 * nvfs_pool.h - the shadow mappings of one registered buffer
 *
 * Requests at the same time need a mapping each. They are made when they are wanted, in two sizes: a small request must
 * not cost 16 MiB of shadow pages.
 */
#ifndef BL_FILE_NVFS_POOL_H
#define BL_FILE_NVFS_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "nvfs_map.h"

#define BL_NVFS_SMALL_SHADOW (1UL << 20)
#define BL_NVFS_SMALL_MAPS   16
#define BL_NVFS_LARGE_MAPS   4

/**
 * struct bl_nvfs_class - mappings of one size
 * @shadow_len: their size
 * @nr:         how many there are, taken and late ones included
 * @nr_late:    length of @late
 * @max:        how many there may be; becomes less when the module has no more
 * @refusal:    why not even one can be made, -errno; 0: nothing known
 * @idle:       those that can be taken
 * @late:       those whose request was given up and has not ended
 */
struct bl_nvfs_class {
	size_t shadow_len;
	unsigned int nr;
	unsigned int nr_late;
	unsigned int max;
	int refusal;
	struct bl_nvfs_map *idle;
	struct bl_nvfs_map *late;
};

/**
 * struct bl_nvfs_pool - mappings of one range of GPU memory
 * @refs:    its table, and every request under way
 * @key:     what the table finds it by
 * @dev:     the module, referenced
 * @range:   the memory
 * @dead:    the memory was freed, or the module is gone: no mapping is taken any more
 * @lock:    guards @classes; never held across a system call that waits for a device
 * @changed: a mapping came back, or went
 * @classes: small and large
 * @next:    in the table
 */
struct bl_nvfs_pool {
	atomic_int refs;
	uint64_t key;
	struct bl_nvfs_dev *dev;
	struct bl_nvfs_range range;
	atomic_bool dead;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bl_nvfs_class classes[2];
	struct bl_nvfs_pool *next;
};

/**
 * bl_nvfs_pool_new() - A pool without mappings
 * @dev:    the module; a reference is taken
 * @range:  the memory
 * @key:    for the caller
 * @pool_p: receives the pool, with one reference
 *
 * Return: 0 or -ENOMEM.
 */
int bl_nvfs_pool_new(struct bl_nvfs_dev *dev, const struct bl_nvfs_range *range, uint64_t key,
		     struct bl_nvfs_pool **pool_p);
struct bl_nvfs_pool *bl_nvfs_pool_get(struct bl_nvfs_pool *pool);

/* With the last reference all mappings go. */
void bl_nvfs_pool_put(struct bl_nvfs_pool *pool);

/**
 * bl_nvfs_pool_take() - Get a mapping for one request
 * @pool:        the pool
 * @len:         bytes of the request
 * @deadline_ns: CLOCK_MONOTONIC, until when another request is waited for; 0: not at all
 * @map_p:       receives the mapping; its shadow may be shorter than @len
 *
 * Return: 0; -EAGAIN (none is free and @deadline_ns is 0), -ETIMEDOUT, -EBUSY (all have requests that do not end),
 * -EIDRM (dead), -EINTR (a signal came while one was made: try again), or why none can be made: that is not tried again.
 */
int bl_nvfs_pool_take(struct bl_nvfs_pool *pool, size_t len, uint64_t deadline_ns, struct bl_nvfs_map **map_p);

/* What becomes of a mapping that was taken: its request ended; it was given up; the mapping cannot be used again. */
void bl_nvfs_pool_give(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map);
void bl_nvfs_pool_park(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map);
void bl_nvfs_pool_retire(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map);

#endif
