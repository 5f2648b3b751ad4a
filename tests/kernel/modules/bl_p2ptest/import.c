// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* dma-bufs, imported for a device. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/scatterlist.h>

#include "bl_compat.h"
#include "p2ptest.h"

static void moved(struct dma_buf_attachment *attach)
{
	struct slot *slot = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	atomic_inc(&slot->moved);
}

static const struct dma_buf_attach_ops importer_ops = {
	.allow_peer2peer = true,
	.bl_invalidate_mappings = moved,
};

static int map(struct slot *slot)
{
	struct sg_table *sgt;

	dma_resv_lock(slot->dmabuf->resv, NULL);
	sgt = dma_buf_map_attachment(slot->attach, DMA_BIDIRECTIONAL);
	dma_resv_unlock(slot->dmabuf->resv);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	slot->sgt = sgt;
	return 0;
}

static void unmap(struct slot *slot)
{
	dma_resv_lock(slot->dmabuf->resv, NULL);
	if (slot->sgt)
		dma_buf_unmap_attachment(slot->attach, slot->sgt, DMA_BIDIRECTIONAL);
	slot->sgt = NULL;
	dma_resv_unlock(slot->dmabuf->resv);
}

static int attach(struct slot *slot, bool can_move)
{
	struct device *dev = &slot->peer->dev;

	slot->attach = can_move ? dma_buf_dynamic_attach(slot->dmabuf, dev, &importer_ops, slot)
				: dma_buf_attach(slot->dmabuf, dev);
	return PTR_ERR_OR_ZERO(slot->attach);
}

int p2ptest_import(struct slot *slot, struct p2ptest_dma *arg)
{
	int ret;

	if (slot->held || slot->dmabuf)
		return -EBUSY;
	slot->peer = p2ptest_peer(arg);
	if (IS_ERR(slot->peer)) {
		ret = PTR_ERR(slot->peer);
		goto clear_peer;
	}
	slot->dmabuf = dma_buf_get(arg->fd);
	if (IS_ERR(slot->dmabuf)) {
		ret = PTR_ERR(slot->dmabuf);
		goto put_peer;
	}
	atomic_set(&slot->moved, 0);
	ret = attach(slot, !(arg->flags & 1));
	if (ret)
		goto put_dmabuf;
	ret = map(slot);
	if (ret)
		goto detach;
	arg->entries = slot->sgt->nents;
	arg->addr = sg_dma_address(slot->sgt->sgl);
	arg->len = slot->dmabuf->size;
	return 0;
detach:
	dma_buf_detach(slot->dmabuf, slot->attach);
put_dmabuf:
	dma_buf_put(slot->dmabuf);
put_peer:
	p2ptest_peer_put(slot->peer);
clear_peer:
	slot->dmabuf = NULL;
	slot->peer = NULL;
	return ret;
}

int p2ptest_imported(struct slot *slot, struct p2ptest_imported *arg)
{
	if (!slot->dmabuf)
		return -EINVAL;
	arg->moved = atomic_read(&slot->moved);
	unmap(slot);
	arg->remap = map(slot);
	arg->cpu = dma_buf_begin_cpu_access(slot->dmabuf, DMA_BIDIRECTIONAL);
	return 0;
}

int p2ptest_import_drop(struct slot *slot)
{
	if (!slot->dmabuf)
		return -EINVAL;
	unmap(slot);
	dma_buf_detach(slot->dmabuf, slot->attach);
	dma_buf_put(slot->dmabuf);
	p2ptest_peer_put(slot->peer);
	slot->dmabuf = NULL;
	slot->peer = NULL;
	return 0;
}
