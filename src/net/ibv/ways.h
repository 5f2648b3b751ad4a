/* SPDX-License-Identifier: MIT */
/*
 * ways.h - getting a device at memory: as a dma-buf, or by address
 *
 * A dma-buf is tried where the program gave one, or where GPU memory can be made one. What is then left is the address,
 * which for GPU memory takes a kernel module that knows what that is.
 */
#ifndef BL_NET_IBV_WAYS_H
#define BL_NET_IBV_WAYS_H

#include "lib.h"
#include "net/nic.h"
#include "net/reach.h"

/**
 * struct bl_ways - an attempt
 * @device: name
 * @memory: what
 * @gpu:    it is GPU memory, pinned; NULL: it is not, or that is not known
 * @by_dmabuf, @by_address: one way each: an object of the device, or NULL and errno; NULL: there is no such way
 * @why:    what became of the ways that did not work
 */
struct bl_ways {
	const char *device;
	const struct bl_nic_memory *memory;
	const struct bl_reach *gpu;
	void *(*by_dmabuf)(struct bl_ways *ways, int fd, uint64_t off);
	void *(*by_address)(struct bl_ways *ways);
	char why[240];
};

/* The first way that works; NULL: none, and @ways->why has the reasons. */
void *bl_ways_try(struct bl_ways *ways);

/* None did: the error, with the reasons and what would help. Return: -EOPNOTSUPP. */
int bl_ways_refuse(const struct bl_ways *ways);

/* Of IBV_ACCESS_* those that are passed on; relaxed order would let completions be seen before what they tell of. */
#define BL_REGION_ACCESS                                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/**
 * struct bl_region - memory to be registered with libibverbs
 * @iova:  address of its first byte in requests
 */
struct bl_region {
	struct bl_ways ways;
	const struct bl_ibv *ibv;
	struct ibv_pd *pd;
	uint64_t iova;
};

/* Register it; of @region->ways only @device, @memory and @gpu are the caller's. Return: 0 or -errno, with the reasons. */
int bl_region_register(struct bl_region *region, struct ibv_mr **mr_p);

#endif
