// SPDX-License-Identifier: MIT
/* Doorbells of all kinds, also such as come too early or cannot be. */
#include <endian.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static void a_request_that_comes_after_its_doorbell_is_waited_for(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	w->a.pi = 1;
	side_ring(&w->a);
	w->a.pi = 0;
	/* the number of block 0 is what a fresh ring holds: only the queue pair's is missing, so hide it with another
	 */
	w->a.sq[2] = 9;
	world_wait(w, 900 * WORLD_MS);
	world_expect_none(&w->a.send);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_NOP, WORLD_SIGNAL, 0);
	wqe_put(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

static void a_request_that_never_comes_is_an_error(void)
{
	struct world *w = world_begin(NULL);

	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	w->a.pi = 2;
	side_ring(&w->a);
	world_wait(w, 1100 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 1);
	check_has(world_query(&w->a).error.text, "index");
	world_end(w);
}

static void a_doorbell_beyond_the_ring_is_an_error(void)
{
	struct world *w = world_begin(NULL);

	w->a.dbrec[1] = htobe32(65);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	check_has(world_query(&w->a).error.text, "doorbell says 65");
	world_end(w);
}

static void a_watched_word_beyond_the_ring_is_an_error(void)
{
	struct world *w = world_begin(NULL);
	uint64_t count = 65;

	check_eq(bl_snic_qp_watch(w->a.qp, &count), 0);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	check_has(world_query(&w->a).error.text, "word says 65");
	world_end(w);
}

static void a_watched_word_is_a_doorbell(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	uint64_t count = 0;

	check_eq(bl_snic_qp_watch(w->a.qp, &count), 0);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_NOP, WORLD_SIGNAL, 0);
	wqe_put(&wqe, &w->a);
	world_run(w);
	world_expect_none(&w->a.send);
	__atomic_store_n(&count, 1, __ATOMIC_RELEASE);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	/* the record may come after it */
	side_ring(&w->a);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(bl_snic_qp_watch(w->a.qp, NULL), 0);
	count = 3;
	world_run(w);
	check_eq(world_query(&w->a).sq_pi, 2);
	check_eq(bl_snic_qp_watch(w->a.qp, (uint64_t *)((char *)&count + 1)), -EINVAL);
	world_end(w);
}

/* @nr requests told of by the watched word alone, one by one: nobody writes the other doorbell. */
static void post_by_word(struct world *w, uint64_t *count, uint32_t nr)
{
	struct world_wqe wqe;

	for (uint32_t i = 0; i < nr; i++) {
		wqe_begin(&wqe, &w->a, 0, BL_WQE_NOP, 0, 0);
		wqe_put(&wqe, &w->a);
		__atomic_store_n(count, w->a.pi, __ATOMIC_RELEASE);
		check_eq(bl_snic_progress(w->a.nic) > 0, 1);
		if (world_query(&w->a).sq_pi != w->a.pi)
			break;
	}
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	check_eq(world_query(&w->a).sq_ci, w->a.pi);
}

static void a_record_that_nobody_writes_is_no_doorbell(void)
{
	struct world *w = world_begin(NULL);
	uint64_t count = 0;

	check_eq(bl_snic_qp_watch(w->a.qp, &count), 0);
	/* once round the 16 bits of the record, which stays behind by all of it */
	post_by_word(w, &count, 65536 - 3);
	/* far enough for what is not posted to be an error, if the old record were taken for a new one */
	world_wait(w, 1100 * WORLD_MS);
	post_by_word(w, &count, 70000);
	/* it counts again as soon as it is written, and when the word is gone */
	check_eq(bl_snic_qp_watch(w->a.qp, NULL), 0);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(world_query(&w->a).sq_ci, w->a.pi);
	world_end(w);
}

static void a_register_that_nobody_writes_is_no_doorbell(void)
{
	struct world *w = world_begin(&(struct world_options){.uar = true});
	uint64_t count = 0;

	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(bl_snic_qp_watch(w->a.qp, &count), 0);
	post_by_word(w, &count, 140000);
	world_wait(w, 1100 * WORLD_MS);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	world_end(w);
}

static void a_register_is_a_doorbell(void)
{
	struct world *w = world_begin(&(struct world_options){.uar = true});

	for (uint16_t i = 0; i < 200; i++) {
		post_nop(&w->a, WORLD_SIGNAL);
		w->a.dbrec[1] = htobe32(12345);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	}
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	w->a.pi = 0;
	world_connect(w);
	world_run(w);
	check_eq(world_query(&w->a).sq_pi, 0);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_request_that_comes_after_its_doorbell_is_waited_for",
	 a_request_that_comes_after_its_doorbell_is_waited_for},
	{"a_request_that_never_comes_is_an_error", a_request_that_never_comes_is_an_error},
	{"a_doorbell_beyond_the_ring_is_an_error", a_doorbell_beyond_the_ring_is_an_error},
	{"a_watched_word_beyond_the_ring_is_an_error", a_watched_word_beyond_the_ring_is_an_error},
	{"a_watched_word_is_a_doorbell", a_watched_word_is_a_doorbell},
	{"a_record_that_nobody_writes_is_no_doorbell", a_record_that_nobody_writes_is_no_doorbell},
	{"a_register_that_nobody_writes_is_no_doorbell", a_register_that_nobody_writes_is_no_doorbell},
	{"a_register_is_a_doorbell", a_register_is_a_doorbell},
};

TAP_MAIN(tests)
