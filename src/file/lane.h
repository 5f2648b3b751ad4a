/* SPDX-License-Identifier: MIT */
/*
 * lane.h - what one thread needs to move bytes between a file and a GPU by way of pinned memory
 *
 * A channel of engine ce with its pinned ring, cut into slots, and where direct I/O wants it a ring of io_uring over the
 * same memory. A lane is one thread's while it has it. Lanes belong to a CUDA context, whose memory they use, and are kept
 * for the next request. How many there may be is bounded by the configuration, and what is bounded is the memory: a lane that
 * the GPU or the disk is still at, after its request was given up, is one of them until they have ended.
 */
#ifndef BL_FILE_LANE_H
#define BL_FILE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/ce.h"
#include "land.h"
#include "uring.h"

#define BL_LANE_SLOTS 64

/**
 * struct bl_lane - a lane
 * @next:    list of idle or late ones
 * @cuda:    driver library
 * @scope:   of the thread while it has the lane
 * @ce:      channel; its ring is the lane's memory
 * @context: CUDA context
 * @memory:  what the channel's ring is in, NULL: memory of CUDA's
 * @land:    landing ring, none until bl_lane_lands()
 * @uring:   no ring until bl_lane_uring()
 * @slot:    bytes per slot in this request
 * @nr:      slots
 * @unsure:  a transfer could not be started, or perhaps was
 * @landing: a transfer to the landing ring was started, and is not known to have ended
 * @busy:    which transfer uses a slot, 0 none
 */
struct bl_lane {
	struct bl_lane *next;
	const struct bl_cuda *cuda;
	struct bl_cuda_scope scope;
	struct bl_ce *ce;
	CUcontext context;
	void *memory;
	struct bl_land land;
	struct bl_uring uring;
	size_t slot;
	unsigned int nr;
	bool unsure;
	bool landing;
	uint64_t busy[BL_LANE_SLOTS];
};

/**
 * bl_lane_get() - Take a lane, and enter its context
 * @target: GPU memory that will be copied
 * @slot:   bytes per slot, a power of two from BL_CE_RING_SIZE / BL_LANE_SLOTS up
 * @lane_p: receives it
 *
 * Return: 0; -ENOMEM (no pinned memory), -EBUSY (as many as there may be are in use, or the GPU or the disk is still at
 * them), or what CUDA says; with the reason.
 */
int bl_lane_get(const struct bl_ce_target *target, size_t slot, struct bl_lane **lane_p);

/*
 * Give it back. A lane whose transfers have not ended, or whose reads and writes have not, is late: nobody gets it, since the
 * GPU or the disk may still reach its memory. When a request finds no idle lane it looks whether late ones have ended.
 */
void bl_lane_put(struct bl_lane *lane, bool ended);

/* Memory of a slot. */
static inline char *bl_lane_slot(const struct bl_lane *lane, unsigned int i)
{
	return (char *)lane->ce->ring + (size_t)i * lane->slot;
}

/* Start a transfer between a slot's memory and the GPU; the slot is busy with it. 0 or the error. */
int bl_lane_post(struct bl_lane *lane, unsigned int i, enum bl_copy_dir dir, uint64_t va, void *host, size_t len);

/* Wait until the transfer of a slot has ended. 0, -ETIMEDOUT, -EIO. */
int bl_lane_wait(struct bl_lane *lane, unsigned int i);

/* Whether the transfer of a slot has ended: 0, -EAGAIN, or the error. */
int bl_lane_look(struct bl_lane *lane, unsigned int i);

/**
 * struct bl_landing - a transfer to the landing ring
 * @at:  where its bytes will be
 * @len: how many
 */
struct bl_landing {
	unsigned char *at;
	size_t len;
};

/*
 * Whether bytes of the GPU can be watched arriving: pieces up to BL_LAND_MAX whose words are aligned, see copy/arrive.h. False
 * also where there is no memory for it.
 */
bool bl_lane_lands(struct bl_lane *lane, uint64_t va, size_t len);

/* Start such a transfer; one of a lane at a time. 0 or the error. */
int bl_lane_land(struct bl_lane *lane, uint64_t va, size_t len, struct bl_landing *landing);

/* Wait until its bytes are there, and stay until the lane's next landing. 0, -ETIMEDOUT, -EIO. */
int bl_lane_landed(struct bl_lane *lane, const struct bl_landing *landing);

/* Wait for all that was started. */
int bl_lane_drain(struct bl_lane *lane);

/* Make the io_uring unless it is there. 0 or the error. */
int bl_lane_uring(struct bl_lane *lane);

/* Give the memory of all that are neither in use nor late back, as the last cuFileDriverClose() does. */
void bl_lane_drop_idle(void);

/* Forget all that was inherited, in a child that starts anew. */
void bl_file_lane_forget(void);

#endif
