// SPDX-License-Identifier: MIT
/* Umems, UARs and completion queues: what the NIC is told, what the program is told, who keeps whom. */
#include "bed.h"

#define PAGE 4096

static struct net_bed bed;
static char memory[16 * PAGE] __attribute__((aligned(PAGE)));

static void umem_is_what_was_registered(void)
{
	struct doca_verbs_umem *umem = NULL;
	uint32_t id = 0;
	size_t size = 0;
	void *addr = NULL;

	net_bed_open(&bed);
	check_eq(doca_verbs_umem_create(bed.context, memory, 8192, 7, 5, 0x3000, &umem), DOCA_SUCCESS);
	check(fake.memory.addr == memory);
	check_eq(fake.memory.len, 8192);
	check_eq(fake.memory.access, 7);
	check_eq(fake.memory.dmabuf_fd, 5);
	check_eq(fake.memory.dmabuf_off, 0x3000);
	check_eq(doca_verbs_umem_get_id(umem, &id), DOCA_SUCCESS);
	check(id >= FAKE_FIRST_NUM);
	check_eq(doca_verbs_umem_get_size(umem, &size), DOCA_SUCCESS);
	check_eq(size, 8192);
	check_eq(doca_verbs_umem_get_address(umem, &addr), DOCA_SUCCESS);
	check(addr == memory);
	check_eq(doca_verbs_umem_get_id(umem, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_get_size(umem, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_get_address(umem, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_get_id(NULL, &id), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_get_id(umem, &id), DOCA_ERROR_INVALID_VALUE);
	/* the original's mark for no dma-buf */
	check_eq(doca_verbs_umem_create(bed.context, memory, 1, 1, (int)0xffffffff, 0, &umem), DOCA_SUCCESS);
	check_eq(fake.memory.dmabuf_fd, -1);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	net_bed_close(&bed);
}

static void umem_refuses_wrong_arguments(void)
{
	struct doca_verbs_umem *umem = NULL;

	net_bed_open(&bed);
	check_eq(doca_verbs_umem_create(bed.context, NULL, 1, 1, -1, 0, &umem), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_create(bed.context, memory, 0, 1, -1, 0, &umem), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_create(bed.context, memory, 1, 1, -1, 0, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_create(NULL, memory, 1, 1, -1, 0, &umem), DOCA_ERROR_INVALID_VALUE);
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_umem_create(bed.context, memory, 1, 1, -1, 0, &umem), DOCA_ERROR_DRIVER);
	check(!umem);
	net_bed_close(&bed);
}

static void uar_has_its_registers(void)
{
	struct doca_verbs_uar *uar = NULL;
	char *reg = NULL, *dbr_less = NULL;
	uint32_t id = 0;

	net_bed_open(&bed);
	for (int type = 0; type <= DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED; type++) {
		check_eq(doca_verbs_uar_create(bed.context, (enum doca_verbs_uar_allocation_type)type, &uar),
			 DOCA_SUCCESS);
		check_eq(fake.uar_type, type);
		check_eq(doca_verbs_uar_id_get(uar, &id), DOCA_SUCCESS);
		check(id >= FAKE_FIRST_NUM);
		check_eq(doca_verbs_uar_reg_addr_get(uar, (void **)&reg), DOCA_SUCCESS);
		check_eq(doca_verbs_uar_dbr_less_addr_get(uar, (void **)&dbr_less), DOCA_SUCCESS);
		check_eq(reg - dbr_less, FAKE_DB - FAKE_NO_DBREC);
		check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
		check_eq(doca_verbs_uar_destroy(uar), DOCA_ERROR_INVALID_VALUE);
	}
	check_eq(doca_verbs_uar_create(bed.context, (enum doca_verbs_uar_allocation_type)3, &uar),
		 DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_uar_create(bed.context, (enum doca_verbs_uar_allocation_type)-1, &uar),
		 DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_uar_create(bed.context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, NULL),
		 DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_uar_id_get(NULL, &id), DOCA_ERROR_INVALID_VALUE);
	fake.error = EOPNOTSUPP;
	fake.fail_at = fake.calls + 1;
	check_eq(doca_verbs_uar_create(bed.context, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, &uar),
		 DOCA_ERROR_NOT_SUPPORTED);
	net_bed_close(&bed);
}

static void cq_with_memory_of_the_library(void)
{
	uint32_t *ci = NULL, *arm = NULL, nr = 0;
	uint64_t *uar = (uint64_t *)memory;
	unsigned char *buf = NULL;
	uint8_t size = 0;

	net_bed_open(&bed);
	bed.cq = net_bed_cq(&bed);
	doca_verbs_cq_get_wq(bed.cq, (void **)&buf, &nr, &size);
	check_eq(nr, 64);
	check_eq(size, 64);
	check_eq((uintptr_t)buf % PAGE, 0);
	for (uint32_t i = 0; i < nr; i++) {
		check_eq(buf[i * 64 + 63], 0xf1);
		check_eq(buf[i * 64], 0);
	}
	doca_verbs_cq_get_dbr_addr(bed.cq, &uar, &ci, &arm);
	check(!uar);
	check((unsigned char *)ci == buf + 64 * 64 && arm == ci + 1);
	check(fake.memory.addr == buf);
	check_eq(fake.memory.access, IBV_ACCESS_LOCAL_WRITE);
	check(fake.cq.ring == fake.cq.dbr && fake.cq.ring);
	check_eq(fake.cq.ring_off, 0);
	check_eq(fake.cq.dbr_off, 4096);
	check_eq(fake.cq.nr, 64);
	check(!fake.cq.uar && !fake.cq.overrun && !fake.cq.collapsed);
	check(doca_verbs_cq_get_cqn(bed.cq) >= FAKE_FIRST_NUM);
	/* every place for an answer may be missing */
	doca_verbs_cq_get_wq(bed.cq, NULL, NULL, NULL);
	doca_verbs_cq_get_dbr_addr(bed.cq, NULL, NULL, NULL);
	check_eq(doca_verbs_cq_get_cqn(NULL), 0);
	net_bed_close(&bed);
}

static void cq_with_memory_of_the_program(void)
{
	struct doca_verbs_umem *ring, *dbr;
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_uar *uar;
	uint32_t *ci = NULL;
	uint64_t *db = NULL;
	void *buf = NULL, *reg = NULL;

	net_bed_open(&bed);
	ring = net_bed_umem(&bed, memory, 2 * PAGE);
	dbr = net_bed_umem(&bed, memory + 8 * PAGE, PAGE);
	uar = net_bed_uar(&bed);
	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	doca_verbs_cq_attr_set_external_umem(attr, ring, PAGE);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr, 8);
	doca_verbs_cq_attr_set_external_uar(attr, uar);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	doca_verbs_cq_attr_set_cq_collapsed(attr, 1);
	memset(memory, 0x5a, sizeof(memory));
	check_eq(doca_verbs_cq_create(bed.context, attr, &bed.cq), DOCA_SUCCESS);
	check_eq(memory[PAGE + 63], 0x5a); /* the program has initialised it */
	check(fake.cq.ring && fake.cq.dbr && fake.cq.ring != fake.cq.dbr && fake.cq.uar);
	check_eq(fake.cq.ring_off, PAGE);
	check_eq(fake.cq.dbr_off, 8);
	check(fake.cq.overrun && fake.cq.collapsed);
	doca_verbs_cq_get_wq(bed.cq, &buf, NULL, NULL);
	doca_verbs_cq_get_dbr_addr(bed.cq, &db, &ci, NULL);
	doca_verbs_uar_reg_addr_get(uar, &reg);
	check(buf == memory + PAGE && (char *)ci == memory + 8 * PAGE + 8);
	check_eq((char *)reg - (char *)db, FAKE_DB - FAKE_CQ_DB);
	/* what it uses stays */
	check_eq(doca_verbs_umem_destroy(ring), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_umem_destroy(dbr), DOCA_ERROR_IN_USE);
	check_eq(doca_verbs_uar_destroy(uar), DOCA_ERROR_IN_USE);
	check_eq(bl_net_close_device(bed.context), EBUSY);
	check_eq(doca_verbs_cq_destroy(bed.cq), DOCA_SUCCESS);
	bed.cq = NULL;
	check_eq(doca_verbs_umem_destroy(ring), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(dbr), DOCA_SUCCESS);
	check_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
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

static void cq_refuses_what_does_not_fit(void)
{
	struct doca_verbs_umem *ring, *dbr;
	struct doca_verbs_cq_attr *attr;

	net_bed_open(&bed);
	ring = net_bed_umem(&bed, memory, PAGE);
	dbr = net_bed_umem(&bed, memory + 8 * PAGE, 16);
	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "no power of two");
	doca_verbs_cq_attr_set_cq_size(attr, 63);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "no power of two");
	doca_verbs_cq_attr_set_cq_size(attr, 131072);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "at most 65536");
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	doca_verbs_cq_attr_set_cq_overrun(attr, (enum doca_verbs_cq_overrun)2);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "overrun 2");
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_DISABLE_OVERRUN);
	doca_verbs_cq_attr_set_external_umem(attr, ring, 0);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "both or none");
	doca_verbs_cq_attr_set_external_umem(attr, NULL, 0);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr, 0);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "both or none");
	doca_verbs_cq_attr_set_external_umem(attr, ring, 64);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "more than the 0x1000 bytes");
	doca_verbs_cq_attr_set_external_umem(attr, ring, UINT64_MAX - 63);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "more than the 0x1000 bytes");
	doca_verbs_cq_attr_set_external_umem(attr, ring, 32);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "no multiple of 64");
	doca_verbs_cq_attr_set_external_umem(attr, ring, 0);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr, 16);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "more than the 0x10 bytes");
	doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr, 4);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "no multiple of 8");
	doca_verbs_cq_attr_set_external_dbr_umem(attr, (void *)bed.pd, 0);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "never made by this library");
	doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr, 8);
	doca_verbs_cq_attr_set_external_uar(attr, (void *)ring);
	check_cq(attr, DOCA_ERROR_INVALID_VALUE, "UAR");
	check_eq(doca_verbs_cq_create(bed.context, NULL, &bed.cq), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_cq_create(bed.context, attr, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_umem_destroy(ring), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(dbr), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	net_bed_close(&bed);
}

static const struct tap_test tests[] = {
	{ "umem_is_what_was_registered", umem_is_what_was_registered },
	{ "umem_refuses_wrong_arguments", umem_refuses_wrong_arguments },
	{ "uar_has_its_registers", uar_has_its_registers },
	{ "cq_with_memory_of_the_library", cq_with_memory_of_the_library },
	{ "cq_with_memory_of_the_program", cq_with_memory_of_the_program },
	{ "cq_refuses_what_does_not_fit", cq_refuses_what_does_not_fit },
};

TAP_MAIN(tests)
