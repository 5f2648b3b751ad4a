// SPDX-License-Identifier: MIT
#include "rwqe.h"

#include "bytes.h"
#include "wqe.h"

#define LEN_MASK 0x7fffffffU

void bl_rwqe_parse(const uint8_t *raw, unsigned int nr, struct bl_rwqe *rwqe)
{
	rwqe->nr = 0;
	rwqe->room = 0;
	for (unsigned int i = 0; i < nr && i < BL_RWQE_MAX_SGES; i++, raw += BL_WQE_SEG) {
		struct bl_rwqe_sge sge = {
			.addr = bl_be64(raw + 8),
			.lkey = bl_be32(raw + 4),
			.len = bl_be32(raw) & LEN_MASK,
		};

		if (sge.lkey == BL_RWQE_END)
			break;
		rwqe->sges[rwqe->nr++] = sge;
		rwqe->room += sge.len;
	}
}
