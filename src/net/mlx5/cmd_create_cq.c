// SPDX-License-Identifier: MIT
#include "cmd_create_cq.h"
#include "cqc.h"

#define IN_LEN 272
#define CQC    0x10

enum field { UMEM_OFFSET, UMEM_ID, UMEM_VALID };

static const struct bl_field fields[] = {
	[UMEM_OFFSET] = { "create_cq.cq_umem_offset", 0x50, 63, 0 },
	[UMEM_ID] = { "create_cq.cq_umem_id", 0x58, 31, 0 },
	[UMEM_VALID] = { "create_cq.cq_umem_valid", 0x5c, 31, 31 },
};

void bl_cmd_create_cq(struct bl_cmd *cmd, const char *device, const struct bl_create_cq *cq)
{
	bl_cmd_begin(cmd, device, BL_CMD_CREATE_CQ, IN_LEN, BL_CMD_SHORT);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_DBR_UMEM_VALID], 1);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_COLLAPSED], cq->collapsed);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_OVERRUN_IGNORE], cq->overrun);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_DBR_UMEM_ID], cq->dbr_umem);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_LOG_SIZE], cq->log_nr);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_UAR_PAGE], cq->uar_page);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_EQN], cq->eqn);
	bl_cmd_put(cmd, CQC, &bl_cqc[BL_CQC_DBR_ADDR], cq->dbr_off);
	bl_cmd_put(cmd, 0, &fields[UMEM_OFFSET], cq->ring_off);
	bl_cmd_put(cmd, 0, &fields[UMEM_ID], cq->ring_umem);
	bl_cmd_put(cmd, 0, &fields[UMEM_VALID], 1);
}
