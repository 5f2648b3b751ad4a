// SPDX-License-Identifier: MIT
/* Operations of one thread: what lies in the ring after each, and what is left behind when it fails. */
#include <initializer_list>

#include "queue.h"

#define MCST	 DOCA_GPUNETIO_VERBS_MCST_ENABLED
#define BLOCKING DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED
#define GIB	 (1ULL << 30)

enum { NOP = 0, WRITE = 8, WRITE_IMM = 9, SEND = 10, SEND_IMM = 11, WAIT_WQE = 15, READ = 16, FETCH_ADD = 18, DUMP = 35 };

static struct test_queue q, other;
static const struct doca_gpu_dev_verbs_addr remote = {0x7000000000ULL, __builtin_bswap32(0x11)};
static const struct doca_gpu_dev_verbs_addr local = {0x1000, __builtin_bswap32(0x22)};
static const struct doca_gpu_dev_verbs_addr sig = {0x8000, __builtin_bswap32(0x33)};
static const struct doca_gpu_dev_verbs_addr sink = {0x9000, __builtin_bswap32(0x44)};

/* The WQE at an index: its number, its kind, and that it makes a CQE. */
static void check_wqe(const struct test_queue *queue, uint64_t index, uint8_t opcode)
{
	check_eq(queue_word(queue, index, 0), (uint32_t)(index & 0xffff) << 8 | opcode);
	check_eq(queue_word(queue, index, 8) & 0x0c, CQ_UPDATE);
}

static uint64_t word64(uint64_t index, unsigned int off)
{
	return (uint64_t)queue_word(&q, index, off) << 32 | queue_word(&q, index, off + 4);
}

static void a_put_is_one_write(void)
{
	uint64_t ticket = 99;

	for (uint64_t start : {0ULL, 65535ULL, 0xffffffffULL}) {
		queue_init(&q, 8, PROXY, start);
		check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 64, &ticket), 0);
		check_eq(ticket, start);
		check_wqe(&q, start, WRITE);
		check_eq(word64(start, 16), remote.addr);
		check_eq(queue_word(&q, start, 24), 0x11);
		check_eq(queue_word(&q, start, 32), 64);
		check_eq(queue_word(&q, start, 36), 0x22);
		check_eq(word64(start, 40), local.addr);
		check_eq(q.qp.sq_rsvd_index, start + 1);
		check_eq(q.qp.sq_ready_index, start + 1);
		check_eq(q.db[0], start + 1);
	}
}

static void long_puts_are_cut_at_one_gib(void)
{
	uint64_t ticket;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 2 * GIB + 5, &ticket), 0);
	check_eq(ticket, 2);
	for (uint64_t i = 0; i < 3; i++) {
		check_wqe(&q, i, WRITE);
		check_eq(word64(i, 16), remote.addr + i * GIB);
		check_eq(word64(i, 40), local.addr + i * GIB);
		check_eq(queue_word(&q, i, 32), i < 2 ? GIB : 5);
	}
	/* exactly: no empty piece at the end */
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 2 * GIB, &ticket), 0);
	check_eq(ticket, 4);
}

/* What is longer than the ring goes in parts: with nobody who completes them, the first part is all. */
static void longer_than_the_ring_goes_in_parts(void)
{
	uint64_t ticket;

	queue_init(&q, 4, PROXY, 0);
	q.qp.cq_sq.timeout_ms = 1;
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 6 * GIB, &ticket), TIMEOUT);
	check_eq((int64_t)ticket, TIMEOUT);
	check_eq(q.db[0], 4);
	check_eq(q.qp.sq_rsvd_index, 4);
	for (uint16_t i = 0; i < 4; i++)
		queue_complete(&q, 0, i, 0, 0, 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp), 0);
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 3 * GIB, &ticket), 0);
	check_eq(ticket, 6);
}

static void operations_of_nothing_have_tickets(void)
{
	uint64_t ticket = 99;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 0, &ticket), 0);
	check_eq(ticket, 0);
	check_wqe(&q, 0, NOP);
	check_eq(doca_gpu_dev_verbs_get(&q.qp, remote, local, 0, sink, &ticket), 0);
	check_eq(ticket, 1);
	check_wqe(&q, 1, NOP);
	check_eq(doca_gpu_dev_verbs_send(&q.qp, local, 0, &ticket), 0);
	check_eq(queue_word(&q, 2, 4) & 0x3f, 1);
	check_wqe(&q, 2, SEND);
	check_eq(doca_gpu_dev_verbs_put_imm(&q.qp, remote, local, 0, 0x01020304, &ticket), 0);
	check_wqe(&q, 3, WRITE_IMM);
	check_eq(queue_word(&q, 3, 4) & 0x3f, 2);
	check_eq(queue_word(&q, 3, 12), 0x04030201);
	check_eq(q.db[0], 4);
}

static void values_go_inside_the_request(void)
{
	uint64_t ticket;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_p<uint32_t>(&q.qp, remote, 0x04030201, &ticket), 0);
	check_wqe(&q, 0, WRITE);
	check_eq(queue_word(&q, 0, 32), 0x80000004U);
	check_eq(queue_word(&q, 0, 36), 0x01020304);
	check_eq((doca_gpu_dev_verbs_p_signal<uint8_t, ADD>(&q.qp, remote, 7, sig, sink, 3, &ticket)), 0);
	check_eq(ticket, 2);
	check_wqe(&q, 1, WRITE);
	check_eq(queue_word(&q, 1, 32), 0x80000001U);
	check_wqe(&q, 2, FETCH_ADD);
	check_eq(word64(2, 16), sig.addr);
	check_eq(word64(2, 32), 3);
	check_eq(word64(2, 56), sink.addr);
}

static void a_signal_comes_after_its_put(void)
{
	uint64_t ticket;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_put_signal<ADD>(&q.qp, remote, local, GIB + 1, sig, sink, 9, &ticket), 0);
	check_eq(ticket, 2);
	check_wqe(&q, 0, WRITE);
	check_wqe(&q, 1, WRITE);
	check_wqe(&q, 2, FETCH_ADD);
	check_eq(doca_gpu_dev_verbs_signal<ADD>(&q.qp, sig, sink, 1, &ticket), 0);
	check_wqe(&q, 3, FETCH_ADD);
	check_eq(ticket, 3);
	check_eq(q.db[0], 4);
}

static void gets_and_their_dumps(void)
{
	uint64_t ticket;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_get(&q.qp, remote, local, 64, sink, &ticket), 0);
	check_wqe(&q, 0, READ);
	check_eq(ticket, 0);
	check_eq((doca_gpu_dev_verbs_get<GPU, AUTO, THREAD, MCST>(&q.qp, remote, local, 64, sink, &ticket)), 0);
	check_wqe(&q, 1, READ);
	check_wqe(&q, 2, DUMP);
	check_eq(word64(2, 24), sink.addr);
	check_eq(ticket, 2);
	q.qp.cq_sq.timeout_ms = 1;
	check_eq((doca_gpu_dev_verbs_get<GPU, AUTO, THREAD, DOCA_GPUNETIO_VERBS_MCST_DISABLED, BLOCKING>(&q.qp, remote, local, 64, sink,
													&ticket)), TIMEOUT);
	check_eq(ticket, 3);
	for (uint16_t i = 0; i < 5; i++)
		queue_complete(&q, 0, i, 0, 0, 0);
	check_eq(doca_gpu_dev_verbs_get_wait(&q.qp, sink, ticket), 0);
	check_eq((doca_gpu_dev_verbs_get_wait<GPU, AUTO, MCST>(&q.qp, sink, ticket)), 0);
	check_wqe(&q, 4, DUMP);
	check_eq(doca_gpu_dev_verbs_get_wait(&q.qp, sink), 0);
}

static void fences_are_requests_that_wait(void)
{
	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_fence(&q.qp), 0);
	check_eq(doca_gpu_dev_verbs_fence<EXCLUSIVE>(&q.qp), 0);
	for (uint64_t i = 0; i < 2; i++) {
		check_wqe(&q, i, NOP);
		/* for everything, and with a CQE */
		check_eq(queue_word(&q, i, 8) & 0xff, 0x68);
	}
	check_eq(q.db[0], 2);
}

static void a_full_ring_leaves_nothing_behind(void)
{
	uint64_t ticket;

	queue_init(&q, 4, PROXY, 0);
	for (int i = 0; i < 4; i++)
		check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1), 0);
	q.qp.cq_sq.timeout_ms = 1;
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1, &ticket), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, ticket), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_fence(&q.qp), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready(&q.qp, ticket, ticket), -EINVAL);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, ticket + 1), -EINVAL);
	check_eq((int64_t)doca_gpu_dev_verbs_reserve_wq_slots_until(&q.qp, 1, ms_from_now(1)), TIMEOUT);
	check_eq((int64_t)doca_gpu_dev_verbs_reserve_wq_slots(&q.qp, 5), -EINVAL);
	check_eq((int64_t)doca_gpu_dev_verbs_reserve_wq_slots(&q.qp, 0), -EINVAL);
	q.stop = 1;
	check_eq(doca_gpu_dev_verbs_signal<ADD>(&q.qp, sig, sink, 1), STOPPED);
	q.stop = 0;
	check_eq(q.qp.sq_rsvd_index, 4);
	check_eq(q.qp.sq_ready_index, 4);
	check_eq(q.db[0], 4);
	/* and goes on when there is room again */
	queue_complete(&q, 0, 0, 0, 0, 0);
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1, &ticket), 0);
	check_eq(ticket, 4);
	queue_complete(&q, 0, 1, DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR, 0x13, 0x88);
	q.qp.cq_sq.timeout_ms = 0;
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1, &ticket), FAILED);
	check_eq(q.qp.sq_rsvd_index, 5);
}

static void unchecked_slots_are_the_callers_business(void)
{
	uint64_t ticket;

	queue_init(&q, 4, PROXY, 0);
	for (uint64_t i = 0; i < 6; i++) {
		check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1, &ticket,
						DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK |
							DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING), 0);
		check_eq(ticket, i);
	}
	check_eq(q.qp.sq_ready_index, 6);
	check_eq(q.db[0], 0);
}

static void messages_and_receives(void)
{
	uint64_t ticket;
	uint32_t word;

	queue_init(&q, 8, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_send(&q.qp, local, 64, &ticket), 0);
	check_wqe(&q, 0, SEND);
	check_eq(doca_gpu_dev_verbs_send_imm(&q.qp, local, 64, 0x44332211, &ticket), 0);
	check_wqe(&q, 1, SEND_IMM);
	check_eq(queue_word(&q, 1, 12), 0x11223344);
	check_eq(doca_gpu_dev_verbs_put_imm(&q.qp, remote, local, GIB + 1, 0x44332211, &ticket), 0);
	check_wqe(&q, 2, WRITE);
	check_eq(queue_word(&q, 2, 12), 0);
	check_wqe(&q, 3, WRITE_IMM);
	check_eq(queue_word(&q, 3, 12), 0x11223344);
	check_eq(doca_gpu_dev_verbs_send(&q.qp, local, GIB + 1, &ticket), -EINVAL);
	check_eq((int64_t)ticket, -EINVAL);
	check_eq(q.qp.sq_rsvd_index, 4);
	check_eq(doca_gpu_dev_verbs_recv(&q.qp, local, 0x40, &ticket), 0);
	check_eq(ticket, 0);
	memcpy(&word, q.rq, 4);
	check_eq(word, __builtin_bswap32(0x40));
	check_eq(q.dbrec[0], __builtin_bswap32(1));
	check_eq(q.dbrec[1], 0);
	queue_complete(&q, 1, 0, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND, 0, 0);
	check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp, ticket), 0);
	check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp), 0);
	check_eq(q.qp.cq_sq.cqe_ci, 0);
}

static void receives_can_be_given_back_as_they_are(void)
{
	queue_init(&q, 4, PROXY, 65534);
	for (int i = 0; i < 4; i++)
		check_eq(doca_gpu_dev_verbs_recv(&q.qp, local, 64), 0);
	check_eq(q.dbrec[0], __builtin_bswap32(2));
	q.qp.cq_rq.timeout_ms = 1;
	/* none has ended */
	check_eq(doca_gpu_dev_verbs_repost(&q.qp), TIMEOUT);
	queue_complete(&q, 1, 65534, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_WR_IMM, 0, 0);
	queue_complete(&q, 1, 65535, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_WR_IMM, 0, 0);
	check_eq(doca_gpu_dev_verbs_repost(&q.qp), 0);
	check_eq(q.dbrec[0], __builtin_bswap32(3));
	check_eq(doca_gpu_dev_verbs_repost<EXCLUSIVE>(&q.qp, 1), 0);
	check_eq(q.dbrec[0], __builtin_bswap32(4));
	check_eq(q.qp.rq_wqe_pi, 65540);
	queue_complete(&q, 1, 0, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR, 0x04, 0x51);
	check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp, 65536), FAILED);
	check_eq(q.qp.cq_rq.error, DOCA_GPUNETIO_VERBS_ERROR_SET | 0x5104);
}

/* The companion: waits for the last CQE of the operation, then adds. */
static void check_counter(uint64_t first, uint64_t last)
{
	check_wqe(&other, first, WAIT_WQE);
	check_eq(queue_word(&other, first, 24), (uint32_t)last);
	check_eq(queue_word(&other, first, 28), q.qp.cq_sq.cq_num);
	check_wqe(&other, first + 1, FETCH_ADD);
	check_eq(queue_word(&other, first + 1, 36), 5);
	check_eq(other.db[0], first + 2);
	check_eq(q.db[0], last + 1);
}

static void counters_wait_for_the_last_completion(void)
{
	queue_init(&q, 16, PROXY, 0);
	queue_init(&other, 16, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_put_counter(&q.qp, remote, local, GIB + 1, &other.qp, sig, sink, 5), 0);
	check_counter(0, 1);
	check_eq(doca_gpu_dev_verbs_p_counter<uint64_t>(&q.qp, remote, 1, &other.qp, sig, sink, 5), 0);
	check_counter(2, 2);
	check_eq(doca_gpu_dev_verbs_put_signal_counter<ADD>(&q.qp, remote, local, 1, sig, sink, 1, &other.qp, sig, sink, 5), 0);
	check_counter(4, 4);
	check_eq(doca_gpu_dev_verbs_signal_counter<ADD>(&q.qp, sig, sink, 1, &other.qp, sig, sink, 5), 0);
	check_counter(6, 5);
	check_eq(doca_gpu_dev_verbs_get_counter(&q.qp, remote, local, 1, &other.qp, sig, sink, 5), 0);
	check_wqe(&q, 6, READ);
	check_counter(8, 6);
	/* CQEs of before a reset count as well */
	queue_init(&q, 16, PROXY, 0);
	queue_init(&other, 16, PROXY, 0);
	q.qp.cq_sq.cqe_rsvd = 100;
	check_eq(doca_gpu_dev_verbs_put_counter(&q.qp, remote, local, 1, &other.qp, sig, sink, 5), 0);
	check_eq(queue_word(&other, 0, 24), 100);
}

static void a_counter_that_fails_counts_nothing(void)
{
	queue_init(&q, 2, PROXY, 0);
	queue_init(&other, 2, PROXY, 0);
	q.qp.cq_sq.timeout_ms = other.qp.cq_sq.timeout_ms = 1;
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1), 0);
	check_eq(doca_gpu_dev_verbs_put(&q.qp, remote, local, 1), 0);
	/* no room for the operation: the companion does nothing, twice */
	check_eq(doca_gpu_dev_verbs_put_counter(&q.qp, remote, local, 1, &other.qp, sig, sink, 5), TIMEOUT);
	check_wqe(&other, 0, NOP);
	check_wqe(&other, 1, NOP);
	check_eq(other.db[0], 2);
	check_eq(q.db[0], 2);
	/* no room on the companion: nothing at all */
	queue_complete(&q, 0, 0, 0, 0, 0);
	check_eq(doca_gpu_dev_verbs_signal_counter<ADD>(&q.qp, sig, sink, 1, &other.qp, sig, sink, 5), TIMEOUT);
	check_eq(q.qp.sq_rsvd_index, 2);
	check_eq(q.db[0], 2);
}

static const struct tap_test tests[] = {
	{"a put is one write, wherever indices begin", a_put_is_one_write},
	{"long puts are cut at 1 GiB", long_puts_are_cut_at_one_gib},
	{"what is longer than the ring goes in parts", longer_than_the_ring_goes_in_parts},
	{"operations of nothing have tickets", operations_of_nothing_have_tickets},
	{"values go inside the request", values_go_inside_the_request},
	{"a signal comes after its put", a_signal_comes_after_its_put},
	{"gets and their dumps", gets_and_their_dumps},
	{"fences are requests that wait", fences_are_requests_that_wait},
	{"an operation that finds no slot leaves nothing behind", a_full_ring_leaves_nothing_behind},
	{"unchecked slots are the caller's business", unchecked_slots_are_the_callers_business},
	{"messages and receives", messages_and_receives},
	{"receives can be given back as they are", receives_can_be_given_back_as_they_are},
	{"counters wait for the last completion", counters_wait_for_the_last_completion},
	{"a counter that fails counts nothing", a_counter_that_fails_counts_nothing},
};

TAP_MAIN(tests)
