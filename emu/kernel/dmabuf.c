// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * dma-bufs of video memory. One holds the storage of its object, as a persistent pin does, until it
 * is closed or revoked; importers that asked for it are told of that, and what they try to map
 * afterwards is ENODEV.
 */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "bl_card_compat.h"
#include "bl_compat.h"
#include "card.h"

#define SEGMENT_MAX (1U << 30) /* the length of a segment has 32 bits */

/**
 * struct bl_dmabuf - what a dma-buf shows
 * @node:    list of the card, under its dmabufs_lock
 * @dmabuf:  the dma-buf; the list does not reference it
 * @mem:     object, storage held
 * @off:     start in the object
 * @flags:   BL_CARD_EXPORT_*
 * @revoked: no new mapping; written with the reservation and bl_cpu_view held, read with either
 */
struct bl_dmabuf {
	struct list_head node;
	struct dma_buf *dmabuf;
	struct bl_mem *mem;
	u64 off;
	u32 flags;
	bool revoked;
};

static phys_addr_t buf_pa(const struct bl_dmabuf *buf)
{
	return bl_block_pa(buf->mem->card, buf->mem->block) + buf->off;
}

/*
 * There are no struct pages behind it: an importer that can tell must say that it can live with
 * that.
 */
static int buf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	return attach->importer_ops && !attach->peer2peer ? -EOPNOTSUPP : 0;
}

static int buf_pin(struct dma_buf_attachment *attach)
{
	struct bl_dmabuf *buf = attach->dmabuf->priv;

	return buf->revoked ? -ENODEV : 0;
}

/* It never moves, pinned or not. */
static void buf_unpin(struct dma_buf_attachment *attach)
{
}

static void unmap_segments(struct device *dev, struct sg_table *table, unsigned int nr,
			   enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(table->sgl, sg, nr, i)
		dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
				   DMA_ATTR_SKIP_CPU_SYNC);
}

static int map_segments(struct device *dev, struct sg_table *table, const struct bl_dmabuf *buf,
			enum dma_data_direction dir)
{
	u64 left = buf->dmabuf->size;
	phys_addr_t pa = buf_pa(buf);
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(table, sg, i) {
		u32 len = min_t(u64, left, SEGMENT_MAX);
		dma_addr_t addr = dma_map_resource(dev, pa, len, dir, DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(dev, addr)) {
			unmap_segments(dev, table, i, dir);
			return -EIO;
		}
		sg_set_page(sg, NULL, 0, 0);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = len;
		pa += len;
		left -= len;
	}
	return 0;
}

static struct sg_table *buf_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct bl_dmabuf *buf = attach->dmabuf->priv;
	struct sg_table *table;
	int ret;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (buf->revoked)
		return ERR_PTR(-ENODEV);
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(table, DIV_ROUND_UP_ULL(attach->dmabuf->size, SEGMENT_MAX),
			     GFP_KERNEL);
	if (ret)
		goto free_table;
	ret = map_segments(attach->dev, table, buf, dir);
	if (ret)
		goto free_segments;
	return table;
free_segments:
	sg_free_table(table);
free_table:
	kfree(table);
	return ERR_PTR(ret);
}

static void buf_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
		      enum dma_data_direction dir)
{
	unmap_segments(attach->dev, table, table->nents, dir);
	sg_free_table(table);
	kfree(table);
}

static vm_fault_t buf_fault(struct vm_fault *vmf)
{
	struct bl_dmabuf *buf = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&bl_cpu_view);
	if (!buf->revoked)
		ret = bl_view_insert(vmf, buf_pa(buf), (u64)vmf->pgoff << PAGE_SHIFT,
				     buf->dmabuf->size);
	up_read(&bl_cpu_view);
	return ret;
}

static const struct vm_operations_struct buf_vm_ops = {
	.fault = buf_fault,
};

/* The mapping holds the dma-buf's file, and that the rest. */
static int buf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct bl_dmabuf *buf = dmabuf->priv;

	if (!(buf->flags & BL_CARD_EXPORT_MMAP))
		return -ENOTSUPP;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vma->vm_private_data = buf;
	bl_view_prepare(vma, &buf_vm_ops, buf->mem->has_pages);
	return 0;
}

/*
 * Nothing is cached on the way, so there is nothing to do but to say whether the memory is still
 * there.
 */
static int buf_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct bl_dmabuf *buf = dmabuf->priv;

	return READ_ONCE(buf->revoked) ? -ENODEV : 0;
}

static void buf_free(struct bl_dmabuf *buf)
{
	mutex_lock(&bl_rm);
	buf->mem->card->counts.dmabufs--;
	bl_mem_drop(buf->mem);
	mutex_unlock(&bl_rm);
	kfree(buf);
}

static void buf_release(struct dma_buf *dmabuf)
{
	struct bl_dmabuf *buf = dmabuf->priv;
	struct bl_card *card = buf->mem->card;

	mutex_lock(&card->dmabufs_lock);
	list_del(&buf->node);
	mutex_unlock(&card->dmabufs_lock);
	buf_free(buf);
}

static const struct dma_buf_ops buf_ops = {
	.attach = buf_attach,
	.pin = buf_pin,
	.unpin = buf_unpin,
	.map_dma_buf = buf_map,
	.unmap_dma_buf = buf_unmap,
	.mmap = buf_mmap,
	.begin_cpu_access = buf_begin_cpu_access,
	.release = buf_release,
};

/* The reservation lock keeps importers out, the other one page faults. */
static void revoke(struct bl_dmabuf *buf)
{
	struct dma_buf *dmabuf = buf->dmabuf;

	dma_resv_lock(dmabuf->resv, NULL);
	down_write(&bl_cpu_view);
	buf->revoked = true;
	up_write(&bl_cpu_view);
	unmap_mapping_range(dmabuf->file->f_mapping, 0, 0, 1);
	bl_dma_buf_invalidate_mappings(dmabuf);
	dma_resv_unlock(dmabuf->resv);
}

/*
 * One that is being released waits in buf_release() for the list, with its inode gone: only live
 * ones are used.
 */
void bl_dmabufs_revoke(struct bl_card *card)
{
	struct bl_dmabuf *buf;

	mutex_lock(&card->dmabufs_lock);
	list_for_each_entry(buf, &card->dmabufs, node) {
		if (!bl_file_get_live(buf->dmabuf->file))
			continue;
		revoke(buf);
		dma_buf_put(buf->dmabuf);
	}
	mutex_unlock(&card->dmabufs_lock);
}

static int buf_new(struct bl_space *space, const struct bl_card_export *arg,
		   struct bl_dmabuf **buf_p)
{
	struct bl_mem *mem = xa_load(&space->mems, arg->handle);
	struct bl_dmabuf *buf;

	if (!space->card->pdev)
		return -ENODEV;
	if (!mem)
		return -ENOENT;
	if (arg->off > bl_mem_size(mem) || arg->len > bl_mem_size(mem) - arg->off)
		return -EINVAL;
	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	bl_mem_hold(mem);
	mem->card->counts.dmabufs++;
	buf->mem = mem;
	buf->off = arg->off;
	buf->flags = arg->flags;
	*buf_p = buf;
	return 0;
}

static struct dma_buf *export(struct bl_dmabuf *buf, size_t len)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.ops = &buf_ops;
	info.size = len;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = buf;
	return dma_buf_export(&info);
}

struct dma_buf *bl_dmabuf_export(struct bl_space *space, const struct bl_card_export *arg)
{
	struct bl_card *card = space->card;
	struct dma_buf *dmabuf;
	struct bl_dmabuf *buf;
	int ret;

	if (arg->reserved || arg->flags & ~BL_CARD_EXPORT_MMAP || !arg->len ||
	    (arg->off | arg->len) & ~PAGE_MASK)
		return ERR_PTR(-EINVAL);
	mutex_lock(&bl_rm);
	ret = buf_new(space, arg, &buf);
	mutex_unlock(&bl_rm);
	if (ret)
		return ERR_PTR(ret);
	dmabuf = export(buf, arg->len);
	if (IS_ERR(dmabuf)) {
		buf_free(buf);
		return dmabuf;
	}
	buf->dmabuf = dmabuf;
	mutex_lock(&card->dmabufs_lock);
	/* the card may have gone, and all that was in the list been revoked */
	buf->revoked = !READ_ONCE(card->pdev);
	list_add_tail(&buf->node, &card->dmabufs);
	mutex_unlock(&card->dmabufs_lock);
	return dmabuf;
}
