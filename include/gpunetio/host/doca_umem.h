/* SPDX-License-Identifier: MIT */
/**
 * DOC: doca_umem.h - names of the full DOCA SDK for memory that a NIC uses for queues
 *
 * A doca_umem is a doca_verbs_umem under another name.
 */
#ifndef DOCA_UMEM_H
#define DOCA_UMEM_H

#include "doca_verbs_bridge.h"

#define doca_umem doca_verbs_umem

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct doca_gpu;

/* Access to registered memory. */
#define DOCA_ACCESS_FLAG_LOCAL_READ_WRITE (1 << 0)
#define DOCA_ACCESS_FLAG_RDMA_READ	  (1 << 1)
#define DOCA_ACCESS_FLAG_RDMA_WRITE	  (1 << 2)
#define DOCA_ACCESS_FLAG_RDMA_ATOMIC	  (1 << 3)

/**
 * doca_umem_create() - Have a NIC reach host memory for queues
 * @dev:	  of doca_verbs_dev_open()
 * @address:	  memory
 * @size:	  bytes, > 0
 * @access_flags: DOCA_ACCESS_FLAG_*
 * @umem:	  receives it
 *
 * Return: as doca_verbs_umem_create().
 */
doca_error_t doca_umem_create(struct doca_dev *dev, void *address, size_t size, uint32_t access_flags,
			      struct doca_umem **umem);

/**
 * doca_umem_gpu_create() - Have a NIC reach memory of a GPU for queues
 * @gpu_dev:	  GPU
 * @dev:	  of doca_verbs_dev_open()
 * @address:	  memory
 * @size:	  bytes, > 0
 * @access_flags: DOCA_ACCESS_FLAG_*
 * @umem:	  receives it
 *
 * Return: as doca_verbs_umem_create().
 */
doca_error_t doca_umem_gpu_create(struct doca_gpu *gpu_dev, struct doca_dev *dev, void *address, size_t size,
				  uint32_t access_flags, struct doca_umem **umem);

/**
 * doca_umem_destroy() - Have the NIC leave memory alone
 * @umem: memory
 *
 * Return: as doca_verbs_umem_destroy().
 */
doca_error_t doca_umem_destroy(struct doca_umem *umem);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
