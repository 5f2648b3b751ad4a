// SPDX-License-Identifier: MIT
/* Requests that are given whole, ahead of their doorbells: what is taken, and what is left to the ring. */
#include <endian.h>
#include <string.h>
#include <sys/mman.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/guard.h"
#include "world.h"

static uint64_t line[BL_SNIC_EXPRESS_BLOCKS * BL_SNIC_EXPRESS_WORDS];

static struct world *begin(const struct world_options *options)
{
	struct world *w = world_begin(options);

	memset(line, 0, sizeof(line));
	check_eq(bl_snic_qp_express(w->a.qp, line), 0);
	return w;
}

/* A write of some bytes inside of the request, in the ring, without doorbell. */
static void put_inline(struct world *w, struct world_wqe *wqe, unsigned int seed)
{
	uint8_t bytes[28];

	fill(bytes, sizeof(bytes), seed);
	wqe_begin(wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(wqe, w->b.iova, w->b.key);
	wqe_inline(wqe, bytes, sizeof(bytes));
	wqe_put(wqe, &w->a);
}

static void a_request_that_is_given_whole_needs_no_doorbell(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	/* more than the ring has: it wraps, and 16 bits of index would not */
	for (unsigned int i = 0; i < 150; i++) {
		put_inline(w, &wqe, i);
		wqe_give(&wqe, line, w->a.pi);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)i);
		check(is_filled(w->b.mem, 28, i));
		/* it follows, and is no news; of every third it does not come before the next request */
		if (i % 3)
			side_ring(&w->a);
		world_run(w);
		world_expect_none(&w->a.send);
	}
	check_eq(world_query(&w->a).sq_pi, 150);
	check_eq(world_counter(&w->a, BL_SNIC_WQE), 150);
	world_end(w);
}

static void each_word_is_waited_for(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	for (unsigned int last = 0; last < BL_SNIC_EXPRESS_WORDS; last++) {
		put_inline(w, &wqe, last);
		for (unsigned int i = 0; i < BL_SNIC_EXPRESS_WORDS; i++) {
			if (i != last)
				wqe_give_word(&wqe, line, i, w->a.pi);
		}
		world_run(w);
		world_expect_none(&w->a.send);
		wqe_give_word(&wqe, line, last, w->a.pi);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)last);
		check(is_filled(w->b.mem, 28, last));
	}
	world_end(w);
}

/* A write of at most 92 bytes, which lie in two blocks. */
static void put_two_blocks(struct world *w, struct world_wqe *wqe, uint32_t len, unsigned int seed)
{
	uint8_t bytes[92];

	fill(bytes, len, seed);
	wqe_begin(wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(wqe, w->b.iova, w->b.key);
	wqe_inline(wqe, bytes, len);
	wqe_put(wqe, &w->a);
}

/* @first: the count that its first block makes. */
static void give_two_blocks(const struct world_wqe *wqe, uint64_t first)
{
	for (unsigned int i = 0; i < 2 * BL_SNIC_EXPRESS_WORDS; i++)
		wqe_give_word(wqe, line, i, first);
}

/* After one of one block, so that the second block comes to lie at the begin of the ring. */
static void a_request_of_two_blocks_is_given_whole(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	put_inline(w, &wqe, 0);
	wqe_give(&wqe, line, w->a.pi);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	for (unsigned int i = 0; i < 100; i++) {
		uint32_t len = i % 2 ? 92 : 64;
		uint16_t index = (uint16_t)w->a.pi;

		put_two_blocks(w, &wqe, len, i);
		check_eq(w->a.pi, index + 2U);
		give_two_blocks(&wqe, index + 1U);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
		check(is_filled(w->b.mem, len, i));
		if (i % 3)
			side_ring(&w->a);
		world_run(w);
		world_expect_none(&w->a.send);
	}
	check_eq(world_query(&w->a).sq_pi, 201);
	check_eq(world_counter(&w->a, BL_SNIC_WQE), 101);
	world_end(w);
}

static void each_word_of_two_blocks_is_waited_for(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	for (unsigned int last = 0; last < 2 * BL_SNIC_EXPRESS_WORDS; last++) {
		uint64_t first = w->a.pi + 1;

		put_two_blocks(w, &wqe, 64, last);
		for (unsigned int i = 0; i < 2 * BL_SNIC_EXPRESS_WORDS; i++) {
			if (i != last)
				wqe_give_word(&wqe, line, i, first);
		}
		world_run(w);
		world_expect_none(&w->a.send);
		wqe_give_word(&wqe, line, last, first);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)(first - 1));
		check(is_filled(w->b.mem, 64, last));
	}
	world_end(w);
}

/* There is room for one block. */
static void two_blocks_need_room_for_two(void)
{
	struct world *w = begin(&(struct world_options){.rq_nr = 16});
	struct world_wqe wqe;

	/* sends that wait for receives fill the ring */
	for (unsigned int i = 1; i < w->a.sq_nr; i++)
		post_send(&w->a, 0, 8);
	world_run(w);
	put_two_blocks(w, &wqe, 64, 1);
	give_two_blocks(&wqe, w->a.sq_nr);
	world_run(w);
	check_eq(world_query(&w->a).sq_pi, w->a.sq_nr - 1);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void one_that_was_written_over_is_taken_from_the_ring(void)
{
	struct world *w = begin(NULL);
	struct world_wqe first, second;

	put_inline(w, &first, 1);
	wqe_give(&first, line, 1);
	put_inline(w, &second, 2);
	wqe_give(&second, line, 2);
	world_run(w);
	/* the second alone is known of, and it is not the next one */
	world_expect_none(&w->a.send);
	side_ring(&w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_expect_none(&w->a.send);
	check(is_filled(w->b.mem, 28, 2));
	world_end(w);
}

/* @count, or a request that is another than the ring's; the ring is right in the end. */
static void expect_left(const struct world_wqe *given, uint64_t count)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	put_inline(w, &wqe, 7);
	wqe_give(given ? given : &wqe, line, count);
	world_run(w);
	world_expect_none(&w->a.send);
	check_eq(world_query(&w->a).sq_pi, 0);
	side_ring(&w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, 28, 7));
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void words_that_are_no_next_request_are_left(void)
{
	struct world_wqe wqe = {.nr_segs = 3};

	expect_left(NULL, 0);
	expect_left(NULL, 2);
	expect_left(NULL, UINT32_MAX);
	/* the index of another, more segments than a block has, none */
	wqe.raw[2] = 1;
	wqe.raw[7] = 3;
	expect_left(&wqe, 1);
	wqe.raw[2] = 0;
	wqe.raw[7] = 9;
	expect_left(&wqe, 1);
	/* a second block that does not come */
	wqe.raw[7] = 5;
	expect_left(&wqe, 1);
	wqe.raw[7] = 0;
	expect_left(&wqe, 1);
}

static void a_bad_request_that_is_given_whole_fails_as_ever(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, 0x7f, WORLD_SIGNAL, 0);
	wqe_put(&wqe, &w->a);
	wqe_give(&wqe, line, 1);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	world_end(w);
}

static void a_full_ring_takes_nothing_more(void)
{
	struct world *w = begin(&(struct world_options){.rq_nr = 16});
	struct world_wqe wqe;

	/* sends that wait for receives fill it */
	for (unsigned int i = 0; i < w->a.sq_nr; i++)
		post_send(&w->a, 0, 8);
	world_run(w);
	put_inline(w, &wqe, 3);
	wqe_give(&wqe, line, w->a.pi);
	world_run(w);
	check_eq(world_query(&w->a).sq_pi, w->a.sq_nr);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void a_line_that_goes_away_is_not_missed(void)
{
	struct world *w;
	struct world_wqe wqe;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED);
	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	w = world_begin(NULL);
	check_eq(bl_snic_qp_express(w->a.qp, page), 0);
	world_run(w);
	check(!munmap(page, 4096));
	put_inline(w, &wqe, 4);
	side_ring(&w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, 28, 4));
	check_eq(bl_snic_qp_express(w->a.qp, (uint64_t *)((char *)line + 4)), -EINVAL);
	world_end(w);
}

static void a_line_that_is_taken_back_is_not_looked_at(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	check_eq(bl_snic_qp_express(w->a.qp, NULL), 0);
	put_inline(w, &wqe, 5);
	wqe_give(&wqe, line, 1);
	world_run(w);
	world_expect_none(&w->a.send);
	side_ring(&w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

/* A record that says what cannot be is found by the pass after. */
static void what_is_given_whole_spares_the_other_doorbells(void)
{
	struct world *w = begin(&(struct world_options){.one_nic = true, .loops = true});
	struct world_wqe wqe;

	world_run(w);
	put_inline(w, &wqe, 7);
	wqe_give(&wqe, line, w->a.pi);
	__atomic_store_n(&w->a.dbrec[1], htobe32(5000), __ATOMIC_RELEASE);
	check(bl_snic_progress(w->a.nic) > 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, 28, 7));
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	bl_snic_progress(w->a.nic);
	check_eq(world_query(&w->a).error.syndrome, BL_SYNDROME_LOCAL_OPERATION);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"express_a_request_that_is_given_whole_needs_no_doorbell", a_request_that_is_given_whole_needs_no_doorbell},
	{"express_each_word_is_waited_for", each_word_is_waited_for},
	{"express_a_request_of_two_blocks_is_given_whole", a_request_of_two_blocks_is_given_whole},
	{"express_each_word_of_two_blocks_is_waited_for", each_word_of_two_blocks_is_waited_for},
	{"express_two_blocks_need_room_for_two", two_blocks_need_room_for_two},
	{"express_one_that_was_written_over_is_taken_from_the_ring", one_that_was_written_over_is_taken_from_the_ring},
	{"express_words_that_are_no_next_request_are_left", words_that_are_no_next_request_are_left},
	{"express_a_bad_request_that_is_given_whole_fails_as_ever", a_bad_request_that_is_given_whole_fails_as_ever},
	{"express_a_full_ring_takes_nothing_more", a_full_ring_takes_nothing_more},
	{"express_a_line_that_goes_away_is_not_missed", a_line_that_goes_away_is_not_missed},
	{"express_a_line_that_is_taken_back_is_not_looked_at", a_line_that_is_taken_back_is_not_looked_at},
	{"express_what_is_given_whole_spares_the_other_doorbells", what_is_given_whole_spares_the_other_doorbells},
};

TAP_MAIN(tests)
