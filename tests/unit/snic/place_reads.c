// SPDX-License-Identifier: MIT
/* Messages that are placed: reads, and those of unreliable connections. */
#include "mover.h"
#include "softnic/cq.h"
#include "softnic/packet.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define LEN 20000U
#define MS_OF(s) ((s) * 1000 * WORLD_MS)

static enum world_fate placed_fate;
static unsigned int placed_seen;

static enum world_fate first_placed(const struct bl_packet *packet, unsigned int nr)
{
	return (packet->opcode & 0x1f) == BL_PKT_PLACE_WRITE && !placed_seen++ ? placed_fate : WORLD_PASS;
}

static void reads_are_placed_by_the_answering_side(void)
{
	struct world *w = mover_world_held((struct world_options){.sq_nr = 32, .sq_psn = 0xfffff0});
	struct world_wqe wqe;

	fill(w->b.mem, 4UL * LEN, 17);
	post_read(&w->a, &w->b, 7, 100, LEN);
	/* into two segments */
	wqe_begin(&wqe, &w->a, 0, BL_WQE_READ, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + LEN, w->b.key);
	wqe_data(&wqe, w->a.iova + 100000, w->a.key, 3000);
	wqe_data(&wqe, w->a.iova + 200000, w->a.key, LEN - 3000);
	wqe_post(&wqe, &w->a);
	post_read(&w->a, &w->b, 50000, 60000, 64);
	world_run(w);
	/* two jobs for the second */
	check_eq(test_mover.started, 3);
	world_wait(w, MS_OF(3));
	world_expect_none(&w->a.send);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	mover_end_all();
	world_wait(w, MS_OF(1));
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(!memcmp(w->a.mem + 7, w->b.mem + 100, LEN));
	check(!memcmp(w->a.mem + 100000, w->b.mem + LEN, 3000));
	check(!memcmp(w->a.mem + 200000, w->b.mem + LEN + 3000, LEN - 3000));
	check(!memcmp(w->a.mem + 50000, w->b.mem + 60000, 64));
	check_eq(test_mover.started, 3);
	check_eq(world_counter(&w->a, BL_SNIC_PLACED), 2);
	check_eq(world_query(&w->a).next_psn, (0xfffff0 + 41) & 0xffffff);
	world_end(w);
}

static enum world_fate read_fate;
static unsigned int read_number; /* of the packet that meets it, counted from 0 */

static enum world_fate first_read(const struct bl_packet *packet, unsigned int nr)
{
	bool counts = packet->opcode == BL_PKT_READ_REQUEST || packet->opcode == BL_PKT_READ_PLACED;

	return counts && placed_seen++ == read_number ? read_fate : WORLD_PASS;
}

static void reads_survive_what_a_wire_does_to_them(void)
{
	static const enum world_fate fates[] = {WORLD_DROP, WORLD_DOUBLE, WORLD_HOLD};

	/* the request, then the answer */
	for (unsigned int i = 0; i < 6; i++) {
		struct world *w = mover_world((struct world_options){.sq_nr = 16});

		read_fate = fates[i % 3];
		read_number = i / 3;
		placed_seen = 0;
		world_fate = first_read;
		fill(w->b.mem, LEN, i);
		post_read(&w->a, &w->b, 0, 0, LEN);
		post_write(&w->a, &w->b, LEN, LEN, 8);
		world_wait(w, MS_OF(1));
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
		check(is_filled(w->a.mem, LEN, i));
		world_end(w);
	}
}

static void uc_completes_when_its_memory_is_not_read_any_more(void)
{
	struct world *w = mover_world_held((struct world_options){.uc = true, .sq_nr = 16});

	fill(w->a.mem, 2UL * LEN, 15);
	post_write(&w->a, &w->b, 0, 0, LEN);
	post_write(&w->a, &w->b, LEN, LEN, LEN);
	post_write(&w->a, &w->b, 2UL * LEN, 0, 8);
	world_wait(w, MS_OF(1));
	world_expect_none(&w->a.send);
	check_eq(w->b.mem[2UL * LEN], 0);
	mover_end_all();
	world_run(w);
	for (uint16_t i = 0; i < 3; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(is_filled(w->b.mem, 2UL * LEN, 15));
	check_eq(w->b.mem[2UL * LEN], w->a.mem[0]);
	check_eq(test_mover.started, 2);
	world_end(w);
}

static void uc_loses_and_goes_on(void)
{
	static const enum world_fate fates[] = {WORLD_DROP, WORLD_DOUBLE, WORLD_HOLD};

	for (size_t f = 0; f < 3; f++) {
		struct world *w = mover_world((struct world_options){.uc = true, .sq_nr = 16});

		placed_fate = fates[f];
		placed_seen = 0;
		world_fate = first_placed;
		fill(w->a.mem, 2UL * LEN, 16);
		post_write(&w->a, &w->b, 0, 0, LEN);
		post_write(&w->a, &w->b, LEN, LEN, LEN);
		world_run(w);
		world_wait(w, 300 * WORLD_MS);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
		check(!memcmp(w->b.mem + LEN, w->a.mem + LEN, LEN));
		check_eq(is_filled(w->b.mem, LEN, 16), fates[f] == WORLD_DOUBLE);
		check_eq(test_mover.started, fates[f] == WORLD_DOUBLE ? 2 : 1);
		world_end(w);
	}
}

#define T(name) {"place_" #name, name}

static const struct tap_test tests[] = {
	T(reads_are_placed_by_the_answering_side),
	T(reads_survive_what_a_wire_does_to_them),
	T(uc_completes_when_its_memory_is_not_read_any_more),
	T(uc_loses_and_goes_on),
};

TAP_MAIN(tests)
