// SPDX-License-Identifier: MIT
/* Shared receive queues: what is refused, what ends a queue pair, and that it ends no other. */
#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/guard.h"

static const enum bl_snic_srq_type types[] = {BL_SNIC_SRQ_LINKED, BL_SNIC_SRQ_CYCLIC};

/* Ends receiver 0 by its list; what waits behind is receiver 1's. */
static void only_its_own_ends(struct shared *s, uint8_t syndrome, uint8_t theirs)
{
	shared_post_one(s, 4000, 100);
	fill(s->tx[0].mem, 100, 5);
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	shared_expect(s, 0, BL_CQE_RESP_ERR, syndrome, 0);
	world_expect_none(&s->cq);
	check_eq(world_query(&s->rx[0]).mod.state, BL_SNIC_ERR);
	world_expect(&s->tx[0].send, BL_CQE_REQ_ERR, theirs, 0);
	world_expect_event(&s->w->b, BL_SNIC_QP_FATAL, bl_snic_qp_num(s->rx[0].qp));
	post_send(&s->tx[1], 0, 100);
	world_run(s->w);
	shared_expect(s, 1, BL_CQE_RESP_SEND, 0, 1);
	check(is_filled(s->rx[0].mem + 4000, 100, 5));
	shared_end(s);
}

static void a_list_with_a_wrong_key_ends_who_took_it(void)
{
	for (int t = 0; t < 2; t++) {
		struct shared *s = shared_begin(NULL, &(struct shared_options){.type = types[t]});
		struct shared_sge sge = {s->rx[0].iova, s->rx[0].key ^ 0x1000, 100};

		shared_post(s, &sge, 1);
		only_its_own_ends(s, BL_SYNDROME_LOCAL_PROTECTION, BL_SYNDROME_REMOTE_OPERATION);
	}
}

static void a_list_beyond_its_region_ends_who_took_it(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 2});
	struct shared_sge sge = {s->rx[0].iova + s->rx[0].bytes - 50, s->rx[0].key, 100};

	shared_post(s, &sge, 1);
	only_its_own_ends(s, BL_SYNDROME_LOCAL_PROTECTION, BL_SYNDROME_REMOTE_OPERATION);
}

static void a_list_that_is_too_short_ends_who_took_it(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 2});

	shared_post_one(s, 0, 99);
	only_its_own_ends(s, BL_SYNDROME_LOCAL_LENGTH, BL_SYNDROME_REMOTE_INVALID);
}

static void a_list_without_a_next_one_is_the_end(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.nr = 16, .qps = 3});

	for (int i = 0; i < 3; i++)
		shared_post_one(s, 0, 100);
	shared_wqe(s, 1)[3] = 16;
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
	post_send(&s->tx[1], 0, 100);
	world_run(s->w);
	shared_expect(s, 1, BL_CQE_RESP_ERR, BL_SYNDROME_LOCAL_OPERATION, 1);
	check_has(world_query(&s->rx[1]).error.text, "names a next one");
	check(shared_query(s).broken);
	/* there is nothing for anybody after it, and who asks is told */
	post_send(&s->tx[2], 0, 100);
	world_run(s->w);
	world_expect(&s->tx[2].send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_OPERATION, 0);
	check_has(world_query(&s->rx[2]).error.text, "ended with a list");
	world_expect_none(&s->cq);
	/* who does not ask goes on */
	post_write(&s->tx[0], &s->rx[0], 0, 0, 8);
	world_run(s->w);
	world_expect(&s->tx[0].send, BL_CQE_REQ, 0, 0);
	world_expect(&s->tx[0].send, BL_CQE_REQ, 0, 1);
	shared_end(s);
}

static void a_record_that_is_too_far_ahead_is_not_believed(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.type = BL_SNIC_SRQ_CYCLIC});

	shared_post_one(s, 0, 100);
	s->record = htobe32(17);
	post_send(&s->tx[0], 0, 100);
	world_run(s->w);
	world_expect_none(&s->cq);
	check_eq(shared_query(s).posted, 0);
	s->record = htobe32(1);
	world_wait(s->w, 10 * WORLD_MS);
	shared_expect(s, 0, BL_CQE_RESP_SEND, 0, 0);
	shared_end(s);
}

static int unreadable(void *priv, uint64_t off, void *dst, size_t len)
{
	return -EFAULT;
}

static int unwritable(void *priv, uint64_t off, const void *src, size_t len)
{
	return -EFAULT;
}

static void memory_that_is_gone_ends_who_asks(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 1});
	struct bl_snic_srq *own = s->srq;
	struct bl_snic_srq_attr attr = {.nr = 16, .sges = 1, .dbrec = &s->record,
					.ring = {.read = unreadable, .write = unwritable}};
	struct world_side rx = {.nic = NULL}, tx = {.nic = NULL};

	check_eq(bl_snic_srq_create(s->w->b.pd, &attr, &s->srq), 0);
	shared_make_pair_end(s, &tx, &s->w->a, false, &s->w->options);
	shared_make_pair_end(s, &rx, &s->w->b, true, &s->w->options);
	world_side_to_rts(s->w, &tx, &rx);
	world_side_to_rts(s->w, &rx, &tx);
	s->record = htobe32(1);
	post_send(&tx, 0, 100);
	world_run(s->w);
	world_expect(&tx.send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_OPERATION, 0);
	check_eq(world_query(&rx).error.syndrome, BL_SYNDROME_LOCAL_ACCESS);
	check_has(world_query(&rx).error.text, "cannot be read");
	shared_drop_pair_end(&tx);
	shared_drop_pair_end(&rx);
	check_eq(bl_snic_srq_destroy(s->srq), 0);
	s->srq = own;
	shared_end(s);
}

static void a_record_that_is_taken_away_ends_who_asks(void)
{
	struct shared *s;
	struct bl_snic_srq *own;
	struct world_side rx = {.nic = NULL}, tx = {.nic = NULL};
	struct bl_snic_srq_attr attr = {.nr = 16, .sges = 1};
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *page;

	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	page = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED);
	s = shared_begin(NULL, &(struct shared_options){.qps = 1});
	own = s->srq;
	attr.ring.addr = s->ring;
	attr.dbrec = page;
	check_eq(bl_snic_srq_create(s->w->b.pd, &attr, &s->srq), 0);
	shared_make_pair_end(s, &tx, &s->w->a, false, &s->w->options);
	shared_make_pair_end(s, &rx, &s->w->b, true, &s->w->options);
	world_side_to_rts(s->w, &tx, &rx);
	world_side_to_rts(s->w, &rx, &tx);
	check(!munmap(page, len));
	check_eq(shared_query(s).posted, 0);
	post_send(&tx, 0, 100);
	world_run(s->w);
	world_expect(&tx.send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_OPERATION, 0);
	check_eq(world_query(&rx).error.syndrome, BL_SYNDROME_LOCAL_ACCESS);
	check_has(world_query(&rx).error.text, "cannot be read");
	world_expect_none(&s->cq);
	shared_drop_pair_end(&tx);
	shared_drop_pair_end(&rx);
	check_eq(bl_snic_srq_destroy(s->srq), 0);
	s->srq = own;
	shared_end(s);
}

static void a_queue_is_checked_and_goes_last(void)
{
	struct shared *s = shared_begin(NULL, &(struct shared_options){.qps = 1});
	struct bl_snic_srq_attr good = {.ring.addr = s->ring, .nr = 16, .sges = 1, .dbrec = &s->record}, attr;
	struct bl_snic_qp_attr qp_attr = world_query(&s->rx[0]).attr;
	struct bl_snic_srq *srq = NULL;
	struct bl_snic_qp *qp = NULL;

#define refused(change)                                                                                                \
	do {                                                                                                           \
		attr = good;                                                                                           \
		change;                                                                                                \
		check_eq(bl_snic_srq_create(s->w->b.pd, &attr, &srq), -EINVAL);                                        \
		check(!srq);                                                                                           \
	} while (0)

	refused(attr.nr = 0);
	refused(attr.nr = 1);
	refused(attr.nr = 12);
	refused(attr.nr = 65536);
	refused(attr.sges = 0);
	refused(attr.sges = 2);
	refused(attr.sges = 127);
	refused(attr.sges = UINT32_MAX);
	refused((attr.type = BL_SNIC_SRQ_CYCLIC, attr.sges = 3));
	refused(attr.type = (enum bl_snic_srq_type)2);
	refused(attr.ring.addr = NULL);
	refused(attr.dbrec = NULL);
	refused(attr.dbrec = (const uint32_t *)((const char *)attr.dbrec + 2));
	attr = good;
	attr.sges = 63;
	check_eq(bl_snic_srq_create(s->w->b.pd, &attr, &srq), 0);
	check_eq(bl_snic_srq_destroy(srq), 0);
	/* a queue pair has one or the other, and somewhere to complete */
	qp_attr.rq_nr = 16;
	check_eq(bl_snic_qp_create(s->w->b.pd, &qp_attr, &qp), -EINVAL);
	qp_attr.rq_nr = 0;
	qp_attr.recv_cq = NULL;
	check_eq(bl_snic_qp_create(s->w->b.pd, &qp_attr, &qp), -EINVAL);
	qp_attr.recv_cq = qp_attr.send_cq = s->w->a.send.cq;
	check_eq(bl_snic_qp_create(s->w->a.pd, &qp_attr, &qp), -EINVAL);
	check(!qp);
	check_eq(bl_snic_srq_destroy(s->srq), -EBUSY);
	check_eq(bl_snic_pd_destroy(s->w->b.pd), -EBUSY);
	check_eq(shared_query(s).users, 1);
	shared_end(s);
}

static const struct tap_test tests[] = {
	{"a_list_with_a_wrong_key_ends_who_took_it", a_list_with_a_wrong_key_ends_who_took_it},
	{"a_list_beyond_its_region_ends_who_took_it", a_list_beyond_its_region_ends_who_took_it},
	{"a_list_that_is_too_short_ends_who_took_it", a_list_that_is_too_short_ends_who_took_it},
	{"a_list_without_a_next_one_is_the_end", a_list_without_a_next_one_is_the_end},
	{"a_record_that_is_too_far_ahead_is_not_believed", a_record_that_is_too_far_ahead_is_not_believed},
	{"memory_that_is_gone_ends_who_asks", memory_that_is_gone_ends_who_asks},
	{"a_record_that_is_taken_away_ends_who_asks", a_record_that_is_taken_away_ends_who_asks},
	{"a_queue_is_checked_and_goes_last", a_queue_is_checked_and_goes_last},
};

TAP_MAIN(tests)
