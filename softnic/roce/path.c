// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/roce: " fmt
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "util/log.h"

#define HOP_LIMIT 64

static int same_family(const struct bl_snic_link *link, const uint8_t *src, const uint8_t *dst)
{
	char text[2][BL_ROCE_GID_TEXT];

	if (bl_roce_gid_is_ipv4(src) == bl_roce_gid_is_ipv4(dst))
		return 0;
	return fail(EAFNOSUPPORT, "%s: from %s to %s: one is IPv4 and one IPv6; another GID index is needed", link->name,
		    bl_roce_gid_text(src, text[0]), bl_roce_gid_text(dst, text[1]));
}

static bool is_own(const struct bl_snic_link *link, const uint8_t gid[BL_ROCE_GID_LEN])
{
	for (unsigned int i = 0; i < link->device.nr_gids; i++) {
		if (!memcmp(link->device.gids[i], gid, BL_ROCE_GID_LEN))
			return true;
	}
	return false;
}

/* Addresses of this host are reached by the loopback interface, whichever interface has them. */
static int find_hop(struct bl_snic_link *link, struct bl_snic_path *path)
{
	const uint8_t *src = path->flow.src, *dst = path->flow.dst;
	struct bl_roce_hop *hop = &path->hop;
	char text[BL_ROCE_GID_TEXT];
	int ret = 0;

	*hop = (struct bl_roce_hop){.local = is_own(link, dst)};
	/* first by any interface: of one that is named, IPv4 takes all to be neighbours that it knows no route to */
	if (!hop->local && !bl_roce_gid_is_link_local(dst))
		ret = bl_roce_rtnl_route(link->rtnl, src, dst, 0, hop);
	if (!ret && !hop->local && hop->index != link->device.index)
		ret = bl_roce_rtnl_route(link->rtnl, src, dst, link->device.index, hop);
	if (ret)
		return fail(-ret, "%s: no route to %s by interface %s: %s", link->name, bl_roce_gid_text(dst, text),
			    link->device.name, strerror(-ret));
	if (!hop->local)
		return 0;
	hop->index = bl_roce_loopback(link->control);
	return hop->index ? 0 : fail(ENODEV, "%s: no loopback interface, and %s is an own address", link->name,
				     bl_roce_gid_text(dst, text));
}

static void fill_packet(struct bl_snic_path *path)
{
	uint16_t type = htons(bl_roce_gid_is_ipv4(path->flow.dst) ? ETH_P_IP : ETH_P_IPV6);

	path->to.ll = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = type,
		.sll_ifindex = path->hop.index,
		.sll_halen = BL_ROCE_MAC_LEN,
	};
	path->to_len = sizeof(path->to.ll);
	memset(path->header, 0, sizeof(path->header));
	memcpy(path->header + 2 * BL_ROCE_MAC_LEN, &type, sizeof(type));
	if (!path->hop.local)
		memcpy(path->header + BL_ROCE_MAC_LEN, path->link->device.mac, BL_ROCE_MAC_LEN);
	path->ready = path->hop.local;
}

static void put_control(struct cmsghdr *at, int level, int type, int value)
{
	at->cmsg_level = level;
	at->cmsg_type = type;
	at->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(at), &value, sizeof(value));
}

static void fill_udp(struct bl_snic_path *path)
{
	bool ipv4 = bl_roce_gid_is_ipv4(path->flow.dst);
	struct msghdr msg = {.msg_control = path->control.bytes, .msg_controllen = sizeof(path->control.bytes)};
	struct cmsghdr *first = CMSG_FIRSTHDR(&msg);

	memset(path->control.bytes, 0, sizeof(path->control.bytes));
	put_control(first, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT, path->flow.hop_limit);
	put_control(CMSG_NXTHDR(&msg, first), ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
		    path->flow.traffic_class);
	if (ipv4) {
		path->to.in.sin_family = AF_INET;
		path->to.in.sin_port = htons(BL_ROCE_UDP_PORT);
		memcpy(&path->to.in.sin_addr, path->flow.dst + 12, 4);
		path->to_len = sizeof(path->to.in);
	} else {
		path->to.in6.sin6_family = AF_INET6;
		path->to.in6.sin6_port = htons(BL_ROCE_UDP_PORT);
		memcpy(&path->to.in6.sin6_addr, path->flow.dst, BL_ROCE_GID_LEN);
		if (bl_roce_gid_is_link_local(path->flow.dst))
			path->to.in6.sin6_scope_id = (uint32_t)path->link->device.index;
		path->to_len = sizeof(path->to.in6);
	}
	path->ready = true;
}

static int make(struct bl_snic_link *link, struct bl_snic_path *path)
{
	int ret = 0;

	if (link->packet)
		ret = find_hop(link, path);
	if (!ret)
		ret = bl_roce_local_claim(link, path->local, path->hop.local);
	if (ret)
		return ret;
	path->flow.sport = path->local->sport;
	if (link->packet)
		fill_packet(path);
	else
		fill_udp(path);
	/* if the kernel does not know the neighbour, it begins to ask now */
	bl_roce_path_is_ready(path);
	return 0;
}

static struct bl_snic_path *find(struct bl_snic_link *link, const struct bl_snic_way *way, uint8_t hop_limit)
{
	struct bl_snic_path *path = link->paths;

	while (path && (path->local->index != way->sgid_index || path->flow.hop_limit != hop_limit ||
			path->flow.traffic_class != way->traffic_class ||
			memcmp(path->flow.dst, way->gid, BL_ROCE_GID_LEN) != 0))
		path = path->next;
	return path;
}

int bl_roce_way_open(struct bl_snic_link *link, const struct bl_snic_way *way, struct bl_snic_path **path_p)
{
	uint8_t hop_limit = way->hop_limit ? way->hop_limit : HOP_LIMIT;
	struct bl_snic_path *path;
	int ret;

	if (way->sgid_index >= link->device.nr_gids)
		return fail(EINVAL, "%s: GID index %u: there are %u", link->name, way->sgid_index, link->device.nr_gids);
	path = find(link, way, hop_limit);
	if (path) {
		path->refs++;
		*path_p = path;
		return 0;
	}
	ret = same_family(link, link->device.gids[way->sgid_index], way->gid);
	if (ret)
		return ret;
	path = calloc(1, sizeof(*path));
	if (!path)
		return fail(ENOMEM, "%s: path: out of memory", link->name);
	path->link = link;
	path->local = &link->locals[way->sgid_index];
	path->refs = 1;
	path->flow.hop_limit = hop_limit;
	path->flow.traffic_class = way->traffic_class;
	memcpy(path->flow.src, link->device.gids[way->sgid_index], BL_ROCE_GID_LEN);
	memcpy(path->flow.dst, way->gid, BL_ROCE_GID_LEN);
	ret = make(link, path);
	if (ret) {
		free(path);
		return ret;
	}
	path->next = link->paths;
	link->paths = path;
	*path_p = path;
	return 0;
}

int bl_roce_path_open(struct bl_snic_link *link, const uint8_t gid[BL_ROCE_GID_LEN], struct bl_snic_path **path_p)
{
	struct bl_snic_way way = {.sgid_index = 0};

	memcpy(way.gid, gid, sizeof(way.gid));
	return bl_roce_way_open(link, &way, path_p);
}

void bl_roce_path_close(struct bl_snic_path *path)
{
	struct bl_snic_path **place = &path->link->paths;

	if (--path->refs)
		return;
	bl_roce_flush(path->link);
	bl_roce_send_drop(path);
	while (*place != path)
		place = &(*place)->next;
	*place = path->next;
	free(path);
}
