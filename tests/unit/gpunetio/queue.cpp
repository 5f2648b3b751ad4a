// SPDX-License-Identifier: MIT
#include "queue.h"

static void init_cq(struct test_queue *q, struct doca_gpu_dev_verbs_cq *cq, int which, uint32_t slots, uint64_t start)
{
	cq->cqe_daddr = q->cqe[which];
	cq->cq_num = 0x77U + (uint32_t)which;
	cq->cqe_num = slots;
	cq->dbrec = &q->cq_dbrec[which];
	cq->cqe_ci = start;
	cq->cqe_mask = slots - 1;
	cq->cqe_size = 64;
	cq->qp_distance = which ? 28 : 20;
	cq->mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	q->cq_pi[which] = start;
	for (uint32_t i = 0; i < slots; i++)
		q->cqe[which][i * 64 + 63] = 0xf1;
}

void queue_init(struct test_queue *q, uint32_t slots, uint32_t handler, uint64_t start)
{
	struct doca_gpu_dev_verbs_qp *qp = &q->qp;

	memset((void *)q, 0, sizeof(*q));
	qp->sq_rsvd_index = qp->sq_ready_index = qp->sq_wqe_pi = start;
	qp->rq_rsvd_index = qp->rq_ready_index = qp->rq_wqe_pi = start;
	qp->sq_num = TEST_QPN;
	qp->sq_num_shift8 = TEST_QPN << 8;
	qp->sq_num_shift8_be = __builtin_bswap32(TEST_QPN << 8);
	qp->sq_num_shift8_be_1ds = __builtin_bswap32(TEST_QPN << 8 | 1);
	qp->sq_num_shift8_be_2ds = __builtin_bswap32(TEST_QPN << 8 | 2);
	qp->sq_num_shift8_be_3ds = __builtin_bswap32(TEST_QPN << 8 | 3);
	qp->sq_num_shift8_be_4ds = __builtin_bswap32(TEST_QPN << 8 | 4);
	qp->sq_num_shift8_be_5ds = __builtin_bswap32(TEST_QPN << 8 | 5);
	qp->sq_wqe_num = (uint16_t)slots;
	qp->sq_wqe_mask = (uint16_t)(slots - 1);
	qp->sq_wqe_daddr = q->sq;
	qp->sq_dbrec = &q->dbrec[1];
	qp->sq_db = handler == FREE_FLOW ? q->slots : q->db;
	qp->rq_wqe_daddr = q->rq;
	qp->rq_dbrec = &q->dbrec[0];
	qp->rq_wqe_num = (uint16_t)slots;
	qp->rq_wqe_mask = (uint16_t)(slots - 1);
	qp->rq_wqe_shift = 4;
	qp->stop_flag = &q->stop;
	qp->nic_handler = handler;
	qp->mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	init_cq(q, &qp->cq_sq, 0, slots, start);
	init_cq(q, &qp->cq_rq, 1, slots, start);
}

static void write_cqe(uint8_t *cqe, uint16_t counter, uint8_t op_own, uint8_t syndrome, uint8_t vendor)
{
	uint64_t words[8] = {};

	words[6] = (uint64_t)(uint32_t)(vendor << 16 | syndrome << 24) << 32;
	words[7] = __builtin_bswap32(8U << 24 | TEST_QPN) | (uint64_t)__builtin_bswap16(counter) << 32 | (uint64_t)op_own << 56;
	for (int i = 0; i < 7; i++)
		__atomic_store_n((uint64_t *)(void *)cqe + i, words[i], __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)(void *)cqe + 7, words[7], __ATOMIC_RELEASE);
}

void queue_complete(struct test_queue *q, int which, uint16_t counter, uint8_t opcode, uint8_t syndrome, uint8_t vendor)
{
	const struct doca_gpu_dev_verbs_cq *cq = which ? &q->qp.cq_rq : &q->qp.cq_sq;
	uint64_t position = q->cq_pi[which]++ + cq->cqe_rsvd;
	uint8_t owner = (position & cq->cqe_num) != 0;

	write_cqe(cq->cqe_daddr + (position & cq->cqe_mask) * 64, counter, (uint8_t)(opcode << 4 | owner), syndrome, vendor);
}

void queue_collapse(struct test_queue *q, uint16_t counter, uint8_t opcode, uint8_t syndrome, uint8_t vendor)
{
	write_cqe(q->cqe[0], counter, (uint8_t)(opcode << 4), syndrome, vendor);
}

uint32_t queue_word(const struct test_queue *q, uint64_t index, unsigned int off)
{
	uint32_t word;

	memcpy(&word, q->sq + (index & q->qp.sq_wqe_mask) * 64 + off, sizeof(word));
	return __builtin_bswap32(word);
}
