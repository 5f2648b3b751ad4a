// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/port: " fmt
#include <errno.h>
#include <string.h>

#include "nic.h"
#include "util/log.h"

#define LARGEST_PATH 4096
#define WINDOW	     1024
#define QPN_BITS     24

/* How often a port on a wire is asked whether it is up, which is a system call. */
#define WATCH_NS (100 * BL_SNIC_MS)

static void get_port(const struct bl_snic *nic, struct bl_snic_port *port)
{
	*port = (struct bl_snic_port){
		.mtu = LARGEST_PATH, .window = WINDOW, .qpn_bits = QPN_BITS, .gids = 1, .up = true};
	if (nic->ops->port)
		nic->ops->port(nic->link, port);
}

void bl_snic_port_begin(struct bl_snic *nic)
{
	struct bl_snic_port port;

	get_port(nic, &port);
	nic->wire = port.wire;
	nic->window = port.window;
	nic->qpn_bits = port.qpn_bits;
	nic->next_qp = port.qpn_base;
	nic->path_mtu = port.mtu;
	if (nic->wire && nic->attr.mtu && nic->attr.mtu < nic->path_mtu)
		nic->path_mtu = nic->attr.mtu;
}

/* The first look, which is soon after the port was opened, says nothing: it is what the user found. */
static void watch_wire(struct bl_snic *nic)
{
	bool first = !nic->port_check;
	struct bl_snic_port port;

	if (nic->now < nic->port_check)
		return;
	nic->port_check = nic->now + WATCH_NS;
	get_port(nic, &port);
	if (port.up != nic->port_down)
		return;
	nic->port_down = !port.up;
	if (first)
		return;
	log_info("%s: port 1 is %s", nic->name, port.up ? "active" : "down");
	bl_snic_tell(nic, port.up ? BL_SNIC_PORT_ACTIVE : BL_SNIC_PORT_ERR, 1);
}

void bl_snic_port_watch(struct bl_snic *nic)
{
	struct bl_snic_event event;

	if (nic->wire && nic->attr.event)
		watch_wire(nic);
	while (nic->ops->event && nic->ops->event(nic->link, &event))
		bl_snic_tell(nic, event.type, event.num);
}

const uint8_t *bl_snic_gid(const struct bl_snic *nic)
{
	return nic->gid;
}

void bl_snic_port(const struct bl_snic *nic, struct bl_snic_port *port)
{
	struct bl_snic *locked = (struct bl_snic *)nic;

	*port = (struct bl_snic_port){.mtu = nic->path_mtu, .window = nic->window, .gids = 1, .wire = nic->wire};
	if (bl_snic_lock(locked))
		return;
	get_port(nic, port);
	if (port->mtu > nic->path_mtu)
		port->mtu = nic->path_mtu;
	bl_snic_unlock(locked);
}

int bl_snic_gid_at(const struct bl_snic *nic, unsigned int index, uint8_t gid[BL_SNIC_GID_LEN])
{
	struct bl_snic *locked = (struct bl_snic *)nic;
	int ret = bl_snic_lock(locked);

	if (ret)
		return ret;
	if (nic->ops->gid)
		ret = nic->ops->gid(nic->link, index, gid);
	else if (index)
		ret = -EINVAL;
	else
		memcpy(gid, nic->gid, sizeof(nic->gid));
	if (ret)
		fail(-ret, "%s: it has no address %u", nic->name, index);
	bl_snic_unlock(locked);
	return ret;
}
