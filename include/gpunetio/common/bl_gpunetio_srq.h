/* SPDX-License-Identifier: MIT */
/*
 * bl_gpunetio_srq.h - a shared receive queue as host code shows it to device code; of this library, not the original's
 */
#ifndef BL_GPUNETIO_SRQ_H
#define BL_GPUNETIO_SRQ_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct bl_dev_srq - a shared receive queue that is a linked list
 * @wqe_daddr: WQEs
 * @dbrec:     its record
 * @posted:    WQEs
 * @num:       number
 * @wqe_num:   WQEs that there are
 * @wqe_shift: log2 of the bytes of one
 * @sges:      data segments of one
 * @lock:      held while the list is changed
 * @head:      WQE to be posted next
 * @tail:      last one that is free, which is kept back; the others hang between @head and it
 *
 * bl_net_export_srq() fills it in, for the caller to copy to where kernels reach it.
 */
struct bl_dev_srq {
	uint8_t *wqe_daddr;
	uint32_t *dbrec;
	uint64_t posted;
	uint32_t num;
	uint32_t wqe_num;
	uint32_t wqe_shift;
	uint32_t sges;
	int32_t lock;
	uint16_t head;
	uint16_t tail;
};

#ifdef __cplusplus
}
#endif

#endif
