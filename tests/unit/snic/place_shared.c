// SPDX-License-Identifier: MIT
/* Messages that are placed between two NICs: offers, what is lost of them, and what goes away. */
#include <errno.h>

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
	test_mover.shares = true;
	options.mover = &mover;
	options.sq_nr = 32;
	options.bytes = 1 << 20;
	return world_begin(&options);
}

static void end(struct world *w)
{
	world_end(w);
	check_eq(test_mover.attached, 0);
}

/* Write @nr messages, one after the other, from request @first on. */
static void write_some(struct world *w, unsigned int first, unsigned int nr)
{
	for (unsigned int i = first; i < first + nr; i++) {
		fill(w->a.mem, LEN, i);
		post_write(&w->a, &w->b, 100, 0, LEN);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)i);
		check(is_filled(w->b.mem + 100, LEN, i));
		world_wait(w, 2 * WORLD_MS);
	}
}

static void the_first_message_goes_in_packets_and_offers_the_memory(void)
{
	struct world *w = begin((struct world_options){.sq_psn = 0xfffff8});

	write_some(w, 0, 5);
	check_eq(test_mover.started, 4);
	check_eq(test_mover.attached, 1);
	check_eq(world_counter(&w->b, BL_SNIC_PLACED), 4);
	check_eq(world_counter(&w->a, BL_SNIC_PLACED), 0);
	check_eq(world_query(&w->a).next_psn, (0xfffff8 + 5 * 20) & 0xffffff);
	end(w);
}

static void sends_and_offsets_are_right(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	write_some(w, 0, 1);
	fill(w->a.mem + 70001, LEN, 7);
	post_recv(&w->b, 333, LEN);
	post_send(&w->a, 70001, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0);
	check(is_filled(w->b.mem + 333, LEN, 7));
	check_eq(test_mover.started, 1);
	/* beyond the region, by an address that begins in it */
	post_write(&w->a, &w->b, 0, w->a.bytes - LEN + 1, LEN);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 2);
	end(w);
}

static void unreliable_connections_and_memory_that_is_not_shared_use_packets(void)
{
	struct world *w = begin((struct world_options){.uc = true});

	write_some(w, 0, 3);
	check_eq(test_mover.attached, 0);
	end(w);
	w = begin((struct world_options){.rq_nr = 16});
	test_mover.shares = false;
	write_some(w, 0, 3);
	check_eq(test_mover.attached, 0);
	check_eq(test_mover.started, 0);
	end(w);
}

static void attaching_may_take_its_time(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	test_mover.slow = 3;
	write_some(w, 0, 6);
	check_eq(test_mover.started, 2);
	check_eq(bl_snic_mr_destroy(w->a.mr), 0);
	w->a.mr = NULL;
	world_wait(w, 10 * WORLD_MS);
	check_eq(test_mover.attached, 0);
	test_mover.slow = 0;
	end(w);
}

static void a_peer_that_cannot_is_not_asked_again(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	test_mover.unwilling = -ENODEV;
	write_some(w, 0, 1);
	test_mover.unwilling = 0;
	write_some(w, 1, 4);
	check_eq(test_mover.started, 0);
	check_eq(test_mover.attached, 0);
	end(w);
}

static unsigned int to_lose;

static enum world_fate lose_words(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode != BL_PKT_SHARE || !to_lose)
		return WORLD_PASS;
	to_lose--;
	return WORLD_DROP;
}

static enum world_fate double_words(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == BL_PKT_SHARE ? WORLD_DOUBLE : WORLD_PASS;
}

static void words_that_are_lost_are_said_again(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	world_fate = lose_words;
	to_lose = 2;
	write_some(w, 0, 4);
	check_eq(test_mover.started, 1);
	to_lose = 2;
	check_eq(bl_snic_mr_destroy(w->a.mr), 0);
	w->a.mr = NULL;
	world_wait(w, 100 * WORLD_MS);
	check_eq(test_mover.attached, 0);
	check_eq(to_lose, 0);
	end(w);
	w = begin((struct world_options){.rq_nr = 16});
	world_fate = double_words;
	write_some(w, 0, 4);
	check_eq(test_mover.started, 3);
	check_eq(test_mover.attached, 1);
	end(w);
}

static void a_region_that_goes_is_let_go_of_when_its_copies_are_made(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	write_some(w, 0, 1);
	test_mover.hold = true;
	test_mover.room = 1;
	post_write(&w->a, &w->b, 0, 0, LEN);
	post_write(&w->a, &w->b, LEN, 0, LEN);
	world_run(w);
	check_eq(test_mover.started, 1);
	check_eq(bl_snic_mr_destroy(w->a.mr), 0);
	w->a.mr = NULL;
	world_wait(w, 50 * WORLD_MS);
	check_eq(test_mover.attached, 1);
	mover_end_all();
	world_wait(w, 50 * WORLD_MS);
	check_eq(test_mover.attached, 0);
	/* the first was on its way; the second has to come in packets, and has nowhere to come from */
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 2);
	check_eq(test_mover.started, 1);
	end(w);
}

static int to_rst(struct world_side *side)
{
	return bl_snic_qp_modify(side->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST});
}

static void with_the_connection_goes_what_was_shared(void)
{
	for (int who = 0; who < 2; who++) {
		struct world *w = begin((struct world_options){.rq_nr = 16});

		write_some(w, 0, 2);
		check_eq(test_mover.attached, 1);
		check_eq(to_rst(who ? &w->a : &w->b), 0);
		world_wait(w, 10 * WORLD_MS);
		/* the sender's end alone is not known to the receiver until its own */
		check_eq(test_mover.attached, who);
		check_eq(to_rst(who ? &w->b : &w->a), 0);
		world_wait(w, 10 * WORLD_MS);
		check_eq(test_mover.attached, 0);
		/* and begins anew */
		world_connect(w);
		w->a.pi = 0;
		w->a.send.ci = 0;
		memset(w->a.send.ring, 0xff, 64UL * w->a.send.nr);
		fill(w->a.mem, LEN, 9);
		post_write(&w->a, &w->b, 0, 0, LEN);
		world_run(w);
		check(is_filled(w->b.mem, LEN, 9));
		check_eq(test_mover.attached, 1);
		end(w);
	}
}

static void a_peer_that_is_gone_fails_the_queue_pair_and_nothing_else(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	write_some(w, 0, 1);
	test_mover.hold = true;
	post_write(&w->a, &w->b, 0, 0, LEN);
	world_run(w);
	check_eq(test_mover.started, 1);
	world_gone = true;
	world_wait(w, 5 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x15, 1);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_ERR);
	/* the copy goes on; its memory is kept until it is made */
	check_eq(bl_snic_mr_destroy(w->b.mr), -EBUSY);
	mover_end_all();
	world_run(w);
	end(w);
}

static void a_number_that_nobody_gave_is_answered_with_packets(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});

	write_some(w, 0, 2);
	/* the receiver has forgotten: another queue pair's end took it along, say */
	world_fate = lose_words;
	to_lose = 100;
	check_eq(to_rst(&w->b), 0);
	check_eq(bl_snic_progress(w->b.nic) >= 0, 1);
	check_eq(test_mover.attached, 0);
	w->options.sq_psn = 40;
	world_side_to_rts(w, &w->b, &w->a);
	write_some(w, 2, 2);
	check_eq(world_counter(&w->a, BL_SNIC_PLACE_REFUSED), 1);
	check_eq(test_mover.started, 1);
	end(w);
}

static void random_words_do_no_harm(void)
{
	struct world *w = begin((struct world_options){.rq_nr = 16});
	struct bl_snic_path *path;
	uint8_t gid[16];
	struct bl_snic_link *link;
	struct bl_packet packet = {.opcode = BL_PKT_SHARE, .dest_qpn = bl_snic_qp_num(w->b.qp)};

	/* a port that is not the peer's is not heard; see what the peer's own words can do in the other tests */
	check_eq(world_transport.open("c", gid, &link), 0);
	check_eq(world_transport.path_open(link, bl_snic_gid(w->b.nic), &path), 0);
	for (unsigned int word = 0; word < 8; word++) {
		packet.syndrome = (uint8_t)word;
		packet.swap_add = word & 1;
		check(world_transport.reserve(path, 0));
		world_transport.commit(path, &packet);
	}
	world_run(w);
	check_eq(world_counter(&w->b, BL_SNIC_RX_WRONG_PEER), 8);
	check_eq(test_mover.attached, 0);
	world_transport.path_close(path);
	world_transport.close(link);
	end(w);
}

#define T(name) {"place_shared_" #name, name}

static const struct tap_test tests[] = {
	T(the_first_message_goes_in_packets_and_offers_the_memory),
	T(sends_and_offsets_are_right),
	T(unreliable_connections_and_memory_that_is_not_shared_use_packets),
	T(attaching_may_take_its_time),
	T(a_peer_that_cannot_is_not_asked_again),
	T(words_that_are_lost_are_said_again),
	T(a_region_that_goes_is_let_go_of_when_its_copies_are_made),
	T(with_the_connection_goes_what_was_shared),
	T(a_peer_that_is_gone_fails_the_queue_pair_and_nothing_else),
	T(a_number_that_nobody_gave_is_answered_with_packets),
	T(random_words_do_no_harm),
};

TAP_MAIN(tests)
