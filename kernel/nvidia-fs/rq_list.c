// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The first version of the drivers' interface: a request of the block layer becomes a list of addresses in GPU memory.
 */
#include "core.h"
#include "joiner.h"
#include "nvfs_ops.h"
#include "rq.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/scatterlist.h>

/**
 * struct list - the list that grows
 * @sg:     its last entry; NULL before the first
 * @first:  its first one
 * @nr:     how many it has
 * @joiner: how pieces join
 */
struct list {
	struct scatterlist *sg;
	struct scatterlist *first;
	int nr;
	struct bl_joiner joiner;
};

/* The driver made room for as many entries as the request has segments, and there is more behind. */
static bool next_entry(struct list *list)
{
	if (list->nr == NVFS_MAX_SEGS) {
		atomic64_inc(&bl_stats.sg_ext);
		return false;
	}
	if (list->sg) {
		sg_unmark_end(list->sg);
		list->sg++;
	} else {
		list->sg = list->first;
	}
	sg_init_table(list->sg, 1);
	list->nr++;
	return true;
}

/* Bytes of one slot; @page is where they begin. */
static bool take(struct list *list, struct page *page, u32 in_page, u64 pa, u64 dma, u32 len)
{
	while (len) {
		u32 part = bl_joiner_fits(&list->joiner, dma, len);

		if (bl_joiner_add(&list->joiner, pa, dma, part)) {
			list->sg->length += part;
		} else {
			if (!next_entry(list))
				return false;
			sg_set_page(list->sg, page + (in_page >> PAGE_SHIFT), part, offset_in_page(in_page));
		}
		in_page += part;
		pa += part;
		dma += part;
		len -= part;
	}
	return true;
}

static bool take_bvec(struct list *list, const struct bio_vec *bv)
{
	u32 at = bv->bv_offset, end = at + bv->bv_len;

	while (at < end) {
		u32 off, len;
		struct bl_slot *slot = bl_rq_slot(bv, at, &off, &len);

		if (!slot)
			return false;
		if (!take(list, bv->bv_page + (at >> PAGE_SHIFT), offset_in_page(at), slot->pa + off, slot->dma + off, len))
			return false;
		bl_rq_see(slot, off, len);
		at += len;
	}
	return true;
}

static int fill_list(struct request_queue *q, struct request *req, struct scatterlist *sgl)
{
	struct list list = {
		.first = sgl,
		.joiner = {
			.max_len = queue_max_segment_size(q),
			.boundary = queue_segment_boundary(q),
		},
	};
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_bvec(bv, req, iter) {
		if (!take_bvec(&list, &bv))
			return NVFS_IO_ERR;
	}
	if (list.nr > req->nr_phys_segments)
		req->nr_phys_segments = list.nr;
	return list.nr;
}

static int map_list(struct request_queue *q, struct request *req, struct scatterlist *sgl)
{
	int ret;

	switch (bl_rq_kind(req)) {
	case BL_RQ_CPU:
		return 0;
	case BL_RQ_BAD:
		return NVFS_IO_ERR;
	default:
		break;
	}
	rcu_read_lock();
	ret = fill_list(q, req, sgl);
	rcu_read_unlock();
	return ret;
}

/* The entry's slot, and its address for a device; NULL when the page is the CPU's. @bad_p: set if not its */
static const struct bl_slot *address_of(const struct scatterlist *sg, const struct pci_dev *pdev, dma_addr_t *dma_p,
					bool *bad_p)
{
	struct bl_slot *slot;
	u32 off, len;

	slot = bl_shadow_find(sg_page((struct scatterlist *)sg), &off, &len);
	if (!slot)
		return NULL;
	if (slot->peer->pdev != pdev)
		*bad_p = true;
	*dma_p = slot->dma + off + sg->offset;
	return slot;
}

static int give_addresses(const struct pci_dev *pdev, struct scatterlist *sgl, int nents)
{
	const struct bl_slot *slot = NULL, *one;
	struct scatterlist *sg;
	bool bad = false;
	int gpu = 0, i;

	for_each_sg(sgl, sg, nents, i) {
		dma_addr_t dma;

		one = address_of(sg, pdev, &dma, &bad);
		if (!one)
			continue;
		slot = one;
		gpu++;
		sg_dma_address(sg) = dma;
		sg_dma_len(sg) = sg->length;
	}
	if (!gpu)
		return NVFS_CPU_REQ;
	if (gpu != nents)
		atomic64_inc(&bl_stats.mixed);
	if (bad || gpu != nents)
		return NVFS_IO_ERR;
	bl_pair_count(slot->peer->pair);
	return nents;
}

static int map_addresses(struct device *dev, struct scatterlist *sgl, int nents, enum dma_data_direction dir,
			 unsigned long attrs)
{
	int ret;

	if (nents <= 0 || !dev_is_pci(dev))
		return NVFS_IO_ERR;
	rcu_read_lock();
	ret = give_addresses(to_pci_dev(dev), sgl, nents);
	rcu_read_unlock();
	return ret;
}

/* The piece that waits for the request holds all that there is to hold. */
static int unmap_addresses(struct device *dev, struct scatterlist *sgl, int nents, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int gpu = 0, i;

	for_each_sg(sgl, sg, nents, i)
		gpu += bl_rq_is_gpu_page(sg_page(sg));
	return gpu && gpu != nents ? NVFS_IO_ERR : gpu;
}

static struct nvfs_dma_rw_ops ops = {
	.ft_bmap = NVFS_FT_PREP_SGLIST | NVFS_FT_MAP_SGLIST | NVFS_FT_IS_GPU_PAGE | NVFS_FT_PRIORITY |
		   NVFS_FT_RDMA_INFO,
	.nvfs_blk_rq_map_sg = map_list,
	.nvfs_dma_map_sg_attrs = map_addresses,
	.nvfs_dma_unmap_sg = unmap_addresses,
	.nvfs_is_gpu_page = bl_rq_is_gpu_page,
	.nvfs_gpu_index = bl_rq_gpu_index,
	.nvfs_device_priority = bl_rq_device_priority,
	.nvfs_get_gpu_sglist_rdma_info = bl_rdma_of_list,
};

const char bl_rq_register_name[] = "nvme_v1_register_nvfs_dma_ops";
const char bl_rq_unregister_name[] = "nvme_v1_unregister_nvfs_dma_ops";

/**
 * bl_rq_register() - Register with a driver
 * @symbol: its function for that
 *
 * Return: what it says.
 */
int bl_rq_register(void *symbol)
{
	int (*reg)(struct nvfs_dma_rw_ops *ops) = symbol;

	return reg(&ops);
}
