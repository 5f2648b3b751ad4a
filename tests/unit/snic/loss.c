// SPDX-License-Identifier: MIT
/* A wire that loses, doubles and reorders, packet by packet; and a peer that is not ready, or not there. */
#include "softnic/cq.h"
#include "softnic/nic.h"
#include "softnic/receive.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define SECOND (1000 * WORLD_MS)

/* The @victim_nr-th packet of kind @victim meets @victim_fate, the next @victim_times of them too. */
static uint8_t victim;
static unsigned int victim_nr, victim_times;
static enum world_fate victim_fate;
static unsigned int seen;

static enum world_fate hit_one(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode != victim)
		return WORLD_PASS;
	seen++;
	return seen > victim_nr && seen <= victim_nr + victim_times ? victim_fate : WORLD_PASS;
}

static struct world *begin(uint8_t opcode, unsigned int nr, unsigned int times, enum world_fate fate)
{
	struct world *w = world_begin(NULL);

	victim = opcode;
	victim_nr = nr;
	victim_times = times;
	victim_fate = fate;
	seen = 0;
	world_fate = hit_one;
	return w;
}

static void finish_write(struct world *w, uint32_t len)
{
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect_none(&w->a.send);
	check(is_filled(w->b.mem, len, 1));
	check(!world_query(&w->a).error.syndrome);
}

static void a_lost_request_is_sent_again(void)
{
	struct world *w = begin(BL_PKT_WRITE_ONLY, 0, 1, WORLD_DROP);

	fill(w->a.mem, 100, 1);
	post_write(&w->a, &w->b, 0, 0, 100);
	world_run(w);
	world_expect_none(&w->a.send);
	world_wait(w, 200 * WORLD_MS);
	world_expect_none(&w->a.send);
	world_wait(w, 100 * WORLD_MS);
	finish_write(w, 100);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 1);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 1);
	world_end(w);
}

/* The packet after the gap tells: no time passes. */
static void a_gap_is_told_at_once(void)
{
	struct world *w = begin(BL_PKT_WRITE_MIDDLE, 2, 1, WORLD_DROP);

	fill(w->a.mem, 10000, 1);
	post_write(&w->a, &w->b, 0, 0, 10000);
	world_run(w);
	finish_write(w, 10000);
	check_eq(world_counter(&w->b, BL_SNIC_NAK_SENT), 1);
	check_eq(world_counter(&w->b, BL_SNIC_NAK_SENT_SEQUENCE), 1);
	check_eq(world_counter(&w->a, BL_SNIC_NAK_RECEIVED), 1);
	check_eq(world_counter(&w->a, BL_SNIC_NAK_RECEIVED_SEQUENCE), 1);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 0);
	check(world_counter(&w->b, BL_SNIC_RX_OUT_OF_ORDER) >= 1);
	world_end(w);
}

static void a_lost_acknowledgement_is_repeated(void)
{
	struct world *w = begin(BL_PKT_ACK, 0, 1, WORLD_DROP);

	fill(w->a.mem, 5000, 1);
	post_write(&w->a, &w->b, 0, 0, 5000);
	world_run(w);
	world_expect_none(&w->a.send);
	world_wait(w, SECOND);
	finish_write(w, 5000);
	check_eq(world_counter(&w->b, BL_SNIC_RX_DUPLICATE), 5);
	world_end(w);
}

/* Only its acknowledgements were lost, and the first packet that comes again says so. */
static void what_has_arrived_is_not_sent_again(void)
{
	struct world *w = begin(BL_PKT_ACK, 0, 2, WORLD_DROP);

	fill(w->a.mem, 60000, 1);
	post_write(&w->a, &w->b, 0, 0, 60000);
	post_nop(&w->a, 0);
	world_run(w);
	world_room = 2;
	world_wait(w, SECOND);
	finish_write(w, 60000);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 1);
	check(world_counter(&w->a, BL_SNIC_TX_RETRIES) < 10);
	world_end(w);
}

static void a_send_whose_acknowledgement_is_lost_arrives_once(void)
{
	struct world *w = begin(BL_PKT_ACK, 0, 1, WORLD_DROP);

	post_recv(&w->b, 0, 100);
	post_recv(&w->b, 0, 100);
	post_send(&w->a, 0, 10);
	world_wait(w, SECOND);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0);
	world_expect_none(&w->b.recv);
	check_eq(world_query(&w->b).rq_ci, 1);
	world_end(w);
}

static void finish_read(struct world *w, uint32_t len)
{
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->a.mem, len, 1));
	check(!world_query(&w->a).error.syndrome);
	world_end(w);
}

static void a_lost_answer_in_the_middle_of_a_read_is_asked_for_again(void)
{
	struct world *w = begin(BL_PKT_READ_MIDDLE, 3, 1, WORLD_DROP);

	fill(w->b.mem, 10000, 1);
	post_read(&w->a, &w->b, 0, 0, 10000);
	world_run(w);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 0);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 1);
	finish_read(w, 10000);
}

static void the_last_answer_of_a_read_may_be_lost_too(void)
{
	struct world *w = begin(BL_PKT_READ_LAST, 0, 1, WORLD_DROP);

	fill(w->b.mem, 10000, 1);
	post_read(&w->a, &w->b, 0, 0, 10000);
	world_wait(w, 2 * SECOND);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 1);
	finish_read(w, 10000);
}

/* A later acknowledgement shows that the answer is missing: it does not complete the read. */
static void an_acknowledgement_beyond_a_lost_answer_is_a_gap(void)
{
	struct world *w = begin(BL_PKT_READ_ONLY, 0, 1, WORLD_DROP);

	fill(w->b.mem, 1000, 1);
	post_read(&w->a, &w->b, 0, 0, 1000);
	post_write(&w->a, &w->b, 5000, 0, 10);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 0);
	check(is_filled(w->a.mem, 1000, 1));
	world_end(w);
}

static void an_atomic_whose_answer_is_lost_is_done_once(void)
{
	struct world *w = begin(BL_PKT_ATOMIC_ACK, 0, 3, WORLD_DROP);

	post_add(&w->a, &w->b, 64, 0, 1);
	world_wait(w, 3 * SECOND);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(*(uint64_t *)(w->b.mem + 64), 1);
	check_eq(*(uint64_t *)w->a.mem, 0);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 3);
	world_end(w);
}

static uint32_t wrong_ack, nr_acks;

/* All first answers are lost. */
static enum world_fate watch_acks(const struct bl_packet *packet, unsigned int nr)
{
	static unsigned int nr_lost;

	if (!nr)
		nr_lost = 0;
	if (packet->opcode == BL_PKT_ACK) {
		nr_acks++;
		wrong_ack += packet->psn == 1 || packet->psn == 2;
	}
	if (packet->opcode != BL_PKT_READ_ONLY && packet->opcode != BL_PKT_ATOMIC_ACK)
		return WORLD_PASS;
	return nr_lost++ < 2 ? WORLD_DROP : WORLD_PASS;
}

/* There are requesters that take one for the answer, and do without the bytes. */
static void no_acknowledgement_has_the_number_of_a_read_or_an_atomic(void)
{
	struct world *w = world_begin(NULL);

	wrong_ack = nr_acks = 0;
	world_fate = watch_acks;
	fill(w->b.mem, 100, 5);
	post_write(&w->a, &w->b, 4096, 0, 100);
	post_read(&w->a, &w->b, 200, 0, 100);
	post_add(&w->a, &w->b, 512, 1024, 3);
	world_wait(w, SECOND);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->a.mem + 200, 100, 5));
	check(world_counter(&w->b, BL_SNIC_RX_DUPLICATE) > 0);
	check(nr_acks > 0);
	check_eq(wrong_ack, 0);
	world_end(w);
}

static void every_atomic_under_way_has_its_own_result(void)
{
	struct world *w = begin(BL_PKT_ATOMIC_ACK, 1, 1, WORLD_DROP);

	for (unsigned int i = 0; i < 12; i++)
		post_add(&w->a, &w->b, 64, 8UL * i, 1);
	world_wait(w, 3 * SECOND);
	for (unsigned int i = 0; i < 12; i++) {
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)i);
		check_eq(((uint64_t *)w->a.mem)[i], i);
	}
	check_eq(*(uint64_t *)(w->b.mem + 64), 12);
	world_end(w);
}

static void doubled_packets_do_nothing_twice(void)
{
	struct world *w = begin(BL_PKT_SEND_ONLY, 0, 100, WORLD_DOUBLE);

	for (unsigned int i = 0; i < 4; i++) {
		post_recv(&w->b, 100UL * i, 100);
		fill(w->a.mem + 100UL * i, 50, i);
		post_send(&w->a, 100UL * i, 50);
	}
	world_run(w);
	for (unsigned int i = 0; i < 4; i++) {
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)i);
		world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, (uint16_t)i);
		check(is_filled(w->b.mem + 100UL * i, 50, i));
	}
	world_expect_none(&w->b.recv);
	check_eq(world_counter(&w->b, BL_SNIC_RX_DUPLICATE), 4);
	world_end(w);
}

static void reordered_packets_arrive_in_order(void)
{
	struct world *w = begin(BL_PKT_WRITE_MIDDLE, 0, 1, WORLD_HOLD);

	fill(w->a.mem, 10000, 1);
	post_write(&w->a, &w->b, 0, 0, 10000);
	world_run(w);
	finish_write(w, 10000);
	world_end(w);
}

static void nobody_answers_for_ever(void)
{
	struct world *w = begin(BL_PKT_WRITE_ONLY, 0, 1000, WORLD_DROP);
	struct bl_snic_error error;

	post_write(&w->a, &w->b, 16, 0, 100);
	post_nop(&w->a, WORLD_SIGNAL);
	post_recv(&w->a, 0, 100);
	world_wait(w, 1750 * WORLD_MS);
	world_expect_none(&w->a.send);
	world_wait(w, 500 * WORLD_MS);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0).vendor, 0x81);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 1).vendor, 0xf9);
	world_expect(&w->a.recv, BL_CQE_RESP_ERR, 0x05, 0);
	check_eq(seen, 8);
	error = world_query(&w->a).error;
	check_eq(error.syndrome, 0x15);
	check_eq(error.opcode, BL_WQE_WRITE);
	check_eq(error.dest_qpn, bl_snic_qp_num(w->b.qp));
	check(!error.responder);
	check_has(error.text, "no answer");
	world_end(w);
}

/* Nobody has that number: the port is there, but does not answer for it. */
static void a_wrong_number_ends_it(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_mod mod = world_query(&w->a).mod;

	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	mod.dest_qpn ^= 0x10;
	for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTS; state++) {
		mod.state = (enum bl_snic_qp_state)state;
		check_eq(bl_snic_qp_modify(w->a.qp, &mod), 0);
	}
	post_write(&w->a, &w->b, 0, 0, 8);
	world_wait(w, 3 * SECOND);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	check_has(world_query(&w->a).error.text, "is it ready to receive?");
	check_eq(world_counter(&w->b, BL_SNIC_RX_UNKNOWN_QP), 8);
	world_end(w);
}

static void without_retries_the_first_time_out_is_the_last(void)
{
	struct world *w = world_begin(&(struct world_options){.no_retry = true});

	victim = BL_PKT_WRITE_ONLY;
	victim_nr = seen = 0;
	victim_times = 1;
	victim_fate = WORLD_DROP;
	world_fate = hit_one;
	post_write(&w->a, &w->b, 0, 0, 100);
	world_wait(w, 300 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	world_end(w);
}

static void a_receiver_that_is_late_gets_the_message(void)
{
	struct world *w = world_begin(NULL);

	fill(w->a.mem, 3000, 1);
	post_send(&w->a, 0, 3000);
	world_run(w);
	check_eq(world_counter(&w->a, BL_SNIC_RNR_RECEIVED), 1);
	post_recv(&w->b, 0, 4000);
	world_wait(w, 10 * WORLD_MS);
	finish_write(w, 3000);
	world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0);
	check_eq(world_counter(&w->b, BL_SNIC_RNR_SENT), 1);
	world_end(w);
}

/* All but the last packet have arrived: only that one comes again. */
static void a_write_with_immediate_waits_for_its_receive_list(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	fill(w->a.mem, 3000, 1);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, 5);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, w->a.iova, w->a.key, 3000);
	wqe_post(&wqe, &w->a);
	world_wait(w, 3 * WORLD_MS);
	world_expect_none(&w->b.recv);
	post_recv(&w->b, 0, 0);
	world_wait(w, 10 * WORLD_MS);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, 0).len, 3000);
	finish_write(w, 3000);
	world_end(w);
}

static void a_receiver_that_is_never_ready_ends_it(void)
{
	struct world *w = world_begin(NULL);

	post_send(&w->a, 0, 30);
	world_wait(w, 100 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x16, 0);
	check_eq(world_counter(&w->a, BL_SNIC_RNR_RECEIVED), 4);
	check_has(world_query(&w->a).error.text, "no receive posted");
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void rnr_retry_seven_is_for_ever(void)
{
	struct world *w = world_begin(&(struct world_options){.rnr_retry = 7});

	fill(w->a.mem, 30, 1);
	post_send(&w->a, 0, 30);
	world_wait(w, SECOND);
	check(world_counter(&w->a, BL_SNIC_RNR_RECEIVED) > 100);
	check_has(world_query(&w->a).waits, "has no receive posted, asked ");
	check_has(world_query(&w->a).waits, " for ever (RNR)");
	world_expect_none(&w->a.send);
	post_recv(&w->b, 0, 30);
	world_wait(w, 10 * WORLD_MS);
	finish_write(w, 30);
	check_str(world_query(&w->a).waits, "");
	world_end(w);
}

/* rdma_rxe says both of one message: that it has no list, and of the packets behind it that it misses one. */
static void what_a_peer_without_list_misses_is_no_retry(void)
{
	struct world *w = world_begin(&(struct world_options){.rnr_retry = 7});
	struct bl_packet packet = {.opcode = BL_PKT_ACK, .syndrome = BL_AETH_SEQUENCE};

	packet.psn = world_query(&w->a).mod.sq_psn;
	packet.dest_qpn = bl_snic_qp_num(w->a.qp);
	packet.src_qpn = bl_snic_qp_num(w->b.qp);
	fill(w->a.mem, 3000, 1);
	post_send(&w->a, 0, 3000);
	world_run(w);
	for (int i = 0; i < 20; i++) {
		check_eq(bl_snic_lock(w->a.nic), 0);
		bl_snic_receive(w->a.nic, bl_snic_gid(w->b.nic), &packet, NULL);
		bl_snic_unlock(w->a.nic);
		check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
		world_wait(w, WORLD_MS);
	}
	check_eq(world_counter(&w->a, BL_SNIC_NAK_RECEIVED), 20);
	post_recv(&w->b, 0, 4000);
	world_wait(w, 10 * WORLD_MS);
	finish_write(w, 3000);
	world_end(w);
}

static void a_peer_that_is_gone_ends_it_at_once(void)
{
	struct world *w = begin(BL_PKT_WRITE_ONLY, 0, 1, WORLD_DROP);

	post_write(&w->a, &w->b, 0, 0, 100);
	post_recv(&w->b, 0, 100);
	world_run(w);
	world_gone = true;
	world_wait(w, 2 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	check_has(world_query(&w->a).error.text, "is gone");
	/* who waits for a message learns it too */
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x05, 0);
	check_eq(world_query(&w->b).error.syndrome, 0x15);
	world_end(w);
}

static void a_path_that_stays_full_ends_it(void)
{
	struct world *w = world_begin(NULL);

	world_room = 0;
	post_write(&w->a, &w->b, 0, 0, 100);
	world_wait(w, 3 * SECOND);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_lost_request_is_sent_again", a_lost_request_is_sent_again},
	{"a_gap_is_told_at_once", a_gap_is_told_at_once},
	{"a_lost_acknowledgement_is_repeated", a_lost_acknowledgement_is_repeated},
	{"what_has_arrived_is_not_sent_again", what_has_arrived_is_not_sent_again},
	{"a_send_whose_acknowledgement_is_lost_arrives_once", a_send_whose_acknowledgement_is_lost_arrives_once},
	{"a_lost_answer_in_the_middle_of_a_read_is_asked_for_again",
	 a_lost_answer_in_the_middle_of_a_read_is_asked_for_again},
	{"the_last_answer_of_a_read_may_be_lost_too", the_last_answer_of_a_read_may_be_lost_too},
	{"an_acknowledgement_beyond_a_lost_answer_is_a_gap", an_acknowledgement_beyond_a_lost_answer_is_a_gap},
	{"an_atomic_whose_answer_is_lost_is_done_once", an_atomic_whose_answer_is_lost_is_done_once},
	{"no_acknowledgement_has_the_number_of_a_read_or_an_atomic",
	 no_acknowledgement_has_the_number_of_a_read_or_an_atomic},
	{"every_atomic_under_way_has_its_own_result", every_atomic_under_way_has_its_own_result},
	{"doubled_packets_do_nothing_twice", doubled_packets_do_nothing_twice},
	{"reordered_packets_arrive_in_order", reordered_packets_arrive_in_order},
	{"nobody_answers_for_ever", nobody_answers_for_ever},
	{"a_wrong_number_ends_it", a_wrong_number_ends_it},
	{"without_retries_the_first_time_out_is_the_last", without_retries_the_first_time_out_is_the_last},
	{"a_receiver_that_is_late_gets_the_message", a_receiver_that_is_late_gets_the_message},
	{"a_write_with_immediate_waits_for_its_receive_list", a_write_with_immediate_waits_for_its_receive_list},
	{"a_receiver_that_is_never_ready_ends_it", a_receiver_that_is_never_ready_ends_it},
	{"rnr_retry_seven_is_for_ever", rnr_retry_seven_is_for_ever},
	{"what_a_peer_without_list_misses_is_no_retry", what_a_peer_without_list_misses_is_no_retry},
	{"a_peer_that_is_gone_ends_it_at_once", a_peer_that_is_gone_ends_it_at_once},
	{"a_path_that_stays_full_ends_it", a_path_that_stays_full_ends_it},
};

TAP_MAIN(tests)
