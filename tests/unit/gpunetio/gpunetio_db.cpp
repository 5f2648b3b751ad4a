// SPDX-License-Identifier: MIT
/* Doorbells: what is stored, by whom, and when not. */
#include <pthread.h>
#include <time.h>

#include "queue.h"

static struct test_queue q;

/* In memory order: index << 8, then the queue pair << 8. */
static uint64_t doorbell(uint64_t index)
{
	return (uint64_t)__builtin_bswap32(TEST_QPN << 8) << 32 | __builtin_bswap32((uint32_t)(index & 0xffff) << 8);
}

static uint32_t record(uint64_t index)
{
	return __builtin_bswap32((uint32_t)(index & 0xffff));
}

static void values_have_sixteen_bits_of_the_index(void)
{
	queue_init(&q, 256, SM_DB, 0);
	check_eq(doca_gpu_dev_verbs_prepare_dbr(0x12345678), 0x78560000);
	check_eq(doca_gpu_dev_verbs_prepare_db(&q.qp, 0x12345), 0x0034120000452300ULL);
	check_eq(doca_gpu_dev_verbs_prepare_db(&q.qp, 0x10000), doorbell(0));
}

static void gpu_doorbell_writes_record_and_register(void)
{
	queue_init(&q, 256, SM_DB, 65530);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 65537), 0);
	check_eq(q.db[0], doorbell(1));
	check_eq(q.dbrec[1], record(1));
	check_eq(q.dbrec[0], 0);
	check_eq(q.qp.sq_wqe_pi, 65537);
	check_eq(q.qp.sq_lock, 0);
}

static void an_index_that_is_no_news_rings_nothing(void)
{
	static const uint32_t handlers[] = {PROXY, SM_DB, SM_BF, SM_NO_DBR};

	for (uint32_t handler : handlers) {
		queue_init(&q, 256, handler, 20);
		q.db[0] = 0xdead;
		check_eq(doca_gpu_dev_verbs_submit(&q.qp, 20), 0);
		check_eq(doca_gpu_dev_verbs_submit<EXCLUSIVE>(&q.qp, 19), 0);
		check_eq(q.db[0], 0xdead);
		check_eq(q.dbrec[1], 0);
		check_eq(q.qp.sq_wqe_pi, 20);
	}
}

static void no_record_where_the_nic_reads_none(void)
{
	queue_init(&q, 256, SM_NO_DBR, 0);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 7), 0);
	check_eq(q.db[0], doorbell(7));
	check_eq(q.dbrec[1], 0);
	check_eq(q.qp.sq_wqe_pi, 7);
}

static void a_proxy_gets_the_whole_count(void)
{
	queue_init(&q, 256, PROXY, 0x1fffffff0ULL);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 0x200000001ULL), 0);
	check_eq(q.db[0], 0x200000001ULL);
	check_eq(q.dbrec[1], 0);
	/* without asking for it */
	check_eq(q.qp.sq_wqe_pi, 0x200000001ULL);
	check_eq(doca_gpu_dev_verbs_submit<EXCLUSIVE>(&q.qp, 0x200000002ULL), 0);
	check_eq(q.db[0], 0x200000002ULL);
	/* a word that is ahead already does not go back */
	q.db[0] = 0x200000009ULL;
	check_eq(doca_gpu_dev_verbs_submit<CTA>(&q.qp, 0x200000005ULL), 0);
	check_eq(q.db[0], 0x200000009ULL);
}

template <enum doca_gpu_dev_verbs_nic_handler NH> static int submit_by(uint64_t index)
{
	return doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, NH>(&q.qp, index);
}

static void an_explicit_handler_is_honoured(void)
{
	queue_init(&q, 256, PROXY, 0);
	check_eq(submit_by<SM_NO_DBR>(3), 0);
	check_eq(q.db[0], doorbell(3));
	check_eq(q.dbrec[1], 0);
	check_eq(submit_by<SM_DB>(4), 0);
	check_eq(q.db[0], doorbell(4));
	check_eq(q.dbrec[1], record(4));
	check_eq(submit_by<SM_BF>(5), 0);
	check_eq(q.dbrec[1], record(5));
	queue_init(&q, 256, SM_NO_DBR, 0);
	check_eq(submit_by<PROXY>(6), 0);
	check_eq(q.db[0], 6);
}

static void skipped_doorbells_ring_nothing(void)
{
	static const uint32_t handlers[] = {PROXY, SM_DB, SM_BF, SM_NO_DBR};
	struct doca_gpu_dev_verbs_wqe wqe = {};

	for (uint32_t handler : handlers) {
		queue_init(&q, 256, handler, 0);
		check_eq(doca_gpu_dev_verbs_submit(&q.qp, 9, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING), 0);
		check_eq(doca_gpu_dev_verbs_submit_bf(&q.qp, 9, &wqe, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING), 0);
		check_eq(q.db[0], 0);
		check_eq(q.dbrec[1], 0);
		check_eq(q.qp.sq_wqe_pi, 0);
	}
}

static void blueflame_writes_the_request_then_the_doorbell(void)
{
	struct doca_gpu_dev_verbs_wqe *wqe;

	queue_init(&q, 256, SM_BF, 0);
	wqe = doca_gpu_dev_verbs_get_wqe_ptr(&q.qp, 0);
	for (int i = 0; i < 64; i++)
		wqe->inl_data[i] = (uint8_t)(i + 1);
	check_eq(doca_gpu_dev_verbs_submit_bf(&q.qp, 1, wqe), 0);
	check(!memcmp((char *)q.db + 8, wqe->inl_data + 8, 56));
	check_eq(q.db[0], doorbell(1));
	check_eq(q.dbrec[1], record(1));
	check_eq(q.qp.sq_lock, 0);
	doca_gpu_dev_verbs_ring_bf(&q.qp, wqe);
	check(!memcmp(q.db, wqe->inl_data, 64));
}

/* Words of the request with this index, as the NIC would put them together. */
static bool line_has(const uint64_t *line, const struct doca_gpu_dev_verbs_wqe *wqe, uint64_t index)
{
	uint32_t part;

	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i++) {
		memcpy(&part, wqe->inl_data + i * 4, sizeof(part));
		if ((uint32_t)line[i] != part || line[i] >> 32 != (uint32_t)(index + 1))
			return false;
	}
	return true;
}

static void a_request_is_given_whole_and_told_of_as_ever(void)
{
	static const uint32_t handlers[] = {PROXY, SM_DB, SM_BF, SM_NO_DBR};
	alignas(16) static uint64_t line[BL_GPUNETIO_EXPRESS_WORDS];
	struct doca_gpu_dev_verbs_wqe wqe;

	for (int i = 0; i < 64; i++)
		wqe.inl_data[i] = (uint8_t)(0xff - i);
	for (uint32_t handler : handlers) {
		/* the low half of the count is what words have */
		queue_init(&q, 256, handler, 0x2fffffffeULL);
		q.qp.polled = handler != PROXY && handler != SM_NO_DBR;
		q.qp.sq_express = line;
		check_eq((bl_gpu_dev_verbs_submit_express<EXCLUSIVE, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(&q.qp, 0x2ffffffffULL, &wqe)), 0);
		check(line_has(line, &wqe, 0x2fffffffeULL));
		check_eq(bl_gpu_dev_verbs_submit_express(&q.qp, 0x300000000ULL, &wqe), 0);
		check(line_has(line, &wqe, 0x2ffffffffULL));
		check_eq(q.qp.sq_wqe_pi, 0x300000000ULL);
		if (handler == PROXY)
			check_eq(q.db[0], 0x300000000ULL);
		else if (handler == SM_NO_DBR)
			check_eq(q.db[0], doorbell(0));
		else
			check_eq(q.dbrec[1], record(0));
		/* a reservation that failed, and one that is left to somebody else */
		line[0] = 1;
		check_eq(bl_gpu_dev_verbs_submit_express(&q.qp, (uint64_t)(int64_t)TIMEOUT, &wqe), -EINVAL);
		check_eq(bl_gpu_dev_verbs_submit_express(&q.qp, 0x300000001ULL, &wqe, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING),
			 0);
		check_eq(line[0], 1);
		check_eq(q.qp.sq_wqe_pi, 0x300000000ULL);
	}
}

/* As far as its segments go, in one slot or two: what the ring has. */
static void an_inline_send_is_given_as_the_ring_has_it(void)
{
	alignas(16) static uint64_t line[BL_GPUNETIO_EXPRESS_SLOTS * BL_GPUNETIO_EXPRESS_WORDS];
	static const uint32_t lengths[] = {1, 12, 13, 44, 45, 64, 108};
	constexpr uint64_t first = 0x2fffffffeULL;
	uint32_t words[BL_DEV_SEND_INLINE_MAX / 4];

	for (unsigned int i = 0; i < BL_DEV_SEND_INLINE_MAX / 4; i++)
		words[i] = 0x01020304 * (i + 1);
	for (uint32_t bytes : lengths) {
		uint32_t nr = bl_dev_send_segs(bytes) * 4;

		queue_init(&q, 256, SM_DB, first);
		q.qp.sq_express = line;
		memset(line, 0, sizeof(line));
		bl_dev_wqe_send_inline(&q.qp, first, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, words, bytes);
		bl_dev_give_send_inline(&q.qp, first, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, words, bytes);
		check_eq(bl_dev_send_slots(bytes), (nr + 15) / 16);
		for (uint32_t i = 0; i < nr; i++) {
			uint64_t index = first + i / BL_GPUNETIO_EXPRESS_WORDS;
			uint32_t part;

			memcpy(&part, doca_gpu_dev_verbs_get_wqe_ptr(&q.qp, (uint16_t)index)->inl_data + i % BL_GPUNETIO_EXPRESS_WORDS * 4,
			       sizeof(part));
			check_eq((uint32_t)line[i], part);
			check_eq(line[i] >> 32, (uint32_t)(index + 1));
		}
		/* nothing of a slot that it does not have */
		for (uint32_t i = bl_dev_send_slots(bytes) * BL_GPUNETIO_EXPRESS_WORDS; i < sizeof(line) / sizeof(line[0]); i++)
			check_eq(line[i], 0);
	}
}

static void without_a_line_a_request_is_told_of_only(void)
{
	struct doca_gpu_dev_verbs_wqe wqe = {};

	queue_init(&q, 256, PROXY, 5);
	check_eq(bl_gpu_dev_verbs_submit_express(&q.qp, 6, &wqe), 0);
	check_eq(q.db[0], 6);
}

static void a_receive_queue_has_a_record_only(void)
{
	static const uint32_t handlers[] = {PROXY, SM_DB, SM_NO_DBR};

	for (uint32_t handler : handlers) {
		queue_init(&q, 256, handler, 65535);
		check_eq((doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, AUTO, RQ>(&q.qp, 65537)), 0);
		check_eq(q.dbrec[0], record(1));
		check_eq(q.dbrec[1], 0);
		check_eq(q.db[0], 0);
		check_eq(q.qp.rq_wqe_pi, 65537);
		check_eq(q.qp.sq_wqe_pi, 65535);
	}
}

static void raw_forms_store_what_they_are_given(void)
{
	uint64_t reg = 0;
	uint32_t rec = 0;

	queue_init(&q, 256, SM_DB, 0);
	doca_gpu_dev_common_update_dbr(&rec, 5);
	check_eq(rec, record(5));
	doca_gpu_dev_common_ring_db(&reg, q.qp.sq_num_shift8_be, 6);
	check_eq(reg, doorbell(6));
	doca_gpu_dev_common_write_db(&reg, 77, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE);
	check_eq(reg, 77);
	doca_gpu_dev_verbs_update_dbr(&q.qp, 8, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE);
	check_eq(q.dbrec[1], record(8));
	doca_gpu_dev_verbs_update_dbr<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, RQ>(&q.qp, 9);
	check_eq(q.dbrec[0], record(9));
	doca_gpu_dev_verbs_ring_db(&q.qp, 10);
	check_eq(q.db[0], doorbell(10));
}

static void several_queue_pairs_at_once(void)
{
	static struct test_queue other;
	struct doca_gpu_dev_verbs_qp *qps[] = {&q.qp, &other.qp};
	uint64_t ends[] = {3, 4};

	queue_init(&q, 256, SM_DB, 0);
	queue_init(&other, 256, PROXY, 0);
	check_eq(doca_gpu_dev_verbs_submit_multi_qps<2>(qps, ends), 0);
	check_eq(q.db[0], doorbell(3));
	check_eq(other.db[0], 4);
	/* the first error counts, and the others get their turn */
	q.qp.sq_lock = 1;
	q.qp.cq_sq.timeout_ms = 1;
	ends[0] = 5;
	ends[1] = 6;
	check_eq(doca_gpu_dev_verbs_submit_multi_qps<2>(qps, ends), TIMEOUT);
	check_eq(other.db[0], 6);
}

static void a_lock_that_nobody_gives_back_ends_by_itself(void)
{
	queue_init(&q, 256, SM_DB, 0);
	q.qp.sq_lock = 1;
	q.qp.cq_sq.timeout_ms = 1;
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 1), TIMEOUT);
	q.qp.cq_sq.timeout_ms = 0;
	q.stop = 1;
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 1), STOPPED);
	check_eq(q.db[0], 0);
	check_eq(doca_gpu_dev_verbs_submit<EXCLUSIVE>(&q.qp, 1), 0);
	check_eq(q.db[0], doorbell(1));
}

/* As another thread does, some time later. */
static void *bring_nine(void *arg)
{
	const struct timespec pause = {0, 2000000};

	nanosleep(&pause, nullptr);
	__atomic_store_n((uint64_t *)arg, 9, __ATOMIC_RELAXED);
	return nullptr;
}

static void no_news_does_not_wait_for_the_lock(void)
{
	pthread_t thread;

	queue_init(&q, 256, SM_DB, 0);
	q.qp.sq_lock = 1;
	q.qp.cq_sq.timeout_ms = q.qp.cq_rq.timeout_ms = 1;
	q.qp.rq_wqe_pi = 5;
	check_eq((doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, AUTO, RQ>(&q.qp, 5)), 0);
	check_eq((doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, AUTO, RQ>(&q.qp, 6)), TIMEOUT);
	/* a higher index comes while this one waits */
	q.qp.cq_sq.timeout_ms = 20000;
	check_eq(pthread_create(&thread, nullptr, bring_nine, &q.qp.sq_wqe_pi), 0);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 5), 0);
	check_eq(pthread_join(thread, nullptr), 0);
	check_eq(q.db[0], 0);
	check_eq(q.qp.sq_lock, 1);
}

/* The later one first: nobody waits. What is submitted tells nothing more. */
static void slots_are_told_one_by_one_in_free_flow(void)
{
	queue_init(&q, 16, FREE_FLOW, 65530);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready(&q.qp, 65532, 65537), 0);
	for (uint64_t i = 65530; i < 65530 + 16; i++)
		check_eq(q.slots[i % 16], i >= 65532 && i <= 65537 ? i + 1 : 0);
	check_eq(doca_gpu_dev_verbs_submit(&q.qp, 65538), 0);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready<EXCLUSIVE>(&q.qp, 65530, 65531), 0);
	check_eq(doca_gpu_dev_verbs_submit<EXCLUSIVE>(&q.qp, 65532), 0);
	check_eq(q.slots[65530 % 16], 65531);
	check_eq(q.slots[65531 % 16], 65532);
	check_eq(q.qp.sq_wqe_pi, 65538);
	check_eq(q.qp.sq_ready_index, 65530);
	check_eq(q.db[0], 0);
	check_eq(q.dbrec[1], 0);
	/* receives go as ever */
	check_eq((doca_gpu_dev_verbs_mark_wqes_ready<GPU, RQ>(&q.qp, 65530, 65530)), 0);
	check_eq(q.qp.rq_ready_index, 65531);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready(&q.qp, (uint64_t)(int64_t)TIMEOUT, 0), -EINVAL);
}

static const struct tap_test tests[] = {
	{"values have sixteen bits of the index", values_have_sixteen_bits_of_the_index},
	{"a doorbell by the GPU writes record and register", gpu_doorbell_writes_record_and_register},
	{"an index that is no news rings nothing", an_index_that_is_no_news_rings_nothing},
	{"no record is written where the NIC reads none", no_record_where_the_nic_reads_none},
	{"a proxy gets the whole count, and the producer index is kept", a_proxy_gets_the_whole_count},
	{"slots are told one by one in free flow, in any order", slots_are_told_one_by_one_in_free_flow},
	{"an explicit handler is honoured", an_explicit_handler_is_honoured},
	{"skipped doorbells ring nothing", skipped_doorbells_ring_nothing},
	{"BlueFlame writes the request, then the doorbell", blueflame_writes_the_request_then_the_doorbell},
	{"a request is given whole, and told of as ever", a_request_is_given_whole_and_told_of_as_ever},
	{"an inline send is given as the ring has it", an_inline_send_is_given_as_the_ring_has_it},
	{"without a line a request is told of only", without_a_line_a_request_is_told_of_only},
	{"a receive queue has a record only", a_receive_queue_has_a_record_only},
	{"raw forms store what they are given", raw_forms_store_what_they_are_given},
	{"several queue pairs at once", several_queue_pairs_at_once},
	{"what is no news does not wait for the lock", no_news_does_not_wait_for_the_lock},
	{"a lock that nobody gives back ends by itself", a_lock_that_nobody_gives_back_ends_by_itself},
};

TAP_MAIN(tests)
