// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/roce: " fmt
#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "softnic/transport.h"
#include "util/log.h"

/* Where an address comes in the list; the order within a rank is the kernel's. */
enum rank { LINK_LOCAL, IPV6, IPV4, NR_RANKS };

const char *bl_roce_gid_text(const uint8_t gid[BL_ROCE_GID_LEN], char text[BL_ROCE_GID_TEXT])
{
	const char *done = bl_roce_gid_is_ipv4(gid) ? inet_ntop(AF_INET, gid + 12, text, BL_ROCE_GID_TEXT)
						    : inet_ntop(AF_INET6, gid, text, BL_ROCE_GID_TEXT);

	return done ? done : "?";
}

bool bl_roce_gid_is_link_local(const uint8_t gid[BL_ROCE_GID_LEN])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* Return: its rank, or NR_RANKS when it is no address of IP. */
static enum rank gid_of(const struct sockaddr *addr, uint8_t gid[BL_ROCE_GID_LEN])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (addr && addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		bl_roce_gid_from_ipv4(gid, (const uint8_t *)&in.sin_addr);
		return IPV4;
	}
	if (!addr || addr->sa_family != AF_INET6)
		return NR_RANKS;
	memcpy(&in6, addr, sizeof(in6));
	memcpy(gid, &in6.sin6_addr, BL_ROCE_GID_LEN);
	return bl_roce_gid_is_link_local(gid) ? LINK_LOCAL : IPV6;
}

static int get_gids(struct bl_roce_device *device)
{
	struct ifaddrs *list;
	uint8_t gid[BL_ROCE_GID_LEN];

	if (getifaddrs(&list))
		return fail(errno, "interface %s: addresses: %s", device->name, strerror(errno));
	for (int rank = 0; rank < NR_RANKS; rank++) {
		for (const struct ifaddrs *at = list; at && device->nr_gids < BL_ROCE_MAX_GIDS; at = at->ifa_next) {
			if (!strcmp(at->ifa_name, device->name) && (int)gid_of(at->ifa_addr, gid) == rank)
				memcpy(device->gids[device->nr_gids++], gid, sizeof(gid));
		}
	}
	freeifaddrs(list);
	if (!device->nr_gids)
		return fail(EADDRNOTAVAIL, "interface %s: it has no address", device->name);
	return 0;
}

static uint32_t path_mtu_of(uint32_t mtu)
{
	uint32_t payload = BL_ROCE_MAX_PAYLOAD;

	while (payload + BL_ROCE_OVERHEAD > mtu && payload > BL_ROCE_MIN_PAYLOAD)
		payload /= 2;
	return payload;
}

static int get_mtu(struct bl_roce_device *device, int sock, struct ifreq *ifreq)
{
	if (ioctl(sock, SIOCGIFMTU, ifreq))
		return fail(errno, "interface %s: MTU: %s", device->name, strerror(errno));
	device->mtu = (uint32_t)ifreq->ifr_mtu;
	if (device->mtu < BL_ROCE_MIN_PAYLOAD + BL_ROCE_OVERHEAD)
		return fail(EMSGSIZE, "interface %s: MTU %u: packets of %u bytes and their headers take %u",
			    device->name, device->mtu, BL_ROCE_MIN_PAYLOAD, BL_ROCE_MIN_PAYLOAD + BL_ROCE_OVERHEAD);
	device->path_mtu = path_mtu_of(device->mtu);
	return 0;
}

static int get_link(struct bl_roce_device *device, int sock)
{
	struct ifreq ifreq = {.ifr_ifindex = 0};

	memcpy(ifreq.ifr_name, device->name, sizeof(device->name));
	if (ioctl(sock, SIOCGIFINDEX, &ifreq))
		return fail(errno, "interface %s: %s", device->name, strerror(errno));
	device->index = ifreq.ifr_ifindex;
	if (ioctl(sock, SIOCGIFHWADDR, &ifreq))
		return fail(errno, "interface %s: kind: %s", device->name, strerror(errno));
	device->ethernet = ifreq.ifr_hwaddr.sa_family == ARPHRD_ETHER || ifreq.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
	memcpy(device->mac, ifreq.ifr_hwaddr.sa_data, sizeof(device->mac));
	return get_mtu(device, sock, &ifreq);
}

int bl_roce_device_get(int sock, const char *name, struct bl_roce_device *device)
{
	int ret;

	*device = (struct bl_roce_device){.index = 0};
	if (strlen(name) >= sizeof(device->name))
		return fail(ENODEV, "interface %s: its name is too long", name);
	strcpy(device->name, name);
	ret = get_link(device, sock);
	return ret ? ret : get_gids(device);
}

/* The flag IFF_RUNNING of a cable that was cut stays for up to a second. A driver that does not tell has one. */
static bool has_carrier(int sock, const char name[IFNAMSIZ])
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
	struct ifreq ifreq = {.ifr_data = (char *)&link};

	memcpy(ifreq.ifr_name, name, IFNAMSIZ);
	return ioctl(sock, SIOCETHTOOL, &ifreq) || link.data;
}

const char *bl_roce_interface_flaw(int sock, const char name[IFNAMSIZ])
{
	struct ifreq ifreq = {.ifr_ifindex = 0};

	memcpy(ifreq.ifr_name, name, IFNAMSIZ);
	if (ioctl(sock, SIOCGIFFLAGS, &ifreq))
		return "is gone";
	if (!(ifreq.ifr_flags & IFF_UP))
		return "is down";
	return ifreq.ifr_flags & IFF_RUNNING && has_carrier(sock, name) ? NULL : "has no carrier";
}

int bl_roce_loopback(int sock)
{
	struct ifreq ifreq = {.ifr_name = "lo"};

	return ioctl(sock, SIOCGIFINDEX, &ifreq) ? 0 : ifreq.ifr_ifindex;
}

/* An interface has as many entries as addresses, and more. */
static bool is_listed(char names[][IF_NAMESIZE], size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

size_t bl_snic_roce_interfaces(char names[][IF_NAMESIZE], size_t nr)
{
	uint8_t gid[BL_ROCE_GID_LEN];
	struct ifaddrs *list;
	size_t found = 0;

	if (getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *at = list; at && found < nr; at = at->ifa_next) {
		if (!(at->ifa_flags & IFF_UP) || gid_of(at->ifa_addr, gid) == NR_RANKS ||
		    is_listed(names, found, at->ifa_name))
			continue;
		snprintf(names[found++], IF_NAMESIZE, "%s", at->ifa_name);
	}
	freeifaddrs(list);
	return found;
}
