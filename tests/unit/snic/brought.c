// SPDX-License-Identifier: MIT
/* Requests that bring the bytes of their one data segment along: when those count, and when the memory does. */
#include <string.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

/* What the memory holds, and what is brought. */
#define THERE	1
#define BROUGHT 2

static uint64_t line[BL_SNIC_EXPRESS_BLOCKS * BL_SNIC_EXPRESS_WORDS];

/* Bytes behind the segments of a request, and the mark. */
static void bring(struct world_wqe *wqe, uint32_t len)
{
	wqe->raw[9] = BL_WQE_BROUGHT;
	wqe->raw[10] = (uint8_t)len;
	fill(wqe->raw + wqe->nr_segs * 16UL, len, BROUGHT);
}

static void begin_write(struct world_wqe *wqe, struct world *w, uint8_t opcode, uint8_t flags)
{
	wqe_begin(wqe, &w->a, 0, opcode, WORLD_SIGNAL | flags, 0);
	wqe_raddr(wqe, w->b.iova, w->b.key);
}

static struct world *begin(const struct world_options *options)
{
	struct world *w = world_begin(options);

	fill(w->a.mem, 64, THERE);
	return w;
}

/* After one request of that kind and length: whether the peer has what was brought. */
static void expect(struct world *w, uint32_t len, unsigned int seed, uint16_t counter)
{
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, counter);
	check(is_filled(w->b.mem, len, seed));
	memset(w->b.mem, 0, len);
}

static void what_is_brought_is_sent(void)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_WRITE_IMM, BL_WQE_SEND, BL_WQE_SEND_IMM};
	static const uint32_t lens[] = {1, 8, 16, 32};
	struct world *w = begin(NULL);
	struct world_wqe wqe;
	uint16_t counter = 0;

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		bool writes = opcodes[i] == BL_WQE_WRITE || opcodes[i] == BL_WQE_WRITE_IMM;

		for (size_t j = 0; j < (writes ? 3 : 4); j++) {
			if (opcodes[i] != BL_WQE_WRITE)
				post_recv(&w->b, 0, 64);
			if (writes)
				begin_write(&wqe, w, opcodes[i], 0);
			else
				wqe_begin(&wqe, &w->a, 0, opcodes[i], WORLD_SIGNAL, 0);
			wqe_data(&wqe, w->a.iova, w->a.key, lens[j]);
			bring(&wqe, lens[j]);
			wqe_post(&wqe, &w->a);
			expect(w, lens[j], BROUGHT, counter++);
		}
	}
	world_end(w);
}

/* One that is lost goes out again with the same bytes. */
static enum world_fate lose_first(const struct bl_packet *packet, unsigned int nr)
{
	return nr ? WORLD_PASS : WORLD_DROP;
}

static void what_is_sent_again_is_what_was_brought(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	world_fate = lose_first;
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe_post(&wqe, &w->a);
	world_wait(w, 400 * WORLD_MS);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 1);
	expect(w, 8, BROUGHT, 0);
	world_fate = NULL;
	world_end(w);
}

/* The key and the range count as if the NIC read. */
static void expect_refused(uint64_t addr, bool other_key, const char *why)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova + addr, w->a.key ^ (other_key ? 1 : 0), 8);
	bring(&wqe, 8);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_LOCAL_PROTECTION, 0);
	check(strstr(world_query(&w->a).error.text, why));
	world_end(w);
}

static void keys_and_ranges_are_checked_as_ever(void)
{
	expect_refused(0, true, "no region has the key");
	expect_refused((uint64_t)-4, false, "beyond the region");
	expect_refused((64 << 10) - 4, false, "beyond the region");
}

/* Requests whose mark says nothing, since it does not fit: the memory is read. */
static void marks_that_do_not_fit_say_nothing(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;
	uint16_t counter = 0;

	/* another length */
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe.raw[10] = 4;
	wqe_post(&wqe, &w->a);
	expect(w, 8, THERE, counter++);
	/* more than there is room for */
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 17);
	bring(&wqe, 17);
	wqe_post(&wqe, &w->a);
	expect(w, 17, THERE, counter++);
	/* two segments */
	wqe_begin(&wqe, &w->a, 0, BL_WQE_SEND, WORLD_SIGNAL, 0);
	post_recv(&w->b, 0, 64);
	wqe_data(&wqe, w->a.iova, w->a.key, 4);
	wqe_data(&wqe, w->a.iova + 4, w->a.key, 4);
	bring(&wqe, 4);
	wqe_post(&wqe, &w->a);
	expect(w, 8, THERE, counter++);
	/* a fence: what it waits for may write the memory */
	begin_write(&wqe, w, BL_WQE_WRITE, BL_WQE_READ_FENCE << 5);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe_post(&wqe, &w->a);
	expect(w, 8, THERE, counter++);
	/* no mark */
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe.raw[9] = 0;
	wqe_post(&wqe, &w->a);
	expect(w, 8, THERE, counter);
	world_end(w);
}

static void post_wait(struct world *w)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WAIT, 0, 0);
	wqe_seg32(&wqe, 0, 0, 0, bl_snic_cq_num(w->a.recv.cq));
	wqe_post(&wqe, &w->a);
}

/* What a WAIT waits for may write the memory after a thread has read it, whenever the request came. */
static void behind_a_wait_the_memory_counts(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	post_recv(&w->a, 0, 64);
	post_wait(w);
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect_none(&w->a.send);
	fill(w->b.mem, 8, 3);
	post_send(&w->b, 0, 8);
	world_run(w);
	expect(w, 8, 3, 1);
	/* and later ones, until the queue pair is reset */
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe_post(&wqe, &w->a);
	expect(w, 8, 3, 2);
	world_end(w);
}

/* Without a release before it: where the bytes do not count, the memory may not be there yet. */
static void one_that_is_given_whole_and_does_not_count_is_left_to_the_ring(void)
{
	struct world *w = begin(NULL);
	struct world_wqe wqe;

	memset(line, 0, sizeof(line));
	check_eq(bl_snic_qp_express(w->a.qp, line), 0);
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe_put(&wqe, &w->a);
	wqe_give(&wqe, line, 1);
	expect(w, 8, BROUGHT, 0);
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	bring(&wqe, 8);
	wqe.raw[10] = 4;
	wqe_put(&wqe, &w->a);
	wqe_give(&wqe, line, 2);
	world_run(w);
	world_expect_none(&w->a.send);
	side_ring(&w->a);
	expect(w, 8, THERE, 1);
	post_recv(&w->a, 0, 64);
	post_wait(w);
	post_send(&w->b, 0, 1);
	world_run(w);
	begin_write(&wqe, w, BL_WQE_WRITE, 0);
	wqe_data(&wqe, w->a.iova + 1, w->a.key, 8);
	bring(&wqe, 8);
	wqe_put(&wqe, &w->a);
	wqe_give(&wqe, line, 4);
	world_run(w);
	world_expect_none(&w->a.send);
	fill(w->a.mem + 1, 8, THERE);
	side_ring(&w->a);
	expect(w, 8, THERE, 3);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"brought_is_sent", what_is_brought_is_sent},
	{"brought_is_sent_again", what_is_sent_again_is_what_was_brought},
	{"brought_keys_and_ranges_are_checked_as_ever", keys_and_ranges_are_checked_as_ever},
	{"brought_marks_that_do_not_fit_say_nothing", marks_that_do_not_fit_say_nothing},
	{"brought_behind_a_wait_the_memory_counts", behind_a_wait_the_memory_counts},
	{"brought_and_does_not_count_is_left_to_the_ring", one_that_is_given_whole_and_does_not_count_is_left_to_the_ring},
};

TAP_MAIN(tests)
