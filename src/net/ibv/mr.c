// SPDX-License-Identifier: MIT
/*
 * Memory for the device. Of GPU memory it gets a dma-buf; where that is not to be had, the address, which takes a kernel
 * module that knows what GPU memory is. The software NIC knows it as well, to look after what it has completed.
 */
#define log_fmt(fmt) "net/verbs: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"
#include "ways.h"
#include "net/log.h"

struct bl_nic_mr {
	struct bl_reach reach;
	bool reached;
	struct bl_snic_mr *snic;
	struct ibv_mr *ibv;
};

static int not_reached(void *priv, uint64_t off, void *dst, size_t len)
{
	return -EOPNOTSUPP;
}

static int not_reached_to_write(void *priv, uint64_t off, const void *src, size_t len)
{
	return -EOPNOTSUPP;
}

/* A dma-buf that is nobody's but the device's need not be reached by a CPU. */
static int reach(struct bl_nic_mr *mr, const struct bl_nic_memory *memory, struct bl_snic_mem *mem)
{
	int ret;

	if (memory->dmabuf_fd >= 0 && !memory->addr) {
		*mem = (struct bl_snic_mem){ .read = not_reached, .write = not_reached_to_write };
		return 0;
	}
	ret = bl_reach_open(memory, &mr->reach);
	if (ret)
		return ret;
	mr->reached = true;
	bl_soft_mem(&mr->reach, mem);
	return 0;
}

int bl_ibv_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
		     struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p)
{
	struct bl_region region = {
		.ways = { .device = nic->name, .memory = memory },
		.ibv = bl_ibv_link(nic)->ibv,
		.pd = pd->ibv,
		.iova = iova,
	};
	struct bl_nic_mr *mr = calloc(1, sizeof(*mr));
	struct bl_snic_mem mem;
	int ret;

	if (!mr)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	ret = reach(mr, memory, &mem);
	if (ret)
		goto free_mr;
	if (mr->reached && mr->reach.kind == BL_REACH_GPU)
		region.ways.gpu = &mr->reach;
	ret = bl_region_register(&region, &mr->ibv);
	if (ret)
		goto close_reach;
	ret = bl_snic_mr_create_as(pd->snic, &mem, iova, memory->len, memory->access & BL_REGION_ACCESS, mr->ibv->lkey,
				   &mr->snic);
	if (ret)
		goto dereg;
	*lkey_p = mr->ibv->lkey;
	*rkey_p = mr->ibv->rkey;
	*mr_p = mr;
	return 0;
dereg:
	bl_ibv_link(nic)->ibv->dereg_mr(mr->ibv);
close_reach:
	if (mr->reached)
		bl_reach_close(&mr->reach);
free_mr:
	free(mr);
	return ret;
}

int bl_ibv_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr)
{
	int ret;

	ret = bl_ibv_link(nic)->ibv->dereg_mr(mr->ibv);
	if (ret)
		return fail(ret > 0 ? ret : EIO, "device %s: ibv_dereg_mr: %s", nic->name, strerror(ret > 0 ? ret : EIO));
	ret = bl_snic_mr_destroy(mr->snic);
	if (ret)
		return ret;
	if (mr->reached)
		bl_reach_close(&mr->reach);
	free(mr);
	return 0;
}
