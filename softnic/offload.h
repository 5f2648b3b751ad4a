/* SPDX-License-Identifier: MIT */
/*
 * offload.h - transports that carry whole requests, such as another NIC
 *
 * The software NIC then looks at doorbells, takes requests apart, and writes completions; sequence numbers, packets and
 * retries are the carrier's. A queue pair has its number, and memory its keys. Each request that the carrier took comes
 * back from it once, in the order in which it was given, as done or with a syndrome. All calls come from the NIC's thread
 * or under its lock.
 */
#ifndef SOFTNIC_OFFLOAD_H
#define SOFTNIC_OFFLOAD_H

#include "qp.h"

struct bl_carrier;

enum bl_carried_kind { BL_CARRIED_SEND, BL_CARRIED_RECEIVE, BL_CARRIED_EVENT };

/**
 * struct bl_carried - what comes back
 * @kind:     a send request, a receive list, or an event: the carrier has moved the queue pair to ERR, or knows by now why
 * @id:	      as it was given; the highest bit is never set, and the carrier's to use
 * @syndrome, @vendor: not 0: it failed; of an event: what kind of error it was, 0: none of those that have a syndrome
 * @opcode:   of a receive list: enum bl_cqe_opcode
 * @len, @imm: of it
 * @why:      of what failed, and of events; a text that never goes away
 */
struct bl_carried {
	enum bl_carried_kind kind;
	uint64_t id;
	uint8_t syndrome;
	uint8_t vendor;
	uint8_t opcode;
	uint32_t len;
	uint32_t imm;
	const char *why;
};

/**
 * struct bl_snic_offload_ops - a carrier
 * @open:  makes a queue pair. @blocks and @nr_blocks are where inline data of requests lies when they are sent; it stays
 *	   until they come back. Return: 0, or -errno with the reason
 * @close: nothing comes back any more, and no memory is touched when it returns
 * @move:  to @mod->state, which is possible from @from. To ERR: what is under way comes back. To RST: nothing does
 *	   that was given before. Return: 0, or -errno with the reason
 * @send:  Return: 0, -EAGAIN (later: it has as many as it takes), or another error with *@why_p: never
 * @receive: the same for a receive list
 * @poll:  what has come back, at most @nr. Return: how many
 * @waits: nothing came back for @ns, 0: it has no requests: to *@text, @size bytes, what is known about why, or what is
 *	   wrong with the port; nothing is written where all is well
 */
struct bl_snic_offload_ops {
	int (*open)(struct bl_snic_link *link, const struct bl_snic_qp_attr *attr, void *blocks, size_t nr_blocks,
		    struct bl_carrier **carrier_p, uint32_t *num_p);
	void (*close)(struct bl_carrier *carrier);
	int (*move)(struct bl_carrier *carrier, enum bl_snic_qp_state from, const struct bl_snic_qp_mod *mod);
	int (*send)(struct bl_carrier *carrier, const struct bl_wqe *wqe, const uint8_t *raw, uint64_t id,
		    const char **why_p);
	int (*receive)(struct bl_carrier *carrier, const struct bl_rwqe *rwqe, uint64_t id, const char **why_p);
	unsigned int (*poll)(struct bl_carrier *carrier, struct bl_carried *carried, unsigned int nr);
	void (*waits)(struct bl_carrier *carrier, uint64_t ns, char *text, size_t size);
};

/* Blocks of a send ring's copy. */
size_t bl_qp_nr_blocks(const struct bl_snic_qp *qp);

/* Make it for a queue pair that has its rings; gives that its number, and lists it. Return: 0 or -errno, logged. */
int bl_offload_open(struct bl_snic_qp *qp);

/* The carrier lets go of everything; frees nothing of the NIC's. */
void bl_offload_close(struct bl_snic_qp *qp);

/* Moves of a user; to ERR by bl_offload_fail(). Return: 0 or -errno, logged. */
int bl_offload_move(struct bl_snic_qp *qp, const struct bl_snic_qp_mod *mod);
int bl_offload_reset(struct bl_snic_qp *qp);

/* It is in ERR since now; request @wr, the oldest, is the cause and completes, UINT64_MAX: none. */
void bl_offload_fail(struct bl_snic_qp *qp, uint64_t wr, const struct bl_cause *cause);

/* In RTS: what is waited for, as struct bl_snic_qp_info has it. */
void bl_offload_waits(const struct bl_snic_qp *qp, char *text, size_t size);

/* In a pass. Return: things done. */
int bl_offload_serve(struct bl_snic_qp *qp);

/**
 * struct bl_offload - of a queue pair
 * @carrier:	its own
 * @generation: of ids; another one after each reset
 * @nr_sends:	send requests that are with the carrier
 * @progress:	when the first of them was given, or the one before it came back
 * @given:	receive lists that were given to it
 * @since:	when the queue pair went to ERR; 0: it has not, or all has come back
 * @keys:	of memory that wants to be flushed, for each segment of each receive list; 0: none
 */
struct bl_offload {
	struct bl_carrier *carrier;
	uint32_t generation;
	uint32_t nr_sends;
	uint64_t progress;
	uint64_t given;
	uint64_t since;
	uint32_t keys[];
};

/* offload_receive.c: give what is posted. Return: how many. */
int bl_offload_give_receives(struct bl_snic_qp *qp);

/* offload_receive.c: a list came back. */
void bl_offload_received(struct bl_snic_qp *qp, const struct bl_carried *carried);

/* An id of now. */
static inline uint64_t bl_offload_id(const struct bl_snic_qp *qp, uint64_t count)
{
	return (uint64_t)qp->offload->generation << 32 | (uint32_t)count;
}

#endif
