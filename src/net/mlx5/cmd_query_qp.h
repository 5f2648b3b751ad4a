/* SPDX-License-Identifier: MIT */
/* cmd_query_qp.h - QUERY_QP */
#ifndef BL_NET_MLX5_CMD_QUERY_QP_H
#define BL_NET_MLX5_CMD_QUERY_QP_H

#include "cmd.h"
#include "qpc.h"

void bl_cmd_query_qp(struct bl_cmd *cmd, const char *device, uint32_t qpn);

/* From its answer. */
uint64_t bl_cmd_queried_qp(const struct bl_cmd *cmd, enum bl_qpc_field field);

#endif
