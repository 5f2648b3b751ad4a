/* SPDX-License-Identifier: MIT */
/*
 * cqc.h - layout of a completion queue's context, as far as it is not 0: entries have 64 bytes, pages are the umem's
 */
#ifndef BL_NET_MLX5_CQC_H
#define BL_NET_MLX5_CQC_H

#include "fields.h"

#define BL_CQC_BYTES 64

enum bl_cqc_field {
	BL_CQC_DBR_UMEM_VALID,
	BL_CQC_COLLAPSED,
	BL_CQC_OVERRUN_IGNORE,
	BL_CQC_DBR_UMEM_ID,
	BL_CQC_LOG_SIZE,
	BL_CQC_UAR_PAGE,
	BL_CQC_EQN,
	BL_CQC_DBR_ADDR,
	BL_CQC_NR_FIELDS
};

extern const struct bl_field bl_cqc[BL_CQC_NR_FIELDS];

#endif
