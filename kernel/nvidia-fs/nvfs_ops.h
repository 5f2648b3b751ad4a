/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nvfs_ops.h - what a storage driver calls when a request may be about GPU memory, first version
 *
 * The driver exports nvme_v1_register_nvfs_dma_ops(), or its like, for GPL use. It takes a table of these
 * functions; the counterpart returns when the driver calls none of them any more.
 */
#ifndef BL_NVFS_OPS_H
#define BL_NVFS_OPS_H

#include <linux/dma-direction.h>
#include <linux/build_bug.h>
#include <linux/types.h>

struct device;
struct nvfs_rdma_info;
struct page;
struct request;
struct request_queue;
struct scatterlist;

#define NVFS_FT_PREP_SGLIST (1ULL << 0)
#define NVFS_FT_MAP_SGLIST  (1ULL << 1)
#define NVFS_FT_IS_GPU_PAGE (1ULL << 2)
#define NVFS_FT_PRIORITY    (1ULL << 3)
#define NVFS_FT_RDMA_INFO   (1ULL << 4)

#define NVFS_IO_ERR  (-1)
#define NVFS_CPU_REQ (-2)

/* entries that a list has room for, and bytes that a request may have */
#define NVFS_MAX_SEGS	 127
#define NVFS_MAX_PAYLOAD (NVFS_MAX_SEGS * 65536U)

/**
 * struct nvfs_dma_rw_ops - the functions
 * @ft_bmap: which of them work
 * @nvfs_blk_rq_map_sg: make a list for a request; 0: all pages are the CPU's; NVFS_IO_ERR
 * @nvfs_dma_map_sg_attrs: give its entries addresses; their number, NVFS_IO_ERR, or NVFS_CPU_REQ
 * @nvfs_dma_unmap_sg: the DMA has ended; number of entries, 0: the list is the CPU's; NVFS_IO_ERR
 * @nvfs_is_gpu_page: whether a page stands in for one of a GPU
 * @nvfs_gpu_index: which GPU; UINT_MAX: unknown
 * @nvfs_device_priority: how far a device is from it, UINT_MAX: unknown
 * @nvfs_get_gpu_sglist_rdma_info: what user space told about the memory; NVFS_IO_ERR: nothing
 */
struct nvfs_dma_rw_ops {
	unsigned long long ft_bmap;
	int (*nvfs_blk_rq_map_sg)(struct request_queue *q, struct request *req, struct scatterlist *sgl);
	int (*nvfs_dma_map_sg_attrs)(struct device *dev, struct scatterlist *sgl, int nents,
				     enum dma_data_direction dir, unsigned long attrs);
	int (*nvfs_dma_unmap_sg)(struct device *dev, struct scatterlist *sgl, int nents,
				 enum dma_data_direction dir);
	bool (*nvfs_is_gpu_page)(struct page *page);
	unsigned int (*nvfs_gpu_index)(struct page *page);
	unsigned int (*nvfs_device_priority)(struct device *dev, unsigned int gpu_index);
	int (*nvfs_get_gpu_sglist_rdma_info)(struct scatterlist *sgl, int nents, struct nvfs_rdma_info *info);
};

static_assert(sizeof(struct nvfs_dma_rw_ops) == 64);
static_assert(offsetof(struct nvfs_dma_rw_ops, nvfs_is_gpu_page) == 32);
static_assert(offsetof(struct nvfs_dma_rw_ops, nvfs_get_gpu_sglist_rdma_info) == 56);

#endif
