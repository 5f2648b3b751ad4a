/* SPDX-License-Identifier: MIT */
/* rwqe.h - receive work requests: lists of data segments */
#ifndef SOFTNIC_RWQE_H
#define SOFTNIC_RWQE_H

#include <stdint.h>

#define BL_RWQE_END	 0x100 /* lkey that ends a list */
#define BL_RWQE_MAX_SGES 64

struct bl_rwqe_sge {
	uint64_t addr;
	uint32_t lkey;
	uint32_t len;
};

/**
 * struct bl_rwqe - a list
 * @nr:	  segments that are used
 * @room: bytes of all
 */
struct bl_rwqe {
	unsigned int nr;
	uint64_t room;
	struct bl_rwqe_sge sges[BL_RWQE_MAX_SGES];
};

/* From @nr segments of 16 bytes that nobody else changes; any bytes make some list. */
void bl_rwqe_parse(const uint8_t *raw, unsigned int nr, struct bl_rwqe *rwqe);

#endif
