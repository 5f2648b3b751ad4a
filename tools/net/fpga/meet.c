// SPDX-License-Identifier: MIT
#include "net/fpga/meet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "net/cpu.h"
#include "net/forward.h"
#include "net/wire.h"

#define MAX_ITERS (1U << 22)

static int greet(const struct fpga_options *options, int sock)
{
	struct net_hello hello = {.program = NET_FORWARD_ID,
				  .uc = options->uc,
				  .threads = 1,
				  .qps = 1,
				  .imm = options->imm,
				  .iters = options->frames < MAX_ITERS ? options->frames : MAX_ITERS,
				  .nr_sizes = options->nr_sizes};

	for (unsigned int i = 0; i < options->nr_sizes; i++)
		hello.sizes[i] = options->sizes[i];
	return net_send(sock, NET_HELLO, &hello, sizeof(hello), options->timeout_s);
}

/* Receives are posted before the second barrier; the first one says that both ends are connected. */
static int exchange(struct fpga_port *port, int sock)
{
	unsigned int limit = port->options->timeout_s;
	struct net_region region;
	int ret = net_send(sock, NET_PEER, &port->local, sizeof(port->local), limit);

	if (!ret)
		ret = net_recv(sock, NET_PEER, &port->remote, sizeof(port->remote), limit);
	if (!ret)
		ret = fpga_port_connect(port);
	if (!ret)
		ret = net_barrier(sock, limit);
	if (!ret)
		ret = net_recv(sock, NET_REGION, &region, sizeof(region), limit);
	if (!ret && region.len < NET_SLOTS * NET_PAGE)
		ret = tool_fail(EPROTO, "the server's pages are too small");
	if (ret)
		return ret;
	port->to = (struct fpga_target){.addr = region.addr, .key = region.key, .slots = NET_SLOTS, .page = NET_PAGE};
	return net_barrier(sock, limit);
}

int fpga_meet(struct fpga_port *port, int *sock_p)
{
	const struct fpga_options *options = port->options;
	int ret;

	*sock_p = net_connect(options->server, options->port, true, options->timeout_s);
	if (*sock_p < 0) {
		ret = *sock_p;
		*sock_p = -1;
		return ret;
	}
	ret = greet(options, *sock_p);
	return ret ? ret : exchange(port, *sock_p);
}

int fpga_meet_nobody(struct fpga_port *port)
{
	const struct fpga_options *options = port->options;

	memcpy(port->remote.gid, options->to, sizeof(options->to));
	port->remote.qpn = (uint32_t)options->dest_qpn;
	port->remote.psn = options->dest_psn == FPGA_ANY ? 0 : (uint32_t)options->dest_psn;
	port->to = (struct fpga_target){
		.addr = options->raddr, .key = (uint32_t)options->rkey, .slots = options->slots, .page = options->page};
	return fpga_port_connect(port);
}

int fpga_leave(const struct fpga_options *options, int sock, int ret)
{
	char why[512] = "";

	if (sock < 0)
		return 0;
	if (ret < 0) {
		strncat(why, tool_why(), sizeof(why) - 1);
		net_send_error(sock, why);
		shutdown(sock, SHUT_WR);
		close(sock);
		return 0;
	}
	ret = net_send(sock, NET_END, NULL, 0, options->timeout_s);
	if (!ret)
		ret = net_recv(sock, NET_END, NULL, 0, options->timeout_s);
	close(sock);
	return ret;
}
