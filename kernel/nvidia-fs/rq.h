/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rq.h - requests of the block layer, as both versions of the drivers' interface see them
 *
 * rq.c is for both. rq_list.c is the first version, a list; dma_iter.c is the second, one range after the other. A
 * kernel's drivers have one of them.
 */
#ifndef BL_NVFS_RQ_H
#define BL_NVFS_RQ_H

#include <linux/types.h>

struct bio_vec;
struct bl_slot;
struct device;
struct page;
struct request;

/* What a request is about. */
enum bl_rq_kind {
	BL_RQ_CPU,
	BL_RQ_GPU,
	BL_RQ_BAD, /* both, or more than there is room for */
};

enum bl_rq_kind bl_rq_kind(struct request *req);
bool bl_rq_is_gpu_page(struct page *page);
unsigned int bl_rq_gpu_index(struct page *page);
unsigned int bl_rq_device_priority(struct device *dev, unsigned int index);
void bl_rq_see(struct bl_slot *slot, u32 off, u32 len);
struct bl_slot *bl_rq_slot(const struct bio_vec *bv, u32 at, u32 *off_p, u32 *len_p);

/* rq_list.c or dma_iter.c: the names under which the NVMe driver exports its functions, and a call of the first */
extern const char bl_rq_register_name[];
extern const char bl_rq_unregister_name[];
int bl_rq_register(void *symbol);

#endif
