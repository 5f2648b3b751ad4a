// SPDX-License-Identifier: MIT
/* Pages of doorbells, and completion queues. */
#define log_fmt(fmt) "net/mlx5: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_create_cq.h"
#include "mlx5.h"
#include "net/log.h"

/* Of a page of doorbells. */
#define UAR_CQ	     0x20
#define UAR_NO_DBREC 0x600

/* A page that no other object of the process has; older kernels lack it. */
#define NC_DEDICATED (1U << 31)

int bl_mlx5_uar_create(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
		       struct bl_nic_uar_info *info)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} kinds[] = {
		[DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME] = { MLX5DV_UAR_ALLOC_TYPE_BF, "BlueFlame" },
		[DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE] = { MLX5DV_UAR_ALLOC_TYPE_NC, "not cached" },
		[DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED] = { NC_DEDICATED, "not cached, dedicated" },
	};
	struct bl_nic_uar *uar = calloc(1, sizeof(*uar));
	char *page;
	int ret;

	if (!uar)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	errno = 0;
	uar->dv = nic->dv->alloc_uar(nic->context, kinds[type].flags);
	if (!uar->dv) {
		ret = bl_mlx5_error(0);
		ret = fail(ret, "device %s: mlx5dv_devx_alloc_uar (%s): %s", nic->name, kinds[type].name,
			   strerror(ret));
		free(uar);
		return ret;
	}
	page = uar->dv->base_addr;
	*info = (struct bl_nic_uar_info){
		.id = uar->dv->page_id,
		.page = page,
		.db = uar->dv->reg_addr,
		.no_dbrec_db = page + UAR_NO_DBREC,
		.cq_db = page + UAR_CQ,
	};
	*uar_p = uar;
	return 0;
}

int bl_mlx5_uar_destroy(struct bl_nic *nic, struct bl_nic_uar *uar)
{
	nic->dv->free_uar(uar->dv);
	free(uar);
	return 0;
}

static int check_cq(const struct bl_nic *nic, const struct bl_nic_cq_attr *attr)
{
	if (!attr->dbr)
		return fail(EINVAL, "device %s: a completion queue needs a record", nic->name);
	if (attr->ring_off % 64 || attr->dbr_off % 8)
		return fail(EINVAL,
			    "device %s: entries at 0x%llx, record at 0x%llx: multiples of 64 and 8 are possible",
			    nic->name, (unsigned long long)attr->ring_off, (unsigned long long)attr->dbr_off);
	if (attr->overrun && !nic->cap.cq_oi)
		return fail(EOPNOTSUPP, "device %s: completion queues cannot ignore overruns", nic->name);
	return 0;
}

int bl_mlx5_cq_create(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p, uint32_t *num_p)
{
	struct bl_create_cq want;
	struct bl_nic_cq *cq;
	struct bl_cmd cmd;
	int ret;

	ret = check_cq(nic, attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	want = (struct bl_create_cq){
		.log_nr = (uint8_t)__builtin_ctz(attr->nr),
		.overrun = attr->overrun,
		.collapsed = attr->collapsed,
		.ring_umem = attr->ring->dv->umem_id,
		.ring_off = attr->ring_off,
		.dbr_umem = attr->dbr->dv->umem_id,
		.dbr_off = attr->dbr_off,
		.uar_page = attr->uar ? attr->uar->dv->page_id : nic->uar->page_id,
		.eqn = nic->eqn,
	};
	bl_cmd_create_cq(&cmd, nic->name, &want);
	ret = bl_cmd_create(&cmd, nic->dv, nic->context, &cq->obj);
	if (ret) {
		free(cq);
		return ret;
	}
	cq->num = (uint32_t)bl_cmd_get(&cmd, 0, &bl_cmd_number_field);
	*num_p = cq->num;
	*cq_p = cq;
	return 0;
}

int bl_mlx5_cq_destroy(struct bl_nic *nic, struct bl_nic_cq *cq)
{
	int ret;

	errno = 0;
	ret = nic->dv->obj_destroy(cq->obj);
	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: cq 0x%x: mlx5dv_devx_obj_destroy: %s", nic->name, cq->num,
			    strerror(bl_mlx5_error(ret)));
	free(cq);
	return 0;
}
