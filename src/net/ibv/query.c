// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include <string.h>

#include "ask.h"
#include "verbs.h"
#include "net/log.h"

/* What a request of the software NIC, and a queue of the device, hold at most. */
#define MAX_WQES 32768
#define MAX_CQES (1U << 22)

/* Rings are the software NIC's, and may be longer than the device's: what does not fit there waits. */
int bl_ibv_caps(struct bl_nic *nic, struct bl_nic_caps *caps)
{
	const struct bl_snic_link *link = bl_ibv_link(nic);
	const struct ibv_device_attr *attr = &link->attr;
	struct ibv_port_attr port;
	int ret = bl_ibv_ask_port(link->ibv, link->context, 1, &port);

	if (ret)
		return fail(-ret, "device %s: ibv_query_port 1: %s", nic->name, strerror(-ret));
	*caps = (struct bl_nic_caps){
		.max_qp = bl_ibv_least(1 << 16, attr->max_qp),
		.max_qp_wr = MAX_WQES,
		.max_sge = bl_ibv_least(32, attr->max_sge),
		.max_cq = bl_ibv_least(1 << 16, attr->max_cq),
		.max_cqe = MAX_CQES,
		.max_mr = bl_ibv_least(1 << 20, attr->max_mr),
		.max_pd = bl_ibv_least(1 << 16, attr->max_pd),
		.max_ah = bl_ibv_least(1 << 16, attr->max_ah),
		.max_pkeys = port.pkey_tbl_len,
		.gids = port.gid_tbl_len > UINT16_MAX ? UINT16_MAX : (uint16_t)port.gid_tbl_len,
		.ports = attr->phys_port_cnt,
		.max_qp_rd_atom = bl_ibv_byte(attr->max_qp_rd_atom),
		.max_qp_init_rd_atom = bl_ibv_byte(attr->max_qp_init_rd_atom),
		.rc = true,
		.uc = true,
		.no_dbrec = true,
		.no_atomics = attr->atomic_cap == IBV_ATOMIC_NONE,
		.lids = port.link_layer == IBV_LINK_LAYER_INFINIBAND,
		.cpu = true,
	};
	return 0;
}

int bl_ibv_port_info(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info)
{
	const struct bl_snic_link *link = bl_ibv_link(nic);

	return bl_ibv_ask_state(link->ibv, link->context, nic->name, port, info);
}

int bl_ibv_gid(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
	       enum bl_nic_gid_type *type_p)
{
	const struct bl_snic_link *link = bl_ibv_link(nic);

	return bl_ibv_ask_gid(link->ibv, link->context, nic->name, port, index, gid, type_p);
}
