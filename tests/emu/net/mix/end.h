/* SPDX-License-Identifier: MIT */
/* end.h - one end of a connection: a device, memory, a queue pair, and requests that a CPU posts to it */
#ifndef TESTS_EMU_NET_MIX_END_H
#define TESTS_EMU_NET_MIX_END_H

#include "barlane.h"
#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "gpunetio/host/doca_verbs.h"
#include "script.h"
#include "softnic/snic.h"

#define MIX_DEPTH 32U /* of the queues */

/**
 * struct mix_end - one end
 * @data:  target, then places for data that is sent or read, then places for what is received; registered as @mr
 * @peer:  memory of the other end's target
 * @pi, @send_ci, @rq_pi, @recv_ci: counters of this queue pair
 */
struct mix_end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint8_t *data;
	struct ibv_mr *mr;
	struct doca_verbs_cq *send_cq;
	struct doca_verbs_cq *recv_cq;
	struct doca_verbs_qp *qp;
	char *sq, *rq, *send_cqe, *recv_cqe;
	uint32_t *dbr;
	uint64_t *db;
	uint32_t pi, send_ci, rq_pi, recv_ci;
	struct {
		uint64_t addr;
		uint32_t rkey;
		uint32_t reserved;
	} peer;
};

/* What a completion says. */
struct mix_cqe {
	unsigned int opcode;
	uint32_t len;
	uint32_t imm;
	uint16_t counter;
};

enum { MIX_CQE_REQ = 0, MIX_CQE_WRITE_IMM = 1, MIX_CQE_SEND = 2, MIX_CQE_SEND_IMM = 3 };

/* All return 0, or -errno with tool_why(). */
int mix_end_open(struct mix_end *end, const char *nic);
void mix_end_close(struct mix_end *end);

/* A new queue pair, with empty queues. */
int mix_end_make(struct mix_end *end, bool uc);
void mix_end_drop(struct mix_end *end);

static inline uint8_t *mix_send_slot(const struct mix_end *end, uint32_t index)
{
	return end->data + MIX_TARGET + index % MIX_SLOTS * MIX_SLOT;
}

static inline uint8_t *mix_recv_slot(const struct mix_end *end, uint32_t index)
{
	return end->data + MIX_TARGET + (MIX_SLOTS + index % MIX_SLOTS) * MIX_SLOT;
}

/* Post a request; its bytes are in its place. */
void mix_end_post(struct mix_end *end, const struct mix_request *request);
/* Post a receive list for the next place. */
void mix_end_post_recv(struct mix_end *end);

/* The next completion of the send queue, of the receive queue: 1, 0: not yet, -EIO: it failed, tool_why() says how. */
int mix_end_sent(struct mix_end *end, struct mix_cqe *cqe);
int mix_end_received(struct mix_end *end, struct mix_cqe *cqe);

/* Counters of a software NIC, all zero of other devices. */
void mix_end_counters(const struct mix_end *end, uint64_t values[BL_SNIC_NR_COUNTERS]);

#endif
