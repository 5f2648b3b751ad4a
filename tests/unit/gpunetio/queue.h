/* SPDX-License-Identifier: MIT */
/*
 * queue.h - a queue pair in memory of the test, and what a NIC would do with it
 */
#ifndef BL_TESTS_GPUNETIO_QUEUE_H
#define BL_TESTS_GPUNETIO_QUEUE_H

extern "C" {
#include "tap.h"
}

#include "gpunetio/doca_gpunetio_device.h"

#define TEST_QPN 0x1234

/* Short names for long ones. */
#define EXCLUSIVE DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define CTA	  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define GPU	  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define AUTO	  DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define PROXY	  DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define FREE_FLOW DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW
#define SM_DB	  DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
#define SM_BF	  DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF
#define SM_NO_DBR DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR
#define THREAD	  DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define WARP	  DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP
#define ADD	  DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD
#define SQ	  DOCA_GPUNETIO_VERBS_QP_SQ
#define RQ	  DOCA_GPUNETIO_VERBS_QP_RQ
#define CQ_UPDATE DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE
#define QUIET	  DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_ERROR_UPDATE

#define TIMEOUT DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT
#define STOPPED DOCA_GPUNETIO_VERBS_WAIT_STOPPED
#define FAILED	DOCA_GPUNETIO_VERBS_WAIT_ERROR

#define MAX_SLOTS 512

/**
 * struct test_queue - a queue pair and its memory
 * @qp:	    what device code gets
 * @db:	    doorbell register with a BlueFlame buffer, or the word of a CPU proxy in its first place
 * @slots:  of FREE_FLOW: a word for each slot
 * @dbrec:  receive and send record
 * @cq_pi:  CQEs that the NIC has written, by queue: send, receive
 */
struct test_queue {
	alignas(64) struct doca_gpu_dev_verbs_qp qp;
	alignas(64) uint64_t db[8];
	alignas(64) uint64_t slots[MAX_SLOTS];
	uint32_t dbrec[2];
	uint32_t cq_dbrec[2];
	uint32_t stop;
	uint64_t cq_pi[2];
	alignas(64) uint8_t sq[MAX_SLOTS * 64];
	alignas(64) uint8_t rq[MAX_SLOTS * 16];
	alignas(64) uint8_t cqe[2][MAX_SLOTS * 64];
};

/* @slots of both queues; indices and CQEs begin at @start, as after so many operations. */
void queue_init(struct test_queue *q, uint32_t slots, uint32_t handler, uint64_t start);

/* The NIC's next CQE: the last eight bytes come last. @which: 0 send, 1 receive. */
void queue_complete(struct test_queue *q, int which, uint16_t counter, uint8_t opcode, uint8_t syndrome, uint8_t vendor);

/* The same into entry 0, as a collapsed queue has it. */
void queue_collapse(struct test_queue *q, uint16_t counter, uint8_t opcode, uint8_t syndrome, uint8_t vendor);

/* A word of a slot in network byte order. */
uint32_t queue_word(const struct test_queue *q, uint64_t index, unsigned int off);

static inline uint64_t ms_from_now(uint64_t ms)
{
	return doca_gpu_dev_verbs_query_globaltimer() + ms * 1000000;
}

#endif
