/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_config.h - what this build can do
 *
 * In the original a script writes this file on the machine of the build. Here everything is found at run time, so the
 * answers are always the same: a call that meets a driver or a NIC without one of these says so.
 */
#ifndef DOCA_GPUNETIO_CONFIG_H
#define DOCA_GPUNETIO_CONFIG_H

/* A umem may be made of a dma-buf. */
#define DOCA_GPUNETIO_HAVE_MLX5DV_UMEM_DMABUF 1
/* A UAR may be an uncached page of its own. */
#define DOCA_GPUNETIO_HAVE_DEDICATED_NC_UAR 1
/* GPU memory may be exported as a dma-buf. */
#define DOCA_GPUNETIO_HAVE_CUDA_DMABUF 1

#endif
