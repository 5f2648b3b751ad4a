// SPDX-License-Identifier: MIT
/* Messages that are placed: keys, movers that fail, and what goes away meanwhile. */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "mover.h"
#include "softnic/cq.h"
#include "softnic/packet.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define LEN 20000U

static struct world *begin(struct world_options options)
{
	mover_begin();
	options.one_nic = true;
	options.mover = &mover;
	options.sq_nr = 16;
	options.bytes = 1 << 20;
	return world_begin(&options);
}

static struct world *begin_held(struct world_options options)
{
	struct world *w = begin(options);

	test_mover.hold = true;
	return w;
}

static void to_err(struct world_side *side)
{
	check_eq(bl_snic_qp_modify(side->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
}

static int to_rst(struct world_side *side)
{
	return bl_snic_qp_modify(side->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST});
}

static struct bl_snic_mr *register_side(struct world_side *side, size_t off, size_t len, unsigned int access)
{
	struct bl_snic_mem mem = {.addr = side->mem + off, .mover = &mover, .moved = side};
	struct bl_snic_mr *mr;

	check_eq(bl_snic_mr_create(side->pd, &mem, 0x1000, len, access, &mr), 0);
	return mr;
}

static uint16_t post_to(struct world *w, uint64_t raddr, uint32_t rkey, uint32_t lkey, uint32_t len)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, raddr, rkey);
	wqe_data(&wqe, w->a.iova, lkey, len);
	return wqe_post(&wqe, &w->a);
}

static void expect_refused(struct world *w, uint8_t syndrome)
{
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, syndrome, 0);
	check_eq(test_mover.started, 0);
	check_eq(w->b.mem[0], 0);
	world_end(w);
}

static void keys_are_checked_before_anything_moves(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});
	struct bl_snic_mr *mr;

	memset(w->a.mem, 1, LEN);
	post_to(w, w->b.iova, w->b.key ^ 1, w->a.key, LEN);
	expect_refused(w, 0x13);
	w = begin((struct world_options){.rq_nr = 16});
	memset(w->a.mem, 1, LEN);
	post_to(w, w->b.iova + w->b.bytes - LEN + 1, w->b.key, w->a.key, LEN);
	expect_refused(w, 0x13);
	w = begin((struct world_options){.no_access = true});
	memset(w->a.mem, 1, LEN);
	post_to(w, w->b.iova, w->b.key, w->a.key, LEN);
	expect_refused(w, 0x13);
	w = begin((struct world_options){.rq_nr = 16});
	mr = register_side(&w->b, 0, LEN, BL_SNIC_REMOTE_READ);
	post_to(w, 0x1000, bl_snic_mr_rkey(mr), w->a.key, LEN);
	world_run(w);
	check_eq(bl_snic_mr_destroy(mr), 0);
	expect_refused(w, 0x13);
	w = begin((struct world_options){.rq_nr = 16});
	post_to(w, w->b.iova, w->b.key, w->a.key ^ 1, LEN);
	expect_refused(w, 0x04);
}

/* The packet has come, and the mover has no room; then it has, and the region is gone. */
static void a_region_that_goes_before_it_is_begun_is_refused(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});
	struct bl_snic_mr *mr = register_side(&w->b, 0, LEN, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE);
	unsigned int room = test_mover.room;

	test_mover.room = 0;
	post_to(w, 0x1000, bl_snic_mr_rkey(mr), w->a.key, LEN);
	bl_snic_progress(w->a.nic);
	check_eq(bl_snic_mr_destroy(mr), 0);
	test_mover.room = room;
	expect_refused(w, 0x13);
	/* the same of its source */
	w = begin_held((struct world_options){.rq_nr = 16});
	mr = register_side(&w->a, 0, LEN, 0);
	w->a.iova = 0x1000;
	test_mover.room = 0;
	post_to(w, w->b.iova, w->b.key, bl_snic_mr_lkey(mr), LEN);
	bl_snic_progress(w->a.nic);
	check_eq(bl_snic_mr_destroy(mr), 0);
	test_mover.room = room;
	expect_refused(w, 0x04);
}

static void what_the_mover_refuses_comes_in_packets(void)
{
	for (int uc = 0; uc < 2; uc++) {
		struct world *w = begin((struct world_options){.uc = uc});

		test_mover.refuse = -ENOMEM;
		fill(w->a.mem, 3UL * LEN, 2);
		for (unsigned int i = 0; i < 3; i++)
			post_write(&w->a, &w->b, i * LEN, i * LEN, LEN);
		world_run(w);
		for (uint16_t i = 0; i < 3; i++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		check(is_filled(w->b.mem, 3UL * LEN, 2));
		check(world_counter(&w->a, BL_SNIC_PLACE_REFUSED) >= 1);
		/* not tried again with that key */
		post_write(&w->a, &w->b, 0, LEN, LEN);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 3);
		check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
		check_eq(world_query(&w->b).expected_psn, 80);
		world_end(w);
	}
}

static void a_send_into_a_list_of_many_segments_comes_in_packets(void)
{
	struct world *w = begin((struct world_options){.rq_sges = 8});
	uint8_t *at = w->b.rq;

	for (unsigned int i = 0; i < 8; i++) {
		uint32_t len = htobe32(LEN / 8), key = htobe32(w->b.key);
		uint64_t addr = htobe64(w->b.iova + i * (LEN / 8));

		memcpy(at + 16UL * i, &len, 4);
		memcpy(at + 16UL * i + 4, &key, 4);
		memcpy(at + 16UL * i + 8, &addr, 8);
	}
	__atomic_store_n(&w->b.dbrec[0], htobe32(1), __ATOMIC_RELEASE);
	fill(w->a.mem, LEN, 3);
	post_send(&w->a, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, LEN);
	check(is_filled(w->b.mem, LEN, 3));
	check_eq(world_counter(&w->a, BL_SNIC_PLACE_REFUSED), 1);
	world_end(w);
}

static void a_send_that_is_too_long_or_into_a_wrong_key_fails_as_ever(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	post_recv(&w->b, 0, LEN - 1);
	post_send(&w->a, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x12, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x01, 0);
	check_eq(test_mover.started, 0);
	world_end(w);
	w = begin((struct world_options){.rq_nr = 16});
	w->b.key ^= 1;
	post_recv(&w->b, 0, LEN);
	w->b.key ^= 1;
	post_send(&w->a, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x14, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x04, 0);
	check_eq(test_mover.started, 0);
	world_end(w);
}

/* Those before it are complete, those after it flushed, in this order. */
static void a_job_that_fails_is_an_error_of_its_request(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});

	for (unsigned int i = 0; i < 3; i++)
		post_write(&w->a, &w->b, i * LEN, i * LEN, LEN);
	world_run(w);
	mover_end(0);
	world_run(w);
	test_mover.fail = -EIO;
	mover_end(1);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	/* the third is still being moved: its memory is not its user's again */
	world_expect_none(&w->a.send);
	mover_end(2);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x14, 1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 2);
	check_has(world_query(&w->b).error.text, "could not be moved");
	world_end(w);
}

static void a_mover_that_never_ends_does_not_hold_the_queue_pair(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});

	post_write(&w->a, &w->b, 0, 0, LEN);
	world_wait(w, 9900 * WORLD_MS);
	world_expect_none(&w->a.send);
	world_wait(w, 200 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x14, 0);
	/* both queue pairs may go, the memory may not */
	check_eq(to_rst(&w->a), 0);
	check_eq(bl_snic_mr_destroy(w->b.mr), -EBUSY);
	check_eq(to_rst(&w->b), 0);
	world_connect(w);
	mover_end(0);
	world_run(w);
	test_mover.hold = false;
	w->a.pi = 0;
	/* the region is as it was */
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	w->a.send.ci = 1;
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

static void flushing_waits_for_the_mover(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});

	post_recv(&w->b, 0x40000, LEN);
	post_send(&w->a, 0, LEN);
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	check_eq(test_mover.started, 2);
	to_err(&w->a);
	to_err(&w->b);
	world_run(w);
	world_expect_none(&w->a.send);
	world_expect_none(&w->b.recv);
	mover_end(0);
	world_run(w);
	world_expect_none(&w->a.send);
	mover_end(1);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 1);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x05, 0);
	world_end(w);
}

static void a_receiver_in_error_leaves_its_sender_without_answer(void)
{
	struct world *w = begin_held((struct world_options){.retry_cnt = 2});

	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	to_err(&w->b);
	mover_end_all();
	world_wait(w, 2000 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 0);
	world_end(w);
}

static void a_sender_in_error_takes_its_messages_back(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});

	test_mover.room = 1;
	post_write(&w->a, &w->b, 0, 0, LEN);
	post_write(&w->a, &w->b, LEN, 0, LEN);
	world_run(w);
	check_eq(test_mover.started, 1);
	to_err(&w->a);
	mover_end_all();
	world_run(w);
	check_eq(test_mover.started, 1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 1);
	/* both start again from the beginning */
	check_eq(to_rst(&w->a), 0);
	check_eq(to_rst(&w->b), 0);
	world_connect(w);
	w->a.pi = 0;
	memset(w->a.mem, 3, LEN);
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(w->b.mem[LEN - 1], 3);
	world_end(w);
}

static void *end_soon(void *arg)
{
	usleep(30000);
	mover_end_all();
	return NULL;
}

enum victim { DEREG_SOURCE, DEREG_TARGET, RESET_SENDER, RESET_RECEIVER, DESTROY_SENDER, DESTROY_RECEIVER, NR_VICTIMS };

static int take_away(struct world *w, enum victim victim)
{
	struct world_side *side = victim == DEREG_SOURCE || victim == RESET_SENDER || victim == DESTROY_SENDER ? &w->a
													       : &w->b;
	int ret;

	if (victim >= DESTROY_SENDER) {
		ret = bl_snic_qp_destroy(side->qp);
		side->qp = ret ? side->qp : NULL;
	} else if (victim >= RESET_SENDER) {
		ret = to_rst(side);
	} else {
		ret = bl_snic_mr_destroy(side->mr);
		side->mr = ret ? side->mr : NULL;
	}
	return ret;
}

static void what_a_mover_uses_goes_when_it_is_done(void)
{
	for (int victim = 0; victim < NR_VICTIMS; victim++) {
		struct world *w = begin_held((struct world_options){.rq_nr = 16});
		pthread_t thread;

		fill(w->a.mem, LEN, 4);
		post_write(&w->a, &w->b, 0, 0, LEN);
		world_run(w);
		check_eq(test_mover.started, 1);
		check_eq(pthread_create(&thread, NULL, end_soon, NULL), 0);
		check_eq(take_away(w, (enum victim)victim), 0);
		check_eq(test_mover.ended, 1);
		check(is_filled(w->b.mem, LEN, 4));
		pthread_join(thread, NULL);
		world_run(w);
		world_end(w);
	}
}

/* Each takes a second: one of them shows it. */
static void what_a_mover_does_not_let_go_stays(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});

	fill(w->a.mem, LEN, 5);
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	check_eq(take_away(w, RESET_SENDER), -EBUSY);
	mover_end_all();
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, LEN, 5));
	world_end(w);
}

/* Its objects went with the port. */
static void forget(struct world_side *side)
{
	side->nic = NULL;
	free(side->send.ring);
	free(side->recv.ring);
	free(side->sq);
	free(side->rq);
	free(side->mem);
}

static void a_port_that_is_closed_waits_for_its_movers(void)
{
	struct world *w = begin_held((struct world_options){.rq_nr = 16});
	pthread_t thread;

	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	check_eq(pthread_create(&thread, NULL, end_soon, NULL), 0);
	bl_snic_close(w->a.nic);
	check_eq(test_mover.ended, 1);
	pthread_join(thread, NULL);
	forget(&w->a);
	forget(&w->b);
	world_end(w);
}

static void reads_that_fail_fail_as_ever(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	/* the mover does not want to, or cannot in the middle: packets */
	fill(w->b.mem, LEN, 6);
	test_mover.refuse = -ENOMEM;
	post_read(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	test_mover.fail = -EIO;
	post_read(&w->a, &w->b, LEN, 0, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(is_filled(w->a.mem, LEN, 6) && is_filled(w->a.mem + LEN, LEN, 6));
	check_eq(world_counter(&w->a, BL_SNIC_PLACE_REFUSED), 2);
	/* a key that is none */
	w->b.key ^= 1;
	post_read(&w->a, &w->b, 0, 0, LEN);
	w->b.key ^= 1;
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 2);
	world_end(w);
	/* in the middle of it the memory is written by nobody any more when its owner is told */
	for (int who = 0; who < 2; who++) {
		w = begin_held((struct world_options){.rq_nr = 16, .retry_cnt = 1});
		post_read(&w->a, &w->b, 0, 0, LEN);
		world_run(w);
		to_err(who ? &w->a : &w->b);
		world_wait(w, 2000 * WORLD_MS);
		world_expect_none(&w->a.send);
		mover_end_all();
		world_wait(w, 10 * WORLD_MS);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, who ? 0x05 : 0x15, 0);
		world_end(w);
	}
}

static void full_completion_queues_stop_it(void)
{
	struct world *w = begin((struct world_options){.cq_nr = 2, .checked_cq = true});

	for (unsigned int i = 0; i < 5; i++)
		post_write(&w->a, &w->b, i * LEN, 0, LEN);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	check_eq(world_counter(&w->a, BL_SNIC_CQ_OVERRUN) > 0, 1);
	world_end(w);
}

#define T(name) {"place_" #name, name}

static const struct tap_test tests[] = {
	T(keys_are_checked_before_anything_moves),
	T(a_region_that_goes_before_it_is_begun_is_refused),
	T(what_the_mover_refuses_comes_in_packets),
	T(a_send_into_a_list_of_many_segments_comes_in_packets),
	T(a_send_that_is_too_long_or_into_a_wrong_key_fails_as_ever),
	T(a_job_that_fails_is_an_error_of_its_request),
	T(a_mover_that_never_ends_does_not_hold_the_queue_pair),
	T(flushing_waits_for_the_mover),
	T(a_receiver_in_error_leaves_its_sender_without_answer),
	T(a_sender_in_error_takes_its_messages_back),
	T(what_a_mover_uses_goes_when_it_is_done),
	T(what_a_mover_does_not_let_go_stays),
	T(a_port_that_is_closed_waits_for_its_movers),
	T(reads_that_fail_fail_as_ever),
	T(full_completion_queues_stop_it),
};

TAP_MAIN(tests)
