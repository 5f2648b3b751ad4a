// SPDX-License-Identifier: MIT
/* Memory regions of libibverbs. */
#define log_fmt(fmt) "net/verbs: " fmt
#include <errno.h>

#include "softnic/rwqe.h"
#include "ways.h"
#include "net/log.h"

#define region_of(of) ((struct bl_region *)(of)) /* its ways are its first member */

static void *by_dmabuf(struct bl_ways *ways, int fd, uint64_t off)
{
	const struct bl_region *region = region_of(ways);

	return region->ibv->reg_dmabuf(region->pd, off, ways->memory->len, region->iova, fd,
				       (int)(ways->memory->access & BL_REGION_ACCESS));
}

static void *by_address(struct bl_ways *ways)
{
	const struct bl_region *region = region_of(ways);
	const struct bl_nic_memory *memory = ways->memory;
	int access = (int)(memory->access & BL_REGION_ACCESS);

	if (region->iova == (uintptr_t)memory->addr)
		return region->ibv->reg_mr_plain(region->pd, memory->addr, memory->len, access);
	if (region->ibv->reg_mr_at)
		return region->ibv->reg_mr_at(region->pd, memory->addr, memory->len, region->iova, access);
	errno = EOPNOTSUPP;
	return NULL;
}

static bool is_good_key(uint32_t key)
{
	return key && key != BL_RWQE_END;
}

/* One key ends receive lists, and may not be memory's: a region that has it is held while another one is made. */
int bl_region_register(struct bl_region *region, struct ibv_mr **mr_p)
{
	const struct bl_ibv *ibv = region->ibv;
	struct ibv_mr *mr, *bad;
	uint32_t key;

	region->ways.by_dmabuf = ibv->reg_dmabuf ? by_dmabuf : NULL;
	region->ways.by_address = by_address;
	mr = bl_ways_try(&region->ways);
	if (mr && !is_good_key(mr->lkey)) {
		bad = mr;
		mr = bl_ways_try(&region->ways);
		ibv->dereg_mr(bad);
	}
	if (!mr)
		return bl_ways_refuse(&region->ways);
	if (is_good_key(mr->lkey)) {
		*mr_p = mr;
		return 0;
	}
	key = mr->lkey;
	ibv->dereg_mr(mr);
	return fail(EIO, "device %s: key 0x%x cannot be used", region->ways.device, key);
}
