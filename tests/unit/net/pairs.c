// SPDX-License-Identifier: MIT
/* Queue pairs as they are made: what the NIC is told, what the program is told, who keeps whom, what is refused. */
#include "bed.h"

#define PAGE 4096

static struct net_bed bed;
static char memory[16 * PAGE] __attribute__((aligned(PAGE)));

/* A queue pair of 3 sends of 3 segments and 5 receives of 3. */
static void want_both_queues(void)
{
	doca_verbs_qp_init_attr_set_sq_wr(bed.init, 3);
	doca_verbs_qp_init_attr_set_send_max_sges(bed.init, 3);
	doca_verbs_qp_init_attr_set_rq_wr(bed.init, 5);
	doca_verbs_qp_init_attr_set_receive_max_sges(bed.init, 3);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	doca_verbs_qp_init_attr_set_receive_cq(bed.init, bed.cq);
}

static void drop_qp(void)
{
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_ERROR_INVALID_VALUE);
	bed.qp = NULL;
}

static void qp_with_memory_of_the_library(void)
{
	uint32_t sq_nr = 0, rq_nr = 0, rq_len = 0;
	char *sq = NULL, *rq = NULL, *dbr;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	want_both_queues();
	doca_verbs_qp_init_attr_set_sq_sig_all(bed.init, 1);
	doca_verbs_qp_init_attr_set_user_index(bed.init, 0x123);
	doca_verbs_qp_init_attr_set_core_direct_master(bed.init, 1);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(bed.qp, (void **)&sq, &sq_nr, (void **)&rq, &rq_nr, &rq_len);
	dbr = doca_verbs_qp_get_dbr_addr(bed.qp);
	check_eq(sq_nr, 8);
	check_eq(rq_nr, 8);
	check_eq(rq_len, 64);
	check_eq((uintptr_t)rq % PAGE, 0);
	check(sq == rq + 512 && dbr == sq + 512);
	check_eq(fake.qp.type, DOCA_VERBS_QP_TYPE_RC);
	check(fake.qp.ring && fake.qp.ring == fake.qp.dbr);
	check_eq(fake.qp.rq_off, 0);
	check_eq(fake.qp.rq_nr, 8);
	check_eq(fake.qp.rq_sges, 4);
	check_eq(fake.qp.sq_off, 512);
	check_eq(fake.qp.sq_nr, 8);
	check_eq(fake.qp.dbr_off, 1024);
	check(fake.qp.send_cq && fake.qp.send_cq == fake.qp.recv_cq);
	check(fake.qp.uar);
	check_eq(fake.uar_type, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE);
	check_eq(fake.qp.user_index, 0x123);
	check(fake.qp.sq_sig_all && fake.qp.core_direct && !fake.qp.no_dbrec);
	check(fake.pd_given);
	check(doca_verbs_qp_get_qpn(bed.qp) >= FAKE_FIRST_NUM);
	check(doca_verbs_qp_get_uar_addr(bed.qp));
	check_eq(doca_verbs_qp_get_send_dbr_mode(bed.qp), DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID);
	check_eq(doca_verbs_qp_get_emulate_no_dbr_ext(bed.qp), false);
	/* what it uses stays */
	check_eq(doca_verbs_cq_destroy(bed.cq), DOCA_ERROR_IN_USE);
	check_eq(bl_net_dealloc_pd(bed.pd), EBUSY);
	check_eq(bl_net_close_device(bed.context), EBUSY);
	drop_qp();
	net_bed_close(&bed);
}

static void qp_with_memory_of_the_program(void)
{
	struct doca_verbs_umem *ring, *dbr;
	struct doca_verbs_uar *uar;
	char *sq = NULL, *rq = NULL;
	void *reg = NULL;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	want_both_queues();
	ring = net_bed_umem(&bed, memory, 1024 + 64);
	dbr = net_bed_umem(&bed, memory + 8 * PAGE, 64);
	uar = net_bed_uar(&bed);
	doca_verbs_qp_init_attr_set_external_umem(bed.init, ring, 64);
	doca_verbs_qp_init_attr_set_external_dbr_umem(bed.init, dbr, 56);
	doca_verbs_qp_init_attr_set_external_uar(bed.init, uar);
	doca_verbs_qp_init_attr_set_qp_type(bed.init, DOCA_VERBS_QP_TYPE_UC);
	doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(bed.init, true);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(bed.qp, (void **)&sq, NULL, (void **)&rq, NULL, NULL);
	check(rq == memory + 64 && sq == memory + 64 + 512);
	check(doca_verbs_qp_get_dbr_addr(bed.qp) == memory + 8 * PAGE + 56);
	doca_verbs_uar_reg_addr_get(uar, &reg);
	check(doca_verbs_qp_get_uar_addr(bed.qp) == reg);
	check(doca_verbs_qp_get_emulate_no_dbr_ext(bed.qp));
	check_eq(fake.qp.type, DOCA_VERBS_QP_TYPE_UC);
	check_eq(fake.qp.rq_off, 64);
	check_eq(fake.qp.sq_off, 64 + 512);
	check_eq(fake.qp.dbr_off, 56);
	check_eq(doca_verbs_umem_destroy(ring), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_umem_destroy(dbr), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_uar_destroy(uar), DOCA_ERROR_IN_USE);
	drop_qp();
	check_eq(doca_verbs_umem_destroy(ring), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(dbr), DOCA_SUCCESS);
	check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void qp_without_doorbell_record_has_the_other_doorbell(void)
{
	struct doca_verbs_uar *uar;
	void *reg = NULL;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	uar = net_bed_uar(&bed);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	doca_verbs_qp_init_attr_set_external_uar(bed.init, uar);
	doca_verbs_qp_init_attr_set_send_dbr_mode(bed.init, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	check(fake.qp.no_dbrec);
	doca_verbs_uar_dbr_less_addr_get(uar, &reg);
	check(doca_verbs_qp_get_uar_addr(bed.qp) == reg);
	check_eq(doca_verbs_qp_get_send_dbr_mode(bed.qp), DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	drop_qp();
	check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void queues_that_a_qp_has_not_are_null(void)
{
	void *sq = memory, *rq = memory;
	uint32_t sq_nr = 1, rq_nr = 1, rq_len = 1;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(bed.qp, &sq, &sq_nr, &rq, &rq_nr, &rq_len);
	check(sq && !rq && sq_nr == 64 && !rq_nr && !rq_len);
	check(!fake.qp.recv_cq);
	drop_qp();
	doca_verbs_qp_init_attr_set_sq_wr(bed.init, 0);
	doca_verbs_qp_init_attr_set_rq_wr(bed.init, 16);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, NULL);
	doca_verbs_qp_init_attr_set_receive_cq(bed.init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(bed.qp, &sq, &sq_nr, &rq, &rq_nr, &rq_len);
	check(!sq && rq && !sq_nr && rq_nr == 16 && rq_len == 16);
	check(!fake.qp.send_cq);
	drop_qp();
	/* getters of what is none */
	doca_verbs_qp_get_wq(NULL, &sq, &sq_nr, &rq, &rq_nr, &rq_len);
	check_eq(doca_verbs_qp_get_qpn(NULL), 0);
	check(!doca_verbs_qp_get_dbr_addr(NULL) && !doca_verbs_qp_get_uar_addr(NULL));
	check_eq(doca_verbs_qp_get_send_dbr_mode(NULL), 0);
	check_eq(doca_verbs_qp_get_emulate_no_dbr_ext(NULL), 0);
	net_bed_close(&bed);
}

static void check_qp(doca_error_t want, const char *words)
{
	struct doca_verbs_qp *qp = NULL;
	unsigned int live = fake_live();

	check_eq(doca_verbs_qp_create(bed.context, bed.init, &qp), want);
	check_has(bl_last_error(NULL), words);
	check(!qp);
	check_eq(fake_live(), live);
}

/* One setting that is wrong, and back. */
#define QP_REFUSES(field, bad, good, want, words)                                                                      \
	do {                                                                                                           \
		doca_verbs_qp_init_attr_set_##field(bed.init, bad);                                                    \
		check_qp(want, words);                                                                                 \
		doca_verbs_qp_init_attr_set_##field(bed.init, good);                                                   \
	} while (0)

static void qp_refuses_what_does_not_fit(void)
{
	struct doca_verbs_umem *umem;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	umem = net_bed_umem(&bed, memory, 64);
	want_both_queues();
	QP_REFUSES(qp_type, 2, 0, DOCA_ERROR_INVALID_VALUE, "type 2");
	QP_REFUSES(send_max_sges, 31, 3, DOCA_ERROR_INVALID_VALUE, "at most 30");
	QP_REFUSES(receive_max_sges, 31, 3, DOCA_ERROR_INVALID_VALUE, "at most 30");
	QP_REFUSES(sq_wr, 4097, 3, DOCA_ERROR_INVALID_VALUE, "at most 4096");
	QP_REFUSES(rq_wr, 4097, 5, DOCA_ERROR_INVALID_VALUE, "at most 4096");
	QP_REFUSES(max_inline_data, 1 << 20, 0, DOCA_ERROR_INVALID_VALUE, "at most 4096");
	QP_REFUSES(send_cq, NULL, bed.cq, DOCA_ERROR_INVALID_VALUE, "no completion queue for the sends");
	QP_REFUSES(receive_cq, NULL, bed.cq, DOCA_ERROR_INVALID_VALUE, "no completion queue for the receives");
	QP_REFUSES(send_cq, (void *)umem, bed.cq, DOCA_ERROR_INVALID_VALUE, "completion queue");
	QP_REFUSES(receive_cq, (void *)umem, bed.cq, DOCA_ERROR_INVALID_VALUE, "completion queue");
	QP_REFUSES(pd, NULL, bed.pd, DOCA_ERROR_INVALID_VALUE, "protection domain NULL");
	QP_REFUSES(srq, (void *)umem, NULL, DOCA_ERROR_INVALID_VALUE, "shared receive queue");
	QP_REFUSES(external_uar, (void *)umem, NULL, DOCA_ERROR_INVALID_VALUE, "UAR");
	QP_REFUSES(send_dbr_mode, (enum doca_verbs_qp_send_dbr_mode)2, DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID,
		   DOCA_ERROR_INVALID_VALUE, "send_dbr_mode 2");
	doca_verbs_qp_init_attr_set_send_dbr_mode(bed.init, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	QP_REFUSES(emulate_no_dbr_ext, true, false, DOCA_ERROR_INVALID_VALUE, "emulate_no_dbr_ext");
	doca_verbs_qp_init_attr_set_send_dbr_mode(bed.init, DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID);
	doca_verbs_qp_init_attr_set_external_umem(bed.init, umem, 0);
	check_qp(DOCA_ERROR_INVALID_VALUE, "both or none");
	doca_verbs_qp_init_attr_set_external_dbr_umem(bed.init, umem, 0);
	check_qp(DOCA_ERROR_INVALID_VALUE, "more than the 0x40 bytes");
	doca_verbs_qp_init_attr_set_sq_wr(bed.init, 0);
	doca_verbs_qp_init_attr_set_rq_wr(bed.init, 0);
	check_qp(DOCA_ERROR_INVALID_VALUE, "neither sends nor receives");
	check_eq(doca_verbs_qp_create(bed.context, NULL, &bed.qp), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_create((struct ibv_context *)memory, bed.init, &bed.qp), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void what_the_device_lacks_is_not_supported(void)
{
	struct ibv_context *poor;
	struct ibv_pd *pd;

	net_bed_open(&bed);
	fake.caps.rc = fake.caps.uc = fake.caps.no_dbrec = false;
	poor = bl_net_open_device("fake1");
	check(poor);
	pd = bl_net_alloc_pd(poor);
	doca_verbs_qp_init_attr_set_pd(bed.init, pd);
	check_eq(doca_verbs_qp_create(poor, bed.init, &bed.qp), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "fake1 has no queue pairs of type RC");
	doca_verbs_qp_init_attr_set_qp_type(bed.init, DOCA_VERBS_QP_TYPE_UC);
	check_eq(doca_verbs_qp_create(poor, bed.init, &bed.qp), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "type UC");
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(poor), 0);
	fake.caps.rc = true;
	poor = bl_net_open_device("fake1");
	doca_verbs_qp_init_attr_set_qp_type(bed.init, DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_init_attr_set_send_dbr_mode(bed.init, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	check_eq(doca_verbs_qp_create(poor, bed.init, &bed.qp), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "needs doorbell records");
	check_eq(bl_net_close_device(poor), 0);
	net_bed_close(&bed);
}

static void check_cq(struct doca_verbs_cq_attr *attr, doca_error_t want, const char *words)
{
	struct doca_verbs_cq *cq = NULL;
	unsigned int live = fake_live();

	check_eq(doca_verbs_cq_create(bed.context, attr, &cq), want);
	check_has(bl_last_error(NULL), words);
	check(!cq);
	check_eq(fake_live(), live);
}

/* Objects of one device in a queue of another. */
static void objects_of_another_device_are_refused(void)
{
	struct ibv_context *other;
	struct doca_verbs_umem *umem = NULL;
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_uar *uar = NULL;
	struct ibv_pd *pd;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	other = bl_net_open_device("fake1");
	pd = bl_net_alloc_pd(other);
	check(pd);
	check_eq(doca_verbs_umem_create(other, memory, PAGE * 2, 1, -1, 0, &umem), DOCA_SUCCESS);
	check_eq(doca_verbs_uar_create(other, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &uar), DOCA_SUCCESS);
	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	doca_verbs_cq_attr_set_external_uar(attr, uar);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "of another device");
	doca_verbs_cq_attr_set_external_uar(attr, NULL);
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, umem, 4096);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "of another device");
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	QP_REFUSES(pd, pd, bed.pd, DOCA_ERROR_INVALID_VALUE, "of another context");
	QP_REFUSES(external_uar, uar, NULL, DOCA_ERROR_INVALID_VALUE, "of another device");
	doca_verbs_qp_init_attr_set_pd(bed.init, pd);
	check_eq(doca_verbs_qp_create(other, bed.init, &bed.qp), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "completion queue");
	check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(other), 0);
	doca_verbs_cq_attr_destroy(attr);
	net_bed_close(&bed);
}

/* An object that the NIC does not let go stays, and can be destroyed later. */
static void what_the_nic_keeps_can_be_destroyed_later(void)
{
	struct doca_verbs_umem *umem;
	struct doca_verbs_uar *uar;

	net_bed_open(&bed);
	umem = net_bed_umem(&bed, memory, PAGE);
	uar = net_bed_uar(&bed);
	bed.cq = net_bed_cq(&bed);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	fake.error = EBUSY;
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_ERROR_IN_USE);
	check(doca_verbs_qp_get_qpn(bed.qp));
	drop_qp();
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_cq_destroy(bed.cq), DOCA_ERROR_IN_USE);
	check(doca_verbs_cq_get_cqn(bed.cq));
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_umem_destroy(umem), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_uar_destroy(uar), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
	fake.fail_at = fake.calls + 1;
	check_eq(bl_net_dealloc_pd(bed.pd), EBUSY);
	net_bed_close(&bed);
}

/* Every call of the provider fails once in the making of a queue pair with its completion queue. */
static void a_failing_nic_leaves_nothing_behind(void)
{
	struct doca_verbs_cq_attr *attr;
	unsigned int live, nth;

	net_bed_open(&bed);
	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	live = fake_live();
	for (nth = 1; !bed.qp; nth++) {
		doca_error_t err;

		check(nth < 20);
		fake.calls = 0;
		fake.fail_at = nth;
		err = doca_verbs_cq_create(bed.context, attr, &bed.cq);
		if (err) {
			check_eq(err, DOCA_ERROR_DRIVER);
			check_eq(fake_live(), live);
			continue;
		}
		doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
		err = doca_verbs_qp_create(bed.context, bed.init, &bed.qp);
		fake.fail_at = err ? 0 : fake.fail_at;
		if (err) {
			check_eq(err, DOCA_ERROR_DRIVER);
			check_eq(doca_verbs_cq_destroy(bed.cq), DOCA_SUCCESS);
			check_eq(fake_live(), live);
		}
	}
	check_eq(nth, 7); /* umem and queue; UAR, umem and queue pair; and the round without failure */
	fake.fail_at = 0;
	drop_qp();
	doca_verbs_cq_attr_destroy(attr);
	net_bed_close(&bed);
}

static const struct tap_test tests[] = {
	{ "qp_with_memory_of_the_library", qp_with_memory_of_the_library },
	{ "qp_with_memory_of_the_program", qp_with_memory_of_the_program },
	{ "qp_without_doorbell_record_has_the_other_doorbell", qp_without_doorbell_record_has_the_other_doorbell },
	{ "queues_that_a_qp_has_not_are_null", queues_that_a_qp_has_not_are_null },
	{ "qp_refuses_what_does_not_fit", qp_refuses_what_does_not_fit },
	{ "what_the_device_lacks_is_not_supported", what_the_device_lacks_is_not_supported },
	{ "objects_of_another_device_are_refused", objects_of_another_device_are_refused },
	{ "what_the_nic_keeps_can_be_destroyed_later", what_the_nic_keeps_can_be_destroyed_later },
	{ "a_failing_nic_leaves_nothing_behind", a_failing_nic_leaves_nothing_behind },
};

TAP_MAIN(tests)
