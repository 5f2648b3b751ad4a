// SPDX-License-Identifier: MIT
/* What is wrong with a short message within a NIC is told as it is told in packets: each case goes both ways. */
#include <endian.h>

#include "softnic/cq.h"
#include "softnic/nic.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define SECOND	 (1000 * WORLD_MS)
#define MAX_CQES 8

/* Counters that are the same whichever way it goes. */
static const enum bl_snic_counter counters[] = {
	BL_SNIC_TIMEOUTS,	   BL_SNIC_RNR_SENT,	 BL_SNIC_RNR_RECEIVED, BL_SNIC_NAK_SENT,    BL_SNIC_NAK_RECEIVED,
	BL_SNIC_RX_OUT_OF_ORDER,   BL_SNIC_RX_MALFORMED, BL_SNIC_CQE,	       BL_SNIC_CQE_ERROR,   BL_SNIC_CQ_OVERRUN,
	BL_SNIC_WQE,		   BL_SNIC_WQE_BAD,	 BL_SNIC_WQE_DONE,     BL_SNIC_WQE_FAILED,  BL_SNIC_WQE_FLUSHED,
	BL_SNIC_RECV_DONE,	   BL_SNIC_RECV_FAILED,	 BL_SNIC_RECV_FLUSHED, BL_SNIC_SERVED,	    BL_SNIC_SERVED_BYTES,
	BL_SNIC_SERVED_FAILED,	   BL_SNIC_CQE_LOST,	 BL_SNIC_SRQ_TAKEN,    BL_SNIC_SRQ_EMPTY,   BL_SNIC_NAK_SENT_ACCESS,
	BL_SNIC_NAK_SENT_OPERATION, BL_SNIC_NAK_SENT_INVALID, BL_SNIC_RX_DUPLICATE, BL_SNIC_TX_RETRIES, BL_SNIC_RX_UNKNOWN_QP,
};

#define NR_COUNTERS (sizeof(counters) / sizeof(counters[0]))

/* Of one side. */
struct end {
	struct world_cqe send[MAX_CQES], recv[MAX_CQES];
	unsigned int nr_sends, nr_recvs;
	enum bl_snic_qp_state state;
	struct bl_snic_error error;
	uint32_t next_psn, acked_psn, expected_psn;
	uint8_t mem[4096];
};

/* Of a case, gone one way. */
struct outcome {
	struct end a, b;
	uint64_t counts[NR_COUNTERS];
	struct bl_snic_event events[WORLD_EVENTS];
	unsigned int nr_events;
	uint64_t packets, looped;
};

static struct outcome outcomes[2];

static unsigned int drain(struct world_queue *queue, struct world_cqe *cqes)
{
	unsigned int nr = 0;

	while (nr < MAX_CQES && world_poll(queue, &cqes[nr]))
		nr++;
	return nr;
}

static void look_at(struct world_side *side, struct end *end)
{
	struct bl_snic_qp_info info = world_query(side);

	end->nr_sends = drain(&side->send, end->send);
	end->nr_recvs = drain(&side->recv, end->recv);
	end->state = info.mod.state;
	end->error = info.error;
	end->next_psn = info.next_psn;
	end->acked_psn = info.acked_psn;
	end->expected_psn = info.expected_psn;
	memcpy(end->mem, side->mem, sizeof(end->mem));
}

static void look(struct world *w, struct outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	for (size_t i = 0; i < NR_COUNTERS; i++)
		outcome->counts[i] = world_counter(&w->a, counters[i]);
	outcome->packets = world_counter(&w->a, BL_SNIC_TX_PACKETS);
	outcome->looped = world_counter(&w->a, BL_SNIC_LOOPED);
	look_at(&w->a, &outcome->a);
	look_at(&w->b, &outcome->b);
	outcome->nr_events = w->a.nr_events;
	memcpy(outcome->events, w->a.events, sizeof(outcome->events));
}

static void check_cqes(const struct world_cqe *one, unsigned int nr_one, const struct world_cqe *other, unsigned int nr_other)
{
	check_eq(nr_one, nr_other);
	for (unsigned int i = 0; i < nr_one; i++) {
		check_eq(one[i].opcode, other[i].opcode);
		check_eq(one[i].send_opcode, other[i].send_opcode);
		check_eq(one[i].syndrome, other[i].syndrome);
		check_eq(one[i].vendor, other[i].vendor);
		check_eq(one[i].solicited, other[i].solicited);
		check_eq(one[i].counter, other[i].counter);
		check_eq(one[i].len, other[i].len);
		check_eq(one[i].imm, other[i].imm);
	}
}

static void check_end(const struct end *one, const struct end *other)
{
	check_cqes(one->send, one->nr_sends, other->send, other->nr_sends);
	check_cqes(one->recv, one->nr_recvs, other->recv, other->nr_recvs);
	check_eq(one->state, other->state);
	check_eq(one->error.syndrome, other->error.syndrome);
	check_eq(one->error.vendor, other->error.vendor);
	check_eq(one->error.responder, other->error.responder);
	check_eq(one->error.opcode, other->error.opcode);
	check_eq(one->error.wqe_counter, other->error.wqe_counter);
	/* up to the first number of an object, which is another one in each world */
	check_eq(strncmp(one->error.text, other->error.text, 12), 0);
	check_eq(one->next_psn, other->next_psn);
	check_eq(one->acked_psn, other->acked_psn);
	check_eq(one->expected_psn, other->expected_psn);
	check_eq(memcmp(one->mem, other->mem, sizeof(one->mem)), 0);
}

/**
 * struct test - a case
 * @prepare:  before the queue pairs are used, or NULL
 * @post:     what is posted
 * @options:  but for the way
 * @a, @b:    syndromes of the first causes of both sides, 0: it goes on
 * @again:    it is sent again, so that the numbers of packets do not tell which way it went first
 */
struct test {
	void (*prepare)(struct world *w);
	void (*post)(struct world *w);
	struct world_options options;
	uint8_t a, b;
	bool again;
};

static void run(const struct test *test, bool loops, struct outcome *outcome)
{
	struct world_options options = test->options;
	struct world *w;

	options.one_nic = true;
	options.loops = loops;
	w = world_begin(&options);
	fill(w->a.mem, 64, 1);
	fill(w->b.mem, 4096, 2);
	if (test->prepare)
		test->prepare(w);
	test->post(w);
	post_nop(&w->a, WORLD_SIGNAL);
	world_wait(w, 3 * SECOND);
	look(w, outcome);
	check_eq(world_query(&w->a).error.syndrome, test->a);
	check_eq(world_query(&w->b).error.syndrome, test->b);
	world_end(w);
}

static void both_ways(const struct test *test)
{
	run(test, false, &outcomes[0]);
	run(test, true, &outcomes[1]);
	check_eq(outcomes[0].looped, 0);
	if (test->again)
		check(outcomes[1].packets < outcomes[0].packets);
	else
		check_eq(outcomes[1].packets + 1, outcomes[0].packets);
	check_end(&outcomes[0].a, &outcomes[1].a);
	check_end(&outcomes[0].b, &outcomes[1].b);
	for (size_t i = 0; i < NR_COUNTERS; i++)
		check_eq(outcomes[0].counts[i], outcomes[1].counts[i]);
	check_eq(outcomes[0].nr_events, outcomes[1].nr_events);
	for (unsigned int i = 0; i < outcomes[0].nr_events && i < WORLD_EVENTS; i++)
		check_eq(outcomes[0].events[i].type, outcomes[1].events[i].type);
}

/* ---- what is posted ---- */

static void write_to(struct world *w, uint64_t addr, uint32_t key, bool brings, uint32_t lkey)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, addr, key);
	if (brings)
		wqe_inline(&wqe, w->a.mem, 8);
	else
		wqe_data(&wqe, w->a.iova, lkey, 8);
	wqe_post(&wqe, &w->a);
}

static void write_bad_key(struct world *w)
{
	write_to(w, w->b.iova, w->b.key + 1, false, w->a.key);
}

static void bring_bad_key(struct world *w)
{
	write_to(w, w->b.iova, w->b.key + 1, true, 0);
}

static void bring_beyond_the_end(struct world *w)
{
	write_to(w, w->b.iova + w->b.bytes - 4, w->b.key, true, 0);
}

static void write_good(struct world *w)
{
	write_to(w, w->b.iova, w->b.key, false, w->a.key);
}

static void bring_good(struct world *w)
{
	write_to(w, w->b.iova, w->b.key, true, 0);
}

static void write_own_bad_key(struct world *w)
{
	write_to(w, w->b.iova, w->b.key, false, w->a.key + 1);
}

static void write_imm_bad_key(struct world *w)
{
	struct world_wqe wqe;

	post_recv(&w->b, 0, 64);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, 5);
	wqe_raddr(&wqe, w->b.iova, w->b.key + 1);
	wqe_inline(&wqe, w->a.mem, 8);
	wqe_post(&wqe, &w->a);
}

static void send_too_long(struct world *w)
{
	post_recv(&w->b, 0, 7);
	post_recv(&w->b, 0, 64);
	post_send(&w->a, 0, 8);
}

/* A list with a key that none has. */
static void send_to_bad_list(struct world *w)
{
	uint32_t key = w->b.key;

	w->b.key++;
	post_recv(&w->b, 0, 64);
	w->b.key = key;
	post_send(&w->a, 0, 8);
}

static void send_beyond_the_region(struct world *w)
{
	post_recv(&w->b, w->b.bytes - 4, 64);
	post_send(&w->a, 0, 8);
}

static void send_good(struct world *w)
{
	post_recv(&w->b, 0, 64);
	post_send(&w->a, 0, 8);
}

static void send_alone(struct world *w)
{
	post_send(&w->a, 0, 8);
}

/* ---- what is prepared ---- */

static int fail_read(void *priv, uint64_t off, void *dst, size_t len)
{
	return -EFAULT;
}

static int fail_write(void *priv, uint64_t off, const void *src, size_t len)
{
	return -EFAULT;
}

static struct bl_snic_mr *gone;

/* Memory that cannot be reached any more. */
static uint32_t make_gone(struct world_side *side)
{
	const struct bl_snic_mem memory = {.read = fail_read, .write = fail_write};

	check_eq(bl_snic_mr_create(side->pd, &memory, 0, 4096, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &gone), 0);
	return bl_snic_mr_lkey(gone);
}

static void write_to_gone(struct world *w)
{
	write_to(w, 0, make_gone(&w->b), false, w->a.key);
	world_run(w);
	check_eq(bl_snic_mr_destroy(gone), 0);
}

static void bring_to_gone(struct world *w)
{
	write_to(w, 0, make_gone(&w->b), true, 0);
	world_run(w);
	check_eq(bl_snic_mr_destroy(gone), 0);
}

static void write_from_gone(struct world *w)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, 0, make_gone(&w->a), 8);
	wqe_post(&wqe, &w->a);
	world_run(w);
	check_eq(bl_snic_mr_destroy(gone), 0);
}

static void no_rights(struct world *w)
{
	struct bl_snic_qp_mod mod = world_query(&w->b).mod;

	mod.access = BL_SNIC_REMOTE_READ;
	check_eq(bl_snic_qp_modify(w->b.qp, &mod), 0);
}

/* As if its reader had taken nothing for a whole round. */
static void fill_queue(struct world_queue *queue)
{
	queue->record[0] = htobe32((uint32_t)-(int32_t)queue->nr & 0xffffff);
}

static void fill_receive_queue(struct world *w)
{
	fill_queue(&w->b.recv);
}

static void fill_send_queue(struct world *w)
{
	fill_queue(&w->a.send);
}

static void peer_to(struct world *w, enum bl_snic_qp_state state)
{
	struct bl_snic_qp_mod mod = world_query(&w->b).mod;

	for (int at = BL_SNIC_RST; at <= (int)state && at != BL_SNIC_RTR; at++) {
		mod.state = (enum bl_snic_qp_state)at;
		check_eq(bl_snic_qp_modify(w->b.qp, &mod), 0);
	}
}

static void peer_to_reset(struct world *w)
{
	peer_to(w, BL_SNIC_RST);
}

static void peer_to_init(struct world *w)
{
	peer_to(w, BL_SNIC_INIT);
}

static void peer_to_error(struct world *w)
{
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
}

static void peer_to_itself(struct world *w)
{
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_side_to_rts(w, &w->b, &w->b);
}

/* One of a reliable connection in its place. */
static void make_peer_reliable(struct world *w)
{
	struct bl_snic_qp_attr attr = world_query(&w->b).attr;

	attr.type = BL_SNIC_RC;
	check_eq(bl_snic_qp_destroy(w->b.qp), 0);
	check_eq(bl_snic_qp_create(w->b.pd, &attr, &w->b.qp), 0);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_connect(w);
}

/* ---- cases ---- */

static void keys_of_the_peer_are_checked(void)
{
	both_ways(&(struct test){.post = write_bad_key, .a = 0x13, .b = 0x13});
	both_ways(&(struct test){.post = bring_bad_key, .a = 0x13, .b = 0x13});
	both_ways(&(struct test){.post = bring_beyond_the_end, .a = 0x13, .b = 0x13});
	both_ways(&(struct test){.post = write_imm_bad_key, .a = 0x13, .b = 0x13});
}

static void rights_of_the_peer_are_checked(void)
{
	both_ways(&(struct test){.prepare = no_rights, .post = write_good, .a = 0x13, .b = 0x13});
	both_ways(&(struct test){.prepare = no_rights, .post = bring_good, .a = 0x13, .b = 0x13});
}

static void memory_of_the_peer_may_be_gone(void)
{
	both_ways(&(struct test){.post = write_to_gone, .a = 0x13, .b = 0x13});
	both_ways(&(struct test){.post = bring_to_gone, .a = 0x13, .b = 0x13});
}

static void lists_of_the_peer_are_checked(void)
{
	both_ways(&(struct test){.post = send_too_long, .a = 0x12, .b = 0x01});
	both_ways(&(struct test){.post = send_to_bad_list, .a = 0x14, .b = 0x04});
	both_ways(&(struct test){.post = send_beyond_the_region, .a = 0x14, .b = 0x04});
}

static void shared_lists_are_checked(void)
{
	both_ways(&(struct test){.options.srq = true, .post = send_too_long, .a = 0x12, .b = 0x01});
	both_ways(&(struct test){.options.srq = true, .post = send_to_bad_list, .a = 0x14, .b = 0x04});
	/* one that is good */
	run(&(struct test){.options.srq = true, .post = send_good}, true, &outcomes[1]);
	check_eq(outcomes[1].looped, 1);
	check_eq(outcomes[1].b.nr_recvs, 1);
}

static void without_a_list_it_is_given_up(void)
{
	both_ways(&(struct test){.post = send_alone, .a = 0x16, .again = true});
	both_ways(&(struct test){.options.srq = true, .post = send_alone, .a = 0x16, .again = true});
}

static void own_keys_and_memory_are_checked(void)
{
	static const struct test tests[] = {{.post = write_own_bad_key, .a = 0x04}, {.post = write_from_gone, .a = 0x11}};

	for (size_t i = 0; i < 2; i++) {
		/* nothing has gone, either way */
		for (int way = 0; way < 2; way++)
			run(&tests[i], way, &outcomes[way]);
		check_end(&outcomes[0].a, &outcomes[1].a);
		check_end(&outcomes[0].b, &outcomes[1].b);
		check_eq(outcomes[0].packets + outcomes[1].packets, 0);
		check_eq(outcomes[1].looped, 0);
	}
}

/* It was carried out, and its receiver cannot be told: it does not answer. */
static void a_receiver_whose_queue_is_full_does_not_answer(void)
{
	both_ways(&(struct test){.options.checked_cq = true,
				 .prepare = fill_receive_queue,
				 .post = send_good,
				 .a = 0x15,
				 .b = 0x02,
				 .again = true});
}

static void a_sender_whose_queue_is_full_fails(void)
{
	static const struct test test = {
		.options.checked_cq = true, .prepare = fill_send_queue, .post = bring_good, .a = 0x02};

	for (int way = 0; way < 2; way++)
		run(&test, way, &outcomes[way]);
	check_end(&outcomes[0].b, &outcomes[1].b);
	check_eq(outcomes[0].a.state, outcomes[1].a.state);
	check_eq(outcomes[1].looped, 1);
	check(is_filled(outcomes[1].b.mem, 8, 1));
}

/* Nothing of it is written, and in the end it is given up. */
static void a_peer_that_does_not_receive_gets_nothing(void)
{
	static void (*const states[])(struct world *) = {peer_to_reset, peer_to_init, peer_to_itself, peer_to_error};

	for (size_t i = 0; i < 4; i++) {
		const struct test test = {.prepare = states[i], .post = bring_good, .a = 0x15, .b = i == 3 ? 0x05 : 0};

		for (int way = 0; way < 2; way++)
			run(&test, way, &outcomes[way]);
		check_end(&outcomes[0].a, &outcomes[1].a);
		check_end(&outcomes[0].b, &outcomes[1].b);
		check_eq(outcomes[1].looped, 0);
		check(is_filled(outcomes[1].b.mem, 4096, 2));
	}
}

static void both_ends_must_be_reliable(void)
{
	static const struct test test = {.options.uc = true, .prepare = make_peer_reliable, .post = bring_good};

	for (int way = 0; way < 2; way++)
		run(&test, way, &outcomes[way]);
	check_end(&outcomes[0].a, &outcomes[1].a);
	check_end(&outcomes[0].b, &outcomes[1].b);
	check_eq(outcomes[1].looped, 0);
	check(is_filled(outcomes[1].b.mem, 4096, 2));
}

static const struct tap_test tests[] = {
	{"loop_keys_of_the_peer_are_checked", keys_of_the_peer_are_checked},
	{"loop_rights_of_the_peer_are_checked", rights_of_the_peer_are_checked},
	{"loop_memory_of_the_peer_may_be_gone", memory_of_the_peer_may_be_gone},
	{"loop_lists_of_the_peer_are_checked", lists_of_the_peer_are_checked},
	{"loop_shared_lists_are_checked", shared_lists_are_checked},
	{"loop_without_a_list_it_is_given_up", without_a_list_it_is_given_up},
	{"loop_own_keys_and_memory_are_checked", own_keys_and_memory_are_checked},
	{"loop_a_receiver_whose_queue_is_full_does_not_answer", a_receiver_whose_queue_is_full_does_not_answer},
	{"loop_a_sender_whose_queue_is_full_fails", a_sender_whose_queue_is_full_fails},
	{"loop_a_peer_that_does_not_receive_gets_nothing", a_peer_that_does_not_receive_gets_nothing},
	{"loop_both_ends_must_be_reliable", both_ends_must_be_reliable},
};

TAP_MAIN(tests)
