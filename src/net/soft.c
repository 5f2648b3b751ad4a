// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/soft: " fmt
#include "soft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/line.h"
#include "object.h"
#include "place.h"
#include "net/log.h"

/* The NIC's objects as nic.h names them, where nothing has to be kept beside. What it refuses it logs itself. */
#define snic_pd(pd)   ((struct bl_snic_pd *)(pd))
#define snic_uar(uar) ((struct bl_snic_uar *)(uar))

struct bl_nic_mr {
	struct bl_reach reach;
	struct bl_snic_mem mem;
	struct bl_snic_mr *mr;
};

static int soft_probe(char *reason, size_t size)
{
	snprintf(reason, size, "software NICs need nothing");
	return 0;
}

static int soft_caps(struct bl_nic *nic, struct bl_nic_caps *caps)
{
	struct bl_snic_port port;

	bl_snic_port(nic->snic, &port);
	*caps = (struct bl_nic_caps){
		.max_qp = 1 << 16,
		.max_qp_wr = 32768,
		.max_sge = 32,
		.max_cq = 1 << 16,
		.max_cqe = 1 << 22,
		.max_mr = 1 << 20,
		.max_pd = 1 << 16,
		.max_ah = 1 << 16,
		.max_srq = 1 << 16,
		.max_srq_wr = 32767,
		.max_srq_sge = 32,
		.max_pkeys = 1,
		.gids = (uint16_t)port.gids,
		.ports = 1,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.rc = true,
		.uc = true,
		.no_dbrec = true,
		.cpu = true,
		.brings = true,
	};
	return 0;
}

static int soft_port(struct bl_nic *nic, uint8_t number, struct bl_nic_port *info)
{
	struct bl_snic_port port;

	bl_snic_port(nic->snic, &port);
	*info = (struct bl_nic_port){ .mtu = port.mtu, .active = port.up };
	return 0;
}

static int soft_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		    enum bl_nic_gid_type *type_p)
{
	*type_p = bl_soft_is_wire(nic->name) ? BL_NIC_GID_ROCE_V2 : BL_NIC_GID_IB;
	return bl_snic_gid_at(nic->snic, index, gid);
}

static int soft_pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p)
{
	struct bl_snic_pd *pd;
	int ret;

	ret = bl_snic_pd_create(nic->snic, &pd);
	if (ret)
		return ret;
	*pd_p = (struct bl_nic_pd *)pd;
	*num_p = bl_snic_pd_num(pd);
	return 0;
}

static int soft_pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd)
{
	return bl_snic_pd_destroy(snic_pd(pd));
}

void bl_soft_mem(struct bl_reach *reach, struct bl_snic_mem *mem)
{
	*mem = (struct bl_snic_mem){ .addr = reach->cpu };
	if (reach->kind == BL_REACH_HOST)
		return;
	mem->read = bl_reach_read;
	mem->write = bl_reach_write;
	mem->flush = bl_reach_flush;
	mem->domain = reach->domain;
	mem->priv = reach;
	if (reach->kind != BL_REACH_GPU)
		return;
	mem->peek = bl_reach_peek;
	mem->peeked = bl_reach_peeked;
	if (!reach->domain)
		return;
	mem->put = bl_reach_put;
	if (bl_can_store_line())
		mem->put_line = bl_reach_put_line;
}

static int soft_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
			  struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p)
{
	struct bl_nic_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr)
		return fail(ENOMEM, "%s: memory region: out of memory", nic->name);
	ret = bl_reach_open(memory, &mr->reach);
	if (ret)
		goto free_mr;
	bl_soft_mem(&mr->reach, &mr->mem);
	bl_place_open(memory, &mr->reach, &mr->mem);
	/* of IBV_ACCESS_* the NIC takes the first four as they are */
	ret = bl_snic_mr_create(snic_pd(pd), &mr->mem, iova, memory->len, memory->access & 0xf, &mr->mr);
	if (ret)
		goto close_reach;
	*lkey_p = bl_snic_mr_lkey(mr->mr);
	*rkey_p = bl_snic_mr_rkey(mr->mr);
	*mr_p = mr;
	return 0;
close_reach:
	bl_place_close(&mr->mem);
	bl_reach_close(&mr->reach);
free_mr:
	free(mr);
	return ret;
}

static int soft_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr)
{
	int ret = bl_snic_mr_destroy(mr->mr);

	if (ret)
		return ret;
	bl_place_close(&mr->mem);
	bl_reach_close(&mr->reach);
	free(mr);
	return 0;
}

int bl_soft_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			    uint32_t *id_p)
{
	static _Atomic(uint32_t) last_id;
	struct bl_nic_umem *umem = calloc(1, sizeof(*umem));
	int ret;

	if (!umem)
		return fail(ENOMEM, "%s: umem: out of memory", nic->name);
	ret = bl_reach_open(memory, &umem->reach);
	if (ret) {
		free(umem);
		return ret;
	}
	*id_p = ++last_id;
	*umem_p = umem;
	return 0;
}

int bl_soft_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem)
{
	bl_reach_close(&umem->reach);
	free(umem);
	return 0;
}

void *bl_soft_umem_cpu(struct bl_nic_umem *umem)
{
	return umem->reach.cpu;
}

/* A page is ordinary memory that the NIC looks at, so every kind of mapping is this one. */
int bl_soft_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
			   struct bl_nic_uar_info *info)
{
	struct bl_snic_uar *uar;
	char *page;
	int ret;

	ret = bl_snic_uar_create(nic->snic, &uar);
	if (ret)
		return ret;
	page = bl_snic_uar_page(uar);
	*info = (struct bl_nic_uar_info){
		.id = bl_snic_uar_id(uar),
		.page = page,
		.db = page + BL_SNIC_UAR_DB,
		.no_dbrec_db = page + BL_SNIC_UAR_NODBR,
		.cq_db = page + BL_SNIC_UAR_CQ,
	};
	*uar_p = (struct bl_nic_uar *)uar;
	return 0;
}

int bl_soft_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar)
{
	return bl_snic_uar_destroy(snic_uar(uar));
}

void bl_soft_kick(struct bl_nic *nic)
{
	bl_snic_kick(nic->snic);
}

const struct bl_nic_ops bl_nic_soft = {
	.name = "soft",
	.about = "a thread of this process is the NIC",
	.probe = soft_probe,
	.devices = bl_soft_devices,
	.open = bl_soft_open,
	.close = bl_soft_close,
	.forget = bl_soft_forget,
	.caps = soft_caps,
	.port = soft_port,
	.gid = soft_gid,
	.pd_create = soft_pd_create,
	.pd_destroy = soft_pd_destroy,
	.mr_create = soft_mr_create,
	.mr_destroy = soft_mr_destroy,
	.umem_create = bl_soft_umem_create,
	.umem_destroy = bl_soft_umem_destroy,
	.umem_cpu = bl_soft_umem_cpu,
	.uar_create = bl_soft_uar_create,
	.uar_destroy = bl_soft_uar_destroy,
	.cq_create = bl_soft_cq_create,
	.cq_destroy = bl_soft_cq_destroy,
	.srq_create = bl_soft_srq_create,
	.srq_destroy = bl_soft_srq_destroy,
	.qp_create = bl_soft_qp_create,
	.qp_destroy = bl_soft_qp_destroy,
	.qp_modify = bl_soft_qp_modify,
	.qp_query = bl_soft_qp_query,
	.qp_watch = bl_soft_qp_watch,
	.qp_express = bl_soft_qp_express,
	.kick = bl_soft_kick,
};
