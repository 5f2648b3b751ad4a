// SPDX-License-Identifier: MIT
/* Shared receive queues: who gets which list, what is told, and what becomes of lists that were begun. */
#include <endian.h>

#include "mover.h"
#include "shared.h"
#include "softnic/cq.h"
#include "softnic/packet.h"
#include "softnic/wqe.h"
#include "tap.h"

static const enum bl_snic_srq_type types[] = {BL_SNIC_SRQ_LINKED, BL_SNIC_SRQ_CYCLIC};

static void lists_go_to_messages_in_the_order_of_these(void)
{
	for (int t = 0; t < 2; t++) {
		struct shared *s = shared_begin(NULL, &(struct shared_options){.type = types[t], .qps = 3});

		for (unsigned int i = 0; i < 6; i++) {
			check_eq(shared_post_one(s, i * 1000, 1000), i);
			fill(s->tx[0].mem + i * 1000UL, 100 + i, i);
		}
		for (unsigned int i = 0; i < 6; i++) {
			post_send(&s->tx[i * 2 % 3], i * 1000UL, 100 + i);
			world_run(s->w);
			check_eq(shared_expect(s, i * 2 % 3, BL_CQE_RESP_SEND, 0, (uint16_t)i).len, 100 + i);
			check(is_filled(s->rx[0].mem + i * 1000UL, 100 + i, i));
			world_expect(&s->tx[i * 2 % 3].send, BL_CQE_REQ, 0, (uint16_t)(i / 3));
		}
		check_eq(shared_query(s).posted, 6);
		check_eq(shared_query(s).taken, 6);
		check_eq(shared_query(s).done, 6);
		check_eq(world_counter(&s->w->b, BL_SNIC_SRQ_TAKEN), 6);
		check_eq(world_query(&s->rx[0]).rq_ci, 2);
		shared_end(s);
	}
}

/* All packets of the first sender but the first one are lost, as long as this is so. */
static uint32_t stalled;

static enum world_fate stall(const struct bl_packet *packet, unsigned int nr)
{
	return packet->dest_qpn == stalled && packet->opcode != BL_PKT_SEND_FIRST ? WORLD_DROP : WORLD_PASS;
}

static struct shared *stall_one(enum bl_snic_srq_type type, bool uc)
{
	struct shared *s = shared_begin(&(struct world_options){.uc = uc}, &(struct shared_options){.type = type});

	stalled = bl_snic_qp_num(s->rx[0].qp);
	world_fate = stall;
	fill(s->tx[0].mem, 3000, 1);
	fill(s->tx[0].mem + 4000, 500, 2);
	shared_post_one(s, 0, 3000);
	shared_post_one(s, 4000, 3000);
	post_send(&s->tx[0], 0, 3000);
	world_run(s->w);
	return s;
}

static void a_long_message_has_its_list_while_others_complete(void)
{
	for (int t = 0; t < 2; t++) {
		struct shared *s = stall_one(types[t], false);

		post_send(&s->tx[1], 4000, 500);
		world_run(s->w);
		shared_expect(s, 1, BL_CQE_RESP_SEND, 0, 1);
		check(is_filled(s->rx[0].mem + 4000, 500, 2));
		world_expect_none(&s->cq);
		check_eq(shared_query(s).taken, 2);
		check_eq(shared_query(s).done, 1);
		world_fate = NULL;
		world_wait(s->w, 600 * WORLD_MS);
		shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
		check(is_filled(s->rx[0].mem, 3000, 1));
		shared_end(s);
	}
}

static void lists_are_used_again_in_any_order_past_the_wrap(void)
{
	unsigned int rounds = TAP_TSAN ? 300 : 70000 / 3;

	for (int t = 0; t < 2; t++) {
		struct shared *s = shared_begin(NULL, &(struct shared_options){.type = types[t], .nr = 4, .qps = 3});
		uint16_t index[3];

		for (unsigned int i = 0; i < rounds; i++) {
			for (unsigned int j = 0; j < 3; j++) {
				index[j] = shared_post_one(s, j * 64, 64);
				s->tx[0].mem[j] = (uint8_t)(i + j);
				post_send(&s->tx[(i + j) % 3], j, 1);
				world_run(s->w);
			}
			for (unsigned int j = 0; j < 3; j++) {
				world_expect(&s->tx[(i + j) % 3].send, BL_CQE_REQ, 0, (uint16_t)i);
				world_expect(&s->cq, BL_CQE_RESP_SEND, 0, index[j]);
				check_eq(s->rx[0].mem[j * 64], (uint8_t)(i + j));
			}
			/* they complete in another order each time, as far as the program knows */
			for (unsigned int j = 0; j < 3; j++)
				shared_free(s, index[(i + j) % 3]);
		}
		check_eq(shared_query(s).done, 3ULL * rounds);
		shared_end(s);
	}
}

static void an_empty_queue_is_rnr_until_something_is_posted(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 2});

	fill(s->tx[0].mem, 100, 3);
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	check_eq(world_counter(&s->w->b, BL_SNIC_RNR_SENT), 1);
	check_eq(world_counter(&s->w->b, BL_SNIC_SRQ_EMPTY), 1);
	shared_post_one(s, 0, 100);
	world_wait(s->w, 10 * WORLD_MS);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
	check(is_filled(s->rx[0].mem, 100, 3));
	/* and one who waits in vain gives up, which is no business of others */
	post_send(&s->tx[1], 0, 100);
	world_wait(s->w, 100 * WORLD_MS);
	world_expect(&s->tx[1].send, BL_CQE_REQ_ERR, BL_SYNDROME_RNR_RETRIES, 0);
	shared_post_one(s, 0, 100);
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 1);
	shared_end(s);
}

static void writes_take_a_list_for_an_immediate_only(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.type = BL_SNIC_SRQ_CYCLIC});
	struct world_wqe wqe;

	shared_post_one(s, 0, 0);
	post_write(&s->tx[0], &s->rx[0], 100, 0, 50);
	wqe_begin(&wqe, &s->tx[0], 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, htobe32(77));
	wqe_raddr(&wqe, s->rx[0].iova, s->rx[0].key);
	wqe_data(&wqe, s->tx[0].iova, s->tx[0].key, 3000);
	wqe_post(&wqe, &s->tx[0]);
	world_run(s->w);
	check_eq(be32toh(shared_expect(s, 0, BL_CQE_RESP_WRITE_IMM, 0, 0).imm), 77);
	world_expect_none(&s->cq);
	check_eq(shared_query(s).taken, 1);
	shared_end(s);
}

static void lists_have_segments_and_an_end(void)
{
	/* 16 bytes of the link and three segments make a power of two; in a cyclic queue four do */
	for (int t = 0; t < 2; t++) {
		struct shared *s = shared_begin(NULL, &(struct shared_options){.type = types[t], .sges = t ? 4 : 3});
		const struct world_side *rx = &s->rx[0];
		struct shared_sge sges[] = {{rx->iova + 10, rx->key, 100}, {rx->iova + 5000, rx->key, 1}, {0, rx->key, 0}};

		fill(s->tx[0].mem, 101, 9);
		for (unsigned int nr = 2; nr <= 3; nr++) {
			memset(rx->mem, 0, rx->bytes);
			shared_post(s, sges, nr);
			post_send(&s->tx[0], 0, 101);
			world_run(s->w);
			check_eq(shared_expect(s, 0, BL_CQE_RESP_SEND, 0, (uint16_t)(nr - 2)).len, 101);
			check(!memcmp(rx->mem + 10, s->tx[0].mem, 100));
			check_eq(rx->mem[5000], s->tx[0].mem[100]);
		}
		shared_end(s);
	}
}

static void lists_reach_what_the_domain_of_the_queue_does(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->b.mem};
	struct world_side base = w->b;
	struct shared *s = calloc(1, sizeof(*s));

	/* the queue and its memory are of another domain than the queue pair */
	check_eq(bl_snic_pd_create(base.nic, &base.pd), 0);
	check_eq(bl_snic_mr_create(base.pd, &mem, base.iova, base.bytes, BL_SNIC_LOCAL_WRITE, &base.mr), 0);
	s->w = w;
	shared_defaults(&s->options);
	shared_make_queue(s, &base, &w->options);
	for (int i = 0; i < 2; i++) {
		shared_make_pair_end(s, &s->tx[i], &w->a, false, &w->options);
		shared_make_pair_end(s, &s->rx[i], &w->b, true, &w->options);
		world_side_to_rts(w, &s->tx[i], &s->rx[i]);
		world_side_to_rts(w, &s->rx[i], &s->tx[i]);
	}
	check_eq(bl_snic_pd_destroy(base.pd), -EBUSY);
	shared_post(s, &(struct shared_sge){base.iova, bl_snic_mr_lkey(base.mr), 100}, 1);
	post_send(&s->tx[0], 0, 100);
	world_run(w);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
	/* a key of the queue pair's domain is none here */
	shared_post_one(s, 0, 100);
	post_send(&s->tx[1], 0, 100);
	world_run(w);
	shared_expect(s, 1, BL_CQE_RESP_ERR, BL_SYNDROME_LOCAL_PROTECTION, 1);
	for (int i = 0; i < 2; i++) {
		shared_drop_pair_end(&s->tx[i]);
		shared_drop_pair_end(&s->rx[i]);
	}
	shared_drop_queue(s);
	check_eq(bl_snic_mr_destroy(base.mr), 0);
	check_eq(bl_snic_pd_destroy(base.pd), 0);
	free(s);
	world_end(w);
}

static void err_completes_what_was_begun_and_nothing_else(void)
{
	for (int t = 0; t < 2; t++) {
		struct shared *s = stall_one(types[t], false);

		check_eq(bl_snic_qp_modify(s->rx[1].qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
		world_run(s->w);
		world_expect_none(&s->cq);
		check_eq(bl_snic_qp_modify(s->rx[0].qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
		world_run(s->w);
		shared_expect(s, 0, BL_CQE_RESP_ERR, BL_SYNDROME_FLUSHED, 0);
		world_expect_none(&s->cq);
		check_eq(shared_query(s).posted, 2);
		check_eq(shared_query(s).taken, 1);
		world_fate = NULL;
		shared_end(s);
	}
}

static void what_was_begun_is_given_back(bool destroyed)
{
	for (int t = 0; t < 2; t++) {
		struct shared *s = stall_one(types[t], false);

		check_eq(shared_query(s).taken, 1);
		if (destroyed)
			shared_drop_pair_end(&s->rx[0]);
		else
			check_eq(bl_snic_qp_modify(s->rx[0].qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
		check_eq(shared_query(s).taken, 0);
		check_eq(shared_query(s).posted, 2);
		world_expect_none(&s->cq);
		/* the other one has it now, and then the one behind it */
		world_fate = NULL;
		for (uint16_t i = 0; i < 2; i++) {
			post_send(&s->tx[1], 4000, 500);
			world_run(s->w);
			check_eq(world_expect(&s->cq, BL_CQE_RESP_SEND, 0, i).qpn, bl_snic_qp_num(s->rx[1].qp));
			check(is_filled(s->rx[1].mem + i * 4000UL, 500, 2));
		}
		check_eq(shared_query(s).done, 2);
		shared_end(s);
	}
}

static void a_reset_gives_back_what_was_begun(void)
{
	what_was_begun_is_given_back(false);
}

static void so_does_destruction(void)
{
	what_was_begun_is_given_back(true);
}

static void a_message_that_is_lost_in_part_leaves_its_list_to_the_next(void)
{
	struct shared *s = stall_one(BL_SNIC_SRQ_LINKED, true);

	world_fate = NULL;
	post_send(&s->tx[0], 4000, 500);
	world_run(s->w);
	check_eq(shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0).len, 500);
	check(is_filled(s->rx[0].mem, 500, 2));
	shared_end(s);
}

static void unreliable_messages_that_find_none_are_lost(void)
{
	struct shared *s = shared_begin(&(struct world_options){.uc = true}, &(struct shared_options){.qps = 2});

	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	world_expect(&s->tx[0].send, BL_CQE_REQ, 0, 0);
	shared_post_one(s, 0, 100);
	world_wait(s->w, 20 * WORLD_MS);
	world_expect_none(&s->cq);
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
	shared_end(s);
}

static void long_messages_are_placed(void)
{
	struct shared *s;

	mover_begin();
	s = shared_begin(&(struct world_options){.one_nic = true, .mover = &mover}, &(struct shared_options){.qps = 2});
	fill(s->tx[0].mem, 20000, 1);
	for (int i = 0; i < 4; i++)
		shared_post_one(s, i * 10000UL, 10000);
	for (int i = 0; i < 2; i++) {
		post_send(&s->tx[0], 0, 5000);
		post_send(&s->tx[1], 5000, 6000);
	}
	world_run(s->w);
	check_eq(world_counter(&s->w->b, BL_SNIC_PLACED), 4);
	for (int i = 0; i < 4; i++) {
		struct world_cqe cqe;

		check(world_poll(&s->cq, &cqe));
		check_eq(cqe.syndrome, 0);
		check_eq(cqe.srqn, bl_snic_srq_num(s->srq));
		check_eq(cqe.len, cqe.qpn == bl_snic_qp_num(s->rx[0].qp) ? 5000 : 6000);
		check(!memcmp(s->rx[0].mem + cqe.counter * 10000UL, s->tx[0].mem + (cqe.len == 6000 ? 5000 : 0), cqe.len));
	}
	world_expect_none(&s->cq);
	/* and none is there: the sender waits, and it goes on */
	post_send(&s->tx[0], 0, 5000);
	world_run(s->w);
	check_eq(world_counter(&s->w->b, BL_SNIC_RNR_SENT), 1);
	shared_post_one(s, 0, 4999);
	world_wait(s->w, 20 * WORLD_MS);
	check_eq(world_expect(&s->cq, BL_CQE_RESP_ERR, BL_SYNDROME_LOCAL_LENGTH, 4).qpn, bl_snic_qp_num(s->rx[0].qp));
	shared_end(s);
}

static const struct tap_test tests[] = {
	{"lists_go_to_messages_in_the_order_of_these", lists_go_to_messages_in_the_order_of_these},
	{"a_long_message_has_its_list_while_others_complete", a_long_message_has_its_list_while_others_complete},
	{"lists_are_used_again_in_any_order_past_the_wrap", lists_are_used_again_in_any_order_past_the_wrap},
	{"an_empty_queue_is_rnr_until_something_is_posted", an_empty_queue_is_rnr_until_something_is_posted},
	{"writes_take_a_list_for_an_immediate_only", writes_take_a_list_for_an_immediate_only},
	{"lists_have_segments_and_an_end", lists_have_segments_and_an_end},
	{"lists_reach_what_the_domain_of_the_queue_does", lists_reach_what_the_domain_of_the_queue_does},
	{"err_completes_what_was_begun_and_nothing_else", err_completes_what_was_begun_and_nothing_else},
	{"a_reset_gives_back_what_was_begun", a_reset_gives_back_what_was_begun},
	{"so_does_destruction", so_does_destruction},
	{"a_message_that_is_lost_in_part_leaves_its_list_to_the_next",
	 a_message_that_is_lost_in_part_leaves_its_list_to_the_next},
	{"unreliable_messages_that_find_none_are_lost", unreliable_messages_that_find_none_are_lost},
	{"long_messages_are_placed", long_messages_are_placed},
};

TAP_MAIN(tests)
