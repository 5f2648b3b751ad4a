// SPDX-License-Identifier: MIT
/* Keys, ranges and rights: what a request or a packet may reach, and what is said when it may not. */
#include <endian.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

/* One request of a kind: between @raddr, @rkey there and @laddr, @lkey here. */
static void refused(struct world *w, uint8_t opcode, uint64_t raddr, uint32_t rkey, uint64_t laddr, uint32_t lkey,
		    uint32_t len, uint8_t syndrome)
{
	uint8_t *before = malloc(w->b.bytes);
	struct world_wqe wqe;
	struct bl_snic_error error;
	uint16_t index;

	fill(w->b.mem, w->b.bytes, 7);
	memcpy(before, w->b.mem, w->b.bytes);
	wqe_begin(&wqe, &w->a, 0, opcode, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, raddr, rkey);
	if (opcode == BL_WQE_FETCH_ADD)
		wqe_seg64(&wqe, 1, 0);
	wqe_data(&wqe, laddr, lkey, len);
	index = wqe_post(&wqe, &w->a);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, syndrome, index);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, (uint16_t)(index + 1));
	error = world_query(&w->a).error;
	check_eq(error.syndrome, syndrome);
	check_eq(error.opcode, opcode);
	check_eq(error.wqe_counter, index);
	check(strlen(error.text) > 20);
	check(!memcmp(before, w->b.mem, w->b.bytes));
	free(before);
	/* whose request it was, and, where it got there, whose memory */
	world_expect_event(&w->a, BL_SNIC_QP_FATAL, bl_snic_qp_num(w->a.qp));
	if (syndrome == 0x13)
		world_expect_event(&w->b, BL_SNIC_QP_ACCESS_ERR, bl_snic_qp_num(w->b.qp));
	else
		check_eq(w->b.nr_events, 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	/* asked for */
	check_eq(w->b.nr_events, 0);
	world_end(w);
}

static void a_wrong_remote_key_is_refused(void)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_READ, BL_WQE_FETCH_ADD};

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct world *w = world_begin(NULL);

		refused(w, opcodes[i], w->b.iova, w->b.key + 1, w->a.iova, w->a.key, 8, 0x13);
		/* the key of the wrong side */
		w = world_begin(NULL);
		refused(w, opcodes[i], w->b.iova, w->a.key, w->a.iova, w->a.key, 8, 0x13);
		w = world_begin(NULL);
		refused(w, opcodes[i], w->b.iova, 0, w->a.iova, w->a.key, 8, 0x13);
	}
}

static void a_wrong_local_key_never_leaves(void)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_READ, BL_WQE_FETCH_ADD};

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct world *w = world_begin(NULL);

		refused(w, opcodes[i], w->b.iova, w->b.key, w->a.iova, w->a.key + 1, 8, 0x04);
	}
}

/* Around both ends of the region, and where sums of addresses and lengths wrap. */
static void nothing_outside_the_region_is_reached(void)
{
	static const struct {
		int64_t off;
		uint32_t len;
	} spans[] = {{-1, 1}, {-8, 16}, {65536, 1}, {65535, 2}, {0, 65537}, {65536, 1 << 30}, {-65536, 1 << 30}};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct world *w = world_begin(NULL);

		refused(w, BL_WQE_WRITE, w->b.iova, w->b.key, w->a.iova + (uint64_t)spans[i].off, w->a.key,
			spans[i].len, 0x04);
	}
	for (size_t i = 0; i < 4; i++) {
		struct world *w = world_begin(&(struct world_options){.bytes = 65536});

		refused(w, BL_WQE_READ, w->b.iova + (uint64_t)spans[i].off, w->b.key, w->a.iova, w->a.key, spans[i].len,
			0x13);
	}
}

static void addresses_may_not_wrap(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->b.mem};
	struct bl_snic_mr *mr;
	uint32_t key;

	/* the last page of the address space */
	check_eq(bl_snic_mr_create(w->b.pd, &mem, 0xfffffffffffff000ULL, 4096,
				   BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &mr),
		 0);
	key = bl_snic_mr_rkey(mr);
	{
		struct world_wqe wqe;

		fill(w->a.mem, 4096, 3);
		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, 0xfffffffffffff000ULL, key);
		wqe_data(&wqe, w->a.iova, w->a.key, 4096);
		wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		check(is_filled(w->b.mem, 4096, 3));
		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, 0xffffffffffffffffULL, key);
		wqe_data(&wqe, w->a.iova, w->a.key, 2);
		wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 1);
	}
	check_eq(bl_snic_mr_destroy(mr), 0);
	check_eq(bl_snic_mr_create(w->b.pd, &mem, 0xfffffffffffff000ULL, 4097, 0, &mr), -EINVAL);
	world_end(w);
}

static void each_right_is_needed(void)
{
	const unsigned int all = BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ | BL_SNIC_REMOTE_ATOMIC;
	struct world *w = world_begin(&(struct world_options){.access = all & ~(unsigned int)BL_SNIC_REMOTE_WRITE});

	refused(w, BL_WQE_WRITE, w->b.iova, w->b.key, w->a.iova, w->a.key, 8, 0x13);
	w = world_begin(&(struct world_options){.access = all & ~(unsigned int)BL_SNIC_REMOTE_READ});
	refused(w, BL_WQE_READ, w->b.iova, w->b.key, w->a.iova, w->a.key, 8, 0x13);
	w = world_begin(&(struct world_options){.no_access = true});
	refused(w, BL_WQE_FETCH_ADD, w->b.iova, w->b.key, w->a.iova, w->a.key, 8, 0x13);
}

/* The queue pair's own rights, which its user takes away while it works. */
static void a_queue_pair_has_rights_of_its_own(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_mod mod = {.state = BL_SNIC_RTS, .access = BL_SNIC_REMOTE_READ, .min_rnr_timer = 12};

	post_write(&w->a, &w->b, 0, 0, 8);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &mod), 0);
	post_read(&w->a, &w->b, 0, 0, 8);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	refused(w, BL_WQE_WRITE, w->b.iova, w->b.key, w->a.iova, w->a.key, 8, 0x13);
}

static void local_memory_is_written_only_with_its_right(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->a.mem};
	struct bl_snic_mr *mr;
	struct world_wqe wqe;

	check_eq(bl_snic_mr_create(w->a.pd, &mem, 0, 4096, BL_SNIC_REMOTE_READ, &mr), 0);
	/* to read from it is allowed */
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, 0, bl_snic_mr_lkey(mr), 8);
	wqe_post(&wqe, &w->a);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_READ, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, 0, bl_snic_mr_lkey(mr), 8);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 1);
	check_eq(bl_snic_mr_destroy(mr), 0);
	world_end(w);
}

static void a_key_of_another_domain_is_none(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.addr = w->b.mem};
	struct bl_snic_pd *pd;
	struct bl_snic_mr *mr;
	uint32_t key;

	check_eq(bl_snic_pd_create(w->b.nic, &pd), 0);
	check_eq(bl_snic_mr_create(pd, &mem, w->b.iova, 4096, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &mr), 0);
	key = bl_snic_mr_rkey(mr);
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	{
		struct world_wqe wqe;

		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, w->b.iova, key);
		wqe_data(&wqe, w->a.iova, w->a.key, 8);
		wqe_post(&wqe, &w->a);
	}
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 1);
	check_has(world_query(&w->b).error.text, "another protection domain");
	check(world_query(&w->b).error.responder);
	check_eq(bl_snic_mr_destroy(mr), 0);
	check_eq(bl_snic_pd_destroy(pd), 0);
	world_end(w);
}

/* The region goes while a message is on its way: its memory is not touched again. */
static void a_region_may_go_at_any_time(void)
{
	struct world *w = world_begin(NULL);

	world_room = 2;
	post_write(&w->a, &w->b, 0, 0, 20000);
	check(bl_snic_progress(w->a.nic) >= 0);
	check(bl_snic_progress(w->b.nic) >= 0);
	check_eq(bl_snic_mr_destroy(w->b.mr), 0);
	w->b.mr = NULL;
	free(w->b.mem);
	w->b.mem = NULL;
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 0);
	world_end(w);
}

static void a_region_that_is_read_may_go_too(void)
{
	struct world *w = world_begin(NULL);

	world_room = 2;
	post_read(&w->a, &w->b, 0, 0, 20000);
	for (unsigned int i = 0; i < 3; i++) {
		check(bl_snic_progress(w->a.nic) >= 0);
		check(bl_snic_progress(w->b.nic) >= 0);
	}
	check_eq(bl_snic_mr_destroy(w->b.mr), 0);
	w->b.mr = NULL;
	free(w->b.mem);
	w->b.mem = NULL;
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 0);
	check_has(world_query(&w->b).error.text, "cannot be read any more");
	world_end(w);
}

static void the_source_of_a_message_may_go_in_its_middle(void)
{
	struct world *w = world_begin(NULL);

	post_write(&w->a, &w->b, 0, 0, 8);
	world_room = 2;
	post_write(&w->a, &w->b, 0, 0, 20000);
	check(bl_snic_progress(w->a.nic) >= 0);
	check_eq(bl_snic_mr_destroy(w->a.mr), 0);
	w->a.mr = NULL;
	world_run(w);
	/* what was complete before stays so */
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, 1);
	world_end(w);
}

static void a_message_larger_than_its_list_is_refused(void)
{
	struct world *w = world_begin(NULL);

	post_recv(&w->b, 0, 2999);
	post_recv(&w->b, 0, 2999);
	post_send(&w->a, 0, 3000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x12, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x01, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x05, 1);
	check_eq(world_query(&w->b).error.syndrome, 0x01);
	world_end(w);
}

static void a_list_with_a_wrong_key_is_its_owners_fault(void)
{
	struct world *w = world_begin(NULL);

	post_recv(&w->b, w->b.bytes - 10, 100);
	post_send(&w->a, 0, 50);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x14, 0);
	world_expect(&w->b.recv, BL_CQE_RESP_ERR, 0x04, 0);
	check_has(world_query(&w->b).error.text, "beyond the region");
	world_end(w);
}

static void nothing_needs_no_key(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_READ};

	for (uint16_t i = 0; i < 2; i++) {
		wqe_begin(&wqe, &w->a, 0, opcodes[i], WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, 0x1234, 0x5678);
		wqe_data(&wqe, 0x1234, 0x5678, 0);
		wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	}
	world_end(w);
}

/* Requests that are none: each is an error of its own, and says what is wrong. */
static void bad_requests_say_what_is_wrong(void)
{
	static const struct {
		uint8_t opcode, flags, nr_segs, syndrome;
		uint32_t count;
		const char *text;
	} bad[] = {
		{0x01, 0x08, 2, 0x02, 8, "does not have"},
		{0x0e, 0x08, 2, 0x02, 8, "does not have"},
		{0x25, 0x08, 2, 0x02, 8, "does not have"},
		{0xff, 0x08, 2, 0x02, 8, "does not have"},
		{BL_WQE_SEND, 0xa8, 2, 0x02, 8, "fence"},
		{BL_WQE_WRITE, 0x08, 1, 0x02, 8, "remote address"},
		{BL_WQE_WAIT, 0x08, 1, 0x02, 8, "wait for"},
		{BL_WQE_FETCH_ADD, 0x08, 2, 0x02, 8, "without its segments"},
		{BL_WQE_FETCH_ADD, 0x08, 3, 0x01, 8, "no room"},
		{BL_WQE_SEND, 0x08, 0, 0x02, 8, "no segments"},
		{BL_WQE_SEND, 0x08, 2, 0x02, 0x80000000U | 13, "beyond the end"},
		{BL_WQE_SEND, 0x08, 2, 0x02, 0xffffffffU, "beyond the end"},
		{BL_WQE_SEND, 0x08, 2, 0x01, 0x7fffffffU, "1 GiB"},
		{BL_WQE_DUMP, 0x08, 2, 0x02, 0x80000000U | 1, "inline"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct world *w = world_begin(NULL);
		struct world_wqe wqe;

		wqe_begin(&wqe, &w->a, 0, bad[i].opcode, bad[i].flags, 0);
		wqe_data(&wqe, w->a.iova, w->a.key, bad[i].count);
		wqe.nr_segs = bad[i].nr_segs;
		wqe_put(&wqe, &w->a);
		if (!bad[i].nr_segs)
			memcpy(w->a.sq, wqe.raw, 64);
		w->a.pi = 1;
		side_ring(&w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, bad[i].syndrome, 0);
		check_has(world_query(&w->a).error.text, bad[i].text);
		check_eq(world_counter(&w->a, BL_SNIC_WQE_BAD), 1);
		check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), 0);
		world_end(w);
	}
}

static void a_request_of_another_queue_pair_is_refused(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->b, 0, BL_WQE_NOP, WORLD_SIGNAL, 0);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 0);
	check_has(world_query(&w->a).error.text, "not this queue pair's");
	world_end(w);
}

/* It fails in its turn: when the read before it is complete. */
static void errors_wait_for_what_was_posted_before(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	fill(w->b.mem, 5000, 1);
	post_read(&w->a, &w->b, 0, 0, 5000);
	wqe_begin(&wqe, &w->a, 0, 0x25, WORLD_SIGNAL, 0);
	wqe_post(&wqe, &w->a);
	post_write(&w->a, &w->b, 0, 0, 8);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->a.mem, 5000, 1));
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x02, 1);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 2);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_wrong_remote_key_is_refused", a_wrong_remote_key_is_refused},
	{"a_wrong_local_key_never_leaves", a_wrong_local_key_never_leaves},
	{"nothing_outside_the_region_is_reached", nothing_outside_the_region_is_reached},
	{"addresses_may_not_wrap", addresses_may_not_wrap},
	{"each_right_is_needed", each_right_is_needed},
	{"a_queue_pair_has_rights_of_its_own", a_queue_pair_has_rights_of_its_own},
	{"local_memory_is_written_only_with_its_right", local_memory_is_written_only_with_its_right},
	{"a_key_of_another_domain_is_none", a_key_of_another_domain_is_none},
	{"a_region_may_go_at_any_time", a_region_may_go_at_any_time},
	{"a_region_that_is_read_may_go_too", a_region_that_is_read_may_go_too},
	{"the_source_of_a_message_may_go_in_its_middle", the_source_of_a_message_may_go_in_its_middle},
	{"a_message_larger_than_its_list_is_refused", a_message_larger_than_its_list_is_refused},
	{"a_list_with_a_wrong_key_is_its_owners_fault", a_list_with_a_wrong_key_is_its_owners_fault},
	{"nothing_needs_no_key", nothing_needs_no_key},
	{"bad_requests_say_what_is_wrong", bad_requests_say_what_is_wrong},
	{"a_request_of_another_queue_pair_is_refused", a_request_of_another_queue_pair_is_refused},
	{"errors_wait_for_what_was_posted_before", errors_wait_for_what_was_posted_before},
};

TAP_MAIN(tests)
