// SPDX-License-Identifier: MIT
/*
 * What the network says of packets to a peer: the device does not tell, but the kernel tells an ordinary socket. A whole
 * packet is sent there, an acknowledgement for a queue pair that nobody has: some receivers die of datagrams that are none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "softnic/roce/crc.h"
#include "softnic/roce/device.h"
#include "softnic/roce/frame.h"

/* Long enough for an answer of a host next door, and short enough for the other queue pairs of the device. */
#define ANSWER_MS 10

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t fill_address(union address *address, const uint8_t gid[BL_ROCE_GID_LEN], uint16_t port, int interface)
{
	memset(address, 0, sizeof(*address));
	if (bl_roce_gid_is_ipv4(gid)) {
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons(port);
		memcpy(&address->in.sin_addr, gid + 12, 4);
		return sizeof(address->in);
	}
	address->in6.sin6_family = AF_INET6;
	address->in6.sin6_port = htons(port);
	memcpy(&address->in6.sin6_addr, gid, BL_ROCE_GID_LEN);
	address->in6.sin6_scope_id = bl_roce_gid_is_link_local(gid) ? (uint32_t)interface : 0;
	return sizeof(address->in6);
}

/*
 * From this side's address, and it hears of what networks answer. The ICRC covers the port.
 * Return: a socket, -errno
 */
static int open_socket(const struct bl_carrier *carrier, uint16_t *port_p)
{
	union address address;
	socklen_t len = fill_address(&address, carrier->sgid, 0, carrier->interface);
	int sock = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, ret;

	if (sock < 0)
		return -errno;
	if (address.any.sa_family == AF_INET)
		ret = setsockopt(sock, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
	else
		ret = setsockopt(sock, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof(one));
	if (ret || bind(sock, &address.any, len) || getsockname(sock, &address.any, &len)) {
		ret = -errno;
		close(sock);
		return ret;
	}
	*port_p = ntohs(address.any.sa_family == AF_INET ? address.in.sin_port : address.in6.sin6_port);
	return sock;
}

/* Return: 0, or what the kernel or the network has against it, -errno. */
static int ask(const struct bl_carrier *carrier, int sock, uint16_t port)
{
	const struct bl_packet packet = { .opcode = BL_PKT_ACK, .syndrome = BL_AETH_ACK };
	uint8_t room[BL_ROCE_HEAD_ROOM + BL_ROCE_TAIL_ROOM];
	struct pollfd pfd = { .fd = sock };
	struct bl_roce_flow flow = { .sport = port, .hop_limit = 64 };
	union address to;
	size_t len, wrap = bl_roce_wrap_len(carrier->sgid);
	socklen_t to_len = fill_address(&to, carrier->dest_gid, BL_ROCE_UDP_PORT, carrier->interface), size = sizeof(int);
	const uint8_t *frame;
	int err = 0;

	bl_roce_crc_begin();
	memcpy(flow.src, carrier->sgid, sizeof(flow.src));
	memcpy(flow.dst, carrier->dest_gid, sizeof(flow.dst));
	frame = bl_roce_frame_put(&flow, &packet, room + BL_ROCE_HEAD_ROOM, &len);
	if (sendto(sock, frame + wrap, len - wrap, MSG_NOSIGNAL, &to.any, to_len) < 0)
		return -errno;
	if (poll(&pfd, 1, ANSWER_MS) > 0 && !getsockopt(sock, SOL_SOCKET, SO_ERROR, &err, &size))
		return -err;
	return 0;
}

const char *bl_ibv_ask_network(struct bl_carrier *carrier)
{
	static const uint8_t none[BL_ROCE_GID_LEN];
	char own[BL_ROCE_GID_TEXT];
	uint16_t port = 0;
	int sock, ret;

	/* an address that is no interface's of this host cannot be sent from */
	if (!carrier->interface || !memcmp(carrier->sgid, none, sizeof(none)))
		return NULL;
	if (bl_roce_gid_is_ipv4(carrier->sgid) != bl_roce_gid_is_ipv4(carrier->dest_gid))
		return NULL;
	sock = open_socket(carrier, &port);
	if (sock == -EADDRNOTAVAIL) {
		snprintf(carrier->network, sizeof(carrier->network), "address %s is not this host's any more",
			 bl_roce_gid_text(carrier->sgid, own));
		return carrier->network;
	}
	if (sock < 0)
		return NULL;
	ret = ask(carrier, sock, port);
	close(sock);
	switch (-ret) {
	case 0:
	case EAGAIN:
	case ENOBUFS:
		return NULL;
	case EPERM:
	case EACCES:
		snprintf(carrier->network, sizeof(carrier->network), "a firewall refuses packets to %s", carrier->peer);
		break;
	case ECONNREFUSED:
		snprintf(carrier->network, sizeof(carrier->network), "no NIC is open at %s (or a firewall)",
			 carrier->peer);
		break;
	case EINVAL: /* what the kernel says of such a route */
		snprintf(carrier->network, sizeof(carrier->network), "a route drops packets to %s", carrier->peer);
		break;
	default:
		snprintf(carrier->network, sizeof(carrier->network), "to %s: %s", carrier->peer, strerror(-ret));
	}
	return carrier->network;
}
