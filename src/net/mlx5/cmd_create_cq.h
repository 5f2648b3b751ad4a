/* SPDX-License-Identifier: MIT */
/* cmd_create_cq.h - CREATE_CQ */
#ifndef BL_NET_MLX5_CMD_CREATE_CQ_H
#define BL_NET_MLX5_CMD_CREATE_CQ_H

#include "cmd.h"

/**
 * struct bl_create_cq - a completion queue
 * @log_nr:   entries, the exponent of 2
 * @ring_umem, @ring_off: of the entries
 * @dbr_umem, @dbr_off: of the record
 * @uar_page: page whose doorbell arms it
 * @eqn:      event queue
 */
struct bl_create_cq {
	uint8_t log_nr;
	bool overrun;
	bool collapsed;
	uint32_t ring_umem;
	uint64_t ring_off;
	uint32_t dbr_umem;
	uint64_t dbr_off;
	uint32_t uar_page;
	uint32_t eqn;
};

void bl_cmd_create_cq(struct bl_cmd *cmd, const char *device, const struct bl_create_cq *cq);

#endif
