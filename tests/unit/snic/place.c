// SPDX-License-Identifier: MIT
/* Messages that are placed: what is, in which order, and what a wire can do to it. */
#include <endian.h>

#include "mover.h"
#include "softnic/cq.h"
#include "softnic/packet.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define LEN 20000U
#define MS_OF(s) ((s) * 1000 * WORLD_MS)

static uint16_t post_imm(struct world *w, uint8_t opcode, size_t to, size_t from, uint32_t len, uint32_t imm)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, opcode, WORLD_SIGNAL, imm);
	if (opcode == BL_WQE_WRITE_IMM)
		wqe_raddr(&wqe, w->b.iova + to, w->b.key);
	wqe_data(&wqe, w->a.iova + from, w->a.key, len);
	return wqe_post(&wqe, &w->a);
}

static void a_long_write_is_one_packet(void)
{
	struct world *w = mover_world((struct world_options){.sq_psn = 0xfffff8});

	fill(w->a.mem, LEN, 1);
	post_write(&w->a, &w->b, 333, 0, LEN);
	world_run(w);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, 0).len, LEN);
	check(is_filled(w->b.mem + 333, LEN, 1));
	/* and its acknowledgement */
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), 2);
	check_eq(world_counter(&w->a, BL_SNIC_TX_BYTES), 0);
	check_eq(world_counter(&w->a, BL_SNIC_PLACED), 1);
	check_eq(world_counter(&w->a, BL_SNIC_PLACED_BYTES), LEN);
	/* the numbers are those of its packets of 1024 bytes */
	check_eq(world_query(&w->a).next_psn, (0xfffff8 + 20) & 0xffffff);
	check_eq(world_query(&w->b).expected_psn, (0xfffff8 + 20) & 0xffffff);
	world_end(w);
}

static void what_is_not_worth_it_or_cannot_be_goes_in_packets(void)
{
	struct world *w = mover_world((struct world_options){.sq_nr = 64});
	struct world_wqe wqe;

	fill(w->a.mem, LEN, 3);
	post_write(&w->a, &w->b, 0, 0, MOVER_LEAST - 1);
	/* data inside of the request */
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_inline(&wqe, w->a.mem, 12);
	wqe_data(&wqe, w->a.iova + 12, w->a.key, LEN - 12);
	wqe_post(&wqe, &w->a);
	/* more segments than a message may have */
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	for (unsigned int i = 0; i < 5; i++)
		wqe_data(&wqe, w->a.iova + i * 4000, w->a.key, 4000);
	wqe_post(&wqe, &w->a);
	world_run(w);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->b.mem, LEN, 3));
	test_mover.unable = true;
	/* the last one took two blocks */
	post_write(&w->a, &w->b, LEN, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 4);
	check(is_filled(w->b.mem + LEN, LEN, 3));
	check_eq(test_mover.started, 0);
	check_eq(world_counter(&w->a, BL_SNIC_PLACE_REFUSED), 0);
	world_end(w);
}

static void between_two_nics_nothing_is_placed(void)
{
	struct world *w;

	mover_begin();
	w = world_begin(&(struct world_options){.mover = &mover});
	fill(w->a.mem, LEN, 4);
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, LEN, 4));
	check_eq(test_mover.started, 0);
	world_end(w);
}

static void segments_of_both_sides_are_honoured(void)
{
	struct world *w = mover_world((struct world_options){.rq_sges = 4});
	struct world_wqe wqe;
	uint8_t *at = w->b.rq;

	fill(w->a.mem, LEN, 5);
	/* 4 segments that lie the other way round, into a list of 3 whose borders are elsewhere */
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t len = htobe32(i == 2 ? 20000 : 3001), key = htobe32(w->b.key);
		uint64_t addr = htobe64(w->b.iova + 30000UL * i);

		memcpy(at + 16UL * i, &len, 4);
		memcpy(at + 16UL * i + 4, &key, 4);
		memcpy(at + 16UL * i + 8, &addr, 8);
	}
	at[48 + 6] = 1;
	at[48 + 4] = at[48 + 5] = at[48 + 7] = 0;
	w->b.rpi++;
	__atomic_store_n(&w->b.dbrec[0], htobe32(1), __ATOMIC_RELEASE);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_SEND_IMM, WORLD_SIGNAL, 0xabcd);
	for (unsigned int i = 0; i < 4; i++)
		wqe_data(&wqe, w->a.iova + (3 - i) * 5000, w->a.key, 5000);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND_IMM, 0, 0).imm, 0xabcd);
	check_eq(world_counter(&w->a, BL_SNIC_PLACED), 1);
	for (unsigned int i = 0; i < LEN; i++) {
		unsigned int list = i < 6002 ? i / 3001 : 2, off = i - list * 3001;

		check_eq(w->b.mem[30000UL * list + off], w->a.mem[(3 - i / 5000) * 5000 + i % 5000]);
	}
	world_end(w);
}

static void many_are_under_way_and_complete_in_order(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 64, .cq_nr = 64});

	fill(w->a.mem, 200000, 6);
	for (unsigned int i = 0; i < 40; i++)
		post_write(&w->a, &w->b, i * 5000UL, i * 5000UL, 5000);
	world_run(w);
	check_eq(test_mover.started, 32);
	mover_end(1);
	mover_end(2);
	world_run(w);
	world_expect_none(&w->a.send);
	mover_end(0);
	world_run(w);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	world_expect_none(&w->a.send);
	check_eq(test_mover.started, 35);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 3; i < 40; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->b.mem, 200000, 6));
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
	world_end(w);
}

static void a_mover_that_has_no_room_is_asked_again(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 16});

	test_mover.room = 2;
	fill(w->a.mem, 50000, 7);
	for (unsigned int i = 0; i < 5; i++)
		post_write(&w->a, &w->b, i * 10000UL, i * 10000UL, 10000);
	world_run(w);
	check_eq(test_mover.started, 2);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 0; i < 5; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->b.mem, 50000, 7));
	world_end(w);
}

/* Each kind of request that could be noticed. */
static void what_comes_later_waits(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 64});

	memset(w->a.mem, 7, LEN);
	post_recv(&w->b, 0x20000, 64);
	post_write(&w->a, &w->b, 0, 0, LEN);
	post_write(&w->a, &w->b, 0x10000, 0, 8);
	post_send(&w->a, 0, 8);
	post_add(&w->a, &w->b, 0x10008, 0x30000, 5);
	post_read(&w->a, &w->b, 0x40000, LEN - 8, 8);
	world_run(w);
	world_wait(w, 200 * WORLD_MS);
	check_eq(w->b.mem[0x10000], 0);
	check_eq(w->b.mem[0x10008], 0);
	world_expect_none(&w->a.send);
	world_expect_none(&w->b.recv);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 0; i < 5; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0);
	check_eq(w->b.mem[0x10000], 7);
	check_eq(w->b.mem[0x10008], 5);
	check_eq(w->a.mem[0x40007], 7);
	world_end(w);
}

static enum world_fate drop_first(const struct bl_packet *packet, unsigned int nr)
{
	return nr ? WORLD_PASS : WORLD_DROP;
}

static void nothing_begins_before_what_came_before_has_arrived(void)
{
	struct world *w = mover_world((struct world_options){.sq_nr = 16});

	world_fate = drop_first;
	memset(w->a.mem, 1, LEN);
	memset(w->a.mem + LEN, 2, 8);
	post_write(&w->a, &w->b, 0, LEN, 8);
	post_write(&w->a, &w->b, 0, 0, LEN);
	bl_snic_progress(w->a.nic);
	bl_snic_progress(w->a.nic);
	check_eq(test_mover.started, 0);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(w->b.mem[0], 1);
	check_eq(world_counter(&w->a, BL_SNIC_NAK_SENT), 1);
	check_eq(test_mover.started, 1);
	world_end(w);
}

static enum world_fate placed_fate;
static unsigned int placed_seen;

static enum world_fate first_placed(const struct bl_packet *packet, unsigned int nr)
{
	return (packet->opcode & 0x1f) == BL_PKT_PLACE_WRITE && !placed_seen++ ? placed_fate : WORLD_PASS;
}

static void a_packet_that_is_lost_late_or_doubled_does_no_harm(void)
{
	static const enum world_fate fates[] = {WORLD_DROP, WORLD_DOUBLE, WORLD_HOLD};

	for (size_t f = 0; f < 3; f++) {
		struct world *w = mover_world((struct world_options){.sq_nr = 16});

		placed_fate = fates[f];
		placed_seen = 0;
		world_fate = first_placed;
		fill(w->a.mem, 3UL * LEN, 9);
		for (unsigned int i = 0; i < 3; i++)
			post_write(&w->a, &w->b, i * LEN, i * LEN, LEN);
		world_run(w);
		world_wait(w, MS_OF(1));
		for (uint16_t i = 0; i < 3; i++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		check(is_filled(w->b.mem, 3UL * LEN, 9));
		/* each of them once */
		check_eq(test_mover.started, 3);
		check_eq(world_counter(&w->a, BL_SNIC_PLACED), 3);
		world_end(w);
	}
}

static enum world_fate no_acks(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == BL_PKT_ACK ? WORLD_DROP : WORLD_PASS;
}

static void acknowledgements_that_are_lost_do_not_move_it_again(void)
{
	struct world *w = mover_world((struct world_options){.sq_nr = 16});

	world_fate = no_acks;
	fill(w->a.mem, LEN, 11);
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_wait(w, 600 * WORLD_MS);
	world_expect_none(&w->a.send);
	/* what the receiver did with it since is not undone */
	memset(w->b.mem, 0, LEN);
	world_fate = NULL;
	world_wait(w, 600 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(w->b.mem[0], 0);
	check_eq(test_mover.started, 1);
	check(world_counter(&w->a, BL_SNIC_TX_RETRIES) >= 1);
	world_end(w);
}

static void a_slow_mover_is_not_a_peer_that_is_gone(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 16, .retry_cnt = 1});

	fill(w->a.mem, 2UL * LEN, 12);
	post_write(&w->a, &w->b, 0, 0, LEN);
	post_write(&w->a, &w->b, LEN, LEN, LEN);
	world_wait(w, MS_OF(5));
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	check(world_counter(&w->a, BL_SNIC_TIMEOUTS) > 2);
	mover_end_all();
	world_wait(w, MS_OF(1));
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(test_mover.started, 2);
	world_end(w);
}

static void immediates_find_their_receive_lists(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 16});

	post_recv(&w->b, 0, 0);
	post_recv(&w->b, 0, 0);
	for (unsigned int i = 0; i < 3; i++)
		post_imm(w, BL_WQE_WRITE_IMM, i * 30000UL, 0, LEN, 100 + i);
	world_run(w);
	/* the third has to wait until it is clear that there is none */
	check_eq(test_mover.started, 2);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 0; i < 2; i++) {
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		check_eq(world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, i).imm, 100 + i);
	}
	check_eq(world_counter(&w->a, BL_SNIC_RNR_SENT), 1);
	check_eq(test_mover.started, 2);
	post_recv(&w->b, 0, 0);
	world_wait(w, 50 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 2);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, 2).len, LEN);
	world_end(w);
}

static void sends_go_ahead_into_the_lists_that_are_posted(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 16});

	fill(w->a.mem, 4UL * LEN, 14);
	for (unsigned int i = 0; i < 4; i++)
		post_recv(&w->b, i * LEN, LEN);
	for (unsigned int i = 0; i < 4; i++)
		post_send(&w->a, i * LEN, LEN);
	world_run(w);
	check_eq(test_mover.started, 4);
	world_expect_none(&w->b.recv);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 0; i < 4; i++) {
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, i).len, LEN);
	}
	check(is_filled(w->b.mem, 4UL * LEN, 14));
	world_end(w);
}

static void fences_and_local_operations_keep_their_meaning(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 16});
	struct world_wqe wqe;

	post_write(&w->a, &w->b, 0, 0, LEN);
	post_nop(&w->a, WORLD_SIGNAL);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL | BL_WQE_STRONG_FENCE << 5, 0);
	wqe_raddr(&wqe, w->b.iova + LEN, w->b.key);
	wqe_data(&wqe, w->a.iova, w->a.key, LEN);
	wqe_post(&wqe, &w->a);
	world_run(w);
	check_eq(test_mover.started, 1);
	world_expect_none(&w->a.send);
	mover_end(0);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(test_mover.started, 2);
	mover_end_all();
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 2);
	world_end(w);
}

#define T(name) {"place_" #name, name}

static const struct tap_test tests[] = {
	T(a_long_write_is_one_packet),
	T(what_is_not_worth_it_or_cannot_be_goes_in_packets),
	T(between_two_nics_nothing_is_placed),
	T(segments_of_both_sides_are_honoured),
	T(many_are_under_way_and_complete_in_order),
	T(a_mover_that_has_no_room_is_asked_again),
	T(what_comes_later_waits),
	T(nothing_begins_before_what_came_before_has_arrived),
	T(a_packet_that_is_lost_late_or_doubled_does_no_harm),
	T(acknowledgements_that_are_lost_do_not_move_it_again),
	T(a_slow_mover_is_not_a_peer_that_is_gone),
	T(immediates_find_their_receive_lists),
	T(sends_go_ahead_into_the_lists_that_are_posted),
	T(fences_and_local_operations_keep_their_meaning),
};

TAP_MAIN(tests)
