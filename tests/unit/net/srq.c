// SPDX-License-Identifier: MIT
/* Shared receive queues: what the NIC is told, what the program is told, who keeps whom, what is refused. */
#include "bed.h"

#define PAGE 4096

static struct net_bed bed;
static struct doca_verbs_srq_init_attr *init;
static struct doca_verbs_srq *srq;
static char memory[16 * PAGE] __attribute__((aligned(PAGE)));

static void begin(enum doca_verbs_srq_type type, uint32_t wr, uint32_t sges)
{
	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	srq = NULL;
	check_eq(doca_verbs_srq_init_attr_create(&init), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(init, bed.pd);
	doca_verbs_srq_init_attr_set_type(init, type);
	doca_verbs_srq_init_attr_set_srq_wr(init, wr);
	doca_verbs_srq_init_attr_set_receive_max_sges(init, sges);
}

static void end(void)
{
	if (srq)
		check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_init_attr_destroy(init), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void create(doca_error_t wanted, const char *why)
{
	check_eq(doca_verbs_srq_create(bed.context, init, &srq), wanted);
	if (why)
		check_has(bl_last_error(NULL), why);
}

static void a_linked_list_hangs_together(void)
{
	unsigned char *buf = NULL;
	uint32_t nr = 0, bytes = 0;

	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 2);
	create(DOCA_SUCCESS, NULL);
	doca_verbs_srq_get_wq(srq, (void **)&buf, &nr, &bytes);
	/* one is kept back, and one segment is for the next one */
	check_eq(nr, 32);
	check_eq(bytes, 64);
	check_eq((uintptr_t)buf % PAGE, 0);
	check((unsigned char *)doca_verbs_srq_get_dbr_addr(srq) == buf + (size_t)nr * bytes);
	for (uint32_t i = 0; i < nr; i++)
		check_eq(buf[i * 64 + 2] << 8 | buf[i * 64 + 3], (i + 1) % 32);
	check_eq(fake.srq.type, DOCA_VERBS_SRQ_TYPE_LINKED_LIST);
	check_eq(fake.srq.nr, 32);
	check_eq(fake.srq.sges, 3);
	check_eq(fake.srq.ring_off, 0);
	check_eq(fake.srq.dbr_off, 2048);
	check(fake.srq.ring && fake.srq.ring == fake.srq.dbr && fake.pd_given);
	check(doca_verbs_srq_get_srqn(srq) >= FAKE_FIRST_NUM);
	/* every place for an answer may be missing */
	doca_verbs_srq_get_wq(srq, NULL, NULL, NULL);
	end();
}

static void a_contiguous_one_is_a_ring(void)
{
	unsigned char *buf = NULL;
	uint32_t nr = 0, bytes = 0;

	begin(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, 5, 3);
	create(DOCA_SUCCESS, NULL);
	doca_verbs_srq_get_wq(srq, (void **)&buf, &nr, &bytes);
	check_eq(nr, 8);
	check_eq(bytes, 64);
	for (uint32_t i = 0; i < nr * bytes; i++)
		check_eq(buf[i], 0);
	check_eq(fake.srq.sges, 4);
	end();
	/* the smallest there is */
	begin(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, 1, 0);
	create(DOCA_SUCCESS, NULL);
	check_eq(fake.srq.nr, 2);
	check_eq(fake.srq.sges, 1);
	check_eq(fake.srq.dbr_off, 64);
	end();
}

static void memory_of_the_program_has_the_record_behind_the_queue(void)
{
	struct doca_verbs_umem *umem;
	uint32_t nr = 0;
	void *buf = NULL;

	memset(memory, 0x5a, sizeof(memory));
	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 15, 1);
	umem = net_bed_umem(&bed, memory, 64 + 16 * 32 + 8);
	doca_verbs_srq_init_attr_set_external_umem(init, umem, 64);
	create(DOCA_SUCCESS, NULL);
	doca_verbs_srq_get_wq(srq, &buf, &nr, NULL);
	check(buf == memory + 64);
	check_eq(nr, 16);
	check(doca_verbs_srq_get_dbr_addr(srq) == memory + 64 + 16 * 32);
	check_eq(fake.srq.ring_off, 64);
	check_eq(fake.srq.dbr_off, 64 + 16 * 32);
	/* it is the program's to fill */
	check_eq(memory[64 + 3], 0x5a);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	srq = NULL;
	doca_verbs_srq_init_attr_set_external_umem(init, umem, 128);
	create(DOCA_ERROR_INVALID_VALUE, "more than the");
	/* the queue alone finds room */
	doca_verbs_srq_init_attr_set_external_umem(init, umem, 64);
	doca_verbs_srq_init_attr_set_type(init, DOCA_VERBS_SRQ_TYPE_CONTIGUOUS);
	doca_verbs_srq_init_attr_set_srq_wr(init, 32);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	umem = net_bed_umem(&bed, memory, 64 + 512);
	doca_verbs_srq_init_attr_set_external_umem(init, umem, 64);
	create(DOCA_ERROR_INVALID_VALUE, "doorbell record");
	doca_verbs_srq_init_attr_set_external_umem(init, umem, 32);
	create(DOCA_ERROR_INVALID_VALUE, "multiple of 64");
	doca_verbs_srq_init_attr_set_external_umem(init, (struct doca_verbs_umem *)(void *)memory, 0);
	create(DOCA_ERROR_INVALID_VALUE, "umem");
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	end();
}

#define REFUSES(attr, bad, good, why)                                                                                  \
	do {                                                                                                           \
		doca_verbs_srq_init_attr_set_##attr(init, bad);                                                        \
		create(DOCA_ERROR_INVALID_VALUE, why);                                                                 \
		check(!srq);                                                                                           \
		doca_verbs_srq_init_attr_set_##attr(init, good);                                                       \
	} while (0)

static void what_makes_no_sense_is_refused(void)
{
	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 1);
	REFUSES(srq_wr, 0, 16, "srq_wr 0");
	REFUSES(srq_wr, 1008, 16, "1 to 1007");
	REFUSES(srq_wr, UINT32_MAX, 16, "1 to 1007");
	REFUSES(receive_max_sges, 32, 1, "at most 31");
	REFUSES(receive_max_sges, UINT32_MAX, 1, "at most 31");
	REFUSES(type, (enum doca_verbs_srq_type)2, DOCA_VERBS_SRQ_TYPE_LINKED_LIST, "type 2");
	REFUSES(pd, NULL, bed.pd, "protection domain NULL");
	REFUSES(pd, (void *)memory, bed.pd, "protection domain");
	check_eq(doca_verbs_srq_create(bed.context, NULL, &srq), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_create(bed.context, init, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_create(NULL, init, &srq), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_create((struct ibv_context *)memory, init, &srq), DOCA_ERROR_NOT_SUPPORTED);
	fake.fail_at = fake.calls + 2;
	create(DOCA_ERROR_DRIVER, NULL);
	check_eq(fake.live[FAKE_UMEM], 1);
	check(!srq);
	end();
}

static void a_device_without_says_so(void)
{
	struct ibv_context *poor;

	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 1);
	fake.caps.max_srq = 0;
	poor = bl_net_open_device("fake1");
	check(poor);
	check_eq(doca_verbs_srq_create(poor, init, &srq), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "device fake1 has no shared receive queues (provider fake)");
	check_eq(bl_net_close_device(poor), 0);
	end();
}

static void foreign_pointers_are_refused(void)
{
	void *buf = memory;
	uint32_t nr = 7, bytes = 7;
	const struct doca_verbs_srq *strange[] = { NULL, (void *)memory, (void *)1 };

	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 1);
	for (size_t i = 0; i < 3; i++) {
		check_eq(doca_verbs_srq_destroy((struct doca_verbs_srq *)(uintptr_t)strange[i]),
			 DOCA_ERROR_INVALID_VALUE);
		check_eq(doca_verbs_srq_get_srqn(strange[i]), 0);
		check(!doca_verbs_srq_get_dbr_addr(strange[i]));
		doca_verbs_srq_get_wq(strange[i], &buf, &nr, &bytes);
	}
	check(buf == memory && nr == 7 && bytes == 7);
	create(DOCA_SUCCESS, NULL);
	check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_destroy(srq), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_get_srqn(srq), 0);
	srq = NULL;
	end();
}

static void a_queue_pair_receives_from_it_and_keeps_it(void)
{
	uint32_t rq_nr = 7;
	void *rq = memory;

	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 1);
	create(DOCA_SUCCESS, NULL);
	doca_verbs_qp_init_attr_set_srq(bed.init, srq);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	/* what is said of a queue of its own does not count */
	doca_verbs_qp_init_attr_set_rq_wr(bed.init, 8);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "no completion queue for the receives");
	doca_verbs_qp_init_attr_set_receive_cq(bed.init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	check(fake.qp.srq);
	check_eq(fake.qp.rq_nr, 0);
	check_eq(fake.qp.sq_off, 0);
	doca_verbs_qp_get_wq(bed.qp, NULL, NULL, &rq, &rq_nr, NULL);
	check(!rq && !rq_nr);
	check_eq(doca_verbs_srq_destroy(srq), DOCA_ERROR_IN_USE);
	check_has(bl_last_error(NULL), "1 users are left");
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_SUCCESS);
	/* one that only receives */
	doca_verbs_qp_init_attr_set_sq_wr(bed.init, 0);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_destroy(bed.qp), DOCA_SUCCESS);
	bed.qp = NULL;
	/* one that was destroyed, or fails after the queue was taken, leaves nobody behind */
	fake.fail_at = fake.calls + 3;
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_ERROR_DRIVER);
	check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "shared receive queue");
	srq = NULL;
	bed.qp = NULL;
	end();
}

static void one_of_another_device_is_refused(void)
{
	struct ibv_context *other;
	struct ibv_pd *pd;

	begin(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 16, 1);
	other = bl_net_open_device("fake1");
	check(other);
	pd = bl_net_alloc_pd(other);
	check(pd);
	check_eq(doca_verbs_srq_create(other, init, &srq), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "of another context");
	doca_verbs_srq_init_attr_set_pd(init, pd);
	check_eq(doca_verbs_srq_create(other, init, &srq), DOCA_SUCCESS);
	check_eq(bl_net_dealloc_pd(pd), EBUSY);
	doca_verbs_qp_init_attr_set_srq(bed.init, srq);
	doca_verbs_qp_init_attr_set_send_cq(bed.init, bed.cq);
	doca_verbs_qp_init_attr_set_receive_cq(bed.init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.context, bed.init, &bed.qp), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "of another device");
	check_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
	srq = NULL;
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(other), 0);
	end();
}

static const struct tap_test tests[] = {
	{ "a_linked_list_hangs_together", a_linked_list_hangs_together },
	{ "a_contiguous_one_is_a_ring", a_contiguous_one_is_a_ring },
	{ "memory_of_the_program_has_the_record_behind_the_queue",
	  memory_of_the_program_has_the_record_behind_the_queue },
	{ "what_makes_no_sense_is_refused", what_makes_no_sense_is_refused },
	{ "a_device_without_says_so", a_device_without_says_so },
	{ "foreign_pointers_are_refused", foreign_pointers_are_refused },
	{ "a_queue_pair_receives_from_it_and_keeps_it", a_queue_pair_receives_from_it_and_keeps_it },
	{ "one_of_another_device_is_refused", one_of_another_device_is_refused },
};

TAP_MAIN(tests)
