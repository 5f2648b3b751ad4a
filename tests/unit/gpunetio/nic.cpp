// SPDX-License-Identifier: MIT
#include "nic.h"

#include <stdarg.h>

enum { NOP = 0, WRITE = 8, WAIT_WQE = 15, FETCH_ADD = 18 };

void nic_init(struct test_nic *nic, struct test_queue *q, uint64_t expected)
{
	memset((void *)nic, 0, sizeof(*nic));
	nic->q = q;
	nic->handler = q->qp.nic_handler;
	nic->expected = expected;
	nic->fail_at = nic->stop_after = UINT64_MAX;
	nic->ci = q->qp.sq_wqe_pi;
	nic->recv_ci = q->qp.rq_wqe_pi;
}

static void complain(struct test_nic *nic, const char *format, ...)
{
	va_list args;

	if (nic->bad[0])
		return;
	va_start(args, format);
	vsnprintf(nic->bad, sizeof(nic->bad), format, args);
	va_end(args);
}

/* The count whose low 16 bits are known, no less than @ci. */
static uint64_t extend(uint64_t ci, uint32_t low)
{
	return ci + (uint16_t)(low - (uint16_t)ci);
}

/* How many WQEs there are: the index before the WQEs that it tells of. */
static uint64_t producer(struct test_nic *nic)
{
	struct test_queue *q = nic->q;
	uint64_t word;

	if (nic->handler == SM_DB || nic->handler == SM_BF)
		return extend(nic->ci, __builtin_bswap32(__atomic_load_n(&q->dbrec[1], __ATOMIC_ACQUIRE)));
	if (nic->handler == FREE_FLOW)
		return nic->ci + (__atomic_load_n(&q->slots[nic->ci & q->qp.sq_wqe_mask], __ATOMIC_ACQUIRE) == nic->ci + 1);
	word = __atomic_load_n(&q->db[0], __ATOMIC_ACQUIRE);
	if (nic->handler == SM_NO_DBR)
		return word ? extend(nic->ci, __builtin_bswap32((uint32_t)word) >> 8) : nic->ci;
	return word;
}

static void check_wqe(struct test_nic *nic, uint8_t opcode)
{
	uint32_t who, number;

	if (queue_word(nic->q, nic->ci, 4) >> 8 != TEST_QPN)
		complain(nic, "wqe %llu: queue pair 0x%x", (unsigned long long)nic->ci, queue_word(nic->q, nic->ci, 4) >> 8);
	if (opcode == NOP || opcode == FETCH_ADD || opcode == WAIT_WQE)
		return;
	if (opcode != WRITE) {
		complain(nic, "wqe %llu: opcode %u", (unsigned long long)nic->ci, opcode);
		return;
	}
	who = queue_word(nic->q, nic->ci, 40);
	number = queue_word(nic->q, nic->ci, 44);
	if (who >= NIC_MAX_THREADS || nic->next[who] != number)
		complain(nic, "wqe %llu: thread %u number %u", (unsigned long long)nic->ci, who, number);
	else
		nic->next[who]++;
}

/* One WQE from its slot to its CQE. */
static void serve(struct test_nic *nic)
{
	uint32_t first = queue_word(nic->q, nic->ci, 0);
	uint32_t flags = queue_word(nic->q, nic->ci, 8);
	bool failed = nic->done >= nic->fail_at;

	if ((first >> 8 & 0xffff) != (nic->ci & 0xffff))
		complain(nic, "wqe %llu: index %u in it", (unsigned long long)nic->ci, first >> 8 & 0xffff);
	if (!failed)
		check_wqe(nic, (uint8_t)first);
	/* a plain write: a race with whoever fills the slot when that is too early, or with whoever still does */
	memset(nic->q->sq + (nic->ci & nic->q->qp.sq_wqe_mask) * 64, 0xaa, 64);
	if (failed)
		queue_complete(nic->q, 0, (uint16_t)nic->ci, DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR,
			       nic->done == nic->fail_at ? 0x13 : 0x05, 0x88);
	else if (flags & CQ_UPDATE)
		queue_complete(nic->q, 0, (uint16_t)nic->ci, DOCA_GPUNETIO_IB_MLX5_CQE_REQ, 0, 0);
	nic->ci++;
	nic->done++;
}

void nic_run(void *arg)
{
	struct test_nic *nic = (struct test_nic *)arg;

	while (nic->done < nic->expected && !nic->bad[0]) {
		if (nic->done >= nic->stop_after) {
			__atomic_store_n(&nic->q->stop, 1, __ATOMIC_RELEASE);
			return;
		}
		bl_thread_step();
		if (producer(nic) == nic->ci) {
			bl_thread_yield();
			continue;
		}
		serve(nic);
	}
}

void nic_run_receives(void *arg)
{
	struct test_nic *nic = (struct test_nic *)arg;
	struct test_queue *q = nic->q;

	while (nic->done < nic->expected) {
		bl_thread_step();
		if (extend(nic->recv_ci, __builtin_bswap32(__atomic_load_n(&q->dbrec[0], __ATOMIC_ACQUIRE))) == nic->recv_ci) {
			bl_thread_yield();
			continue;
		}
		queue_complete(q, 1, (uint16_t)nic->recv_ci, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_WR_IMM, 0, 0);
		nic->recv_ci++;
		nic->done++;
	}
}
