// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include "ask.h"

#include <errno.h>
#include <string.h>

#include "net/context.h"
#include "net/log.h"

#define MAX_DEVICES 64

/* Names have to stay: those that devices of this library have do. */
size_t bl_ibv_names(bool (*take)(struct ibv_device *device), const char **names, size_t nr)
{
	const struct bl_ibv *ibv = bl_ibv(NULL, 0);
	struct ibv_device **list, *known;
	size_t count = 0;

	list = ibv ? ibv->get_device_list(NULL) : NULL;
	for (size_t i = 0; list && list[i] && i < MAX_DEVICES; i++) {
		known = !take || take(list[i]) ? bl_device_of(ibv->get_device_name(list[i])) : NULL;
		if (!known)
			continue;
		if (count < nr)
			names[count] = known->name;
		count++;
	}
	if (list)
		ibv->free_device_list(list);
	return count;
}

struct ibv_device *bl_ibv_find(const struct bl_ibv *ibv, struct ibv_device **list, const char *name)
{
	for (; list && *list; list++) {
		if (!strcmp(ibv->get_device_name(*list), name))
			return *list;
	}
	return NULL;
}

int bl_ibv_ask_port(const struct bl_ibv *ibv, struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	int ret;

	memset(attr, 0, sizeof(*attr));
	ret = ibv->query_port_old(context, port, (struct _compat_ibv_port_attr *)attr);
	return ret > 0 ? -ret : ret;
}

int bl_ibv_ask_state(const struct bl_ibv *ibv, struct ibv_context *context, const char *device, uint8_t port,
		     struct bl_nic_port *info)
{
	struct ibv_port_attr attr;
	int ret = bl_ibv_ask_port(ibv, context, port, &attr);

	if (ret)
		return fail(-ret, "device %s: ibv_query_port %u: %s", device, port, strerror(-ret));
	*info = (struct bl_nic_port){
		.mtu = 128U << attr.active_mtu,
		.lid = attr.lid,
		.active = attr.state == IBV_PORT_ACTIVE,
	};
	return 0;
}

static enum bl_nic_gid_type type_of(uint32_t type)
{
	return type == IBV_GID_TYPE_ROCE_V2 ? BL_NIC_GID_ROCE_V2 :
	       type == IBV_GID_TYPE_ROCE_V1 ? BL_NIC_GID_ROCE_V1 :
					      BL_NIC_GID_IB;
}

/* Entries that are empty cannot be read: that is no news, and who looks for one goes on. */
int bl_ibv_ask_gid(const struct bl_ibv *ibv, struct ibv_context *context, const char *device, uint8_t port,
		   unsigned int index, uint8_t gid[BL_NIC_GID_LEN], enum bl_nic_gid_type *type_p)
{
	struct ibv_gid_entry entry = { .gid_type = IBV_GID_TYPE_ROCE_V2 };
	int ret;

	errno = 0;
	if (ibv->query_gid_entry)
		ret = ibv->query_gid_entry(context, port, index, &entry, 0, sizeof(entry));
	else
		ret = ibv->query_gid_old(context, port, (int)index, &entry.gid) ? (errno ? errno : EIO) : 0;
	if (ret)
		return fail_quiet(ret > 0 ? ret : EIO, "device %s: port %u has no address of index %u: %s", device,
				  port, index, strerror(ret > 0 ? ret : EIO));
	memcpy(gid, entry.gid.raw, BL_NIC_GID_LEN);
	*type_p = type_of(entry.gid_type);
	return 0;
}

int bl_ibv_ask_interface(const struct bl_ibv *ibv, struct ibv_context *context, uint8_t port, unsigned int index,
			 uint8_t gid[BL_NIC_GID_LEN])
{
	struct ibv_gid_entry entry = { .ndev_ifindex = 0 };

	memset(gid, 0, BL_NIC_GID_LEN);
	if (!ibv->query_gid_entry || ibv->query_gid_entry(context, port, index, &entry, 0, sizeof(entry)))
		return 0;
	if (entry.gid_type != IBV_GID_TYPE_ROCE_V1 && entry.gid_type != IBV_GID_TYPE_ROCE_V2)
		return 0;
	if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
		memcpy(gid, entry.gid.raw, BL_NIC_GID_LEN);
	return (int)entry.ndev_ifindex;
}
