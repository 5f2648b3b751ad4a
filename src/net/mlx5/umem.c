// SPDX-License-Identifier: MIT
/* Memory of queues and doorbell records, for the device. */
#define log_fmt(fmt) "net/mlx5: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mlx5.h"
#include "net/ibv/ways.h"
#include "net/log.h"

/**
 * struct attempt - a registration
 * @nic: device
 */
struct attempt {
	struct bl_ways ways;
	const struct bl_nic *nic;
};

#define nic_of(of) (((struct attempt *)(of))->nic) /* the ways are its first member */

/* Queues are read and written, whatever the program said; nobody else reaches them by this. */
static uint32_t access_of(const struct bl_nic_memory *memory)
{
	return IBV_ACCESS_LOCAL_WRITE | (memory->access & BL_REGION_ACCESS);
}

#ifdef BL_HAVE_UMEM_DMABUF
static void *as_dmabuf(struct bl_ways *ways, int fd, uint64_t off)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = (void *)(uintptr_t)off,
		.size = ways->memory->len,
		.access = access_of(ways->memory),
		.pgsz_bitmap = (uint64_t)sysconf(_SC_PAGESIZE),
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = fd,
	};

	return nic_of(ways)->dv->umem_reg_ex(nic_of(ways)->context, &in);
}
#else
/* the header that this was built with is older than that */
#define as_dmabuf NULL
#endif

/* Of pages of the system where that can be said: with larger ones an offset need not be where a queue may begin. */
static void *by_address(struct bl_ways *ways)
{
	const struct bl_nic *nic = nic_of(ways);
	struct mlx5dv_devx_umem_in in = {
		.addr = ways->memory->addr,
		.size = ways->memory->len,
		.access = access_of(ways->memory),
		.pgsz_bitmap = (uint64_t)sysconf(_SC_PAGESIZE),
	};
	struct mlx5dv_devx_umem *umem;

	umem = nic->dv->umem_reg_ex ? nic->dv->umem_reg_ex(nic->context, &in) :
				      nic->dv->umem_reg(nic->context, in.addr, in.size, in.access);
	return umem;
}

/*
 * Memory that is given by address may be a GPU's: that is pinned, so that a dma-buf can be made of it. With a dma-buf
 * the device needs nothing else.
 */
int bl_mlx5_hold(const struct bl_nic_memory *memory, struct bl_reach *reach, bool *reached_p)
{
	int ret;

	*reached_p = false;
	if (memory->dmabuf_fd >= 0)
		return 0;
	ret = bl_reach_open(memory, reach);
	if (ret)
		return ret;
	*reached_p = reach->kind == BL_REACH_GPU;
	if (!*reached_p)
		bl_reach_close(reach);
	return 0;
}

int bl_mlx5_umem_create(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			uint32_t *id_p)
{
	struct attempt attempt = {
		.ways = {
			.device = nic->name,
			.memory = memory,
			.by_dmabuf = nic->dv->umem_reg_ex ? as_dmabuf : NULL,
			.by_address = by_address,
		},
		.nic = nic,
	};
	struct bl_nic_umem *umem = calloc(1, sizeof(*umem));
	int ret;

	if (!umem)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	ret = bl_mlx5_hold(memory, &umem->reach, &umem->reached);
	if (ret)
		goto free_umem;
	attempt.ways.gpu = umem->reached ? &umem->reach : NULL;
	umem->dv = bl_ways_try(&attempt.ways);
	if (!umem->dv) {
		ret = bl_ways_refuse(&attempt.ways);
		goto let_go;
	}
	if (umem->reached)
		umem->cpu = umem->reach.cpu;
	else if (memory->dmabuf_fd < 0)
		umem->cpu = memory->addr;
	*id_p = umem->dv->umem_id;
	*umem_p = umem;
	return 0;
let_go:
	if (umem->reached)
		bl_reach_close(&umem->reach);
free_umem:
	free(umem);
	return ret;
}

int bl_mlx5_umem_destroy(struct bl_nic *nic, struct bl_nic_umem *umem)
{
	int ret;

	errno = 0;
	ret = nic->dv->umem_dereg(umem->dv);
	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: mlx5dv_devx_umem_dereg: %s", nic->name,
			    strerror(bl_mlx5_error(ret)));
	if (umem->reached)
		bl_reach_close(&umem->reach);
	free(umem);
	return 0;
}

void *bl_mlx5_umem_cpu(struct bl_nic_umem *umem)
{
	return umem->cpu;
}
