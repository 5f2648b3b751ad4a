/* SPDX-License-Identifier: MIT */
/*
 * place.h - messages whose bytes do not travel in packets
 *
 * Where a mover (snic.h) moves between the memory of both sides, a long SEND or WRITE is placed: the sender says where
 * the bytes are, in one packet that takes the sequence numbers of all that it stands for; the receiver checks what it
 * would check of those, has the bytes moved, and acknowledges when they are there. So it is the receiver alone that
 * writes its memory, in the order of sequence numbers.
 *
 * Several may be under way. They begin in order and are over in order; another message is not sent before all of them
 * are acknowledged. What a receiver cannot place it says so of (BL_AETH_UNPLACED), and the same message comes in
 * packets, of the same numbers.
 */
#ifndef SOFTNIC_PLACE_H
#define SOFTNIC_PLACE_H

#include "job.h"
#include "packet.h"
#include "qp.h"
#include "responder.h"

/* Messages of a queue pair that are placed at a time. */
#define BL_PLACE_DEPTH 32U

/* Segments of a message, and of a receive list, that is placed. */
#define BL_PLACE_SEGS 4U

/**
 * struct bl_placement - a message that is being placed
 * @packet:  as it came
 * @psn:     its first sequence number
 * @checked: it may be begun, and @list is valid
 * @outcome, @refusal: what became of it, other than BL_OUTCOME_DONE
 * @move:    its bytes
 * @list, @nr_list: receive list of a SEND
 */
struct bl_placement {
	struct bl_packet packet;
	uint64_t psn;
	bool checked;
	enum bl_outcome outcome;
	struct bl_refusal refusal;
	struct bl_move move;
	unsigned int nr_list;
	struct bl_rwqe_sge list[BL_PLACE_SEGS];
};

/* In order of sequence numbers; @first and @nr of a ring. */
struct bl_placing {
	unsigned int first, nr;
	struct bl_placement ring[BL_PLACE_DEPTH];
};

static inline bool bl_place_is(const struct bl_packet *packet)
{
	uint8_t opcode = packet->opcode & (uint8_t)~BL_PKT_UC;

	return opcode >= BL_PKT_PLACE_SEND && opcode <= BL_PKT_PLACE_WRITE_IMM;
}

static inline unsigned int bl_place_nr(const struct bl_snic_qp *qp)
{
	return qp->resp.placing ? qp->resp.placing->nr : 0;
}

/* ---- sender, place_send.c ---- */

/* Whether a request that is launched, or about to be, should be placed. */
bool bl_place_wants(struct bl_snic_qp *qp, struct bl_wr *wr);

/* Whether something else may be sent: all that was placed before is over. */
bool bl_place_is_over(const struct bl_snic_qp *qp);

/* The packet of a placed request. */
struct bl_packet bl_place_packet(const struct bl_snic_qp *qp, const struct bl_wr *wr, uint64_t count);

/* A placed request was sent for the first time. */
void bl_place_sent(struct bl_snic_qp *qp, const struct bl_wr *wr);

/* A placed request is complete. */
void bl_place_done(struct bl_snic_qp *qp, const struct bl_wr *wr);

/* The receiver cannot place request @psn, and no later one: send it in packets. Return: whether it is one. */
bool bl_place_undo(struct bl_snic_qp *qp, uint64_t psn);

/* On an unreliable connection: what was lost is over. Return: whether there was any. */
bool bl_place_timer(struct bl_snic_qp *qp);

/* ---- receiver, place_serve.c ---- */

/* The next packet in order is one of a placed message. Return: BL_OUTCOME_DONE: it is taken, or why not. */
enum bl_outcome bl_place_take(struct bl_snic_qp *qp, const struct bl_packet *packet, uint64_t psn,
			      struct bl_refusal *refusal);

/* Begin what can be begun, and end what is over. Return: how much was done. */
int bl_place_serve(struct bl_snic_qp *qp);

/* Nothing more is placed, what movers are doing is not waited for. */
void bl_place_drop(struct bl_snic_qp *qp);

/* Whether sequence number @psn is one of a message that is being placed. */
bool bl_place_holds(const struct bl_snic_qp *qp, uint64_t psn);

/* First sequence number that is not carried out. */
uint64_t bl_place_done_psn(const struct bl_snic_qp *qp);

/* ---- reads, place_read.c ---- */

/* Whether the bytes of a read that is about to be launched should be placed; then the answering side does it. */
bool bl_place_wants_read(struct bl_snic_qp *qp, const struct bl_wr *wr);

/* Have a read placed, if its request says so and it can be. */
void bl_place_read_begin(struct bl_snic_qp *qp, const struct bl_packet *packet, struct bl_reply *reply);

/*
 * Begin and look after what is placed of it. Return: 0: all of it is; -EAGAIN: not yet; or another error: it cannot be,
 * and has to come in packets.
 */
int bl_place_read_go(struct bl_snic_qp *qp, struct bl_reply *reply);

/* All reads that are being placed come in packets, when no job writes any more. Return: whether that is so. */
bool bl_place_reads_stop(struct bl_snic_qp *qp);

/* It is not placed any more. */
void bl_place_read_end(struct bl_snic_qp *qp, struct bl_reply *reply);

/* The peer waits for one that takes long. */
void bl_place_read_hold(struct bl_snic_qp *qp, const struct bl_packet *packet);

/* Whether a mover moves between the two. */
bool bl_place_is_able(const struct bl_snic_mem *dst, const struct bl_snic_mem *src);

/* ---- between the two, place_move.c ---- */

/*
 * The request that a placed message is of, where its sender is a queue pair of this NIC, and the request is as the
 * packet says. Return: the request and in *@from_p the sender, or NULL.
 */
struct bl_wr *bl_place_source(const struct bl_snic_qp *qp, const struct bl_placement *placement,
			      struct bl_snic_qp **from_p);

/*
 * Begin jobs for what is left of a message.
 * Return: 0: for all of it; -EAGAIN: later; -ESTALE: its sender does not want it any more; else @placement->outcome
 * says what is wrong.
 */
int bl_place_move(struct bl_snic_qp *qp, struct bl_placement *placement);

#endif
