/* SPDX-License-Identifier: MIT */
/*
 * batch.h - many copies that are begun with one call
 *
 * A batch is cut into moves, one per copy or per row of adjacent copies. Those of the CPU are made at once. Those of
 * the copy engine are put into the queue of a lane: a channel of ce.h of its own, so that a long batch holds nobody
 * up, with a row of pieces, the transfers that are under way. Each context has up to BL_LANES of them. Whoever visits
 * a lane takes finished pieces off the end of the row and posts new ones: it does the work of all batches in that
 * lane.
 *
 * Locks: the list of lanes, a lane (the lock of its channel), a batch, in this order. Visitors do not wait for each
 * other. Pins are released after a visit, under no lock.
 */
#ifndef BL_GPU_BATCH_H
#define BL_GPU_BATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "barlane_batch.h"
#include "core.h"
#include "gpu/cuda_ptr.h"

#define BL_LANES       4U   /* per context */
#define BL_LANE_PIECES 512U /* CUDA blocks the caller from about twice that many on */
#define BL_LANE_MARK   32U  /* pieces that end with one mark */
#define BL_BATCH_PARTS 32U  /* contexts and directions of one batch */

struct bl_batch;
struct bl_lane;

/**
 * struct bl_move - a copy, or a row of adjacent ones
 * @next:   in the lane's queue while there is something to post
 * @batch:  whose it is
 * @lane:   lane that does it, NULL: the CPU
 * @pin:    used by the batch
 * @va:     device address
 * @host:   host memory
 * @len:    bytes
 * @chunk:  bytes per transfer
 * @stream: @host is written with streaming stores
 * @posted: of @len
 * @ended:  of @posted
 * @first:  index of its first copy
 * @nr:     copies
 * @error:  0 or -errno: nothing more is posted
 * @dir:    direction
 * @pinned: @host is pinned memory
 */
struct bl_move {
	struct bl_move *next;
	struct bl_batch *batch;
	struct bl_lane *lane;
	struct bl_pin *pin;
	uint64_t va;
	unsigned char *host;
	size_t len;
	size_t chunk;
	bool stream;
	size_t posted;
	size_t ended;
	size_t first;
	size_t nr;
	int error;
	enum bl_copy_dir dir;
	bool pinned;
};

/**
 * struct bl_batch_part - moves of a batch that one lane does
 * @lane:  the lane
 * @dir:   their direction
 * @staged: the lane has a ring
 * @first: the moves, until they are in the lane's queue
 * @last:  of them
 */
struct bl_batch_part {
	struct bl_lane *lane;
	enum bl_copy_dir dir;
	bool staged;
	struct bl_move *first;
	struct bl_move *last;
};

/**
 * struct bl_batch - a batch
 * @refs:      the handle, every call under way, and one until it has ended
 * @id:        its handle
 * @left:      moves that have not ended, and one for the call that submits
 * @ended:     all is over and the pins are released
 * @next:      in the list of those that ended during a visit
 * @lock:      guards @done, @failed, @error and @reason
 * @nr:        copies
 * @done:      copies that ended
 * @failed:    lowest index of a failed one, @nr: none
 * @error:     its -errno
 * @reason:    why
 * @parts:     by lane
 * @nr_parts:  of them
 * @pins:      pins in use, one per row of copies that name the same
 * @nr_pins:   of them
 * @moves:     all moves
 * @nr_moves:  of them
 */
struct bl_batch {
	atomic_int refs;
	uint64_t id;
	atomic_size_t left;
	atomic_bool ended;
	struct bl_batch *next;
	pthread_mutex_t lock;
	size_t nr;
	size_t done;
	size_t failed;
	int error;
	char reason[200];
	struct bl_batch_part parts[BL_BATCH_PARTS];
	size_t nr_parts;
	struct bl_pin **pins;
	size_t nr_pins;
	struct bl_move *moves;
	size_t nr_moves;
};

/**
 * struct bl_piece - a transfer under way
 * @move:     whose
 * @off:      of its first byte in the move
 * @len:      bytes
 * @ring:     where it lies in the ring
 * @ring_end: how far the ring is free when it has ended
 * @seq:      number of the mark behind it
 */
struct bl_piece {
	struct bl_move *move;
	size_t off;
	size_t len;
	size_t ring;
	size_t ring_end;
	uint32_t seq;
};

/**
 * struct bl_lane - a channel for batches
 * @next:       list of all lanes; never changes once it is in the list
 * @context:    context of the channel
 * @device:     its GPU
 * @ordinal:    the GPU's number
 * @load:       bytes of its moves that have not ended
 * @dead:       the context is gone; never unset
 * @ce:         the channel; its lock guards what follows
 * @next_query: CLOCK_MONOTONIC ns before which the stream is not asked
 * @queue:      moves with something to post
 * @queue_end:  where the next one goes
 * @head:       number of pieces begun so far
 * @tail:       number of pieces ended so far
 * @marked:     pieces before this number have a mark behind them
 * @unmarked:   bytes of the ring used behind the last mark
 * @ring_head:  bytes of the ring used so far
 * @ring_tail:  bytes of the ring given back so far
 * @pieces:     piece i at i % BL_LANE_PIECES; NULL once it is @dead
 */
struct bl_lane {
	struct bl_lane *next;
	CUcontext context;
	CUdevice device;
	int ordinal;
	atomic_size_t load;
	atomic_bool dead;
	struct bl_ce *ce;
	uint64_t next_query;
	struct bl_move *queue;
	struct bl_move **queue_end;
	size_t head;
	size_t tail;
	size_t marked;
	size_t unmarked;
	size_t ring_head;
	size_t ring_tail;
	struct bl_piece *pieces;
};

/**
 * bl_lane_find() - Lane for copies of some memory
 * @cuda:   driver library
 * @target: the memory, which is there
 * @lane_p: receives the one with the least to do
 *
 * Return: 0 or -errno with the reason; nothing is left behind.
 */
int bl_lane_find(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_lane **lane_p);

/* Make sure that the lane can take ordinary memory. */
int bl_lane_stage(const struct bl_cuda *cuda, struct bl_lane *lane);

/* Visit all lanes; whether anything moved. */
bool bl_lane_visit_all(const struct bl_cuda *cuda);

/* Forget all lanes, in a child that starts anew. */
void bl_lane_forget(void);

/* Work in the lane's context until bl_cuda_leave(). */
int bl_lane_enter(const struct bl_cuda *cuda, const struct bl_lane *lane, struct bl_cuda_scope *scope);

/* Put the moves of a part into the lane's queue and post what there is room for; @mapped as for bl_ce_flush(). */
void bl_lane_add(const struct bl_cuda *cuda, struct bl_batch_part *part, const void *mapped);

/* Take off what has ended and post what there is room for, unless somebody else is at it; whether anything moved. */
bool bl_lane_visit(const struct bl_cuda *cuda, struct bl_lane *lane);

/**
 * bl_batch_pin_use() - Keep a pin and its mapping while a batch is under way
 * @id:    handle
 * @pin_p: receives the pin, to be given to bl_batch_pin_done()
 *
 * Return: 0, or -EINVAL with the reason when it is no mapped pin.
 */
int bl_batch_pin_use(bl_pin_t id, struct bl_pin **pin_p);
void bl_batch_pin_done(struct bl_pin *pin);

/* Take the lock of a pin once no batch uses it: 0, or -ETIMEDOUT without the lock. */
int bl_batch_pin_lock(struct bl_pin *pin);

/* Free a batch that was not begun, with its uses of pins. */
void bl_batch_discard(struct bl_batch *batch);

/* Give a batch its handle: 0, -EAGAIN, -ENOMEM. */
int bl_batch_publish(struct bl_batch *batch);

/* A copy has failed; why is the thread's last reason. */
void bl_batch_blame(struct bl_batch *batch, size_t first, int error);

/* A move of that many copies has ended. True: it was the last one. */
bool bl_batch_note(struct bl_batch *batch, size_t nr);

/* Release the pins of a batch whose last move has ended; under no lock. */
void bl_batch_finish(struct bl_batch *batch);

/* Forget all batches, in a child that starts anew. */
void bl_batch_forget(void);

/* Between two looks: the longer ago @since, the last move of anything, the more the CPU is left to others. */
void bl_batch_pause(uint64_t since);

#endif
