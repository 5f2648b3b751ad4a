// SPDX-License-Identifier: MIT
/* Completions: every kind, wrapped indices, and all the ways in which a wait ends. */
#include <initializer_list>

#include "queue.h"

#define OK_REQ	 DOCA_GPUNETIO_IB_MLX5_CQE_REQ
#define REQ_ERR	 DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR
#define RESP_ERR DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR
#define FLUSHED	 0x05

static struct test_queue q;

static uint32_t error_word(uint8_t syndrome, uint8_t vendor)
{
	return DOCA_GPUNETIO_VERBS_ERROR_SET | (uint32_t)vendor << 8 | syndrome;
}

static void nothing_is_there_at_first(void)
{
	queue_init(&q, 8, SM_DB, 0);
	for (uint64_t i = 0; i < 20; i++)
		check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i), EBUSY);
	check_eq(q.qp.cq_sq.cqe_ci, 0);
}

static void a_completion_stands_for_those_before_it(void)
{
	queue_init(&q, 8, SM_DB, 0);
	for (uint16_t i = 0; i < 3; i++)
		queue_complete(&q, 0, i, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, 3), EBUSY);
	check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, 2), 0);
	check_eq(q.qp.cq_sq.cqe_ci, 3);
	/* known without looking */
	memset(q.cqe[0], 0xff, sizeof(q.cqe[0]));
	check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, 0), 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp, 1), 0);
	check_eq(doca_gpu_dev_verbs_poll_cq(&q.qp.cq_sq, 0), 0);
}

static void opcodes_that_are_no_error(void)
{
	static const uint8_t good[] = {0, 1, 2, 3, 4, 6};
	static const uint8_t bad[] = {5, 7, 8, 9, 10, 11, 12, 13, 14};

	for (uint8_t opcode : good) {
		queue_init(&q, 8, SM_DB, 0);
		queue_complete(&q, 1, 0, opcode, 0, 0);
		check_eq((doca_gpu_dev_verbs_poll_one_cq_at<GPU, RQ>(&q.qp, 0)), 0);
		check_eq(q.qp.cq_rq.error, 0);
	}
	for (uint8_t opcode : bad) {
		queue_init(&q, 8, SM_DB, 0);
		queue_complete(&q, 1, 9, opcode, 0x13, 0x88);
		check_eq((doca_gpu_dev_verbs_poll_one_cq_at<GPU, RQ>(&q.qp, 0)), FAILED);
		check_eq(q.qp.cq_rq.error, error_word(0x13, 0x88));
		check_eq(q.qp.cq_rq.error_wqe, DOCA_GPUNETIO_VERBS_ERROR_SET | 9);
		/* it stays where it is */
		check_eq(q.qp.cq_rq.cqe_ci, 0);
		check_eq((doca_gpu_dev_verbs_poll_one_cq_at<GPU, RQ>(&q.qp, 0)), FAILED);
	}
	/* never written, whatever its owner bit says */
	queue_init(&q, 8, SM_DB, 0);
	queue_complete(&q, 0, 0, DOCA_GPUNETIO_IB_MLX5_CQE_INVALID, 0, 0);
	check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, 0), EBUSY);
}

static void the_owner_bit_changes_with_each_round(void)
{
	static const uint64_t starts[] = {0, 5, 65530, 0xfffffc, 0xfffffffcULL, 0x7ffffffffffffff0ULL};

	for (uint64_t start : starts) {
		queue_init(&q, 8, SM_DB, start);
		for (uint64_t i = start; i < start + 40; i++) {
			check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i), EBUSY);
			queue_complete(&q, 0, (uint16_t)i, OK_REQ, 0, 0);
			check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i + 1), EBUSY);
			check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i + 8), EBUSY);
			check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i), 0);
		}
	}
}

static void a_reset_keeps_the_phase(void)
{
	queue_init(&q, 8, SM_DB, 0);
	q.qp.cq_sq.cqe_rsvd = 13;
	for (uint64_t i = 0; i < 20; i++) {
		check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i), EBUSY);
		queue_complete(&q, 0, (uint16_t)i, OK_REQ, 0, 0);
		check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, i), 0);
	}
}

static void the_first_cause_stays(void)
{
	queue_init(&q, 8, SM_DB, 0);
	queue_complete(&q, 0, 0, OK_REQ, 0, 0);
	queue_complete(&q, 0, 1, REQ_ERR, FLUSHED, 0xf9);
	queue_complete(&q, 0, 2, REQ_ERR, 0x13, 0x88);
	queue_complete(&q, 0, 3, RESP_ERR, 0x11, 0x77);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 1), FAILED);
	/* what was only flushed says nothing of the cause */
	check_eq(q.qp.cq_sq.error, 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 2), FAILED);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 3), FAILED);
	check_eq(q.qp.cq_sq.error, error_word(0x13, 0x88));
	check_eq(q.qp.cq_sq.error_wqe, DOCA_GPUNETIO_VERBS_ERROR_SET | 2);
	/* without time-out and stop flag: the error ends what never comes, and spoils nothing that came before */
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 6), FAILED);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 6), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 0), 0);
	check_eq((doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, 14)), FAILED);
}

static void waits_end_with_the_deadline(void)
{
	uint64_t before = doca_gpu_dev_verbs_query_globaltimer(), end;

	queue_init(&q, 8, SM_DB, 0);
	end = ms_from_now(3);
	check_eq(doca_gpu_dev_verbs_poll_cq_at_until(&q.qp.cq_sq, 0, end), TIMEOUT);
	check(doca_gpu_dev_verbs_query_globaltimer() >= end);
	check_eq(doca_gpu_dev_verbs_poll_cq_until(&q.qp.cq_sq, 2, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_wait_until(&q.qp, 0, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_slot_available_until(&q.qp, 8, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at_until(&q.qp, 0, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_recv_wait_until(&q.qp, 0, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready_until(&q.qp, 3, 3, ms_from_now(1)), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_get_wait_until(&q.qp, {0, 0}, 0, ms_from_now(1)), TIMEOUT);
	/* over already, and done already: done */
	queue_complete(&q, 0, 0, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_at_until(&q.qp.cq_sq, 0, before), 0);
}

static void plain_waits_end_with_the_time_out(void)
{
	queue_init(&q, 8, SM_DB, 0);
	q.qp.cq_sq.timeout_ms = q.qp.cq_rq.timeout_ms = 1;
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_poll_cq(&q.qp.cq_sq, 1), TIMEOUT);
	check_eq(doca_priv_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 0), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, 8), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 0), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp, 0), TIMEOUT);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready(&q.qp, 3, 3), TIMEOUT);
	/* a queue that is part of none has a time-out too */
	q.qp.cq_sq.qp_distance = 0;
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), TIMEOUT);
}

static void waits_end_with_either_stop_flag(void)
{
	uint32_t own = 1;

	queue_init(&q, 8, SM_DB, 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_at_until(&q.qp.cq_sq, 0, UINT64_MAX, &own), STOPPED);
	check_eq(doca_gpu_dev_verbs_wait_until(&q.qp, 0, UINT64_MAX, &own), STOPPED);
	q.stop = 1;
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), STOPPED);
	check_eq(doca_gpu_dev_verbs_poll_cq_at_until(&q.qp.cq_sq, 0, UINT64_MAX), STOPPED);
	/* also where its time is over */
	check_eq(doca_gpu_dev_verbs_poll_cq_at_until(&q.qp.cq_sq, 0, 0), STOPPED);
	check_eq((doca_gpu_dev_verbs_poll_cq_at<GPU, RQ>(&q.qp.cq_rq, 0)), STOPPED);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 0), STOPPED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 0), STOPPED);
	check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp, 0), STOPPED);
	check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, 8), STOPPED);
	check_eq(doca_gpu_dev_verbs_mark_wqes_ready(&q.qp, 3, 3), STOPPED);
	/* what is done is done */
	queue_complete(&q, 0, 0, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), 0);
}

static void a_ticket_of_nothing_says_why(void)
{
	static const int reasons[] = {FAILED, TIMEOUT, STOPPED, -EINVAL};

	queue_init(&q, 8, SM_DB, 0);
	for (int reason : reasons) {
		uint64_t ticket = (uint64_t)(int64_t)reason;

		check_eq(doca_gpu_dev_verbs_wait(&q.qp, ticket), reason);
		check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, ticket), reason);
		check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, ticket), reason);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, ticket), reason);
		check_eq(doca_gpu_dev_verbs_recv_wait(&q.qp, ticket), reason);
		check_eq((doca_gpu_dev_verbs_get_wait<GPU, AUTO, DOCA_GPUNETIO_VERBS_MCST_ENABLED>(&q.qp, {0, 0}, ticket)), reason);
	}
	check_eq(q.qp.sq_rsvd_index, 0);
}

/* WQEs 0..19, of which every fifth makes a CQE: 4, 9, 14, 19. */
static void a_later_completion_frees_what_made_none(void)
{
	for (uint64_t start : {0ULL, 65533ULL}) {
		queue_init(&q, 16, SM_DB, start);
		/* CQEs are counted from where the queue stands, WQEs may be further */
		q.qp.sq_rsvd_index = start + 20;
		q.qp.cq_sq.timeout_ms = 5;
		queue_complete(&q, 0, (uint16_t)(start + 4), OK_REQ, 0, 0);
		for (uint64_t i = 0; i < 5; i++)
			check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + i), 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 5), TIMEOUT);
		check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, start + 16 + 4), 0);
		check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, start + 16 + 5), TIMEOUT);
		queue_complete(&q, 0, (uint16_t)(start + 9), OK_REQ, 0, 0);
		queue_complete(&q, 0, (uint16_t)(start + 14), OK_REQ, 0, 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 13), 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 15), TIMEOUT);
		queue_complete(&q, 0, (uint16_t)(start + 17), REQ_ERR, 0x15, 0x81);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 16), 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 17), FAILED);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 19), FAILED);
		check_eq(q.qp.cq_sq.error, error_word(0x15, 0x81));
	}
}

/* WQE 1 fails, the first that makes a CQE; the number of that of the next one, which is only flushed, is 1 as well. */
static void what_follows_a_failure_does_not_make_it_good(void)
{
	queue_init(&q, 8, SM_DB, 0);
	queue_complete(&q, 0, 1, REQ_ERR, 0x13, 0x88);
	queue_complete(&q, 0, 2, REQ_ERR, FLUSHED, 0xf9);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 0), 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 1), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 2), FAILED);
	check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, 8 + 1), FAILED);
	check_eq(q.qp.cq_sq.error, error_word(0x13, 0x88));
	/* behind one that went well: 1 and 3 make CQEs, and 4, by which 2 is not known to be bad */
	queue_init(&q, 8, SM_DB, 0);
	queue_complete(&q, 0, 1, OK_REQ, 0, 0);
	queue_complete(&q, 0, 3, REQ_ERR, 0x13, 0x88);
	queue_complete(&q, 0, 4, REQ_ERR, FLUSHED, 0xf9);
	queue_complete(&q, 0, 5, REQ_ERR, FLUSHED, 0xf9);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 3), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 2), 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 4), FAILED);
}

/* The cause was written over: all that is known is that something before has failed. */
static void a_collapsed_queue_does_not_make_a_failure_good(void)
{
	queue_init(&q, 16, PROXY, 0);
	q.qp.cq_sq.cq_type = DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED;
	queue_collapse(&q, 9, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 8), 0);
	queue_collapse(&q, 14, REQ_ERR, FLUSHED, 0xf9);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 9), 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 11), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 13), FAILED);
	check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, 16 + 12), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 15), FAILED);
}

static void single_completions_then_none_for_a_while(void)
{
	queue_init(&q, 16, SM_DB, 0);
	q.qp.cq_sq.timeout_ms = 50;
	queue_complete(&q, 0, 0, OK_REQ, 0, 0);
	queue_complete(&q, 0, 1, OK_REQ, 0, 0);
	queue_complete(&q, 0, 7, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 6), 0);
	check_eq(q.qp.cq_sq.cqe_ci, 3);
	/* somebody else polled the CQE by its number: its WQE is still known */
	queue_complete(&q, 0, 12, OK_REQ, 0, 0);
	check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, 3), 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 11), 0);
	check_eq(doca_gpu_dev_verbs_wait_until(&q.qp, 13, ms_from_now(2)), TIMEOUT);
}

static void a_collapsed_queue_says_how_far_it_is(void)
{
	static const uint64_t starts[] = {0, 65530, 0xfffffff0ULL};

	for (uint64_t start : starts) {
		queue_init(&q, 16, PROXY, start);
		q.qp.cq_sq.cq_type = DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED;
		q.qp.cq_sq.timeout_ms = 1;
		/* nobody raises the producer index here */
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start), TIMEOUT);
		queue_collapse(&q, (uint16_t)(start + 3), OK_REQ, 0, 0);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start + 4), TIMEOUT);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start + 1), 0);
		check_eq(q.qp.cq_sq.cqe_ci, start + 4);
		queue_collapse(&q, (uint16_t)(start + 9), OK_REQ, 0, 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 9), 0);
		check_eq(doca_gpu_dev_verbs_wait(&q.qp, start + 10), TIMEOUT);
		check_eq(doca_gpu_dev_verbs_wait_until_slot_available(&q.qp, start + 16 + 9), 0);
		check_eq(doca_gpu_dev_verbs_poll_one_cq_at(&q.qp.cq_sq, start + 10), EBUSY);
		queue_collapse(&q, (uint16_t)(start + 11), REQ_ERR, 0x13, 0x88);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start + 10), 0);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start + 11), FAILED);
		check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, start + 12), FAILED);
		check_eq(q.qp.cq_sq.error, error_word(0x13, 0x88));
	}
}

static void the_kind_need_not_be_set_to_poll_collapsed(void)
{
	uint64_t ci = 0;

	queue_init(&q, 16, SM_DB, 0);
	queue_collapse(&q, 5, OK_REQ, 0, 0);
	check_eq(doca_priv_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, &q.qp.cq_sq, 4, &ci), 0);
	check_eq(ci, 6);
	check_eq(q.qp.cq_sq.cqe_ci, 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 4), 0);
	check_eq(q.qp.cq_sq.cqe_ci, 6);
}

static void a_cpu_may_keep_the_count(void)
{
	queue_init(&q, 16, PROXY, 0);
	q.qp.cq_sq.cq_type = DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST;
	q.qp.cq_sq.timeout_ms = 1;
	q.qp.cq_sq.cqe_daddr = nullptr;
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 0), TIMEOUT);
	q.qp.cq_sq.cqe_ci = 5;
	check_eq(doca_gpu_dev_verbs_poll_cq_at(&q.qp.cq_sq, 4), 0);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 4), 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 5), TIMEOUT);
	q.qp.cq_sq.timeout_ms = 0;
	q.qp.cq_sq.error = error_word(0x13, 0);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 5), FAILED);
	check_eq(doca_gpu_dev_verbs_poll_cq_collapsed_at(&q.qp, 5), FAILED);
	check_eq(doca_gpu_dev_verbs_wait(&q.qp, 4), 0);
}

static void what_a_completion_says_of_a_message(void)
{
	struct doca_gpunetio_ib_mlx5_cqe64 *cqe;

	queue_init(&q, 8, SM_DB, 0);
	cqe = doca_gpu_dev_verbs_cq_get_cqe_ptr(doca_gpu_dev_verbs_qp_get_cq_rq(&q.qp), 11);
	check((uint8_t *)cqe == q.cqe[1] + 3 * 64);
	cqe->byte_cnt = __builtin_bswap32(20);
	cqe->imm_inval_pkey = 0x44332211;
	cqe->op_own = 0x20;
	check_eq(doca_gpu_dev_verbs_cqe_get_bytes(cqe), 20);
	check_eq(doca_gpu_dev_verbs_cqe_get_imm(cqe), 0x44332211);
	check(!doca_gpu_dev_verbs_cqe_is_inline(cqe));
	check(!doca_gpu_dev_verbs_cqe_get_inl_data(cqe));
	cqe->op_own = 0x24;
	check(doca_gpu_dev_verbs_cqe_is_inline(cqe));
	check(doca_gpu_dev_verbs_cqe_get_inl_data(cqe) == cqe->inl_data);
	/* 64 bytes lie in front of the CQE, where this kind has none */
	cqe->op_own = 0x28;
	check(doca_gpu_dev_verbs_cqe_is_inline(cqe));
	check(!doca_gpu_dev_verbs_cqe_get_inl_data(cqe));
}

static void the_consumer_index_is_told_where_it_counts(void)
{
	queue_init(&q, 8, SM_DB, 0xfffffe);
	check_eq(doca_gpu_dev_verbs_cq_update_dbrec<true>(&q.qp.cq_sq, 1), 0xffffff);
	check_eq(q.cq_dbrec[0], 0);
	check_eq(doca_gpu_dev_verbs_cq_update_dbrec<false>(&q.qp.cq_sq, 3), 2);
	check_eq(q.cq_dbrec[0], __builtin_bswap32(2));
	check_eq(q.qp.cq_sq.cqe_ci, 0x1000002);
}

static const struct tap_test tests[] = {
	{"nothing is there at first", nothing_is_there_at_first},
	{"a completion stands for those before it", a_completion_stands_for_those_before_it},
	{"opcodes that are no error, and those that are", opcodes_that_are_no_error},
	{"the owner bit changes with each round, wherever it begins", the_owner_bit_changes_with_each_round},
	{"a reset keeps the phase", a_reset_keeps_the_phase},
	{"the first cause stays, and ends every wait", the_first_cause_stays},
	{"waits end with the deadline", waits_end_with_the_deadline},
	{"plain waits end with the queue's time-out", plain_waits_end_with_the_time_out},
	{"waits end with either stop flag", waits_end_with_either_stop_flag},
	{"a ticket of nothing says why", a_ticket_of_nothing_says_why},
	{"a later completion frees what made none", a_later_completion_frees_what_made_none},
	{"what follows a failure does not make it good", what_follows_a_failure_does_not_make_it_good},
	{"a collapsed queue does not make a failure good", a_collapsed_queue_does_not_make_a_failure_good},
	{"single completions, then none for a while", single_completions_then_none_for_a_while},
	{"a collapsed queue says how far it is", a_collapsed_queue_says_how_far_it_is},
	{"the kind need not be set to poll a collapsed queue", the_kind_need_not_be_set_to_poll_collapsed},
	{"a CPU may keep the count", a_cpu_may_keep_the_count},
	{"what a completion says of a message", what_a_completion_says_of_a_message},
	{"the consumer index is told where it counts", the_consumer_index_is_told_where_it_counts},
};

TAP_MAIN(tests)
