// SPDX-License-Identifier: MIT
/* Answers that come after the refusal of a later request: what was done is done, and in its order. */
#include "overtaken.h"

#include <inttypes.h>
#include <time.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"

static uint8_t victim;
static enum world_fate victim_fate;

static enum world_fate hit_one(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode != victim)
		return WORLD_PASS;
	victim = 0xff;
	return victim_fate;
}

static struct world *begin(uint8_t opcode, enum world_fate fate)
{
	struct world *w = world_begin(NULL);

	victim = opcode;
	victim_fate = fate;
	world_fate = hit_one;
	fill(w->a.mem, 4096, 1);
	fill(w->b.mem, 4096, 2);
	return w;
}

static void post_refused(struct world *w)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key ^ 0x10);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	wqe_post(&wqe, &w->a);
	post_nop(&w->a, WORLD_SIGNAL);
}

static void a_read_that_is_overtaken_by_a_refusal_is_complete(void)
{
	struct world *w = begin(BL_PKT_READ_LAST, WORLD_HOLD);

	post_write(&w->a, &w->b, 8192, 0, 100);
	post_read(&w->a, &w->b, 16384, 0, 3000);
	post_refused(w);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(is_filled(w->a.mem + 16384, 3000, 2));
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_ACCESS, 2);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_FLUSHED, 3);
	check_has(world_query(&w->a).error.text, "refused by the peer: no access");
	world_end(w);
}

static void an_atomic_that_is_overtaken_by_a_refusal_is_complete(void)
{
	struct world *w = begin(BL_PKT_ATOMIC_ACK, WORLD_HOLD);

	*(uint64_t *)(w->b.mem + 8192) = 41;
	post_add(&w->a, &w->b, 8192, 16384, 1);
	post_refused(w);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(*(uint64_t *)(w->a.mem + 16384), 41);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_ACCESS, 1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_FLUSHED, 2);
	world_end(w);
}

/* The peer's queue pair has failed: nobody will answer again, and asking seven times would be of no use. */
static void an_answer_that_is_lost_before_a_refusal_fails_its_own_request(void)
{
	struct world *w = begin(BL_PKT_READ_ONLY, WORLD_DROP);
	struct bl_snic_error error;

	post_write(&w->a, &w->b, 8192, 0, 100);
	post_read(&w->a, &w->b, 16384, 0, 100);
	post_refused(w);
	world_wait(w, 200 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect_none(&w->a.send);
	world_wait(w, 100 * WORLD_MS);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_RETRIES, 1).vendor, 0x81);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_FLUSHED, 2);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_FLUSHED, 3);
	error = world_query(&w->a).error;
	check_eq(error.opcode, BL_WQE_READ);
	check_has(error.text, "its answer is lost, and the peer has refused a later request: no access");
	world_end(w);
}

static void a_queue_pair_that_waits_for_it_can_be_reset(void)
{
	struct world *w = begin(BL_PKT_READ_ONLY, WORLD_DROP);

	post_read(&w->a, &w->b, 16384, 0, 100);
	post_refused(w);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	w->a.dbrec[1] = 0;
	w->a.pi = 0;
	world_connect(w);
	post_write(&w->a, &w->b, 8192, 0, 100);
	world_wait(w, 300 * WORLD_MS);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect_none(&w->a.send);
	world_end(w);
}

static void run_some(bool shm, unsigned int nr)
{
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 256;
	unsigned int right = 0;

	nr = given ? 1 : nr;
	for (unsigned int i = 0; i < nr; i++) {
		struct bl_snic_fault fault = {.seed = seed + i, .reorder = 150000};

		printf("# SNIC_SEED=%" PRIu64 "\n", seed + i);
		fflush(stdout);
		right += overtaken_run(
			seed + i, &(struct world_options){.shm = shm, .fault = shm ? &fault : NULL, .mtu = 256});
	}
	printf("# %u of %u: all answers before it came\n", right, nr);
	check(given || right);
}

static void completions_are_in_order_whatever_overtakes_what(void)
{
	run_some(false, 60);
}

static void so_they_are_in_shared_memory(void)
{
	run_some(true, 40);
}

static const struct tap_test tests[] = {
	{"a_read_that_is_overtaken_by_a_refusal_is_complete", a_read_that_is_overtaken_by_a_refusal_is_complete},
	{"an_atomic_that_is_overtaken_by_a_refusal_is_complete", an_atomic_that_is_overtaken_by_a_refusal_is_complete},
	{"an_answer_that_is_lost_before_a_refusal_fails_its_own_request",
	 an_answer_that_is_lost_before_a_refusal_fails_its_own_request},
	{"a_queue_pair_that_waits_for_it_can_be_reset", a_queue_pair_that_waits_for_it_can_be_reset},
	{"completions_are_in_order_whatever_overtakes_what", completions_are_in_order_whatever_overtakes_what},
	{"so_they_are_in_shared_memory", so_they_are_in_shared_memory},
};

TAP_MAIN(tests)
