// SPDX-License-Identifier: MIT
/* Protection domains and memory regions: the kernel's, by libibverbs; only the domain's number is the device's. */
#define log_fmt(fmt) "net/mlx5: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5.h"
#include "net/ibv/ways.h"
#include "net/log.h"

/**
 * struct bl_nic_mr - a region
 * @reach, @reached: GPU memory that was given by address is held
 */
struct bl_nic_mr {
	struct ibv_mr *ibv;
	struct bl_reach reach;
	bool reached;
};

static int number_of(struct bl_nic *nic, struct ibv_pd *pd, uint32_t *num_p)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &out } };
	int ret;

	errno = 0;
	ret = nic->dv->init_obj(&obj, MLX5DV_OBJ_PD);
	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: mlx5dv_init_obj of a domain: %s", nic->name,
			    strerror(bl_mlx5_error(ret)));
	*num_p = out.pdn;
	return 0;
}

int bl_mlx5_pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p)
{
	struct bl_nic_pd *pd = calloc(1, sizeof(*pd));
	int ret;

	if (!pd)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	errno = 0;
	pd->ibv = nic->ibv->alloc_pd(nic->context);
	if (!pd->ibv) {
		ret = bl_mlx5_error(0);
		ret = fail(ret, "device %s: ibv_alloc_pd: %s", nic->name, strerror(ret));
		goto free_pd;
	}
	ret = number_of(nic, pd->ibv, &pd->num);
	if (ret)
		goto dealloc_pd;
	*num_p = pd->num;
	*pd_p = pd;
	return 0;
dealloc_pd:
	nic->ibv->dealloc_pd(pd->ibv);
free_pd:
	free(pd);
	return ret;
}

int bl_mlx5_pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd)
{
	int ret = nic->ibv->dealloc_pd(pd->ibv);

	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: ibv_dealloc_pd: %s", nic->name,
			    strerror(bl_mlx5_error(ret)));
	free(pd);
	return 0;
}

int bl_mlx5_mr_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
		      struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p)
{
	struct bl_region region = {
		.ways = { .device = nic->name, .memory = memory },
		.ibv = nic->ibv,
		.pd = pd->ibv,
		.iova = iova,
	};
	struct bl_nic_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	ret = bl_mlx5_hold(memory, &mr->reach, &mr->reached);
	if (ret)
		goto free_mr;
	region.ways.gpu = mr->reached ? &mr->reach : NULL;
	ret = bl_region_register(&region, &mr->ibv);
	if (ret)
		goto let_go;
	*lkey_p = mr->ibv->lkey;
	*rkey_p = mr->ibv->rkey;
	*mr_p = mr;
	return 0;
let_go:
	if (mr->reached)
		bl_reach_close(&mr->reach);
free_mr:
	free(mr);
	return ret;
}

int bl_mlx5_mr_destroy(struct bl_nic *nic, struct bl_nic_mr *mr)
{
	int ret = nic->ibv->dereg_mr(mr->ibv);

	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: ibv_dereg_mr: %s", nic->name, strerror(bl_mlx5_error(ret)));
	if (mr->reached)
		bl_reach_close(&mr->reach);
	free(mr);
	return 0;
}
