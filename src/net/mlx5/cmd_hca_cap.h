/* SPDX-License-Identifier: MIT */
/* cmd_hca_cap.h - QUERY_HCA_CAP: what a device can do */
#ifndef BL_NET_MLX5_CMD_HCA_CAP_H
#define BL_NET_MLX5_CMD_HCA_CAP_H

#include "cmd.h"

/**
 * struct bl_hca_cap - the part that matters here
 * @log_max_qp_sz, @log_max_cq_sz: blocks of a queue pair's ring, entries of a completion queue
 * @cq_oi: completion queues may ignore overruns
 * @cd: cross-channel: a queue pair may wait for completions of others
 * @sets_sport: the UDP source port of RoCE v2 is given with the path
 * @min_sport, @max_sport: of it
 */
struct bl_hca_cap {
	uint8_t log_max_qp;
	uint8_t log_max_qp_sz;
	uint8_t log_max_cq;
	uint8_t log_max_cq_sz;
	bool rc;
	bool uc;
	bool roce;
	bool atomic;
	bool cq_oi;
	bool cd;
	bool sets_sport;
	uint16_t min_sport;
	uint16_t max_sport;
};

/* Ask for all of it. Return: 0 or -errno, with the reason. */
int bl_hca_cap_query(const char *device, const struct bl_mlx5dv *dv, struct ibv_context *context,
		     struct bl_hca_cap *cap);

#endif
