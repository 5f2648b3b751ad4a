/* SPDX-License-Identifier: MIT */
/* cmd_qp_moves.h - commands that move a queue pair: RST2INIT, INIT2INIT, INIT2RTR, RTR2RTS, RTS2RTS, 2ERR, 2RST */
#ifndef BL_NET_MLX5_CMD_QP_MOVES_H
#define BL_NET_MLX5_CMD_QP_MOVES_H

#include "cmd.h"
#include "net/nic.h"

/* What of a move is optional, as the command has to name it. */
#define BL_OPT_RRE	   (1U << 1)
#define BL_OPT_RAE	   (1U << 2)
#define BL_OPT_RWE	   (1U << 3)
#define BL_OPT_PKEY_INDEX  (1U << 4)
#define BL_OPT_MIN_RNR_NAK (1U << 6)
#define BL_OPT_PORT_NUM	   (1U << 16)

/**
 * struct bl_qp_way - where to the peer is
 * @eth:   by RoCE: @rmac is the next hop's; else by InfiniBand
 * @v2:	   RoCE v2: @sport is the UDP source port, 0: the device's choice
 */
struct bl_qp_way {
	bool eth;
	bool v2;
	uint8_t rmac[6];
	uint16_t sport;
};

/* The command for a move; @way matters for INIT to RTR only. @uc: the service. Return: 0, -EINVAL: there is none. */
int bl_cmd_qp_move(struct bl_cmd *cmd, const char *device, uint32_t qpn, bool uc, const struct bl_nic_qp_mod *mod,
		   const struct bl_qp_way *way);

#endif
