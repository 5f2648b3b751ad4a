/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nvfs_iter_ops.h - what a storage driver calls when a request may be about GPU memory, second version
 *
 * For kernels whose block layer gives drivers one DMA range after the other and no list. The driver exports
 * nvme_v2_register_nvfs_dma_ops(), or its like, for GPL use.
 */
#ifndef BL_NVFS_ITER_OPS_H
#define BL_NVFS_ITER_OPS_H

#include "nvfs_ops.h"

struct blk_dma_iter;
struct dma_iova_state;

#define NVFS_FT_ITER_START (1ULL << 5)
#define NVFS_FT_ITER_NEXT  (1ULL << 6)

/**
 * struct nvfs_dma_rw_blk_iter_ops - the functions
 * @ft_bmap: which of them work
 * @nvfs_blk_rq_dma_map_iter_start: first range of a request; 1: it is in the iterator, and the request's cookie is
 *	written; 0: all pages are the CPU's, or an error, which is in the iterator's status
 * @nvfs_blk_rq_dma_map_iter_next: next range; 1: it is in the iterator; 0: there is none, or an error
 * @nvfs_dma_unmap_page: the DMA of a range has ended; 0, or -1
 * @nvfs_is_gpu_page: as in the first version
 * @nvfs_gpu_index: likewise
 * @nvfs_device_priority: likewise
 * @nvfs_get_gpu_sglist_rdma_info: likewise
 */
struct nvfs_dma_rw_blk_iter_ops {
	unsigned long long ft_bmap;
	int (*nvfs_blk_rq_dma_map_iter_start)(struct request *req, struct device *dev, struct dma_iova_state *state,
					      struct blk_dma_iter *iter, void **cookie);
	int (*nvfs_blk_rq_dma_map_iter_next)(struct request *req, struct device *dev, struct dma_iova_state *state,
					     struct blk_dma_iter *iter);
	int (*nvfs_dma_unmap_page)(struct device *dev, void *cookie, dma_addr_t dma, size_t len,
				   enum dma_data_direction dir);
	bool (*nvfs_is_gpu_page)(struct page *page);
	unsigned int (*nvfs_gpu_index)(struct page *page);
	unsigned int (*nvfs_device_priority)(struct device *dev, unsigned int gpu_index);
	int (*nvfs_get_gpu_sglist_rdma_info)(struct scatterlist *sgl, int nents, struct nvfs_rdma_info *info);
};

static_assert(sizeof(struct nvfs_dma_rw_blk_iter_ops) == 64);
static_assert(offsetof(struct nvfs_dma_rw_blk_iter_ops, nvfs_dma_unmap_page) == 24);
static_assert(offsetof(struct nvfs_dma_rw_blk_iter_ops, nvfs_get_gpu_sglist_rdma_info) == 56);

#endif
