// SPDX-License-Identifier: MIT
#include "net/fpga/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "barlane.h"
#include "common/error.h"
#include "common/stats.h"
#include "softnic/roce/link.h"

#define BUDGET 64

static const struct bl_snic_transport_ops *const wire = &bl_snic_roce;

static int link_fail(int ret, const char *what)
{
	const char *why = bl_last_error(NULL);

	return tool_fail(-ret, "%s: %s", what, why && *why ? why : strerror(-ret));
}

/* As the library values them for programs with a NIC; with a peer that is given, its kind comes first. */
static int value_of(const struct fpga_port *port, const uint8_t gid[16])
{
	bool ipv4 = bl_roce_gid_is_ipv4(gid);
	int value = ipv4 ? 3 : bl_roce_gid_is_link_local(gid) ? 1 : 2;

	return port->options->server || bl_roce_gid_is_ipv4(port->options->to) != ipv4 ? value : value + 3;
}

static int choose_gid(struct fpga_port *port)
{
	const struct fpga_options *options = port->options;
	uint8_t gid[16];
	int best = 0;

	if (options->gid >= 0)
		port->local.gid_index = (uint8_t)options->gid;
	for (unsigned int i = 0; options->gid < 0 && !wire->gid(port->link, i, gid); i++) {
		if (value_of(port, gid) <= best)
			continue;
		best = value_of(port, gid);
		port->local.gid_index = (uint8_t)i;
	}
	if (wire->gid(port->link, port->local.gid_index, port->local.gid))
		return tool_fail(EINVAL, "NIC %s: GID index %u: there are %u", options->nic, port->local.gid_index,
				 port->limits.gids);
	return 0;
}

static int choose_numbers(struct fpga_port *port)
{
	const struct fpga_options *options = port->options;
	uint32_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return tool_fail(EIO, "no random numbers: %s", strerror(errno));
	port->local.qpn = port->limits.qpn_base | (2 + random[0] % 0xfff0);
	port->local.psn = random[1] & BL_PSN_MASK;
	if (options->qpn != FPGA_ANY)
		port->local.qpn = (uint32_t)options->qpn;
	if (options->psn != FPGA_ANY)
		port->local.psn = (uint32_t)options->psn;
	port->local.mtu = port->limits.mtu;
	if (options->mtu && options->mtu < port->local.mtu)
		port->local.mtu = options->mtu;
	port->local.port = 1;
	return 0;
}

int fpga_port_open(struct fpga_port *port, const struct fpga_options *options)
{
	uint8_t gid[16];
	char share[8];
	int ret;

	*port = (struct fpga_port){.options = options};
	snprintf(share, sizeof(share), "%u", (unsigned int)(options->qpn >> 16));
	/* the upper bits of its number decide which packets come here */
	if (options->qpn != FPGA_ANY && setenv("BARLANE_SNIC_SHARE", share, 1))
		return tool_fail(ENOMEM, "environment: %s", strerror(errno));
	ret = wire->open(options->nic, gid, &port->link);
	if (ret) {
		port->link = NULL;
		return link_fail(ret, options->nic);
	}
	wire->port(port->link, &port->limits);
	if (options->sport != FPGA_ANY && !port->link->packet)
		return tool_fail(EOPNOTSUPP, "option --sport: not with UDP sockets");
	if (options->has_mac && !port->link->packet)
		return tool_fail(EOPNOTSUPP, "option --mac: not with UDP sockets");
	ret = choose_gid(port);
	return ret ? ret : choose_numbers(port);
}

static void set_fields(struct fpga_port *port)
{
	const struct fpga_options *options = port->options;

	if (options->sport != FPGA_ANY)
		port->path->flow.sport = (uint16_t)options->sport;
	if (!options->has_mac)
		return;
	memcpy(port->path->header, options->mac, sizeof(options->mac));
	memcpy(port->path->to.ll.sll_addr, options->mac, sizeof(options->mac));
	port->path->ready = true;
}

int fpga_port_connect(struct fpga_port *port)
{
	const struct fpga_options *options = port->options;
	struct bl_snic_way way = {
		.sgid_index = port->local.gid_index, .hop_limit = options->hop_limit, .traffic_class = options->tclass};
	int ret;

	memcpy(way.gid, port->remote.gid, sizeof(way.gid));
	ret = wire->way_open(port->link, &way, &port->path);
	if (ret) {
		port->path = NULL;
		return link_fail(ret, options->nic);
	}
	set_fields(port);
	port->mtu = port->local.mtu;
	if (port->remote.mtu >= BL_ROCE_MIN_PAYLOAD && port->remote.mtu < port->mtu)
		port->mtu = port->remote.mtu;
	port->in.psn = port->remote.psn & BL_PSN_MASK;
	port->in.known = options->server || options->dest_psn != FPGA_ANY;
	port->out.psn = port->local.psn;
	return 0;
}

void fpga_port_close(struct fpga_port *port)
{
	if (port->path)
		wire->path_close(port->path);
	if (port->link)
		wire->close(port->link);
	port->path = NULL;
	port->link = NULL;
}

void fpga_port_begin(struct fpga_port *port, uint32_t run, uint32_t size)
{
	struct fpga_out *out = &port->out;

	out->psn = (out->psn + (uint32_t)out->high) & BL_PSN_MASK;
	out->run = run;
	out->size = size;
	out->nr = (size + port->mtu - 1) / port->mtu;
	out->posted = out->next = out->high = out->acked = 0;
	port->rc.progress = tool_now_ns();
}

bool fpga_port_pass(struct fpga_port *port)
{
	int nr;
	bool sent;

	port->now = tool_now_ns();
	nr = wire->poll(port->link, fpga_in_take, port, BUDGET);
	if (!port->options->uc)
		fpga_rc_serve(port);
	sent = fpga_out_push(port);
	wire->flush(port->link);
	return nr > 0 || sent;
}

bool fpga_port_idle(const struct fpga_port *port)
{
	const struct fpga_out *out = &port->out;
	uint64_t all = out->posted * out->nr;

	return out->next == all && (port->options->uc || out->acked == all);
}

void fpga_port_wait(struct fpga_port *port, uint64_t ns)
{
	wire->wait(port->link, ns);
}

const char *fpga_port_why(struct fpga_port *port)
{
	const char *why = wire->path_why(port->path);

	return why ? why : "no answer";
}
