/* SPDX-License-Identifier: MIT */
/*
 * shared.h - several pairs of queue pairs, between the NICs of a world, that receive from one queue on one side
 *
 * Its lists are kept as a program keeps them: of a linked one those that are free hang together, and what completed is
 * hung to their end, in whatever order that was.
 */
#ifndef TESTS_UNIT_SNIC_SHARED_H
#define TESTS_UNIT_SNIC_SHARED_H

#include "softnic/snic_srq.h"
#include "world.h"

#define SHARED_QPS 4

struct shared_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t len;
};

/**
 * struct shared_options - zero: the default
 * @type: of the queue
 * @nr:   WQEs, 16
 * @sges: data segments of each, 1
 * @qps:  pairs, 2
 */
struct shared_options {
	enum bl_snic_srq_type type;
	uint32_t nr, sges;
	unsigned int qps;
};

/**
 * struct shared - the queue, and those who use it
 * @record: its doorbell record
 * @posted: WQEs
 * @head, @tail: of a linked list: the next to be posted, and the last one that is free
 * @cq:	    of all receivers
 * @tx, @rx: pairs; tx on side a's NIC, rx on b's, with the memory of those
 */
struct shared {
	struct world *w;
	struct shared_options options;
	struct bl_snic_srq *srq;
	uint8_t *ring;
	uint32_t stride;
	uint32_t record;
	uint64_t posted;
	uint16_t head, tail;
	struct world_queue cq;
	struct world_side tx[SHARED_QPS], rx[SHARED_QPS];
};

/* Everything, connected, in a world of its own. */
struct shared *shared_begin(const struct world_options *world, const struct shared_options *options);
void shared_end(struct shared *s);

/* The halves of it, for NICs of different processes: @base has a NIC, a domain, and memory. */
void shared_defaults(struct shared_options *options);
void shared_make_queue(struct shared *s, const struct world_side *base, const struct world_options *world);
void shared_make_pair_end(struct shared *s, struct world_side *side, const struct world_side *base, bool receives,
			  const struct world_options *world);
void shared_drop_pair_end(struct world_side *side);
void shared_drop_queue(struct shared *s);

/* Where WQE @index lies, and where its data segments begin. */
uint8_t *shared_wqe(struct shared *s, uint16_t index);
uint8_t *shared_list(struct shared *s, uint16_t index);

/* Post a list. Return: its number, as the completion will have it. */
uint16_t shared_post(struct shared *s, const struct shared_sge *sges, unsigned int nr);
uint16_t shared_post_one(struct shared *s, size_t to, uint32_t len);

/* It has completed: it may be posted again. */
void shared_free(struct shared *s, uint16_t index);

/* The next completion is of receiver @qp, as it should be; its list is free again. */
struct world_cqe shared_expect(struct shared *s, unsigned int qp, uint8_t opcode, uint8_t syndrome, uint16_t index);

/* The numbers of the queue. */
struct bl_snic_srq_info shared_query(struct shared *s);

#endif
