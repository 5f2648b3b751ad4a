// SPDX-License-Identifier: MIT
#include "cmd_query_qp.h"

#define IN_LEN	16
#define OUT_LEN 272
#define QPC	0x18 /* in the answer */

void bl_cmd_query_qp(struct bl_cmd *cmd, const char *device, uint32_t qpn)
{
	bl_cmd_begin(cmd, device, BL_CMD_QUERY_QP, IN_LEN, OUT_LEN);
	bl_cmd_put(cmd, 0, &bl_cmd_number_field, qpn);
}

uint64_t bl_cmd_queried_qp(const struct bl_cmd *cmd, enum bl_qpc_field field)
{
	return bl_cmd_get(cmd, QPC, &bl_qpc[field]);
}
