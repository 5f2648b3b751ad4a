// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mlx5: " fmt
#include <string.h>

#include "mlx5.h"
#include "net/ibv/ask.h"
#include "net/log.h"

/* What device headers can count, and what a completion queue holds. */
#define MAX_WQES 32768U
#define MAX_LOG	 22

static uint32_t power(uint8_t log, uint32_t max)
{
	return log >= 31 || 1U << log > max ? max : 1U << log;
}

int bl_mlx5_caps(struct bl_nic *nic, struct bl_nic_caps *caps)
{
	const struct ibv_device_attr *attr = &nic->attr;
	struct ibv_port_attr port;
	int ret = bl_ibv_ask_port(nic->ibv, nic->context, 1, &port);

	if (ret)
		return fail(-ret, "device %s: ibv_query_port 1: %s", nic->name, strerror(-ret));
	*caps = (struct bl_nic_caps){
		.max_qp = power(nic->cap.log_max_qp, 1U << 24),
		.max_qp_wr = power(nic->cap.log_max_qp_sz, MAX_WQES),
		.max_sge = bl_ibv_least(32, attr->max_sge),
		.max_cq = power(nic->cap.log_max_cq, 1U << 24),
		.max_cqe = power(nic->cap.log_max_cq_sz, 1U << MAX_LOG),
		.max_mr = bl_ibv_least(1 << 24, attr->max_mr),
		.max_pd = bl_ibv_least(1 << 24, attr->max_pd),
		.max_ah = bl_ibv_least(1 << 24, attr->max_ah),
		.max_pkeys = port.pkey_tbl_len,
		.gids = port.gid_tbl_len > UINT16_MAX ? UINT16_MAX : (uint16_t)port.gid_tbl_len,
		.ports = attr->phys_port_cnt,
		.max_qp_rd_atom = bl_ibv_byte(attr->max_qp_rd_atom),
		.max_qp_init_rd_atom = bl_ibv_byte(attr->max_qp_init_rd_atom),
		.rc = nic->cap.rc,
		.uc = nic->cap.uc,
		.no_atomics = !nic->cap.atomic,
		.lids = !nic->eth,
	};
	return 0;
}

int bl_mlx5_port(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info)
{
	return bl_ibv_ask_state(nic->ibv, nic->context, nic->name, port, info);
}

int bl_mlx5_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		enum bl_nic_gid_type *type_p)
{
	return bl_ibv_ask_gid(nic->ibv, nic->context, nic->name, port, index, gid, type_p);
}
