/* SPDX-License-Identifier: MIT */
/* cq.h - completion queues: the writer's side; the lock is held */
#ifndef SOFTNIC_CQ_H
#define SOFTNIC_CQ_H

#include "nic.h"

/* Opcodes of CQEs. */
enum bl_cqe_opcode {
	BL_CQE_REQ = 0,
	BL_CQE_RESP_WRITE_IMM = 1,
	BL_CQE_RESP_SEND = 2,
	BL_CQE_RESP_SEND_IMM = 3,
	BL_CQE_REQ_ERR = 13,
	BL_CQE_RESP_ERR = 14
};

/*
 * @pi: CQEs written since it was made; @users: queues that write to it; @overruns: CQEs that were lost; @last: CQE; @full: the
 * last one found no room; @lost: address of its memory that is there no more, which is not touched again, or NULL
 */
struct bl_snic_cq {
	struct bl_snic *nic;
	struct bl_snic_cq_attr attr;
	uint32_t num;
	unsigned int users;
	uint64_t pi;
	uint64_t overruns;
	uint8_t last[BL_SNIC_CQE_SIZE];
	bool full;
	const void *lost;
};

/**
 * struct bl_cqe - a completion
 * @opcode:	 enum bl_cqe_opcode
 * @send_opcode: of the send WQE
 * @syndrome, @vendor: of the two error opcodes
 * @solicited:	 the sender asked for an event
 * @wqe_counter: index of the WQE
 * @qpn, @remote_qpn: queue pairs
 * @srqn:	 shared receive queue that the WQE is of; 0: none
 * @len:	 bytes moved
 * @imm:	 immediate, as it came
 */
struct bl_cqe {
	uint8_t opcode;
	uint8_t send_opcode;
	uint8_t syndrome;
	uint8_t vendor;
	bool solicited;
	uint16_t wqe_counter;
	uint32_t qpn;
	uint32_t remote_qpn;
	uint32_t srqn;
	uint32_t len;
	uint32_t imm;
};

/**
 * bl_cq_put() - Write a completion
 * @cq:	 completion queue
 * @cqe: completion
 *
 * What was moved before is seen by who sees the CQE, which may be only after bl_cq_show().
 * Return: 0, -ENOSPC (no room: counted and lost), or what the ring's memory says, then and from then on.
 */
int bl_cq_put(struct bl_snic_cq *cq, const struct bl_cqe *cqe);

/* Every completion so far can be seen. */
void bl_cq_show(struct bl_snic *nic);

#endif
