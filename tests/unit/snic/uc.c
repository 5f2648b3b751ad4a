// SPDX-License-Identifier: MIT
/* Unreliable connections: nobody acknowledges, what is lost is lost, and a message with a hole is no message. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static const struct world_options uc = {.uc = true};

static uint8_t victim;
static unsigned int victim_nr, seen;
static enum world_fate victim_fate;

static enum world_fate hit_one(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode != (victim | BL_PKT_UC))
		return WORLD_PASS;
	return seen++ == victim_nr ? victim_fate : WORLD_PASS;
}

static struct world *begin(uint8_t opcode, unsigned int nr, enum world_fate fate)
{
	struct world *w = world_begin(&uc);

	victim = opcode;
	victim_nr = nr;
	victim_fate = fate;
	seen = 0;
	world_fate = hit_one;
	return w;
}

static void messages_arrive_without_acknowledgement(void)
{
	struct world *w = world_begin(&uc);
	struct world_wqe wqe;

	fill(w->a.mem, 5000, 1);
	post_recv(&w->b, 10000, 5000);
	post_recv(&w->b, 0, 0);
	post_write(&w->a, &w->b, 0, 0, 5000);
	post_send(&w->a, 0, 5000);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, 0x99);
	wqe_raddr(&wqe, w->b.iova + 20000, w->b.key);
	wqe_data(&wqe, w->a.iova, w->a.key, 5000);
	wqe_post(&wqe, &w->a);
	world_run(w);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 5000);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, 1).imm, 0x99);
	check(is_filled(w->b.mem, 5000, 1));
	check(is_filled(w->b.mem + 10000, 5000, 1));
	check(is_filled(w->b.mem + 20000, 5000, 1));
	check_eq(world_counter(&w->b, BL_SNIC_TX_PACKETS), 0);
	world_end(w);
}

/* The list of the message that was dropped is for the next one. */
static void a_message_with_a_hole_is_dropped(void)
{
	static const uint8_t kinds[] = {BL_PKT_SEND_FIRST, BL_PKT_SEND_MIDDLE, BL_PKT_SEND_LAST};

	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct world *w = begin(kinds[i], 0, WORLD_DROP);

		post_recv(&w->b, 0, 5000);
		post_recv(&w->b, 10000, 5000);
		fill(w->a.mem, 5000, 1);
		fill(w->a.mem + 5000, 4000, 2);
		post_send(&w->a, 0, 5000);
		post_send(&w->a, 5000, 4000);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
		check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 4000);
		world_expect_none(&w->b.recv);
		check(is_filled(w->b.mem, 4000, 2));
		check(!world_query(&w->b).error.syndrome);
		world_end(w);
	}
}

static void what_arrives_out_of_order_is_a_hole(void)
{
	struct world *w = begin(BL_PKT_SEND_MIDDLE, 1, WORLD_HOLD);

	post_recv(&w->b, 0, 5000);
	post_send(&w->a, 0, 5000);
	post_send(&w->a, 0, 10);
	world_run(w);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 10);
	check(world_counter(&w->b, BL_SNIC_RX_OUT_OF_ORDER) >= 1);
	world_end(w);
}

static void nobody_receives_and_nobody_minds(void)
{
	struct world *w = world_begin(&uc);

	post_send(&w->a, 0, 5000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	post_recv(&w->b, 0, 5000);
	post_send(&w->a, 0, 100);
	world_run(w);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 100);
	world_end(w);
}

static void errors_of_the_other_side_are_silent(void)
{
	struct world *w = world_begin(&uc);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key + 1);
	wqe_data(&wqe, w->a.iova, w->a.key, 10);
	wqe_post(&wqe, &w->a);
	post_recv(&w->b, 0, 10);
	post_send(&w->a, 0, 11);
	post_send(&w->a, 0, 10);
	world_run(w);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 10);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void own_errors_are_not(void)
{
	struct world *w = world_begin(&uc);

	post_send(&w->a, w->a.bytes, 10);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 0);
	world_end(w);
}

static void an_unreliable_connection_cannot_read(void)
{
	struct world *w = world_begin(&uc);

	post_read(&w->a, &w->b, 0, 0, 10);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(world_query(&w->a).error.text, "cannot read");
	world_end(w);
}

/* A path that stays full is a wire that loses: the sender goes on. */
static void a_path_that_stays_full_loses(void)
{
	struct world *w = world_begin(&uc);

	world_room = 0;
	post_send(&w->a, 0, 5000);
	post_send(&w->a, 0, 100);
	world_wait(w, 200 * WORLD_MS);
	world_expect_none(&w->a.send);
	world_wait(w, 100 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_room = 100;
	post_recv(&w->b, 0, 100);
	post_send(&w->a, 0, 100);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 2);
	world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0);
	world_end(w);
}

/* A receiver that is behind all the time, but never for long: each time counts by itself. */
static void a_path_that_is_full_now_and_then_does_not_lose(void)
{
	struct world *w = world_begin(&uc);

	for (uint16_t i = 0; i < 8; i++) {
		post_recv(&w->b, 0, 100);
		world_room = 0;
		post_send(&w->a, 0, 100);
		world_wait(w, 100 * WORLD_MS);
		world_expect_none(&w->a.send);
		world_room = 100;
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, i);
	}
	world_end(w);
}

static void sequence_numbers_wrap(void)
{
	struct world *w = world_begin(&(struct world_options){.uc = true, .sq_psn = 0xfffffe});

	fill(w->a.mem, 9000, 1);
	post_write(&w->a, &w->b, 0, 0, 9000);
	world_run(w);
	check(is_filled(w->b.mem, 9000, 1));
	check_eq(world_counter(&w->b, BL_SNIC_RX_OUT_OF_ORDER), 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"uc_messages_arrive_without_acknowledgement", messages_arrive_without_acknowledgement},
	{"a_message_with_a_hole_is_dropped", a_message_with_a_hole_is_dropped},
	{"what_arrives_out_of_order_is_a_hole", what_arrives_out_of_order_is_a_hole},
	{"nobody_receives_and_nobody_minds", nobody_receives_and_nobody_minds},
	{"errors_of_the_other_side_are_silent", errors_of_the_other_side_are_silent},
	{"own_errors_are_not_silent", own_errors_are_not},
	{"an_unreliable_connection_cannot_read", an_unreliable_connection_cannot_read},
	{"a_path_that_stays_full_loses", a_path_that_stays_full_loses},
	{"a_path_that_is_full_now_and_then_does_not_lose", a_path_that_is_full_now_and_then_does_not_lose},
	{"uc_sequence_numbers_wrap", sequence_numbers_wrap},
};

TAP_MAIN(tests)
