// SPDX-License-Identifier: MIT
/* Order and numbers: wraps, fences, WAIT, which requests make CQEs, flushing. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define SECOND (1000 * WORLD_MS)

static void sequence_numbers_wrap(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_psn = 0xfffffd});

	fill(w->a.mem, 10000, 1);
	fill(w->b.mem + 20000, 10000, 2);
	for (unsigned int i = 0; i < 3; i++) {
		post_write(&w->a, &w->b, 0, 0, 10000);
		post_read(&w->a, &w->b, 20000, 20000, 10000);
		post_add(&w->a, &w->b, 40000, 40000, 1);
	}
	world_run(w);
	for (uint16_t i = 0; i < 9; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->b.mem, 10000, 1));
	check(is_filled(w->a.mem + 20000, 10000, 2));
	check_eq(world_query(&w->a).next_psn, (0xfffffd + 3 * 21) & 0xffffff);
	check_eq(world_query(&w->b).expected_psn, world_query(&w->a).next_psn);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
	world_end(w);
}

/* More requests than 16 bits count, in a ring of 8, with a CQ of 4 whose owner bit changes all the time. */
static void indices_and_owner_bits_wrap(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_nr = 8, .rq_nr = 4, .cq_nr = 4});
	uint64_t value;

	for (uint64_t i = 0; i < 66000; i++) {
		if (i % 100) {
			post_nop(&w->a, WORLD_SIGNAL);
		} else {
			post_recv(&w->b, 8, 8);
			memcpy(w->a.mem, &i, sizeof(i));
			post_send(&w->a, 0, 8);
		}
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)i);
		if (i % 100)
			continue;
		world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, (uint16_t)(i / 100));
		memcpy(&value, w->b.mem + 8, sizeof(value));
		check_eq(value, i);
	}
	check_eq(world_query(&w->a).sq_ci, 66000);
	world_end(w);
}

static void a_ring_as_large_as_there_is_can_be_full(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_nr = 32768, .cq_nr = 32768});

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 32768; i++) {
			struct world_wqe wqe;

			wqe_begin(&wqe, &w->a, 0, BL_WQE_NOP, WORLD_SIGNAL, 0);
			wqe_put(&wqe, &w->a);
		}
		side_ring(&w->a);
		world_run(w);
		for (unsigned int i = 0; i < 32768; i++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)(round * 32768 + i));
	}
	world_end(w);
}

static void only_signalled_requests_make_completions(void)
{
	struct world *w = world_begin(NULL);

	post_nop(&w->a, 0);
	post_nop(&w->a, 0x04);
	post_nop(&w->a, 0x08);
	post_nop(&w->a, 0);
	post_nop(&w->a, 0x0c);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 2);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 4);
	world_expect_none(&w->a.send);
	check_eq(world_query(&w->a).sq_ci, 5);
	world_end(w);
}

static void a_queue_may_signal_everything(void)
{
	struct world *w = world_begin(&(struct world_options){.sig_all = true});

	post_nop(&w->a, 0);
	post_nop(&w->a, 0x04);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_end(w);
}

/* What was not signalled is told when it fails: always, or when nothing failed before. */
static void errors_are_told_as_asked(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, 0x04, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key + 1);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	wqe_post(&wqe, &w->a);
	post_nop(&w->a, 0x04);
	post_nop(&w->a, 0);
	post_nop(&w->a, 0x08);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 2);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 3);
	world_expect_none(&w->a.send);
	world_end(w);
}

static enum world_fate lose_answers(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == BL_PKT_READ_ONLY ? WORLD_DROP : WORLD_PASS;
}

static void post_flagged_write(struct world *w, size_t to, uint8_t flags)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, flags, 0);
	wqe_raddr(&wqe, w->b.iova + to, w->b.key);
	wqe_data(&wqe, w->a.iova + 100, w->a.key, 1);
	wqe_post(&wqe, &w->a);
}

/* A read without answer: what follows goes out, but for what has a fence. */
static void a_fence_waits_for_reads(void)
{
	for (unsigned int mode = 2; mode <= 4; mode++) {
		struct world *w = world_begin(NULL);

		w->a.mem[100] = 0x77;
		world_fate = lose_answers;
		post_read(&w->a, &w->b, 0, 0, 10);
		post_flagged_write(w, 1000, WORLD_SIGNAL);
		post_flagged_write(w, 1001, (uint8_t)(WORLD_SIGNAL | mode << 5));
		post_flagged_write(w, 1002, WORLD_SIGNAL);
		world_run(w);
		check_eq(w->b.mem[1000], 0x77);
		check_eq(w->b.mem[1001], 0);
		check_eq(w->b.mem[1002], 0);
		world_expect_none(&w->a.send);
		world_fate = NULL;
		world_wait(w, SECOND);
		check_eq(w->b.mem[1001], 0x77);
		check_eq(w->b.mem[1002], 0x77);
		for (uint16_t i = 0; i < 4; i++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		world_end(w);
	}
}

static enum world_fate lose_acks(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == BL_PKT_ACK ? WORLD_DROP : WORLD_PASS;
}

static void only_the_strong_fence_waits_for_writes(void)
{
	struct world *w = world_begin(NULL);

	w->a.mem[100] = 0x77;
	world_fate = lose_acks;
	post_flagged_write(w, 1000, WORLD_SIGNAL);
	post_flagged_write(w, 1001, WORLD_SIGNAL | 2 << 5);
	post_flagged_write(w, 1002, WORLD_SIGNAL | 3 << 5);
	world_run(w);
	check_eq(w->b.mem[1001], 0x77);
	check_eq(w->b.mem[1002], 0);
	world_fate = NULL;
	world_wait(w, SECOND);
	check_eq(w->b.mem[1002], 0x77);
	world_end(w);
}

static enum world_fate lose_all(const struct bl_packet *packet, unsigned int nr)
{
	return WORLD_DROP;
}

/* Blocks that are used again too early: what was taken is sent again as it was, the rest when there is room. */
static void requests_are_copied_when_they_are_taken(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_nr = 4});

	fill(w->a.mem, 400, 1);
	world_fate = lose_all;
	for (size_t i = 0; i < 4; i++)
		post_write(&w->a, &w->b, i * 100, i * 100, 100);
	world_run(w);
	for (unsigned int i = 0; i < 4; i++)
		post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect_none(&w->a.send);
	world_fate = NULL;
	world_wait(w, SECOND);
	for (uint16_t i = 0; i < 8; i++)
		check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, i).send_opcode, i < 4 ? BL_WQE_WRITE : BL_WQE_NOP);
	check(is_filled(w->b.mem, 400, 1));
	world_end(w);
}

static void packets_under_way_are_bounded(void)
{
	struct world *w = world_begin(&(struct world_options){.mtu = 256, .bytes = 1U << 20});

	world_fate = lose_acks;
	post_write(&w->a, &w->b, 0, 0, 1U << 20);
	world_run(w);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), 1024);
	world_fate = NULL;
	world_wait(w, 2 * SECOND);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

static void reads_under_way_are_bounded(void)
{
	struct world *w = world_begin(&(struct world_options){.max_rd = 2});
	uint64_t before;

	world_fate = lose_answers;
	before = world_counter(&w->a, BL_SNIC_TX_PACKETS);
	for (unsigned int i = 0; i < 5; i++)
		post_read(&w->a, &w->b, 0, 0, 10);
	world_run(w);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS) - before, 2);
	world_fate = NULL;
	world_wait(w, 2 * SECOND);
	for (uint16_t i = 0; i < 5; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	world_end(w);
}

static void post_wait(struct world *w, uint32_t index, uint32_t cqn)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->b, 0, BL_WQE_WAIT, WORLD_SIGNAL, 0);
	wqe_seg32(&wqe, 0, 0, index, cqn);
	wqe_post(&wqe, &w->b);
}

/* The queue pair of b waits for completions of its receive queue. */
static void a_wait_holds_what_follows(void)
{
	struct world *w = world_begin(NULL);

	for (unsigned int i = 0; i < 3; i++)
		post_recv(&w->b, 0, 10);
	post_wait(w, 1, bl_snic_cq_num(w->b.recv.cq));
	post_nop(&w->b, WORLD_SIGNAL);
	post_send(&w->a, 0, 1);
	world_run(w);
	world_expect_none(&w->b.send);
	post_send(&w->a, 0, 1);
	world_run(w);
	world_expect(&w->b.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->b.send, BL_CQE_REQ, 0, 1);
	/* what has been written is not waited for */
	post_wait(w, 0, bl_snic_cq_num(w->b.recv.cq));
	world_run(w);
	world_expect(&w->b.send, BL_CQE_REQ, 0, 2);
	world_end(w);
}

static void a_wait_for_no_queue_fails(void)
{
	struct world *w = world_begin(NULL);

	post_wait(w, 0, 0xabcdef);
	world_run(w);
	world_expect(&w->b.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(world_query(&w->b).error.text, "number to wait for");
	world_end(w);
}

static void a_wait_ends_with_its_queue_pair(void)
{
	struct world *w = world_begin(NULL);

	post_wait(w, 5, bl_snic_cq_num(w->b.recv.cq));
	world_run(w);
	world_expect_none(&w->b.send);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	world_expect(&w->b.send, BL_CQE_REQ_ERR, 0x05, 0);
	world_end(w);
}

static void a_dump_reads_and_moves_nothing(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_DUMP, WORLD_SIGNAL, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 1);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), 0);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_DUMP, WORLD_SIGNAL, 0);
	wqe_data(&wqe, w->a.iova + w->a.bytes, w->a.key, 1);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 1);
	world_end(w);
}

static void a_full_completion_queue_is_an_error(void)
{
	struct world *w = world_begin(&(struct world_options){.cq_nr = 4, .checked_cq = true});
	struct world_cqe cqe;
	int nr = 0;

	for (unsigned int i = 0; i < 4; i++)
		post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	check_eq(w->a.nr_events, 0);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	check_has(world_query(&w->a).error.text, "full");
	/* both are told of, once, although the flushed one finds no room either */
	check_eq(w->a.nr_events, 2);
	check_eq(w->a.events[0].type, BL_SNIC_CQ_ERR);
	check_eq(w->a.events[0].num, bl_snic_cq_num(w->a.send.cq));
	check_eq(w->a.events[1].type, BL_SNIC_QP_FATAL);
	check_eq(w->a.events[1].num, bl_snic_qp_num(w->a.qp));
	check(world_counter(&w->a, BL_SNIC_CQ_OVERRUN) >= 1);
	while (world_poll(&w->a.send, &cqe))
		nr++;
	check_eq(nr, 4);
	world_end(w);
}

static void a_collapsed_queue_has_one_entry(void)
{
	struct world *w = world_begin(&(struct world_options){.cq_nr = 4, .collapsed = true});

	for (unsigned int i = 0; i < 7; i++)
		post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(w->a.send.ring[60], 0);
	check_eq(w->a.send.ring[61], 6);
	check_eq(w->a.send.ring[63], 1);
	check_eq(w->a.send.ring[64 + 63], 0xf1);
	world_end(w);
}

static void flushing_goes_on_as_long_as_there_are_doorbells(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_info info;

	post_recv(&w->a, 0, 10);
	post_recv(&w->a, 0, 10);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	world_expect(&w->a.recv, BL_CQE_RESP_ERR, 0x05, 0);
	world_expect(&w->a.recv, BL_CQE_RESP_ERR, 0x05, 1);
	post_nop(&w->a, WORLD_SIGNAL);
	post_write(&w->a, &w->b, 0, 0, 10);
	post_recv(&w->a, 0, 10);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 1);
	world_expect(&w->a.recv, BL_CQE_RESP_ERR, 0x05, 2);
	info = world_query(&w->a);
	check_eq(info.error.syndrome, 0x05);
	check_has(info.error.text, "by its user");
	check_eq(info.sq_ci, 2);
	check_eq(info.rq_ci, 3);
	world_end(w);
}

/* What was posted is forgotten; both ends start again. The completion queues go on where they are. */
static void a_reset_pair_works_again(void)
{
	struct world *w = world_begin(NULL);

	for (unsigned int round = 0; round < 3; round++) {
		struct world_side *sides[2] = {&w->a, &w->b};

		fill(w->a.mem, 5000, round);
		post_write(&w->a, &w->b, 0, 0, 5000);
		post_recv(&w->b, 6000, 10);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		check(is_filled(w->b.mem, 5000, round));
		for (unsigned int i = 0; i < 2; i++) {
			check_eq(bl_snic_qp_modify(sides[i]->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
			sides[i]->pi = sides[i]->rpi = 0;
			sides[i]->dbrec[0] = sides[i]->dbrec[1] = 0;
		}
		world_run(w);
		world_expect_none(&w->b.recv);
		world_connect(w);
	}
	world_end(w);
}

static const struct tap_test tests[] = {
	{"sequence_numbers_wrap", sequence_numbers_wrap},
	{"indices_and_owner_bits_wrap", indices_and_owner_bits_wrap},
	{"a_ring_as_large_as_there_is_can_be_full", a_ring_as_large_as_there_is_can_be_full},
	{"only_signalled_requests_make_completions", only_signalled_requests_make_completions},
	{"a_queue_may_signal_everything", a_queue_may_signal_everything},
	{"errors_are_told_as_asked", errors_are_told_as_asked},
	{"a_fence_waits_for_reads", a_fence_waits_for_reads},
	{"only_the_strong_fence_waits_for_writes", only_the_strong_fence_waits_for_writes},
	{"requests_are_copied_when_they_are_taken", requests_are_copied_when_they_are_taken},
	{"packets_under_way_are_bounded", packets_under_way_are_bounded},
	{"reads_under_way_are_bounded", reads_under_way_are_bounded},
	{"a_wait_holds_what_follows", a_wait_holds_what_follows},
	{"a_wait_for_no_queue_fails", a_wait_for_no_queue_fails},
	{"a_wait_ends_with_its_queue_pair", a_wait_ends_with_its_queue_pair},
	{"a_dump_reads_and_moves_nothing", a_dump_reads_and_moves_nothing},
	{"a_full_completion_queue_is_an_error", a_full_completion_queue_is_an_error},
	{"a_collapsed_queue_has_one_entry", a_collapsed_queue_has_one_entry},
	{"flushing_goes_on_as_long_as_there_are_doorbells", flushing_goes_on_as_long_as_there_are_doorbells},
	{"a_reset_pair_works_again", a_reset_pair_works_again},
};

TAP_MAIN(tests)
