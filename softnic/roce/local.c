// SPDX-License-Identifier: MIT
/* Own addresses, and the sockets that make them usable. */
#define log_fmt(fmt) "snic/roce: " fmt
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "link.h"
#include "util/log.h"

/* Where packets come from: the same for all, so that a network keeps their order, and of the customary range. */
#define FIRST_SPORT 0xc000
#define NR_SPORTS   0x4000
#define SPORT_TRIES 64

#define BUFFER (4 << 20)

static socklen_t address_of(const struct bl_snic_link *link, const struct bl_roce_local *local, uint16_t port,
			    union bl_roce_address *addr)
{
	const uint8_t *gid = bl_roce_local_gid(link, local);

	memset(addr, 0, sizeof(*addr));
	if (bl_roce_gid_is_ipv4(gid)) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = htons(port);
		memcpy(&addr->in.sin_addr, gid + 12, 4);
		return sizeof(addr->in);
	}
	addr->in6.sin6_family = AF_INET6;
	addr->in6.sin6_port = htons(port);
	memcpy(&addr->in6.sin6_addr, gid, BL_ROCE_GID_LEN);
	if (bl_roce_gid_is_link_local(gid))
		addr->in6.sin6_scope_id = (uint32_t)link->device.index;
	return sizeof(addr->in6);
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/* What the network says of packets comes to the socket, and none of them is cut into pieces. */
static int prepare(int fd, bool ipv4)
{
	if (ipv4)
		return set(fd, IPPROTO_IP, IP_RECVERR, 1) || set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	/* others send without a checksum, as the ICRC is one */
	return set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) || set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) ||
	       set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) ||
	       set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

static int udp_socket(bool ipv4)
{
	int fd, ret;

	fd = BL_ROCE_OWN(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (fd >= 0 && prepare(fd, ipv4)) {
		ret = -errno;
		bl_shm_fd_close(fd);
		return ret;
	}
	return fd;
}

/* Nothing is to be received: the port is there, and that is all. */
static int deafen(int fd)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {.len = 1, .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static void enlarge(int fd)
{
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER))
		set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
	if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER))
		set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER);
}

static int open_port(struct bl_snic_link *link, struct bl_roce_local *local)
{
	union bl_roce_address addr;
	socklen_t len = address_of(link, local, BL_ROCE_UDP_PORT, &addr);

	local->port = udp_socket(addr.any.sa_family == AF_INET);
	if (local->port < 0)
		return local->port;
	/* others of this user may keep it too; what is for whom, the packet sockets know */
	if (link->packet && (deafen(local->port) || set(local->port, SOL_SOCKET, SO_REUSEPORT, 1)))
		return -errno;
	if (!link->packet)
		enlarge(local->port);
	return bind(local->port, &addr.any, len) ? -errno : 0;
}

/* A port by chance, so that a NIC that comes later does not get what was meant for an earlier one. */
static int open_errors(struct bl_snic_link *link, struct bl_roce_local *local)
{
	union bl_roce_address addr;
	uint16_t number;
	socklen_t len;

	local->errors = udp_socket(bl_roce_gid_is_ipv4(bl_roce_local_gid(link, local)));
	if (local->errors < 0)
		return local->errors;
	(void)deafen(local->errors);
	for (int i = 0; i < SPORT_TRIES; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		local->sport = (uint16_t)(FIRST_SPORT + number % NR_SPORTS);
		len = address_of(link, local, local->sport, &addr);
		if (!bind(local->errors, &addr.any, len))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

static int claim(struct bl_snic_link *link, struct bl_roce_local *local)
{
	char text[BL_ROCE_GID_TEXT];
	int ret = open_port(link, local);

	local->sport = BL_ROCE_UDP_PORT;
	if (!ret && link->packet)
		ret = open_errors(link, local);
	if (!ret)
		return 0;
	bl_roce_gid_text(bl_roce_local_gid(link, local), text);
	if (ret == -EADDRINUSE)
		return fail(EADDRINUSE,
			    "%s: address %s: UDP port %u is another process's, or rdma_rxe's; another address of %s can "
			    "be chosen by its GID index",
			    link->name, text, BL_ROCE_UDP_PORT, link->device.name);
	if (ret == -EADDRNOTAVAIL)
		return fail(EADDRNOTAVAIL, "%s: address %s: the interface does not have it (yet, or any more)",
			    link->name, text);
	return fail(-ret, "%s: address %s: UDP port %u: %s", link->name, text, BL_ROCE_UDP_PORT, strerror(-ret));
}

int bl_roce_local_claim(struct bl_snic_link *link, struct bl_roce_local *local, bool loopback)
{
	struct bl_roce_ring_attr attr = {
		.index = link->device.index,
		.gid = bl_roce_local_gid(link, local),
		.share = link->share,
		.payload = link->device.path_mtu,
	};
	int ret = 0;

	if (!local->claimed)
		ret = claim(link, local);
	if (!ret && !local->claimed && link->packet)
		ret = bl_roce_ring_open(&local->rings[0], &attr);
	if (ret) {
		if (!local->claimed)
			bl_roce_local_release(local);
		return ret;
	}
	local->claimed = true;
	attr.index = bl_roce_loopback(link->control);
	if (!loopback || !link->packet || local->rings[1].fd >= 0 || attr.index == link->device.index)
		return 0;
	return bl_roce_ring_open(&local->rings[1], &attr);
}

void bl_roce_local_release(struct bl_roce_local *local)
{
	for (int i = 0; i < 2; i++)
		bl_roce_ring_close(&local->rings[i]);
	bl_shm_fd_close(local->port);
	bl_shm_fd_close(local->errors);
	local->port = local->errors = -1;
	local->claimed = false;
}

void bl_roce_local_forget(struct bl_roce_local *local)
{
	for (int i = 0; i < 2; i++)
		bl_roce_ring_forget(&local->rings[i]);
	bl_shm_fd_forget(local->port);
	bl_shm_fd_forget(local->errors);
}
