// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mlx5: " fmt
#include "cmd_hca_cap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/log.h"

#define IN_LEN	16
#define CAP	0x10 /* in the answer */
#define OUT_LEN (CAP + 4096)

/* op_mod: a kind of capabilities, and which values of them. */
#define GENERAL 0
#define ROCE	4
#define CURRENT 1

enum general_field { LOG_MAX_QP_SZ, LOG_MAX_QP, LOG_MAX_CQ_SZ, LOG_MAX_CQ, HAS_ROCE, HAS_ATOMIC, CQ_OI, CD, UC, RC };

static const struct bl_field general[] = {
	[LOG_MAX_QP_SZ] = { "cap.log_max_qp_sz", 0x10, 23, 16 },
	[LOG_MAX_QP] = { "cap.log_max_qp", 0x10, 4, 0 },
	[LOG_MAX_CQ_SZ] = { "cap.log_max_cq_sz", 0x18, 23, 16 },
	[LOG_MAX_CQ] = { "cap.log_max_cq", 0x18, 4, 0 },
	[HAS_ROCE] = { "cap.roce", 0x40, 2, 2 },
	[HAS_ATOMIC] = { "cap.atomic", 0x40, 1, 1 },
	[CQ_OI] = { "cap.cq_oi", 0x44, 31, 31 },
	[CD] = { "cap.cd", 0x44, 19, 19 },
	[UC] = { "cap.uc", 0x44, 1, 1 },
	[RC] = { "cap.rc", 0x44, 0, 0 },
};

enum roce_field { SETS_SPORT, MAX_SPORT, MIN_SPORT };

static const struct bl_field roce[] = {
	[SETS_SPORT] = { "roce_cap.sw_r_roce_src_udp_port", 0x00, 27, 27 },
	[MAX_SPORT] = { "roce_cap.r_roce_max_src_udp_port", 0x18, 31, 16 },
	[MIN_SPORT] = { "roce_cap.r_roce_min_src_udp_port", 0x18, 15, 0 },
};

/* @out: OUT_LEN bytes */
static int query(struct bl_cmd *cmd, const char *device, const struct bl_mlx5dv *dv, struct ibv_context *context,
		 unsigned int kind, uint8_t *out)
{
	memset(out, 0, OUT_LEN);
	bl_cmd_begin(cmd, device, BL_CMD_QUERY_HCA_CAP, IN_LEN, OUT_LEN);
	cmd->out = out;
	bl_cmd_put(cmd, 0, &bl_cmd_op_mod_field, kind << 1 | CURRENT);
	return bl_cmd_general(cmd, dv, context);
}

static void take_general(const struct bl_cmd *cmd, struct bl_hca_cap *cap)
{
	*cap = (struct bl_hca_cap){
		.log_max_qp = (uint8_t)bl_cmd_get(cmd, CAP, &general[LOG_MAX_QP]),
		.log_max_qp_sz = (uint8_t)bl_cmd_get(cmd, CAP, &general[LOG_MAX_QP_SZ]),
		.log_max_cq = (uint8_t)bl_cmd_get(cmd, CAP, &general[LOG_MAX_CQ]),
		.log_max_cq_sz = (uint8_t)bl_cmd_get(cmd, CAP, &general[LOG_MAX_CQ_SZ]),
		.rc = bl_cmd_get(cmd, CAP, &general[RC]),
		.uc = bl_cmd_get(cmd, CAP, &general[UC]),
		.roce = bl_cmd_get(cmd, CAP, &general[HAS_ROCE]),
		.atomic = bl_cmd_get(cmd, CAP, &general[HAS_ATOMIC]),
		.cq_oi = bl_cmd_get(cmd, CAP, &general[CQ_OI]),
		.cd = bl_cmd_get(cmd, CAP, &general[CD]),
	};
}

static void take_roce(const struct bl_cmd *cmd, struct bl_hca_cap *cap)
{
	cap->sets_sport = bl_cmd_get(cmd, CAP, &roce[SETS_SPORT]);
	cap->max_sport = (uint16_t)bl_cmd_get(cmd, CAP, &roce[MAX_SPORT]);
	cap->min_sport = (uint16_t)bl_cmd_get(cmd, CAP, &roce[MIN_SPORT]);
	if (cap->max_sport < cap->min_sport || !cap->min_sport)
		cap->sets_sport = false;
}

int bl_hca_cap_query(const char *device, const struct bl_mlx5dv *dv, struct ibv_context *context,
		     struct bl_hca_cap *cap)
{
	uint8_t *out = malloc(OUT_LEN);
	struct bl_cmd cmd;
	int ret;

	if (!out)
		return fail(ENOMEM, "device %s: out of memory", device);
	ret = query(&cmd, device, dv, context, GENERAL, out);
	if (ret)
		goto free_out;
	take_general(&cmd, cap);
	if (!cap->roce)
		goto free_out;
	ret = query(&cmd, device, dv, context, ROCE, out);
	if (!ret)
		take_roce(&cmd, cap);
free_out:
	free(out);
	return ret;
}
