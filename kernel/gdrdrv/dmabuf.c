// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pins through a dma-buf that another driver exported: the way that stays when nvidia_p2p_get_pages() goes.
 *
 * Pages are taken from the addresses of the dma-buf's scatter list, and only where these lie in a memory BAR of a PCI
 * device. The exporter's own mmap would do as well for the bytes, but such a VMA is the exporter's: it would be inherited
 * by children, could not be revoked with the pin, and user space can have it without this module. System memory is refused
 * for the same reason: whoever has the dma-buf can map it, with the right type of memory.
 *
 * The memory is not pinned at the exporter, which may move it. It says so before it does (invalidate()), and the pin ends.
 */
#include "core.h"

#include "bl_compat.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>

#define FENCE_TIMEOUT (10 * HZ)

BL_IMPORT_NS(DMA_BUF);

static void invalidate(struct dma_buf_attachment *attach)
{
	bl_pin_revoke(attach->importer_priv);
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = true,
	.bl_invalidate_mappings = invalidate,
};

static bool is_device_memory(phys_addr_t pa, u64 len)
{
	struct pci_dev *pdev = NULL;

	if (pa + len - 1 < pa)
		return false;
	for_each_pci_dev(pdev) {
		if (bl_watch_covers(pdev, pa, len)) {
			pci_dev_put(pdev);
			return true;
		}
	}
	return false;
}

/* Take the part of the list that was asked for. */
static int read_list(struct bl_pin *pin, const struct bl_pin_request *req)
{
	u64 skip = req->off, left = req->size;
	struct scatterlist *sg;
	int i, ret;

	for_each_sgtable_dma_sg(pin->db.sgt, sg, i) {
		u64 len = sg_dma_len(sg), part;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		part = min(left, len - skip);
		if (!is_device_memory(sg_dma_address(sg) + skip, part))
			return refuse(EOPNOTSUPP, "pin dma-buf: its memory is not in a BAR of a PCI device");
		ret = bl_runs_add(&pin->runs, sg_dma_address(sg) + skip, part);
		if (ret)
			return refuse(-ret, "pin dma-buf: piece %d", i);
		skip = 0;
		left -= part;
		if (!left)
			return 0;
	}
	return refuse(EINVAL, "pin dma-buf: its list ends 0x%llx bytes too early", left);
}

static int check_request(const struct bl_pin_request *req, const struct dma_buf *dmabuf)
{
	if (req->flags)
		return refuse(EINVAL, "pin dma-buf: unknown flags 0x%x", req->flags);
	if (!req->size || !PAGE_ALIGNED(req->size) || !PAGE_ALIGNED(req->off))
		return refuse(EINVAL, "pin dma-buf: offset 0x%llx size 0x%llx are not whole pages", req->off, req->size);
	if (req->off > dmabuf->size || req->size > dmabuf->size - req->off)
		return refuse(EINVAL, "pin dma-buf: offset 0x%llx size 0x%llx leave its 0x%zx bytes", req->off, req->size,
			      dmabuf->size);
	return 0;
}

/* With the reservation lock held no move can begin. One that is under way ends with the fences. */
static int map_list(struct bl_pin *pin, const struct bl_pin_request *req)
{
	struct dma_buf_attachment *attach = pin->db.attach;
	struct dma_resv *resv = attach->dmabuf->resv;
	struct sg_table *sgt;
	long left;
	int ret = 0;

	dma_resv_lock(resv, NULL);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt)) {
		ret = refuse((int)-PTR_ERR(sgt), "pin dma-buf: the exporter does not map it");
		goto unlock;
	}
	pin->db.sgt = sgt;
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true, FENCE_TIMEOUT);
	if (left <= 0)
		ret = refuse(left ? (int)-left : ETIMEDOUT, "pin dma-buf: its memory is still being moved");
	if (!ret)
		ret = read_list(pin, req);
	if (ret) {
		dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
		pin->db.sgt = NULL;
	}
unlock:
	dma_resv_unlock(resv);
	return ret;
}

static int db_get(struct bl_pin *pin, const struct bl_pin_request *req)
{
	struct dma_buf *dmabuf = dma_buf_get(req->fd);
	struct dma_buf_attachment *attach;
	int ret;

	if (IS_ERR(dmabuf))
		return refuse((int)-PTR_ERR(dmabuf), "pin dma-buf: descriptor %d", req->fd);
	ret = check_request(req, dmabuf);
	if (ret)
		goto put;
	attach = dma_buf_dynamic_attach(dmabuf, bl_dmabuf_device(), &attach_ops, pin);
	if (IS_ERR(attach)) {
		ret = PTR_ERR(attach) == -ENOTSUPP ? -EOPNOTSUPP : PTR_ERR(attach);
		refuse(-ret, "pin dma-buf: the exporter does not attach it to the CPU");
		goto put;
	}
	pin->db.attach = attach;
	pin->va = req->va;
	pin->len = req->size;
	pin->page_size = PAGE_SIZE;
	ret = map_list(pin, req);
	if (ret)
		goto detach;
	atomic_inc(&bl_nr_pins);
	return 0;
detach:
	dma_buf_detach(dmabuf, attach);
put:
	dma_buf_put(dmabuf);
	return ret == -ENOTSUPP ? -EOPNOTSUPP : ret;
}

static void db_put(struct bl_pin *pin)
{
	struct dma_buf_attachment *attach = pin->db.attach;
	struct dma_buf *dmabuf = attach->dmabuf;

	dma_resv_lock(dmabuf->resv, NULL);
	dma_buf_unmap_attachment(attach, pin->db.sgt, DMA_BIDIRECTIONAL);
	dma_resv_unlock(dmabuf->resv);
	/* takes the attachment out of the list under the same lock: no invalidate() after this */
	dma_buf_detach(dmabuf, attach);
	dma_buf_put(dmabuf);
	atomic_dec(&bl_nr_pins);
}

const struct bl_pin_ops bl_pin_dmabuf = {
	.name = "dmabuf",
	.get = db_get,
	.put = db_put,
};
