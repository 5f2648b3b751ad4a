/* SPDX-License-Identifier: MIT */
/* cmd_create_qp.h - CREATE_QP */
#ifndef BL_NET_MLX5_CMD_CREATE_QP_H
#define BL_NET_MLX5_CMD_CREATE_QP_H

#include "cmd.h"

/**
 * struct bl_create_qp - a queue pair; both queues lie in one piece of a umem, the receive queue first
 * @has_sq, @log_sq: blocks of 64 bytes, the exponent of 2
 * @has_rq, @log_rq: receive lists, the exponent of 2
 * @log_stride: bytes of a receive list, the exponent of 2, less 4
 * @cqn_recv: where there is no receive queue, that of the send queue
 */
struct bl_create_qp {
	bool uc;
	uint32_t pdn;
	bool has_sq;
	uint8_t log_sq;
	bool has_rq;
	uint8_t log_rq;
	uint8_t log_stride;
	uint32_t uar_page;
	uint32_t user_index;
	uint32_t cqn_send;
	uint32_t cqn_recv;
	bool cd_master;
	uint32_t ring_umem;
	uint64_t ring_off;
	uint32_t dbr_umem;
	uint64_t dbr_off;
};

void bl_cmd_create_qp(struct bl_cmd *cmd, const char *device, const struct bl_create_qp *qp);

#endif
