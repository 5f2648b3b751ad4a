// SPDX-License-Identifier: MIT
#include "nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/log.h"

#define PAGE 4096

struct test_nic test_nic;

struct bl_nic {
	bool cpu;
};

/* Every object is a page of memory, which that of doorbells also is. */
struct thing {
	char bytes[PAGE];
};

static int called(const char *name)
{
	return ++test_nic.calls == test_nic.fail_at ? bl_fail_quiet(EPROTO, "test nic: %s fails", name) : 0;
}

static int make(const char *name, void *thing_p, uint32_t *num_p)
{
	static uint32_t num = 0x40;
	void *thing;

	if (called(name))
		return -EPROTO;
	thing = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thing == MAP_FAILED)
		return bl_fail_quiet(ENOMEM, "test nic: %s: no memory", name);
	test_nic.live++;
	memcpy(thing_p, &thing, sizeof(thing));
	if (num_p)
		*num_p = num++;
	return 0;
}

static int unmake(void *thing)
{
	test_nic.live--;
	munmap(thing, PAGE);
	return 0;
}

static int nic_probe(char *reason, size_t size)
{
	snprintf(reason, size, "for tests");
	return 0;
}

static const char *const names[] = { "cpu0", "dma0" };

static size_t nic_devices(const char **names_p, size_t nr)
{
	for (size_t i = 0; i < 2 && i < nr; i++)
		names_p[i] = names[i];
	return 2;
}

static int nic_open(const char *device, struct bl_nic **nic_p)
{
	int ret = make("open", nic_p, NULL);

	if (!ret)
		(*nic_p)->cpu = !strcmp(device, "cpu0");
	return ret;
}

static void nic_close(struct bl_nic *nic)
{
	unmake(nic);
}

static int nic_caps(struct bl_nic *nic, struct bl_nic_caps *caps)
{
	*caps = (struct bl_nic_caps){
		.max_qp = 1000, .max_qp_wr = 32768, .max_sge = 30, .max_cq = 1000, .max_cqe = 1 << 22, .max_mr = 1000,
		.max_pd = 1000, .max_ah = 1000, .max_pkeys = 1, .gids = 2, .ports = 1, .max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 8, .rc = true, .uc = true, .no_dbrec = true, .cpu = nic->cpu,
	};
	return 0;
}

static int nic_port(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info)
{
	*info = (struct bl_nic_port){ .mtu = 2048, .lid = 0, .active = true };
	return called("port");
}

/* The first is a link-local one. */
static int nic_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		   enum bl_nic_gid_type *type_p)
{
	*type_p = BL_NIC_GID_IB;
	memset(gid, 0, BL_NIC_GID_LEN);
	gid[0] = index ? 0xfd : 0xfe;
	gid[1] = index ? 0 : 0x80;
	gid[15] = (uint8_t)(index + 1);
	return called("gid");
}

static int nic_pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p)
{
	return make("pd", pd_p, num_p);
}

static int nic_pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd)
{
	return unmake(pd);
}

static int nic_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
			 struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p)
{
	*lkey_p = *rkey_p = 1;
	return make("mr", mr_p, NULL);
}

static int nic_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr)
{
	return unmake(mr);
}

static int nic_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			   uint32_t *id_p)
{
	test_nic.memory = *memory;
	test_nic.dmabufs += memory->dmabuf_fd >= 0;
	return make("umem", umem_p, id_p);
}

static int nic_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem)
{
	return unmake(umem);
}

static int nic_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
			  struct bl_nic_uar_info *info)
{
	char *page = NULL;
	int ret;

	if (type == DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED && test_nic.no_dedicated)
		return bl_fail_quiet(EOPNOTSUPP, "test nic: no dedicated pages");
	ret = make("uar", &page, &info->id);
	if (ret)
		return ret;
	test_nic.uar_types |= 1U << type;
	if (test_nic.new_uar)
		test_nic.new_uar(page);
	info->page = page;
	info->db = page + NIC_DB;
	info->no_dbrec_db = page + NIC_NO_DBREC;
	info->cq_db = page + NIC_CQ_DB;
	*uar_p = (struct bl_nic_uar *)page;
	return 0;
}

static int nic_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar)
{
	return unmake(uar);
}

static int nic_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p,
			 uint32_t *num_p)
{
	test_nic.cq = *attr;
	return make("cq", cq_p, num_p);
}

static int nic_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq)
{
	return unmake(cq);
}

static int nic_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
			 struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	test_nic.qp = *attr;
	return make("qp", qp_p, num_p);
}

static int nic_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp)
{
	return unmake(qp);
}

static int nic_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	test_nic.mod = *mod;
	test_nic.state = mod->to;
	return called("modify");
}

static int nic_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info)
{
	*info = (struct bl_nic_qp_info){
		.state = test_nic.state,
		.syndrome = test_nic.syndrome,
		.vendor = test_nic.vendor,
		.wqe_counter = test_nic.wqe_counter,
		.responder = test_nic.responder,
		.opcode = 8,
	};
	if (test_nic.text)
		snprintf(info->text, sizeof(info->text), "%s", test_nic.text);
	return called("query");
}

static int nic_qp_watch(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *word)
{
	if (!nic->cpu)
		return -EOPNOTSUPP;
	if (called("watch"))
		return -EPROTO;
	test_nic.word = word;
	return 0;
}

static void nic_kick(struct bl_nic *nic)
{
	__atomic_fetch_add(&test_nic.kicks, 1, __ATOMIC_RELAXED);
}

static const struct bl_nic_ops nic_ops = {
	.name = "test",
	.probe = nic_probe,
	.devices = nic_devices,
	.open = nic_open,
	.close = nic_close,
	.forget = nic_close,
	.caps = nic_caps,
	.port = nic_port,
	.gid = nic_gid,
	.pd_create = nic_pd_create,
	.pd_destroy = nic_pd_destroy,
	.mr_create = nic_mr_create,
	.mr_destroy = nic_mr_destroy,
	.umem_create = nic_umem_create,
	.umem_destroy = nic_umem_destroy,
	.uar_create = nic_uar_create,
	.uar_destroy = nic_uar_destroy,
	.cq_create = nic_cq_create,
	.cq_destroy = nic_cq_destroy,
	.qp_create = nic_qp_create,
	.qp_destroy = nic_qp_destroy,
	.qp_modify = nic_qp_modify,
	.qp_query = nic_qp_query,
	.qp_watch = nic_qp_watch,
	.kick = nic_kick,
};

const struct bl_nic_ops *const bl_nic_providers[] = { &nic_ops, NULL };
