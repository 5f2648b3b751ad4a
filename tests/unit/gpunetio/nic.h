/* SPDX-License-Identifier: MIT */
/*
 * nic.h - a NIC that checks what threads give it
 *
 * It takes WQEs as hardware would: when the doorbell, the record or the proxy's word says so, in order, and it writes over
 * each slot once its WQE is done, so that a slot used too early or filled too late shows. The local address of a WQE is
 * who << 32 | number: those of one thread must come in order and completely.
 */
#ifndef BL_TESTS_GPUNETIO_NIC_H
#define BL_TESTS_GPUNETIO_NIC_H

#include "queue.h"

#define NIC_MAX_THREADS 256

/**
 * struct test_nic - the NIC
 * @q:		queue pair it serves
 * @handler:	where it learns of WQEs
 * @expected:	WQEs until it has done its work
 * @fail_at:	WQE that ends in an error, as do all after it; UINT64_MAX: none
 * @stop_after: sets the stop flag after so many WQEs instead of going on; UINT64_MAX: never
 * @done:	WQEs so far
 * @ci:		next WQE
 * @next:	number that each thread's next WQE must have
 * @recv_ci:	next receive, for receivers
 * @bad:	what was wrong first, or ""
 */
struct test_nic {
	struct test_queue *q;
	uint32_t handler;
	uint64_t expected;
	uint64_t fail_at;
	uint64_t stop_after;
	uint64_t done;
	uint64_t ci;
	uint32_t next[NIC_MAX_THREADS];
	uint64_t recv_ci;
	char bad[256];
};

void nic_init(struct test_nic *nic, struct test_queue *q, uint64_t expected);

/* Actors of a grid, with a struct test_nic as argument: serve the send queue, or the receive queue. */
void nic_run(void *arg);
void nic_run_receives(void *arg);

#endif
