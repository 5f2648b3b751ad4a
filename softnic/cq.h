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

/* @pi: CQEs written since it was made; @users: queues that write to it */
struct bl_snic_cq {
	struct bl_snic *nic;
	struct bl_snic_cq_attr attr;
	uint32_t num;
	unsigned int users;
	uint64_t pi;
};

/**
 * struct bl_cqe - a completion
 * @opcode:	 enum bl_cqe_opcode
 * @send_opcode: of the send WQE
 * @syndrome, @vendor: of the two error opcodes
 * @solicited:	 the sender asked for an event
 * @wqe_counter: index of the WQE
 * @qpn, @remote_qpn: queue pairs
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
	uint32_t len;
	uint32_t imm;
};

/**
 * bl_cq_put() - Write a completion
 * @cq:	 completion queue
 * @cqe: completion
 *
 * What was moved before is seen by who sees the CQE.
 * Return: 0, -ENOSPC (no room: counted and lost), or what the ring's memory says.
 */
int bl_cq_put(struct bl_snic_cq *cq, const struct bl_cqe *cqe);

#endif
