// SPDX-License-Identifier: MIT
#include "rtnl.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REPLY_MS 500 /* the kernel answers at once, or not at all */
#define MAX_MORE 4096 /* messages of one answer, each of many entries */

struct request {
	struct nlmsghdr head;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
	};
	uint8_t attrs[128];
};

/* What goes through an answer: not 0 to end. */
typedef int message_fn(const struct nlmsghdr *head, void *arg);

int bl_roce_rtnl_open(void)
{
	struct timeval limit = {.tv_usec = REPLY_MS * 1000L};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* or the kernel sends every entry of a dump, whatever was asked for; old ones do so in any case */
	setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	return fd;
}

static void add(struct request *request, unsigned short type, const void *data, size_t len)
{
	size_t at = NLMSG_ALIGN(request->head.nlmsg_len);
	struct rtattr attr = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(len)};

	memcpy((char *)request + at, &attr, sizeof(attr));
	memcpy((char *)request + at + RTA_LENGTH(0), data, len);
	request->head.nlmsg_len = (uint32_t)(at + RTA_ALIGN(attr.rta_len));
}

static void add_gid(struct request *request, unsigned short type, const uint8_t gid[BL_ROCE_GID_LEN])
{
	if (bl_roce_gid_is_ipv4(gid))
		add(request, type, gid + 12, 4);
	else
		add(request, type, gid, 16);
}

static uint8_t family_of(const uint8_t gid[BL_ROCE_GID_LEN])
{
	return bl_roce_gid_is_ipv4(gid) ? AF_INET : AF_INET6;
}

static int error_of(const struct nlmsghdr *head)
{
	struct nlmsgerr error;

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(error.error)))
		return -EPROTO;
	memcpy(&error.error, NLMSG_DATA(head), sizeof(error.error));
	return error.error ? error.error : -ENOENT;
}

/* Return: 1: there is more to come, or what @fn says, or -errno. */
static int take(const char *bytes, size_t len, uint32_t seq, message_fn *fn, void *arg)
{
	const struct nlmsghdr *head = (const void *)bytes;
	bool multi = true;
	int ret;

	for (; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
		if (head->nlmsg_seq != seq)
			continue;
		if (head->nlmsg_type == NLMSG_ERROR)
			return error_of(head);
		if (head->nlmsg_type == NLMSG_DONE)
			return -ENOENT;
		ret = fn(head, arg);
		if (ret)
			return ret < 0 ? ret : 0;
		multi = head->nlmsg_flags & NLM_F_MULTI;
	}
	return multi ? 1 : -ENOENT;
}

/* Return: 0: @fn has found what it wants; -ENOENT: it has not; other -errno. */
static int ask(int fd, struct request *request, message_fn *fn, void *arg)
{
	static _Atomic(uint32_t) last_seq;
	_Alignas(struct nlmsghdr) char answer[16384];
	ssize_t len;
	int ret = 1;

	request->head.nlmsg_seq = ++last_seq;
	if (send(fd, request, request->head.nlmsg_len, 0) < 0)
		return -errno;
	for (int i = 0; ret == 1 && i < MAX_MORE; i++) {
		len = recv(fd, answer, sizeof(answer), 0);
		if (len < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		ret = take(answer, (size_t)len, request->head.nlmsg_seq, fn, arg);
	}
	return ret == 1 ? -EPROTO : ret;
}

/* Bytes of an attribute, @len of them; NULL: there is none of that type and length. */
static const void *find(const struct nlmsghdr *head, size_t skip, unsigned short type, size_t len)
{
	size_t at = NLMSG_LENGTH(NLMSG_ALIGN(skip));
	struct rtattr attr;

	for (; at + sizeof(attr) <= head->nlmsg_len; at += RTA_ALIGN(attr.rta_len)) {
		memcpy(&attr, (const char *)head + at, sizeof(attr));
		if (attr.rta_len < RTA_LENGTH(0) || at + attr.rta_len > head->nlmsg_len)
			return NULL;
		if (attr.rta_type == type && attr.rta_len == RTA_LENGTH(len))
			return (const char *)head + at + RTA_LENGTH(0);
	}
	return NULL;
}

static void get_gid(uint8_t gid[BL_ROCE_GID_LEN], uint8_t family, const uint8_t *bytes)
{
	if (family == AF_INET)
		bl_roce_gid_from_ipv4(gid, bytes);
	else
		memcpy(gid, bytes, BL_ROCE_GID_LEN);
}

static int take_route(const struct nlmsghdr *head, void *arg)
{
	struct bl_roce_hop *hop = arg;
	struct rtmsg route;
	const void *gateway, *index;

	if (head->nlmsg_type != RTM_NEWROUTE || head->nlmsg_len < NLMSG_LENGTH(sizeof(route)))
		return -EPROTO;
	memcpy(&route, NLMSG_DATA(head), sizeof(route));
	if (route.rtm_type != RTN_UNICAST && route.rtm_type != RTN_LOCAL)
		return -ENETUNREACH;
	hop->local = route.rtm_type == RTN_LOCAL;
	gateway = find(head, sizeof(route), RTA_GATEWAY, route.rtm_family == AF_INET ? 4 : 16);
	index = find(head, sizeof(route), RTA_OIF, sizeof(hop->index));
	if (index)
		memcpy(&hop->index, index, sizeof(hop->index));
	hop->gateway = gateway != NULL;
	if (gateway)
		get_gid(hop->gid, route.rtm_family, gateway);
	return 1;
}

int bl_roce_rtnl_route(int fd, const uint8_t src[BL_ROCE_GID_LEN], const uint8_t dst[BL_ROCE_GID_LEN], int index,
		       struct bl_roce_hop *hop)
{
	uint8_t bits = bl_roce_gid_is_ipv4(dst) ? 32 : 128;
	struct request request = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = family_of(dst), .rtm_dst_len = bits, .rtm_src_len = bits},
	};
	int ret;

	*hop = (struct bl_roce_hop){.index = index};
	memcpy(hop->gid, dst, sizeof(hop->gid));
	add_gid(&request, RTA_DST, dst);
	add_gid(&request, RTA_SRC, src);
	if (index)
		add(&request, RTA_OIF, &index, sizeof(index));
	ret = ask(fd, &request, take_route, hop);
	return ret == -ENOENT ? -ENETUNREACH : ret;
}

/* @gid, @index: of whom; the rest: what was found. The dump is taken to its end: none may follow before that. */
struct neighbour {
	const uint8_t *gid;
	int index;
	bool found;
	uint16_t state;
	uint8_t mac[6];
};

static int take_neighbour(const struct nlmsghdr *head, void *arg)
{
	struct neighbour *wanted = arg;
	uint8_t gid[BL_ROCE_GID_LEN];
	const void *addr, *mac;
	struct ndmsg ndmsg;

	if (head->nlmsg_type != RTM_NEWNEIGH || head->nlmsg_len < NLMSG_LENGTH(sizeof(ndmsg)))
		return 0;
	memcpy(&ndmsg, NLMSG_DATA(head), sizeof(ndmsg));
	if (ndmsg.ndm_ifindex != wanted->index || ndmsg.ndm_family != family_of(wanted->gid))
		return 0;
	addr = find(head, sizeof(ndmsg), NDA_DST, ndmsg.ndm_family == AF_INET ? 4 : 16);
	if (!addr)
		return 0;
	get_gid(gid, ndmsg.ndm_family, addr);
	if (memcmp(gid, wanted->gid, sizeof(gid)) != 0)
		return 0;
	wanted->found = true;
	wanted->state = ndmsg.ndm_state;
	mac = find(head, sizeof(ndmsg), NDA_LLADDR, sizeof(wanted->mac));
	if (mac)
		memcpy(wanted->mac, mac, sizeof(wanted->mac));
	else
		wanted->state &= NUD_FAILED;
	return 0;
}

int bl_roce_rtnl_neighbour(int fd, const uint8_t gid[BL_ROCE_GID_LEN], int index, uint8_t mac[6])
{
	struct request request = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)), .nlmsg_type = RTM_GETNEIGH,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.neighbour = {.ndm_family = family_of(gid)},
	};
	struct neighbour neighbour = {.gid = gid, .index = index};
	uint32_t filter = (uint32_t)index;
	int ret;

	add(&request, NDA_IFINDEX, &filter, sizeof(filter));
	ret = ask(fd, &request, take_neighbour, &neighbour);
	if (ret != -ENOENT)
		return ret ? ret : -EPROTO;
	if (!neighbour.found)
		return -EAGAIN;
	if (neighbour.state & NUD_FAILED)
		return -EHOSTUNREACH;
	if (!(neighbour.state & (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)))
		return -EAGAIN;
	memcpy(mac, neighbour.mac, sizeof(neighbour.mac));
	return 0;
}
