// SPDX-License-Identifier: MIT
#include "fake_nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

struct fake fake;

struct bl_nic {
	char page[4096];
};

/* All objects are the same thing; memory of their own, so that a leak is seen. */
struct object {
	enum fake_kind kind;
	enum doca_verbs_qp_state state;
	struct bl_nic_uar_info uar;
	char page[4096];
};

void fake_reset(void)
{
	fake = (struct fake){
		.caps = {
			.max_qp = 1001, .max_qp_wr = 4096, .max_sge = 30, .max_cq = 1002, .max_cqe = 65536, .max_mr = 1003,
			.max_pd = 1004, .max_ah = 1005, .max_srq = 1006, .max_srq_wr = 1007, .max_srq_sge = 31,
			.max_pkeys = 3, .gids = 4, .ports = 2, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 8, .rc = true,
			.uc = true, .no_dbrec = true, .cpu = true,
		},
		.error = EIO,
	};
}

unsigned int fake_live(void)
{
	unsigned int nr = 0;

	for (int i = 0; i < FAKE_NR_KINDS; i++)
		nr += fake.live[i];
	return nr;
}

static int called(const char *name)
{
	fake.last = name;
	if (++fake.calls == fake.fail_at)
		return bl_fail(fake.error, "fake: %s: told to fail", name);
	return 0;
}

static int make(const char *name, enum fake_kind kind, void *object_p, uint32_t *num_p)
{
	static uint32_t last_num = FAKE_FIRST_NUM - 1;
	struct object *object;

	if (called(name))
		return -fake.error;
	object = calloc(1, sizeof(*object));
	if (!object)
		return bl_fail(ENOMEM, "fake: %s: out of memory", name);
	object->kind = kind;
	fake.live[kind]++;
	*(struct object **)object_p = object;
	if (num_p)
		*num_p = ++last_num;
	return 0;
}

static int unmake(const char *name, enum fake_kind kind, void *thing)
{
	struct object *object = thing;

	if (called(name))
		return -fake.error;
	if (object->kind != kind)
		abort();
	fake.live[kind]--;
	free(object);
	return 0;
}

static int fake_probe(char *reason, size_t size)
{
	snprintf(reason, size, "always there");
	return 0;
}

static size_t fake_devices(const char **names, size_t nr)
{
	static const char *const all[] = { "fake0", "fake1" };

	for (size_t i = 0; i < 2 && i < nr; i++)
		names[i] = all[i];
	return 2;
}

static int fake_open(const char *device, struct bl_nic **nic_p)
{
	return make("open", FAKE_NIC, nic_p, NULL);
}

static void fake_close(struct bl_nic *nic)
{
	unsigned int fail_at = fake.fail_at;

	/* it cannot fail */
	fake.fail_at = 0;
	unmake("close", FAKE_NIC, nic);
	fake.fail_at = fail_at;
}

static void fake_forget(struct bl_nic *nic)
{
	fake_close(nic);
	fake.last = "forget";
}

static int fake_caps(struct bl_nic *nic, struct bl_nic_caps *caps)
{
	if (called("caps"))
		return -fake.error;
	*caps = fake.caps;
	return 0;
}

static int fake_port(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info)
{
	if (called("port"))
		return -fake.error;
	*info = (struct bl_nic_port){ .mtu = 1024, .lid = (uint16_t)(port * 7), .active = port == 1 };
	return 0;
}

static int fake_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		    enum bl_nic_gid_type *type_p)
{
	*type_p = BL_NIC_GID_IB;
	if (called("gid"))
		return -fake.error;
	for (int i = 0; i < BL_NIC_GID_LEN; i++)
		gid[i] = (uint8_t)(port * 16 + index + (unsigned int)i);
	return 0;
}

static int fake_pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p)
{
	return make("pd_create", FAKE_PD, pd_p, num_p);
}

static int fake_pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd)
{
	return unmake("pd_destroy", FAKE_PD, pd);
}

static int fake_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
			  struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p)
{
	fake.memory = *memory;
	fake.iova = iova;
	fake.pd_given = pd;
	*lkey_p = FAKE_LKEY;
	*rkey_p = FAKE_RKEY;
	return make("mr_create", FAKE_MR, mr_p, NULL);
}

static int fake_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr)
{
	return unmake("mr_destroy", FAKE_MR, mr);
}

static int fake_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			    uint32_t *id_p)
{
	fake.memory = *memory;
	return make("umem_create", FAKE_UMEM, umem_p, id_p);
}

static int fake_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem)
{
	return unmake("umem_destroy", FAKE_UMEM, umem);
}

static int fake_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
			   struct bl_nic_uar_info *info)
{
	struct object *object = NULL;
	int ret;

	fake.uar_type = type;
	ret = make("uar_create", FAKE_UAR, &object, &info->id);
	if (ret || !object)
		return ret;
	info->page = object->page;
	info->db = object->page + FAKE_DB;
	info->no_dbrec_db = object->page + FAKE_NO_DBREC;
	info->cq_db = object->page + FAKE_CQ_DB;
	*uar_p = (struct bl_nic_uar *)object;
	return 0;
}

static int fake_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar)
{
	return unmake("uar_destroy", FAKE_UAR, uar);
}

static int fake_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p,
			  uint32_t *num_p)
{
	fake.cq = *attr;
	return make("cq_create", FAKE_CQ, cq_p, num_p);
}

static int fake_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq)
{
	return unmake("cq_destroy", FAKE_CQ, cq);
}

static int fake_srq_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_srq_attr *attr,
			   struct bl_nic_srq **srq_p, uint32_t *num_p)
{
	fake.srq = *attr;
	fake.pd_given = pd;
	return make("srq_create", FAKE_SRQ, srq_p, num_p);
}

static int fake_srq_destroy(struct bl_nic *nic, struct bl_nic_srq *srq)
{
	return unmake("srq_destroy", FAKE_SRQ, srq);
}

static int fake_qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
			  struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	fake.qp = *attr;
	fake.pd_given = pd;
	return make("qp_create", FAKE_QP, qp_p, num_p);
}

static int fake_qp_destroy(struct bl_nic *nic, struct bl_nic_qp *qp)
{
	return unmake("qp_destroy", FAKE_QP, qp);
}

static int fake_qp_modify(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod)
{
	fake.mod = *mod;
	if (called("qp_modify"))
		return -fake.error;
	((struct object *)qp)->state = mod->to;
	return 0;
}

static int fake_qp_query(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info)
{
	if (called("qp_query"))
		return -fake.error;
	*info = fake.info;
	if (!fake.stuck)
		info->state = ((struct object *)qp)->state;
	return 0;
}

static int fake_qp_watch(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *word)
{
	fake.word = word;
	return called("qp_watch") ? -fake.error : 0;
}

static void fake_kick(struct bl_nic *nic)
{
	fake.kicks++;
}

static const struct bl_nic_ops fake_ops = {
	.name = "fake",
	.about = "nobody does anything",
	.probe = fake_probe,
	.devices = fake_devices,
	.open = fake_open,
	.close = fake_close,
	.forget = fake_forget,
	.caps = fake_caps,
	.port = fake_port,
	.gid = fake_gid,
	.pd_create = fake_pd_create,
	.pd_destroy = fake_pd_destroy,
	.mr_create = fake_mr_create,
	.mr_destroy = fake_mr_destroy,
	.umem_create = fake_umem_create,
	.umem_destroy = fake_umem_destroy,
	.uar_create = fake_uar_create,
	.uar_destroy = fake_uar_destroy,
	.cq_create = fake_cq_create,
	.cq_destroy = fake_cq_destroy,
	.srq_create = fake_srq_create,
	.srq_destroy = fake_srq_destroy,
	.qp_create = fake_qp_create,
	.qp_destroy = fake_qp_destroy,
	.qp_modify = fake_qp_modify,
	.qp_query = fake_qp_query,
	.qp_watch = fake_qp_watch,
	.kick = fake_kick,
};

static int absent_probe(char *reason, size_t size)
{
	snprintf(reason, size, "there is no hardware");
	return -ENODEV;
}

static size_t absent_devices(const char **names, size_t nr)
{
	abort();
}

static const struct bl_nic_ops absent_ops = {
	.name = "absent",
	.probe = absent_probe,
	.devices = absent_devices,
};

const struct bl_nic_ops *const bl_nic_providers[] = { &fake_ops, &absent_ops, NULL };
