// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What storage drivers ask about requests and pages, whichever version of the interface they have.
 *
 * Pages of a request are those of a piece that waits for it, so their slots stay as they are until the driver has
 * unmapped them and ended the request. All of a bio's pages were put into it by one caller, so its first page says
 * whose it is.
 */
#include "rq.h"
#include "core.h"
#include "nvfs_ops.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/blk-integrity.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>

/**
 * bl_rq_is_gpu_page() - Whether a page stands in for one of a GPU
 * @page: any page
 *
 * Context: any.
 * Return: true if it does now.
 */
bool bl_rq_is_gpu_page(struct page *page)
{
	u32 off, len;
	bool is;

	rcu_read_lock();
	is = bl_shadow_find(page, &off, &len);
	rcu_read_unlock();
	return is;
}

/* How many bios are a GPU's, and how many are the CPU's. */
static void count_bios(struct request *req, unsigned int *gpu_p, unsigned int *cpu_p)
{
	struct bio *bio;

	*gpu_p = 0;
	*cpu_p = 0;
	__rq_for_each_bio(bio, req) {
		if (bl_rq_is_gpu_page(bio_page(bio)))
			++*gpu_p;
		else
			++*cpu_p;
	}
}

static bool has_data(const struct request *req)
{
	return req->bio && !(req->rq_flags & RQF_SPECIAL_PAYLOAD) &&
	       (req_op(req) == REQ_OP_READ || req_op(req) == REQ_OP_WRITE);
}

/**
 * bl_rq_kind() - Find out what a request is about
 * @req: request
 *
 * Context: any.
 * Return: what it is about.
 */
enum bl_rq_kind bl_rq_kind(struct request *req)
{
	unsigned int gpu, cpu;

	if (!has_data(req))
		return BL_RQ_CPU;
	count_bios(req, &gpu, &cpu);
	if (!gpu)
		return BL_RQ_CPU;
	if (cpu) {
		atomic64_inc(&bl_stats.mixed);
		return BL_RQ_BAD;
	}
	return blk_integrity_rq(req) || blk_rq_payload_bytes(req) > NVFS_MAX_PAYLOAD ? BL_RQ_BAD : BL_RQ_GPU;
}

/**
 * bl_rq_see() - Note that a driver has asked for the address of some blocks
 * @slot: slot
 * @off:  first byte in it
 * @len:  bytes, not 0
 *
 * Context: any.
 */
void bl_rq_see(struct bl_slot *slot, u32 off, u32 len)
{
	u32 first = off / BL_BLOCK, last = (off + len - 1) / BL_BLOCK;

	atomic_long_or(GENMASK(last, first), &slot->seen);
}

/**
 * bl_rq_slot() - Find the slot of a byte of a vector
 * @bv:    vector
 * @at:    offset of the byte in the vector's first page
 * @off_p: receives its offset in the slot
 * @len_p: receives the bytes from there on that the slot has, not more than the vector
 *
 * Context: any; inside of rcu_read_lock().
 * Return: the slot, or NULL: the page is the CPU's.
 */
struct bl_slot *bl_rq_slot(const struct bio_vec *bv, u32 at, u32 *off_p, u32 *len_p)
{
	struct bl_slot *slot = bl_shadow_find(bv->bv_page + (at >> PAGE_SHIFT), off_p, len_p);

	if (!slot)
		return NULL;
	*off_p += offset_in_page(at);
	*len_p = min(*len_p - (u32)offset_in_page(at), bv->bv_offset + bv->bv_len - at);
	return slot;
}

/**
 * bl_rq_gpu_index() - Which GPU a page stands in for
 * @page: any page
 *
 * Context: any.
 * Return: the GPU's number, or UINT_MAX: none, or not known.
 */
unsigned int bl_rq_gpu_index(struct page *page)
{
	unsigned int index = UINT_MAX;
	const struct bl_slot *slot;
	u32 off, len;

	rcu_read_lock();
	slot = bl_shadow_find(page, &off, &len);
	if (slot && slot->peer->pair)
		index = slot->peer->pair->index;
	rcu_read_unlock();
	return index;
}

/**
 * bl_rq_device_priority() - How near a device is to a GPU
 * @dev:   device
 * @index: number of the GPU
 *
 * Context: any.
 * Return: a rank, lower is nearer; UINT_MAX: not known.
 */
unsigned int bl_rq_device_priority(struct device *dev, unsigned int index)
{
	u64 gpu = bl_pair_gpu(index);

	return gpu == U64_MAX || !dev_is_pci(dev) ? UINT_MAX : bl_topo_priority(to_pci_dev(dev), gpu);
}
