// SPDX-License-Identifier: MIT
/* The way to a peer: on RoCE the kernel is asked for the next hop, by an address handle. */
#define log_fmt(fmt) "net/mlx5: " fmt
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "cmd_qp_moves.h"
#include "mlx5.h"
#include "net/log.h"

static void name_of(const uint8_t gid[BL_NIC_GID_LEN], char text[INET6_ADDRSTRLEN])
{
	if (!inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN))
		*text = '\0';
}

static int read_mac(struct bl_nic *nic, struct ibv_ah *ah, uint8_t mac[6])
{
	struct mlx5dv_ah out = { 0 };
	struct mlx5dv_obj obj = { .ah = { .in = ah, .out = &out } };
	int ret;

	errno = 0;
	ret = nic->dv->init_obj(&obj, MLX5DV_OBJ_AH);
	if (ret || !out.av)
		return fail(bl_mlx5_error(ret), "device %s: mlx5dv_init_obj of an address handle: %s", nic->name,
			    strerror(bl_mlx5_error(ret)));
	memcpy(mac, out.av->rmac, sizeof(out.av->rmac));
	return 0;
}

static int find_mac(struct bl_nic *nic, const struct bl_nic_qp_mod *mod, uint8_t mac[6])
{
	struct ibv_ah_attr attr = {
		.port_num = mod->port,
		.is_global = 1,
		.grh = { .sgid_index = mod->sgid_index, .hop_limit = mod->hop_limit },
	};
	char gid[INET6_ADDRSTRLEN];
	struct ibv_ah *ah;
	int ret;

	memcpy(attr.grh.dgid.raw, mod->gid, BL_NIC_GID_LEN);
	errno = 0;
	ah = nic->ibv->create_ah(nic->way_pd, &attr);
	if (!ah) {
		ret = bl_mlx5_error(0);
		name_of(mod->gid, gid);
		return fail(ret,
			    "device %s: no way from address %u to %s: ibv_create_ah: %s: does anybody answer there?",
			    nic->name, mod->sgid_index, gid, strerror(ret));
	}
	ret = read_mac(nic, ah, mac);
	if (nic->ibv->destroy_ah(ah))
		log_warn("device %s: ibv_destroy_ah: %s", nic->name, strerror(errno));
	return ret;
}

/* Switches spread connections by it: the two numbers, mixed, so that both ends of one need not have the same. */
static uint16_t source_port(const struct bl_hca_cap *cap, uint32_t qpn, uint32_t dest_qpn)
{
	uint64_t mixed = ((uint64_t)qpn << 24 ^ dest_qpn) * 0x9e3779b97f4a7c15ULL;
	uint32_t range = (uint32_t)cap->max_sport - cap->min_sport + 1;

	return (uint16_t)(cap->min_sport + (mixed >> 32) % range);
}

int bl_mlx5_way_find(struct bl_nic *nic, uint32_t qpn, const struct bl_nic_qp_mod *mod, struct bl_qp_way *way)
{
	uint8_t gid[BL_NIC_GID_LEN];
	enum bl_nic_gid_type type;
	int ret;

	*way = (struct bl_qp_way){ .eth = nic->eth };
	if (!nic->eth)
		return 0;
	if (mod->addr_type == DOCA_VERBS_ADDR_TYPE_IB_NO_GRH)
		return fail(EOPNOTSUPP, "device %s: an address of type IB_NO_GRH: the port is Ethernet and has no LIDs",
			    nic->name);
	ret = bl_mlx5_gid(nic, mod->port, mod->sgid_index, gid, &type);
	if (ret)
		return fail(-ret, "device %s: port %u has no address of index %u that can be read: %s", nic->name,
			    mod->port, mod->sgid_index, strerror(-ret));
	way->v2 = type == BL_NIC_GID_ROCE_V2;
	if (way->v2 && nic->cap.sets_sport)
		way->sport = source_port(&nic->cap, qpn, mod->dest_qpn);
	return find_mac(nic, mod, way->rmac);
}
