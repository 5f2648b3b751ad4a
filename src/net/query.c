// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/query: " fmt
#include "barlane_net.h"

#include <limits.h>
#include <string.h>

#include "context.h"
#include "net/log.h"

static int as_int(uint32_t value)
{
	return value > INT_MAX ? INT_MAX : (int)value;
}

static void fill_device(const struct bl_context *context, struct ibv_device_attr *attr)
{
	const struct bl_nic_caps *caps = &context->caps;

	*attr = (struct ibv_device_attr){
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.max_qp = as_int(caps->max_qp),
		.max_qp_wr = as_int(caps->max_qp_wr),
		.max_sge = as_int(caps->max_sge),
		.max_sge_rd = as_int(caps->max_sge),
		.max_cq = as_int(caps->max_cq),
		.max_cqe = as_int(caps->max_cqe),
		.max_mr = as_int(caps->max_mr),
		.max_pd = as_int(caps->max_pd),
		.max_qp_rd_atom = caps->max_qp_rd_atom,
		.max_res_rd_atom = as_int(caps->max_qp * caps->max_qp_rd_atom),
		.max_qp_init_rd_atom = caps->max_qp_init_rd_atom,
		.atomic_cap = caps->no_atomics ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA,
		.max_ah = as_int(caps->max_ah),
		.max_srq = as_int(caps->max_srq),
		.max_srq_wr = as_int(caps->max_srq_wr),
		.max_srq_sge = as_int(caps->max_srq_sge),
		.max_pkeys = caps->max_pkeys,
		.phys_port_cnt = caps->ports,
	};
	memcpy(attr->fw_ver, context->ops->name, strnlen(context->ops->name, sizeof(attr->fw_ver) - 1));
}

int bl_net_query_device(struct ibv_context *ibv, struct ibv_device_attr *attr)
{
	struct bl_context *context;
	int ret;

	if (!attr)
		return bl_positive_errno(fail(EINVAL, "query device: no place for the answer"));
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_positive_errno(ret);
	fill_device(context, attr);
	bl_context_put(context);
	return 0;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	return bytes >= 4096 ? IBV_MTU_4096 :
	       bytes >= 2048 ? IBV_MTU_2048 :
	       bytes >= 1024 ? IBV_MTU_1024 :
	       bytes >= 512  ? IBV_MTU_512 :
			       IBV_MTU_256;
}

static int check_port(const struct bl_context *context, uint8_t port)
{
	if (port && port <= context->caps.ports)
		return 0;
	return fail(EINVAL, "device %s: port %u, there are %u from 1 on", context->ibv.device->name, port,
		    context->caps.ports);
}

static int fill_port(struct bl_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct bl_nic_port info;
	int ret;

	ret = check_port(context, port);
	if (ret)
		return ret;
	ret = context->ops->port(context->nic, port, &info);
	if (ret)
		return ret;
	*attr = (struct ibv_port_attr){
		.state = info.active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = mtu_code(info.mtu),
		.active_mtu = mtu_code(info.mtu),
		.gid_tbl_len = context->caps.gids,
		.max_msg_sz = 1U << 30,
		.pkey_tbl_len = context->caps.max_pkeys,
		.lid = info.lid,
		.max_vl_num = 1,
		.active_width = 1,
		.active_speed = 1,
		.phys_state = info.active ? 5 : 3,
		.link_layer = context->caps.lids ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
	};
	return 0;
}

int bl_net_query_port(struct ibv_context *ibv, uint8_t port, struct ibv_port_attr *attr)
{
	struct bl_context *context;
	int ret;

	if (!attr)
		return bl_positive_errno(fail(EINVAL, "query port: no place for the answer"));
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_positive_errno(ret);
	ret = fill_port(context, port, attr);
	bl_context_put(context);
	return bl_positive_errno(ret);
}

static int get_gid(struct bl_context *context, uint8_t port, int index, union ibv_gid *gid, enum bl_nic_gid_type *type_p)
{
	int ret = check_port(context, port);

	if (ret)
		return ret;
	if (index < 0 || index >= context->caps.gids)
		return fail(EINVAL, "device %s: address index %d, there are %u from 0 on", context->ibv.device->name, index,
			    context->caps.gids);
	return context->ops->gid(context->nic, port, (unsigned int)index, gid->raw, type_p);
}

int bl_context_gid(struct ibv_context *ibv, uint8_t port, int index, union ibv_gid *gid, enum bl_nic_gid_type *type_p)
{
	struct bl_context *context;
	int ret;

	ret = bl_context_get(ibv, &context);
	if (ret)
		return ret;
	ret = get_gid(context, port, index, gid, type_p);
	bl_context_put(context);
	return ret;
}

int bl_net_query_gid(struct ibv_context *ibv, uint8_t port, int index, union ibv_gid *gid)
{
	enum bl_nic_gid_type type;

	if (!gid)
		return bl_positive_errno(fail(EINVAL, "query address: no place for the answer"));
	return bl_positive_errno(bl_context_gid(ibv, port, index, gid, &type));
}
