/* SPDX-License-Identifier: MIT */
/*
 * qp.h - queue pairs
 *
 * Sequence numbers are counts of 64 bits inside, far from zero, so that they compare as numbers; packets carry their
 * low 24 bits.
 *
 * A send request goes through: taken (copied from the user's ring and parsed), launched (it has sequence numbers),
 * sent, complete. They are counted in the order of the ring: head <= launched <= tail.
 */
#ifndef SOFTNIC_QP_H
#define SOFTNIC_QP_H

#include "cq.h"
#include "pd.h"
#include "rwqe.h"
#include "srq.h"
#include "uar.h"
#include "wqe.h"

#define BL_QP_PSN_BASE (1ULL << 32)

/**
 * struct bl_wr - a send request between being taken and being complete
 * @wqe:      what it is
 * @raw:      its segments
 * @first_psn: its first packet; set when it is launched
 * @nr_psn:   sequence numbers that it takes; 0 of local operations
 * @nr_bb:    blocks of the ring
 * @syndrome: what is wrong with it: it is not sent (any more), and fails when all before it are complete
 * @done:     nothing is left to do but to complete it
 * @early_len: bytes of @early that are its data, read ahead; 0: none
 * @ahead:    its bytes were written when it was taken, loop.h
 * @placed:   its bytes do not travel in packets, place.h; @fetched: the same of a read, if the peer likes
 * @share, @share_off: where they are, of another NIC's process's; 0 where both sides are on one NIC
 * @why, @bad_addr, @bad_key, @bad_len: the reason, and memory that it is about
 */
struct bl_wr {
	struct bl_wqe wqe;
	const uint8_t *raw;
	uint64_t first_psn;
	uint32_t nr_psn;
	uint16_t nr_bb;
	uint8_t syndrome;
	bool done;
	uint8_t early_len;
	bool ahead;
	bool placed;
	bool fetched;
	uint64_t share, share_off;
	const char *why;
	uint64_t bad_addr;
	uint64_t bad_len;
	uint32_t bad_key;
	uint8_t early[BL_SNIC_PEEK_MAX];
};

/**
 * struct bl_sq - send queue
 * @blocks:  copy of the ring, and 15 blocks more, so that a request that wraps is in one piece
 * @wrs:     requests, by their count
 * @pi, @fetched, @taken, @ci: blocks posted, copied, parsed, completed
 * @head, @launched, @tail: requests
 * @late:    since when the next block is not what it should be; 0: it is not late
 * @watched: count of posted blocks, or NULL
 * @express: words of a request that is given whole, or NULL; @express_seen: the first one, when it is no news
 * @seen:    doorbell record or register as it was last read
 * @waits:   there was a WAIT: what others have brought along may be older than what it waits for
 * @lost:    its memory is there no more
 */
struct bl_sq {
	uint8_t *blocks;
	struct bl_wr *wrs;
	uint64_t pi, fetched, taken, ci;
	uint64_t head, launched, tail;
	uint64_t late;
	const uint64_t *watched;
	const uint64_t *express;
	uint64_t express_seen;
	uint64_t seen;
	bool waits;
	bool lost;
};

/*
 * @pi, @ci: lists posted and completed, of a shared queue taken and completed; @taken: @rwqe is the list at @ci, and
 * @index its number in a shared queue; @lost: the record is there no more
 */
struct bl_rq {
	uint64_t pi, ci;
	bool taken, lost;
	uint16_t index;
	struct bl_rwqe rwqe;
};

/**
 * struct bl_requester - what was sent and is to be sent
 * @una:      oldest sequence number that is not acknowledged
 * @nxt:      first that was never sent
 * @assigned: first that no request has
 * @psn, @wr: what goes out next: a sequence number, and the request that it is of
 * @fetch:    oldest request that waits for data or a value, valid while @nr_fetches > 0
 * @nr_fetches: of them
 * @fetch_psns: sequence numbers of @una to @nxt that are theirs
 * @timer:    when what is under way counts as lost; 0: nothing is
 * @rnr_until: the peer is not ready before; 0: it is
 * @retries, @rnr_retries: since the last progress
 * @gap:      @una for which a gap in the answers was seen
 * @refused, @refused_psn: what the peer has said of a request that it refuses, while answers before it are missing, or 0
 * @dropping: of a UC queue pair whose way is blocked for too long: packets are lost
 * @nr_placed: placed requests that were sent and are not complete
 * @placed_end: end of the last of them; nothing else is sent before all of it is acknowledged
 * @unplaced:  key of memory that nothing can be placed in; @unplaced_sends: the same of receive lists
 * @place_timer: of a UC queue pair: when placed requests that nobody works on count as lost; 0: there are none
 */
struct bl_requester {
	uint64_t una, nxt, assigned;
	uint64_t psn, wr;
	uint64_t fetch;
	unsigned int nr_fetches;
	uint64_t fetch_psns;
	uint64_t timer;
	uint64_t rnr_until;
	unsigned int retries, rnr_retries;
	uint64_t gap;
	uint64_t refused_psn;
	uint8_t refused;
	bool dropping;
	unsigned int nr_placed;
	uint64_t placed_end;
	uint32_t unplaced;
	bool unplaced_sends;
	uint64_t place_timer;
};

/**
 * struct bl_reply - an answer to a read or an atomic that is to be sent
 * @psn, @nr_psn: sequence numbers
 * @sent:    packets that are sent
 * @packet:  payload of each of them but the last
 * @msn:     message number
 * @atomic:  of a single packet with @original
 * @again:   asked for again: does not count among those that were agreed on
 * @owes, @owed: bytes to be counted as served when it is sent: of a read, or of what it takes the place of
 * @move:    of a read that is placed, or NULL; @count: its request in the peer's send queue
 */
struct bl_reply {
	uint64_t psn;
	uint32_t nr_psn;
	uint32_t sent;
	uint32_t packet;
	uint32_t msn;
	bool atomic;
	bool again;
	bool owes;
	uint32_t rkey;
	uint32_t len;
	uint32_t owed;
	uint64_t va;
	uint64_t original;
	uint64_t count;
	struct bl_move *move;
};

struct bl_atomic_result {
	uint64_t psn;
	uint64_t original;
};

enum bl_message_kind { BL_MESSAGE_NONE, BL_MESSAGE_SEND, BL_MESSAGE_WRITE };

/* A message of several packets that is arriving: @off bytes are there; of a write, where it goes. */
struct bl_message {
	enum bl_message_kind kind;
	uint64_t off;
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
};

enum bl_ack_kind { BL_ACK_NONE, BL_ACK_POSITIVE, BL_ACK_RNR, BL_ACK_NAK, BL_ACK_FATAL };

/**
 * struct bl_responder - what was received
 * @epsn:      expected sequence number
 * @acked:     end of the last SEND or WRITE packet: the answers of reads and atomics are their acknowledgements
 * @msn:       complete messages
 * @nak_sent:  the sender knows of the gap
 * @ack:       what is to be said once all replies are sent
 * @ack_syndrome, @ack_psn: of it; the number only of one that is fatal
 * @replies, @nr_replies, @max_replies: in order of sequence numbers; one half is for those that are asked for again
 * @history:   results of the last atomics; a ring of @max_replies, @nr_atomics counts
 * @placing:   messages that are being placed; NULL before the first
 */
struct bl_responder {
	uint64_t epsn;
	uint64_t acked;
	uint32_t msn;
	bool nak_sent;
	enum bl_ack_kind ack;
	uint8_t ack_syndrome;
	uint64_t ack_psn;
	struct bl_message message;
	struct bl_reply *replies;
	unsigned int nr_replies, max_replies;
	struct bl_atomic_result *history;
	uint64_t nr_atomics;
	struct bl_placing *placing;
};

/**
 * struct bl_snic_qp - a queue pair
 * @active, @next_active, @quiet: it is served in each pass, the next of those, and passes for which it had nothing to do
 * @packet: payload of a packet that it sends
 * @error:  first cause; @error_cqe: there was a CQE with an error
 * @culprit: request that was the cause, UINT64_MAX: none; @culprit_syndrome, @culprit_vendor: that it completes with
 * @loop:   the peer is a queue pair of this NIC
 * @jobs:   that movers have for it, as sender or receiver
 * @uar_word: doorbell without record, or NULL
 * @offload: what carries its requests, offload.h; NULL: this NIC does
 */
struct bl_snic_qp {
	struct bl_snic_qp *next;
	struct bl_snic_qp *next_active;
	bool active;
	uint32_t quiet;
	struct bl_snic *nic;
	struct bl_snic_pd *pd;
	uint32_t num;
	enum bl_snic_qp_state state;
	struct bl_snic_qp_attr attr;
	struct bl_snic_qp_mod mod;
	struct bl_snic_path *path;
	uint32_t packet;
	const uint64_t *uar_word;
	struct bl_offload *offload;
	struct bl_snic_error error;
	bool error_cqe;
	uint64_t culprit;
	uint8_t culprit_syndrome, culprit_vendor;
	bool loop;
	unsigned int jobs;
	struct bl_sq sq;
	struct bl_rq rq;
	struct bl_requester req;
	struct bl_responder resp;
};

static inline struct bl_wr *bl_qp_wr(const struct bl_snic_qp *qp, uint64_t count)
{
	return &qp->sq.wrs[count & (qp->attr.sq_nr - 1)];
}

static inline bool bl_qp_is_rc(const struct bl_snic_qp *qp)
{
	return qp->attr.type == BL_SNIC_RC;
}

/* What became of a request or a receive list: @done and the three counters behind it. */
static inline void bl_snic_count_end(struct bl_snic *nic, enum bl_snic_counter done, uint8_t syndrome, uint64_t bytes)
{
	if (!syndrome) {
		bl_snic_count(nic, done, 1);
		bl_snic_count(nic, done + 1, bytes);
	} else {
		bl_snic_count(nic, done + (syndrome == BL_SYNDROME_FLUSHED ? 3 : 2), 1);
	}
}

/* What receive lists may reach. */
static inline const struct bl_snic_pd *bl_qp_list_pd(const struct bl_snic_qp *qp)
{
	return qp->attr.srq ? qp->attr.srq->pd : qp->pd;
}

/* The count that is nearest to @near and has @psn as its low 24 bits. */
static inline uint64_t bl_psn_near(uint64_t near, uint32_t psn)
{
	return near + (uint64_t)(int64_t)((int32_t)((psn - (uint32_t)near) << 8) >> 8);
}

/* qp.c: all queues and counts as after creation; the path is closed. */
void bl_qp_reset(struct bl_snic_qp *qp);
/* qp.c: frees it, whoever uses it. */
void bl_qp_free(struct bl_snic_qp *qp);

/* sq.c: whether a doorbell says something else than the last time; it is not taken. */
bool bl_sq_rung(const struct bl_snic_qp *qp);

/* sq.c: look at the doorbells and take requests over. Return: how many. */
int bl_sq_take(struct bl_snic_qp *qp);

/*
 * rq.c: have a receive list in rq.rwqe.
 * Return: 0, -EAGAIN when none is posted, or another error and in *@why_p what is wrong: -EBADMSG, -EPIPE as
 * bl_srq_take() says, or what the memory of record and ring says.
 */
int bl_rq_take(struct bl_snic_qp *qp, const char **why_p);
/* rq.c: lists of a queue of its own that are posted and not used up. */
uint64_t bl_rq_posted(struct bl_snic_qp *qp);
/* rq.c: read list number @count of that, which is posted, whatever rq.rwqe is. Return: 0 or what the ring's memory says. */
int bl_rq_read(struct bl_snic_qp *qp, uint64_t count, struct bl_rwqe *rwqe);
/* rq.c: it goes without having used rq.rwqe, which may be others' as well. */
void bl_rq_drop(struct bl_snic_qp *qp);
/* rq.c: the list at ci is used up: completion @cqe, of which opcode, syndrome, lengths and immediate are set. */
void bl_rq_complete(struct bl_snic_qp *qp, struct bl_cqe *cqe);

/**
 * struct bl_cause - why a queue pair fails
 * @syndrome, @vendor: of the CQE
 * @responder: a request of the peer, not of this side
 * @quiet:    nobody waits for anything: not an error for the log
 * @asked:    by its user: no event
 * @event:    syndrome that says what kind of event it is, where that is another than @syndrome; else 0
 */
struct bl_cause {
	uint8_t syndrome;
	uint8_t vendor;
	bool responder;
	bool quiet;
	bool asked;
	uint8_t event;
};

/*
 * qp_error.c: move to ERR, note the cause, flush now or in the next pass.
 * @wr: count of the request that is the cause, or UINT64_MAX
 */
void bl_qp_fail(struct bl_snic_qp *qp, uint64_t wr, const struct bl_cause *cause, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* qp_error.c: request @wr has a syndrome of its own, and all before it are complete. */
void bl_qp_fail_bad(struct bl_snic_qp *qp, uint64_t wr);
/* qp_error.c: in ERR, complete what is posted as flushed. Return: how much it was. */
int bl_qp_flush(struct bl_snic_qp *qp);
/* qp_error.c: the two halves of it. */
int bl_qp_flush_sends(struct bl_snic_qp *qp);
int bl_qp_flush_receives(struct bl_snic_qp *qp);
/* qp_error.c: write a CQE; one that is lost is an error of the queue pair. */
void bl_qp_cqe(struct bl_snic_qp *qp, struct bl_snic_cq *cq, struct bl_cqe *cqe);
/* qp_error.c: completion of a send request. */
void bl_qp_cqe_send(struct bl_snic_qp *qp, const struct bl_wr *wr, uint8_t syndrome, uint8_t vendor);

#endif
