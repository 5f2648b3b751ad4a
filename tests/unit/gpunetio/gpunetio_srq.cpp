// SPDX-License-Identifier: MIT
/*
 * Threads that share a linked receive queue, against a NIC that follows its links, has several WQEs at a time, and
 * completes them in any order. As the system lets them run, and in orders that a seed draws: BL_TEST_SEED sets it.
 */
#include "queue.h"

#include "emu/grid/grid.h"
#include "gpunetio/device/bl_gpunetio_dev_srq.cuh"

#define WQES	16U
#define CQES	64U
#define SHIFT	5U
#define MAX_MSG 4096U
#define SEEDS	60

static struct test_queue q;
static struct bl_dev_srq srq;
static struct bl_grid_result result;

/* Of the library's own memory, as the host hands it over. */
static void srq_init(uint32_t sges)
{
	queue_init(&q, CQES, PROXY, 0);
	srq = {q.rq, &q.dbrec[0], 0, 0x55, WQES, sges > 1 ? 6U : SHIFT, sges, 0, 0, WQES - 1};
	for (uint32_t i = 0; i < WQES; i++)
		q.rq[((size_t)i << srq.wqe_shift) + 3] = (uint8_t)((i + 1) % WQES);
}

static uint16_t link_of(uint16_t index)
{
	const uint8_t *at = q.rq + ((size_t)index << srq.wqe_shift);

	return (uint16_t)(at[2] << 8 | at[3]);
}

static uint64_t addr_of(uint16_t index)
{
	uint64_t addr;

	memcpy(&addr, q.rq + ((size_t)index << srq.wqe_shift) + 24, sizeof(addr));
	return __builtin_bswap64(addr);
}

static void a_post_is_a_list_and_a_count(void)
{
	const uint8_t wanted[16] = {0, 0, 1, 0, 0x11, 0x22, 0x33, 0x44, 1, 2, 3, 4, 5, 6, 7, 8};
	const uint8_t end[16] = {0, 0, 0, 0, 0, 0, 1, 0};
	uint16_t index = 77;

	srq_init(3);
	check_eq(bl_dev_srq_post<EXCLUSIVE>(&srq, {0x0102030405060708, __builtin_bswap32(0x11223344)}, 256, &index), 0);
	check_eq(index, 0);
	check(!memcmp(q.rq + 16, wanted, 16));
	check(!memcmp(q.rq + 32, end, 16));
	check_eq(q.dbrec[0], __builtin_bswap32(1));
	/* the link of one that is posted stays */
	check_eq(link_of(0), 1);
	/* no room for an end where there is one segment */
	srq_init(1);
	check_eq(bl_dev_srq_post<GPU>(&srq, {1, 0}, 8, nullptr), 0);
	check_eq(q.rq[32], 0);
	check_eq(srq.lock, 0);
	check_eq(bl_dev_srq_post<GPU>(&srq, {1, 0}, (1U << 30) + 1, nullptr), -EINVAL);
	check_eq(q.dbrec[0], __builtin_bswap32(1));
}

static void one_is_kept_back_and_what_is_freed_comes_round(void)
{
	uint16_t index = 0;

	srq_init(1);
	for (uint16_t i = 0; i < WQES - 1; i++) {
		check_eq(bl_dev_srq_post<CTA>(&srq, {i, 0}, 8, &index), 0);
		check_eq(index, i);
	}
	check_eq(bl_dev_srq_post<CTA>(&srq, {0, 0}, 8, &index), -EAGAIN);
	check_eq(bl_dev_srq_free(&srq, WQES), -EINVAL);
	/* 5 completes first: the one that was kept back goes next, and names it */
	check_eq(bl_dev_srq_free(&srq, 5), 0);
	check_eq(link_of(WQES - 1), 5);
	check_eq(bl_dev_srq_post<CTA>(&srq, {0, 0}, 8, &index), 0);
	check_eq(index, WQES - 1);
	check_eq(bl_dev_srq_post<CTA>(&srq, {0, 0}, 8, &index), -EAGAIN);
	check_eq(bl_dev_srq_free(&srq, 2), 0);
	check_eq(bl_dev_srq_post<CTA>(&srq, {0, 0}, 8, &index), 0);
	check_eq(index, 5);
	/* the record wraps, the count does not */
	srq.posted = 0xffff;
	check_eq(bl_dev_srq_free(&srq, 0), 0);
	check_eq(bl_dev_srq_post<CTA>(&srq, {0, 0}, 8, &index), 0);
	check_eq(q.dbrec[0], 0);
	check_eq(srq.posted, 0x10000);
}

static void waits_for_others_end(void)
{
	uint32_t stop = 0;

	srq_init(1);
	srq.lock = 1;
	check_eq(bl_dev_srq_post<GPU>(&srq, {0, 0}, 8, nullptr, ms_from_now(2)), TIMEOUT);
	check_eq(bl_dev_srq_free<GPU>(&srq, 0, ms_from_now(2)), TIMEOUT);
	stop = 1;
	check_eq(bl_dev_srq_post<GPU>(&srq, {0, 0}, 8, nullptr, UINT64_MAX, &stop), STOPPED);
	check_eq(bl_dev_srq_free<GPU>(&srq, 0, UINT64_MAX, &stop), STOPPED);
	check_eq(srq.posted, 0);
	check_eq(srq.tail, WQES - 1);
}

static void completions_are_read(void)
{
	alignas(64) struct doca_gpunetio_ib_mlx5_cqe64 cqe = {};

	cqe.srqn_uidx = __builtin_bswap32(0xabcdef);
	cqe.sop_drop_qpn = __builtin_bswap32(0x0a123456);
	cqe.wqe_counter = __builtin_bswap16(0x1234);
	check_eq(bl_dev_cqe_get_wqe(&cqe), 0x1234);
	check_eq(bl_dev_cqe_get_qpn(&cqe), 0x123456);
	check_eq(bl_dev_cqe_get_srqn(&cqe), 0xabcdef);
}

/**
 * struct nic - follows the list
 * @at:	  WQE to be taken next
 * @held:   taken and not completed
 * @seen:   addresses that came
 * @unread: completions that a thread has not looked at: one that stands still must not be overtaken by a whole turn
 */
struct nic {
	uint64_t expected, posted, done;
	uint16_t at;
	uint16_t held[WQES];
	unsigned int nr_held;
	uint32_t draw;
	uint8_t seen[MAX_MSG];
	uint8_t unread[CQES];
	char bad[128];
};

static struct nic nic;

static void take(struct nic *n)
{
	uint64_t addr = addr_of(n->at);

	if (n->nr_held == WQES - 1)
		snprintf(n->bad, sizeof(n->bad), "more are posted than there may be");
	else if (addr >= MAX_MSG || n->seen[addr]++)
		snprintf(n->bad, sizeof(n->bad), "wqe %u has address %llu, again or never posted", n->at,
			 (unsigned long long)addr);
	else
		n->held[n->nr_held++] = n->at;
	n->posted++;
	n->at = link_of(n->at);
}

/* One of those that it has, as drawn, unless the queue is full. */
static bool complete(struct nic *n)
{
	uint8_t *unread = &n->unread[n->done % CQES];
	unsigned int which;

	if (!n->nr_held || __atomic_load_n(unread, __ATOMIC_ACQUIRE))
		return false;
	which = (n->draw = n->draw * 1664525 + 1013904223) % n->nr_held;
	n->draw >>= 1;
	__atomic_store_n(unread, 1, __ATOMIC_RELAXED);
	queue_complete(&q, 1, n->held[which], DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND, 0, 0);
	n->held[which] = n->held[--n->nr_held];
	n->done++;
	return true;
}

static void nic_run(void *arg)
{
	struct nic *n = (struct nic *)arg;

	while (n->done < n->expected && !n->bad[0]) {
		uint16_t ahead;

		bl_thread_step();
		ahead = (uint16_t)(__builtin_bswap32(__atomic_load_n(&q.dbrec[0], __ATOMIC_ACQUIRE)) - (uint32_t)n->posted);
		for (; ahead && !n->bad[0]; ahead--)
			take(n);
		if (n->bad[0] || !complete(n))
			bl_thread_yield();
	}
}

/* Completions and messages are counted by all threads together. */
struct job {
	int nr;
	int failures;
	uint64_t ticket;
	uint64_t message;
};

template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> static void serve(void *arg)
{
	struct job *job = (struct job *)arg;

	for (int i = 0; i < job->nr; i++) {
		uint64_t ticket = __atomic_fetch_add(&job->ticket, 1, __ATOMIC_RELAXED), next;
		int ret = doca_gpu_dev_verbs_poll_cq_at<RS, RQ>(&q.qp, ticket);
		uint16_t wqe;

		if (ret) {
			__atomic_fetch_add(&job->failures, 1, __ATOMIC_RELAXED);
			return;
		}
		wqe = bl_dev_cqe_get_wqe(doca_gpu_dev_verbs_cq_get_cqe_ptr(&q.qp.cq_rq, ticket));
		__atomic_store_n(&nic.unread[ticket % CQES], 0, __ATOMIC_RELEASE);
		ret = bl_dev_srq_free<RS>(&srq, wqe);
		next = __atomic_fetch_add(&job->message, 1, __ATOMIC_RELAXED);
		if (!ret)
			ret = bl_dev_srq_post<RS>(&srq, {next, 0}, 8, nullptr);
		if (ret)
			__atomic_fetch_add(&job->failures, 1, __ATOMIC_RELAXED);
	}
}

static void run(void (*kernel)(void *), unsigned int blocks, unsigned int threads, int nr, enum bl_grid_order order,
		uint64_t seed)
{
	struct bl_grid_actor actor = {nic_run, &nic};
	struct job job = {nr, 0, 0, 0};
	struct bl_grid grid = {};
	int ret;

	srq_init(1);
	q.qp.cq_rq.timeout_ms = order == BL_GRID_FREE ? 50000 : 0;
	nic = {};
	nic.expected = (uint64_t)blocks * threads * (unsigned int)nr;
	nic.draw = (uint32_t)seed;
	/* as many as there may be, each with an address of its own */
	for (; job.message < WQES - 1; job.message++)
		check_eq(bl_dev_srq_post<EXCLUSIVE>(&srq, {job.message, 0}, 8, nullptr), 0);
	grid.grid = {blocks, 1, 1};
	grid.block = {threads, 1, 1};
	grid.run = kernel;
	grid.arg = &job;
	grid.timeout_ms = 60000;
	grid.actors = &actor;
	grid.nr_actors = 1;
	grid.order = order;
	grid.seed = seed;
	grid.max_steps = 2000000;
	ret = bl_grid_run(&grid, &result);
	if (ret)
		tap_end(TAP_FAILED, "grid %d: %.600s; nic %s", ret, result.text, nic.bad);
	check_str(nic.bad, "");
	check_eq(job.failures, 0);
	check_eq(nic.done, nic.expected);
	check_eq(srq.posted, WQES - 1 + nic.expected);
	check_eq(srq.lock, 0);
}

static void threads_serve_one_queue(void)
{
	run(serve<GPU>, 2, 16, 30, BL_GRID_FREE, 1);
	run(serve<CTA>, 1, 32, 30, BL_GRID_FREE, 2);
	run(serve<EXCLUSIVE>, 1, 1, 900, BL_GRID_FREE, 3);
}

static void drawn_orders_of_a_few_threads(void)
{
	const char *given = getenv("BL_TEST_SEED");
	uint64_t first = given ? strtoull(given, nullptr, 0) : 1;

	for (uint64_t seed = first; seed < first + (given ? 1 : SEEDS); seed++) {
		printf("# BL_TEST_SEED=%llu\n", (unsigned long long)seed);
		fflush(stdout);
		run(serve<GPU>, 2, 2, 12, seed % 2 ? BL_GRID_UNIFORM : BL_GRID_PCT, seed);
	}
}

static const struct tap_test tests[] = {
	{"a post is a list and a count", a_post_is_a_list_and_a_count},
	{"one is kept back, and what is freed comes round", one_is_kept_back_and_what_is_freed_comes_round},
	{"waits for others end", waits_for_others_end},
	{"completions of shared queues are read", completions_are_read},
	{"threads serve one shared receive queue", threads_serve_one_queue},
	{"drawn orders of a few threads on a shared receive queue", drawn_orders_of_a_few_threads},
};

TAP_MAIN(tests)
