// SPDX-License-Identifier: MIT
#include "cmd_create_qp.h"
#include "qpc.h"

#define IN_LEN 272
#define QPC    0x18

enum field { UMEM_OFFSET, UMEM_ID, UMEM_VALID };

static const struct bl_field fields[] = {
	[UMEM_OFFSET] = { "create_qp.wq_umem_offset", 0x100, 63, 0 },
	[UMEM_ID] = { "create_qp.wq_umem_id", 0x108, 31, 0 },
	[UMEM_VALID] = { "create_qp.wq_umem_valid", 0x10c, 31, 31 },
};

static void put_queues(struct bl_cmd *cmd, const struct bl_create_qp *qp)
{
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_NO_SQ], !qp->has_sq);
	if (qp->has_sq)
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_SQ_SIZE], qp->log_sq);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RQ_TYPE], qp->has_rq ? BL_QPC_RQ_REGULAR : BL_QPC_RQ_NONE);
	if (qp->has_rq) {
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_RQ_SIZE], qp->log_rq);
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_RQ_STRIDE], qp->log_stride);
	}
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_CQN_SND], qp->cqn_send);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_CQN_RCV], qp->cqn_recv);
}

void bl_cmd_create_qp(struct bl_cmd *cmd, const char *device, const struct bl_create_qp *qp)
{
	bl_cmd_begin(cmd, device, BL_CMD_CREATE_QP, IN_LEN, BL_CMD_SHORT);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_SERVICE], qp->uc ? BL_QPC_UC : BL_QPC_RC);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_PM_STATE], BL_QPC_PM_MIGRATED);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_PD], qp->pdn);
	put_queues(cmd, qp);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_UAR_PAGE], qp->uar_page);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_USER_INDEX], qp->user_index);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_CD_MASTER], qp->cd_master);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_DBR_ADDR], qp->dbr_off);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_DBR_UMEM_VALID], 1);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_DBR_UMEM_ID], qp->dbr_umem);
	bl_cmd_put(cmd, 0, &fields[UMEM_OFFSET], qp->ring_off);
	bl_cmd_put(cmd, 0, &fields[UMEM_ID], qp->ring_umem);
	bl_cmd_put(cmd, 0, &fields[UMEM_VALID], 1);
}
