// SPDX-License-Identifier: MIT
/* Work that was carried out is counted apart from work that failed, once, and with its bytes. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define SECOND (1000 * WORLD_MS)

static uint8_t victim;
static unsigned int victim_nr;

static enum world_fate lose_one(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == victim && victim_nr++ == 0 ? WORLD_DROP : WORLD_PASS;
}

/* Done, bytes, failed, flushed: the four counters from @first on. */
static void check_four(const struct world_side *side, enum bl_snic_counter first, uint64_t done, uint64_t bytes,
		       uint64_t failed, uint64_t flushed)
{
	check_eq(world_counter(side, first), done);
	check_eq(world_counter(side, first + 1), bytes);
	check_eq(world_counter(side, first + 2), failed);
	check_eq(world_counter(side, first + 3), flushed);
}

static void check_served(const struct world_side *side, uint64_t served, uint64_t bytes, uint64_t failed)
{
	check_eq(world_counter(side, BL_SNIC_SERVED), served);
	check_eq(world_counter(side, BL_SNIC_SERVED_BYTES), bytes);
	check_eq(world_counter(side, BL_SNIC_SERVED_FAILED), failed);
}

static void post_all(struct world *w)
{
	post_write(&w->a, &w->b, 0, 0, 5000);
	post_read(&w->a, &w->b, 8192, 0, 3000);
	post_add(&w->a, &w->b, 16384, 16384, 1);
	post_recv(&w->b, 32768, 4096);
	post_send(&w->a, 0, 2000);
	post_nop(&w->a, WORLD_SIGNAL);
}

static void work_that_is_done_is_counted_at_both_ends(void)
{
	struct world *w = world_begin(NULL);

	post_all(w);
	world_run(w);
	check_four(&w->a, BL_SNIC_WQE_DONE, 5, 5000 + 3000 + 8 + 2000, 0, 0);
	check_four(&w->b, BL_SNIC_RECV_DONE, 1, 2000, 0, 0);
	check_served(&w->b, 4, 5000 + 3000 + 8 + 2000, 0);
	check_four(&w->b, BL_SNIC_WQE_DONE, 0, 0, 0, 0);
	check_served(&w->a, 0, 0, 0);
	check_eq(world_counter(&w->a, BL_SNIC_WQE), 5);
	world_end(w);
}

/* Packets went and came for it all the same. */
static void a_request_that_is_refused_has_no_bytes(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	post_write(&w->a, &w->b, 0, 0, 100);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key ^ 0x10);
	wqe_data(&wqe, w->a.iova, w->a.key, 3000);
	wqe_post(&wqe, &w->a);
	for (int i = 0; i < 3; i++)
		post_write(&w->a, &w->b, 0, 0, 100);
	post_recv(&w->b, 0, 100);
	world_run(w);
	check_four(&w->a, BL_SNIC_WQE_DONE, 1, 100, 1, 3);
	check_served(&w->b, 1, 100, 1);
	check_four(&w->b, BL_SNIC_RECV_DONE, 0, 0, 0, 1);
	check(world_counter(&w->a, BL_SNIC_TX_BYTES) >= 3100);
	world_end(w);
}

static void a_message_that_does_not_fit_fails_its_list(void)
{
	struct world *w = world_begin(NULL);

	post_recv(&w->b, 0, 100);
	post_recv(&w->b, 0, 100);
	post_send(&w->a, 0, 101);
	world_run(w);
	check_four(&w->a, BL_SNIC_WQE_DONE, 0, 0, 1, 0);
	check_served(&w->b, 0, 0, 1);
	check_four(&w->b, BL_SNIC_RECV_DONE, 0, 0, 1, 1);
	world_end(w);
}

/* The peer sees it twice, in whole or in part. */
static void what_comes_again_is_counted_once(void)
{
	static const uint8_t victims[] = {BL_PKT_WRITE_MIDDLE, BL_PKT_READ_MIDDLE, BL_PKT_READ_LAST, BL_PKT_ATOMIC_ACK,
					  BL_PKT_ACK, BL_PKT_READ_REQUEST};

	for (size_t i = 0; i < sizeof(victims); i++) {
		struct world *w = world_begin(NULL);

		victim = victims[i];
		victim_nr = 0;
		world_fate = lose_one;
		post_all(w);
		world_wait(w, 2 * SECOND);
		check(victim_nr > 0);
		check_four(&w->a, BL_SNIC_WQE_DONE, 5, 5000 + 3000 + 8 + 2000, 0, 0);
		check_four(&w->b, BL_SNIC_RECV_DONE, 1, 2000, 0, 0);
		check_served(&w->b, 4, 5000 + 3000 + 8 + 2000, 0);
		world_end(w);
	}
}

/* A way that stays blocked: packets of an unreliable connection are lost by the sender itself, and none has gone. */
static void packets_that_were_not_sent_are_not_counted(void)
{
	struct world *w = world_begin(&(struct world_options){.uc = true});

	world_room = 0;
	post_write(&w->a, &w->b, 0, 0, 5000);
	world_wait(w, SECOND);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), 0);
	check_eq(world_counter(&w->a, BL_SNIC_TX_BYTES), 0);
	/* nobody acknowledges there: done is sent, or given up */
	check_four(&w->a, BL_SNIC_WQE_DONE, 1, 5000, 0, 0);
	check_served(&w->b, 0, 0, 0);
	world_end(w);
}

/* Those who are refused silently are counted by who refuses. */
static void an_unreliable_message_that_fails_is_counted_where_it_fails(void)
{
	struct world *w = world_begin(&(struct world_options){.uc = true});

	post_send(&w->a, 0, 100);
	world_run(w);
	check_served(&w->b, 0, 0, 1);
	post_recv(&w->b, 0, 100);
	post_send(&w->a, 0, 100);
	world_run(w);
	check_served(&w->b, 1, 100, 1);
	check_four(&w->b, BL_SNIC_RECV_DONE, 1, 100, 0, 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"work_that_is_done_is_counted_at_both_ends", work_that_is_done_is_counted_at_both_ends},
	{"a_request_that_is_refused_has_no_bytes", a_request_that_is_refused_has_no_bytes},
	{"a_message_that_does_not_fit_fails_its_list", a_message_that_does_not_fit_fails_its_list},
	{"what_comes_again_is_counted_once", what_comes_again_is_counted_once},
	{"packets_that_were_not_sent_are_not_counted", packets_that_were_not_sent_are_not_counted},
	{"an_unreliable_message_that_fails_is_counted_where_it_fails",
	 an_unreliable_message_that_fails_is_counted_where_it_fails},
};

TAP_MAIN(tests)
