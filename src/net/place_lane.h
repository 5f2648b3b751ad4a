/* SPDX-License-Identifier: MIT */
/* place_lane.h - inside of the mover: the lanes of a context */
#ifndef BL_NET_PLACE_LANE_H
#define BL_NET_PLACE_LANE_H

#include <stdatomic.h>

#include "place.h"

/**
 * struct bl_lane - a stream of copies of one direction
 * @gpu:    its context
 * @stream: non-blocking
 * @flag:   pinned memory of this process; number of the last copy that is complete, where @counts
 * @seq:    number of the last copy that was submitted
 * @idle:   number of a copy, which and all before it are complete
 * @jobs, @bytes: under way
 * @usable: a copy was made; read without the lock too
 * @counts: the GPU writes @flag
 * @broken: positive errno value: the stream failed
 * @next_query: when the driver may be asked again, ns
 * @looks:  in vain, where @counts
 */
struct bl_lane {
	struct bl_place_gpu *gpu;
	CUstream stream;
	uint32_t *flag;
	uint32_t seq;
	uint32_t idle;
	unsigned int jobs;
	size_t bytes;
	atomic_bool usable;
	bool counts;
	int broken;
	uint64_t next_query;
	unsigned int looks;
};

/**
 * struct bl_place_gpu - lanes of a context
 * @next:    list of all
 * @context: whose they are
 * @device:  its GPU
 * @ordinal: CUDA's number of it
 * @uuid:    of it, @has_uuid where the driver tells it
 * @scratch: memory of the context, of which @id tells whether it is still there
 * @block:   pinned memory: flags, and a place to copy to
 * @lanes:   by kind
 */
struct bl_place_gpu {
	struct bl_place_gpu *next;
	CUcontext context;
	CUdevice device;
	int ordinal;
	CUuuid uuid;
	bool has_uuid;
	CUdeviceptr scratch;
	uint64_t id;
	unsigned char *block;
	struct bl_lane lanes[BL_LANE_KINDS];
};

/* Guards all lanes, their jobs, and the list of them. */
void bl_lanes_lock(void);
void bl_lanes_unlock(void);

/* Submit a copy and its mark; the lane's context is current. Return: 0 or -errno, logged. */
int bl_lane_post(const struct bl_cuda *cuda, struct bl_lane *lane, enum bl_lane_kind kind,
		 const struct bl_place_mem *dst, uint64_t to, const struct bl_place_mem *src, uint64_t from, size_t len);

/*
 * Wait for copy @seq; the lane's context is current. Without @locked the lock is taken for each look. 0, -ETIMEDOUT
 * with the reason, or the stream's error.
 */
int bl_lane_wait(const struct bl_cuda *cuda, struct bl_lane *lane, uint32_t seq, bool locked);

/* Whether the context is still there. */
bool bl_place_gpu_lives(const struct bl_cuda *cuda, const struct bl_place_gpu *gpu);

/* All of them; lock held, or to go through those that are there by now: none is ever freed. */
struct bl_place_gpu *bl_place_gpu_first(void);

/*
 * Let a context and those of other GPUs reach each other's memory, and copy once each way. Where that cannot be, the
 * driver copies by way of host memory. Either is said at level info. The lock is taken to post these copies, and not held
 * while access is enabled or a copy is waited for: messages of others go on meanwhile. place_peer.c
 */
void bl_place_peers_join(const struct bl_cuda *cuda, struct bl_place_gpu *gpu);

/* Scratch memory of a context: this much, twice. */
#define BL_PLACE_TRIAL (256UL << 10)

/*
 * Whether copy @seq is complete; the lane's context is current when the driver may be asked. 0, -EAGAIN, or the error
 * of the stream.
 */
int bl_lane_look(const struct bl_cuda *cuda, struct bl_lane *lane, uint32_t seq, bool ask);

#endif
