// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The second version of the drivers' interface: a driver that walks a request range by range, as kernels from 6.17 on
 * let it, gets ranges of GPU memory. Its place in the request is in the block layer's own iterator.
 *
 * Addresses were made before the request and stay until it has ended, so that a range needs nothing to be undone.
 */
#include "core.h"
#include "dma_range.h"
#include "nvfs_iter_ops.h"
#include "rq.h"
#include "topo_pci.h"

#include <linux/blk-mq-dma.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/bvec.h>

/**
 * struct place - where in a request an iterator is
 * @iter: the iterator
 * @pdev: the device that asks
 * @slot: of the piece that comes next
 * @off:  its offset in the slot
 */
struct place {
	struct blk_dma_iter *iter;
	const struct pci_dev *pdev;
	struct bl_slot *slot;
	u32 off;
};

/* Goes on to the next bio when one is done. */
static bool has_more(struct blk_dma_iter *iter)
{
	while (iter->iter.bio && !iter->iter.iter.bi_size) {
		iter->iter.bio = iter->iter.bio->bi_next;
		if (iter->iter.bio)
			iter->iter.iter = iter->iter.bio->bi_iter;
	}
	return iter->iter.bio;
}

static int peek(void *arg, struct bl_dma_piece *piece)
{
	struct place *place = arg;
	struct blk_dma_iter *iter = place->iter;
	struct bio_vec bv;

	if (!has_more(iter))
		return 0;
	bv = mp_bvec_iter_bvec(iter->iter.bio->bi_io_vec, iter->iter.iter);
	place->slot = bl_rq_slot(&bv, bv.bv_offset, &place->off, &piece->len);
	if (!place->slot || place->slot->peer->pdev != place->pdev)
		return -EIO;
	piece->pa = place->slot->pa + place->off;
	piece->dma = place->slot->dma + place->off;
	return 1;
}

static void skip(void *arg, u32 len)
{
	struct place *place = arg;
	struct blk_dma_iter *iter = place->iter;

	bl_rq_see(place->slot, place->off, len);
	bvec_iter_advance(iter->iter.bio->bi_io_vec, &iter->iter.iter, len);
}

static int next_range(struct request *req, struct device *dev, struct blk_dma_iter *iter)
{
	struct place place = { .iter = iter, .pdev = to_pci_dev(dev) };
	const struct bl_dma_source source = { .peek = peek, .skip = skip, .arg = &place };
	struct bl_dma_range range;
	int ret;

	rcu_read_lock();
	ret = bl_dma_range_next(&source, queue_max_segment_size(req->q), queue_segment_boundary(req->q), &range);
	rcu_read_unlock();
	iter->status = ret < 0 ? BLK_STS_IOERR : BLK_STS_OK;
	if (ret <= 0)
		return 0;
	iter->addr = range.dma;
	iter->len = range.len;
	return 1;
}

static struct bl_peer *peer_of(struct request *req)
{
	struct bl_slot *slot;
	struct bl_peer *peer;
	u32 off, len;

	rcu_read_lock();
	slot = bl_shadow_find(bio_page(req->bio), &off, &len);
	peer = slot ? READ_ONCE(slot->peer) : NULL;
	rcu_read_unlock();
	return peer;
}

/* The cookie is the peer of the first page: something that is not NULL, and is never looked into. */
static int iter_start(struct request *req, struct device *dev, struct dma_iova_state *state, struct blk_dma_iter *iter,
		      void **cookie)
{
	enum bl_rq_kind kind = bl_rq_kind(req);
	struct bl_peer *peer;

	iter->status = kind == BL_RQ_BAD ? BLK_STS_IOERR : BLK_STS_OK;
	if (kind != BL_RQ_GPU)
		return 0;
	peer = peer_of(req);
	if (!peer || !dev_is_pci(dev)) {
		iter->status = BLK_STS_IOERR;
		return 0;
	}
	iter->iter.bio = req->bio;
	iter->iter.iter = req->bio->bi_iter;
	if (!next_range(req, dev, iter)) {
		/* of nothing at all it would be taken for the CPU's */
		iter->status = BLK_STS_IOERR;
		return 0;
	}
	bl_pair_count(peer->pair);
	*cookie = peer;
	return 1;
}

static int iter_next(struct request *req, struct device *dev, struct dma_iova_state *state, struct blk_dma_iter *iter)
{
	return next_range(req, dev, iter);
}

static int unmap_page(struct device *dev, void *cookie, dma_addr_t dma, size_t len, enum dma_data_direction dir)
{
	return cookie ? 0 : NVFS_IO_ERR;
}

static struct nvfs_dma_rw_blk_iter_ops ops = {
	.ft_bmap = NVFS_FT_IS_GPU_PAGE | NVFS_FT_PRIORITY | NVFS_FT_ITER_START | NVFS_FT_ITER_NEXT,
	.nvfs_blk_rq_dma_map_iter_start = iter_start,
	.nvfs_blk_rq_dma_map_iter_next = iter_next,
	.nvfs_dma_unmap_page = unmap_page,
	.nvfs_is_gpu_page = bl_rq_is_gpu_page,
	.nvfs_gpu_index = bl_rq_gpu_index,
	.nvfs_device_priority = bl_rq_device_priority,
	.nvfs_get_gpu_sglist_rdma_info = bl_rdma_of_list,
};

const char bl_rq_register_name[] = "nvme_v2_register_nvfs_dma_ops";
const char bl_rq_unregister_name[] = "nvme_v2_unregister_nvfs_dma_ops";

/**
 * bl_rq_register() - Register with a driver
 * @symbol: its function for that
 *
 * Return: what it says.
 */
int bl_rq_register(void *symbol)
{
	int (*reg)(struct nvfs_dma_rw_blk_iter_ops *ops) = symbol;

	return reg(&ops);
}
