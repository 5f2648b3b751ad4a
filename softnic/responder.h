/* SPDX-License-Identifier: MIT */
/* responder.h - the side of a queue pair that carries requests out */
#ifndef SOFTNIC_RESPONDER_H
#define SOFTNIC_RESPONDER_H

#include "packet.h"
#include "qp.h"

enum bl_request_kind { BL_REQUEST_NONE, BL_REQUEST_SEND, BL_REQUEST_WRITE, BL_REQUEST_READ, BL_REQUEST_ATOMIC,
		       BL_REQUEST_PLACE };

/**
 * struct bl_request - a packet that asks for something
 * @packet, @payload: as it came
 * @psn:	 its sequence number
 * @kind, @first, @last, @imm: by its opcode
 */
struct bl_request {
	const struct bl_packet *packet;
	const uint8_t *payload;
	uint64_t psn;
	enum bl_request_kind kind;
	bool first, last, imm;
};

/* What came of a request. */
enum bl_outcome {
	BL_OUTCOME_DONE,
	BL_OUTCOME_NOT_READY, /* no receive list */
	BL_OUTCOME_INVALID,
	BL_OUTCOME_ACCESS,
	BL_OUTCOME_OPERATION,
	BL_OUTCOME_UNPLACED /* place.h */
};

/**
 * struct bl_refusal - why a request is refused
 * @why: NULL: as the outcome says by itself
 * @syndrome: what is wrong on this side, for the receive list that it hits; 0: the fault is the peer's
 * @addr, @len, @key: memory that it is about
 */
struct bl_refusal {
	const char *why;
	uint8_t syndrome;
	uint64_t addr;
	uint64_t len;
	uint32_t key;
};

/*
 * responder_message.c: what it means that bl_rq_take() returned @ret, which is not 0, and left the reason in
 * @refusal->why.
 */
enum bl_outcome bl_resp_no_list(const struct bl_snic_qp *qp, int ret, struct bl_refusal *refusal);

/* responder.c: takes a request. */
void bl_resp_request(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload);

/* responder.c: what came of a request of a reliable connection that is not done: the sender will be told. */
void bl_resp_outcome(struct bl_snic_qp *qp, const struct bl_request *request, enum bl_outcome outcome,
		     const struct bl_refusal *refusal);

/* responder_message.c: a packet of a message. */
enum bl_outcome bl_resp_message(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal);

/* responder_message.c: the message that is arriving will not be complete; its receive list is for the next one. */
void bl_resp_abort(struct bl_snic_qp *qp);

/* responder_read.c: a read, or the rest of one that was answered before. */
enum bl_outcome bl_resp_read(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal);
void bl_resp_read_again(struct bl_snic_qp *qp, const struct bl_request *request);

/* responder_atomic.c: an atomic, or the result of one that was done before. */
enum bl_outcome bl_resp_atomic(struct bl_snic_qp *qp, const struct bl_request *request, struct bl_refusal *refusal);
void bl_resp_atomic_again(struct bl_snic_qp *qp, const struct bl_request *request);

/* responder_reply.c: whether there is room for one more answer of its kind. */
bool bl_resp_has_room(const struct bl_snic_qp *qp, bool again);

/* responder_reply.c: queue an answer, in order of sequence numbers. False: there is no room. */
bool bl_resp_queue(struct bl_snic_qp *qp, const struct bl_reply *reply);

/* responder_reply.c: nothing is answered any more. */
void bl_resp_drop_replies(struct bl_snic_qp *qp);

/* responder_reply.c: send answers and then the acknowledgement. Return: packets sent. */
int bl_resp_send(struct bl_snic_qp *qp);

/* responder_reply.c: sequence numbers that a read takes, in packets of @size bytes. */
uint32_t bl_resp_read_psns(uint32_t len, uint32_t size);

#endif
