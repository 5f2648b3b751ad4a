// SPDX-License-Identifier: MIT
#include "cqc.h"

const struct bl_field bl_cqc[BL_CQC_NR_FIELDS] = {
	[BL_CQC_DBR_UMEM_VALID] = { "cqc.dbr_umem_valid", 0x00, 25, 25 },
	[BL_CQC_COLLAPSED] = { "cqc.cc", 0x00, 20, 20 },
	[BL_CQC_OVERRUN_IGNORE] = { "cqc.oi", 0x00, 17, 17 },
	[BL_CQC_DBR_UMEM_ID] = { "cqc.dbr_umem_id", 0x04, 31, 0 },
	[BL_CQC_LOG_SIZE] = { "cqc.log_cq_size", 0x0c, 28, 24 },
	[BL_CQC_UAR_PAGE] = { "cqc.uar_page", 0x0c, 23, 0 },
	[BL_CQC_EQN] = { "cqc.c_eqn", 0x14, 7, 0 },
	[BL_CQC_DBR_ADDR] = { "cqc.dbr_addr", 0x38, 63, 0 },
};
