// SPDX-License-Identifier: MIT
#include "cmd_qp_moves.h"

#include <errno.h>

#include "qpc.h"

#define IN_LEN	     272
#define SHORT_IN_LEN 16
#define QPC	     0x18
#define PATH	     (QPC + BL_QPC_PATH)
#define LOG_MSG_MAX  30
#define MIN_MTU	     256U

static const struct bl_field opt_param_mask = { "opt_param_mask", 0x10, 31, 0 };

static void begin(struct bl_cmd *cmd, const char *device, enum bl_cmd_opcode opcode, uint32_t qpn, size_t in_len)
{
	bl_cmd_begin(cmd, device, opcode, in_len, BL_CMD_SHORT);
	bl_cmd_put(cmd, 0, &bl_cmd_number_field, qpn);
}

/* The device counts in powers of 2: room for those of the peer is not less than asked for, own ones are not more. */
static uint64_t ceil_log2(unsigned int value)
{
	uint64_t log = 0;

	while (1U << log < value)
		log++;
	return log;
}

static uint64_t floor_log2(unsigned int value)
{
	uint64_t log = 0;

	while (2U << log <= value)
		log++;
	return log;
}

/* Rights of the peer; an unreliable connection is only written to. Return: the bits that name them as optional. */
static uint32_t put_access(struct bl_cmd *cmd, bool uc, const struct bl_nic_qp_mod *mod)
{
	bool atomic = !uc && mod->access & IBV_ACCESS_REMOTE_ATOMIC;

	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RWE], !!(mod->access & IBV_ACCESS_REMOTE_WRITE));
	if (uc)
		return BL_OPT_RWE;
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RRE], !!(mod->access & IBV_ACCESS_REMOTE_READ));
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RAE], atomic);
	if (atomic)
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_ATOMIC_MODE],
			   mod->atomic_mode == DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES ? BL_QPC_ATOMIC_8_BYTES :
											BL_QPC_ATOMIC_IB_SPEC);
	return BL_OPT_RRE | BL_OPT_RAE | BL_OPT_RWE;
}

static void put_port(struct bl_cmd *cmd, const struct bl_nic_qp_mod *mod)
{
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_PKEY_INDEX], mod->pkey_index);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_PORT], mod->port);
}

static void to_init(struct bl_cmd *cmd, bool uc, const struct bl_nic_qp_mod *mod)
{
	uint32_t access = put_access(cmd, uc, mod);

	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_PM_STATE], BL_QPC_PM_MIGRATED);
	put_port(cmd, mod);
	if (mod->from == DOCA_VERBS_QP_STATE_INIT)
		bl_cmd_put(cmd, 0, &opt_param_mask, access | BL_OPT_PKEY_INDEX | BL_OPT_PORT_NUM);
}

static uint64_t be64_at(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void put_global(struct bl_cmd *cmd, const struct bl_nic_qp_mod *mod)
{
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_SRC_ADDR_INDEX], mod->sgid_index);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_HOP_LIMIT], mod->hop_limit);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_GID_HIGH], be64_at(mod->gid));
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_GID_LOW], be64_at(mod->gid + 8));
}

static void put_eth(struct bl_cmd *cmd, const struct bl_nic_qp_mod *mod, const struct bl_qp_way *way)
{
	const uint8_t *mac = way->rmac;

	put_global(cmd, mod);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_RMAC_HIGH], (uint64_t)mac[0] << 8 | mac[1]);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_RMAC_LOW],
		   (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5]);
	if (!way->v2) {
		bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_TCLASS], mod->traffic_class);
		return;
	}
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_DSCP], mod->traffic_class >> 2);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_UDP_SPORT], way->sport);
}

static void put_ib(struct bl_cmd *cmd, const struct bl_nic_qp_mod *mod)
{
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_RLID], mod->dlid);
	if (mod->addr_type == DOCA_VERBS_ADDR_TYPE_IB_NO_GRH)
		return;
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_GRH], 1);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_TCLASS], mod->traffic_class);
	put_global(cmd, mod);
}

static void to_rtr(struct bl_cmd *cmd, bool uc, const struct bl_nic_qp_mod *mod, const struct bl_qp_way *way)
{
	uint32_t access = put_access(cmd, uc, mod);

	put_port(cmd, mod);
	if (way->eth)
		put_eth(cmd, mod, way);
	else
		put_ib(cmd, mod);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_SL], mod->sl);
	bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_STAT_RATE], mod->static_rate);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_MTU], ceil_log2(mod->mtu / MIN_MTU) + 1);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_MSG_MAX], LOG_MSG_MAX);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_REMOTE_QPN], mod->dest_qpn);
	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_NEXT_RCV_PSN], mod->rq_psn);
	if (!uc) {
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_MIN_RNR_NAK], mod->min_rnr_timer);
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_RRA_MAX], ceil_log2(mod->max_dest_rd_atomic));
	}
	bl_cmd_put(cmd, 0, &opt_param_mask, access | BL_OPT_PKEY_INDEX);
}

static void to_rts(struct bl_cmd *cmd, bool uc, const struct bl_nic_qp_mod *mod)
{
	uint32_t optional = put_access(cmd, uc, mod);

	bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_NEXT_SEND_PSN], mod->sq_psn);
	if (!uc) {
		bl_cmd_put(cmd, PATH, &bl_path[BL_PATH_ACK_TIMEOUT], mod->ack_timeout);
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RETRY_COUNT], mod->retry_cnt);
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_RNR_RETRY], mod->rnr_retry);
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_LOG_SRA_MAX], floor_log2(mod->max_rd_atomic));
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_MIN_RNR_NAK], mod->min_rnr_timer);
		optional |= BL_OPT_MIN_RNR_NAK;
	}
	bl_cmd_put(cmd, 0, &opt_param_mask, optional);
}

static void again(struct bl_cmd *cmd, bool uc, const struct bl_nic_qp_mod *mod)
{
	uint32_t optional = put_access(cmd, uc, mod);

	if (!uc) {
		bl_cmd_put(cmd, QPC, &bl_qpc[BL_QPC_MIN_RNR_NAK], mod->min_rnr_timer);
		optional |= BL_OPT_MIN_RNR_NAK;
	}
	bl_cmd_put(cmd, 0, &opt_param_mask, optional);
}

int bl_cmd_qp_move(struct bl_cmd *cmd, const char *device, uint32_t qpn, bool uc, const struct bl_nic_qp_mod *mod,
		   const struct bl_qp_way *way)
{
	switch (mod->to) {
	case DOCA_VERBS_QP_STATE_RST:
		begin(cmd, device, BL_CMD_2RST, qpn, SHORT_IN_LEN);
		return 0;
	case DOCA_VERBS_QP_STATE_ERR:
		begin(cmd, device, BL_CMD_2ERR, qpn, SHORT_IN_LEN);
		return 0;
	case DOCA_VERBS_QP_STATE_INIT:
		begin(cmd, device, mod->from == DOCA_VERBS_QP_STATE_INIT ? BL_CMD_INIT2INIT : BL_CMD_RST2INIT, qpn,
		      IN_LEN);
		to_init(cmd, uc, mod);
		return 0;
	case DOCA_VERBS_QP_STATE_RTR:
		begin(cmd, device, BL_CMD_INIT2RTR, qpn, IN_LEN);
		to_rtr(cmd, uc, mod, way);
		return 0;
	case DOCA_VERBS_QP_STATE_RTS:
		begin(cmd, device, mod->from == DOCA_VERBS_QP_STATE_RTS ? BL_CMD_RTS2RTS : BL_CMD_RTR2RTS, qpn, IN_LEN);
		if (mod->from == DOCA_VERBS_QP_STATE_RTS)
			again(cmd, uc, mod);
		else
			to_rts(cmd, uc, mod);
		return 0;
	default:
		return -EINVAL;
	}
}
