/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_device.h - everything that device code of GPUNetIO needs: RDMA by threads of a GPU
 *
 * C++17, with nvcc for a GPU from sm_70 on. Compiled by g++ or clang++ the same functions are ordinary ones, for threads of
 * a CPU that stand for a GPU's; device/doca_gpunetio_host_threads.h says what they need.
 */
#ifndef DOCA_GPUNETIO_DEVICE_H
#define DOCA_GPUNETIO_DEVICE_H

#include "common/doca_gpunetio_verbs_def.h"
#include "common/doca_gpunetio_verbs_dev.h"
#include "common/doca_gpunetio_verbs_mlx5.h"
#include "device/doca_gpunetio_dev_verbs_common.cuh"
#include "device/doca_gpunetio_dev_verbs_counter.cuh"
#include "device/doca_gpunetio_dev_verbs_cq.cuh"
#include "device/doca_gpunetio_dev_verbs_onesided.cuh"
#include "device/doca_gpunetio_dev_verbs_qp.cuh"
#include "device/doca_gpunetio_dev_verbs_twosided.cuh"

#endif
