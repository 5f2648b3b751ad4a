/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_dev_verbs_qp.cuh - queue pairs: slots, WQEs, doorbells
 *
 * The steps of an operation: reserve slots, fill each, mark them ready, submit.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_QP_CUH
#define DOCA_GPUNETIO_DEV_VERBS_QP_CUH

#include "doca_gpunetio_dev_verbs_db.cuh"
#include "doca_gpunetio_dev_verbs_slots.cuh"
#include "doca_gpunetio_dev_verbs_wqe.cuh"
#include "doca_gpunetio_dev_verbs_wqe_send.cuh"

#endif
