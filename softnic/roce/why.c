// SPDX-License-Identifier: MIT
/* Why a peer may not answer: what this host and the network say. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "link.h"

#define MAX_ERRORS 64		  /* read from a socket at once */
#define FRESH_NS   10000000000ULL /* after which an error may have other causes than the next silence */

void bl_roce_path_error(struct bl_snic_path *path, int err)
{
	path->error = err;
	path->error_at = bl_roce_tick();
}

static void say_error(struct bl_snic_path *path)
{
	char text[BL_ROCE_GID_TEXT];

	bl_roce_gid_text(path->flow.dst, text);
	switch (path->error) {
	case ECONNREFUSED:
		snprintf(path->why, sizeof(path->why), "no NIC is open at %s (or a firewall)", text);
		break;
	case EMSGSIZE:
		snprintf(path->why, sizeof(path->why), "payloads of %u bytes are too long for the way", path->largest);
		break;
	case EACCES:
	case EPERM:
		snprintf(path->why, sizeof(path->why), "a firewall refuses packets to %s", text);
		break;
	case EINVAL: /* what the kernel says of such a route */
		snprintf(path->why, sizeof(path->why), "a route drops packets to %s", text);
		break;
	default:
		snprintf(path->why, sizeof(path->why), "%s: %s", text, strerror(path->error));
	}
}

const char *bl_roce_path_flaw(struct bl_snic_path *path)
{
	const struct bl_snic_link *link = path->link;
	const char *flaw = path->hop.local ? NULL : bl_roce_interface_flaw(link->control, link->device.name);

	if (!flaw)
		return NULL;
	snprintf(path->why, sizeof(path->why), "interface %s %s", link->device.name, flaw);
	return path->why;
}

const char *bl_roce_path_why(struct bl_snic_path *path)
{
	const struct bl_snic_link *link = path->link;
	char text[BL_ROCE_GID_TEXT];

	bl_roce_hear_errors(path->link);
	/* with the next time-out: a host refuses an ordinary datagram, but not one of IPv6 that has no checksum */
	if (link->packet)
		bl_roce_probe(path, BL_ROCE_UDP_PORT);
	if (bl_roce_path_flaw(path))
		return path->why;
	if (!path->ready)
		snprintf(path->why, sizeof(path->why), "%s does not answer neighbour requests",
			 bl_roce_gid_text(path->hop.gid, text));
	else if (path->error && bl_roce_tick() - path->error_at < FRESH_NS)
		say_error(path);
	else
		snprintf(path->why, sizeof(path->why), "no answer from %s to payloads of %u bytes",
			 bl_roce_gid_text(path->flow.dst, text), path->largest);
	return path->why;
}

static bool gid_of(const union bl_roce_address *addr, uint8_t gid[BL_ROCE_GID_LEN])
{
	if (addr->any.sa_family == AF_INET)
		bl_roce_gid_from_ipv4(gid, (const uint8_t *)&addr->in.sin_addr);
	else if (addr->any.sa_family == AF_INET6)
		memcpy(gid, &addr->in6.sin6_addr, BL_ROCE_GID_LEN);
	else
		return false;
	return true;
}

/* @by_us: this host says so itself: unless the peer is here, that is no closed port but a rule of a firewall. */
static void tell(struct bl_snic_link *link, const struct bl_roce_local *local, const union bl_roce_address *to, int err,
		 bool by_us)
{
	uint8_t gid[BL_ROCE_GID_LEN];

	/* that nobody takes what was sent to have a neighbour asked for says nothing */
	if (!gid_of(to, gid) || (err == ECONNREFUSED && to->in.sin_port != htons(BL_ROCE_UDP_PORT)))
		return;
	for (struct bl_snic_path *path = link->paths; path; path = path->next) {
		if (path->local == local && !memcmp(path->flow.dst, gid, sizeof(gid)))
			bl_roce_path_error(path, by_us && err == ECONNREFUSED && !path->hop.local ? EACCES : err);
	}
}

static bool is_from(const struct bl_snic_link *link, const struct bl_roce_local *local,
		    const union bl_roce_address *offender)
{
	uint8_t gid[BL_ROCE_GID_LEN];

	return gid_of(offender, gid) && !memcmp(gid, bl_roce_local_gid(link, local), sizeof(gid));
}

/* A router or host that says "administratively prohibited", of a net, a host or all; Linux takes it for no route. */
static bool is_filtered(const struct sock_extended_err *error)
{
	return error->ee_origin == SO_EE_ORIGIN_ICMP && error->ee_type == ICMP_DEST_UNREACH &&
	       (error->ee_code == ICMP_PKT_FILTERED || error->ee_code == ICMP_NET_ANO || error->ee_code == ICMP_HOST_ANO);
}

/* One message of the error queue. Return: whether there was one. */
static bool hear(struct bl_snic_link *link, const struct bl_roce_local *local, int fd)
{
	_Alignas(struct cmsghdr) char control[512];
	union bl_roce_address to = {.any = {.sa_family = AF_UNSPEC}};
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	union bl_roce_address offender;
	struct sock_extended_err error;
	size_t len;

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&msg); at; at = CMSG_NXTHDR(&msg, at)) {
		bool is_error = (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
				(at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR);

		if (!is_error || at->cmsg_len < CMSG_LEN(sizeof(error)))
			continue;
		memcpy(&error, CMSG_DATA(at), sizeof(error));
		/* who says so comes behind it */
		offender = (union bl_roce_address){.any = {.sa_family = AF_UNSPEC}};
		len = at->cmsg_len - CMSG_LEN(sizeof(error));
		memcpy(&offender, CMSG_DATA(at) + sizeof(error), len < sizeof(offender) ? len : sizeof(offender));
		tell(link, local, &to, is_filtered(&error) ? EACCES : (int)error.ee_errno,
		     is_from(link, local, &offender));
	}
	return true;
}

void bl_roce_hear_errors(struct bl_snic_link *link)
{
	for (unsigned int i = 0; i < link->device.nr_gids; i++) {
		struct bl_roce_local *local = &link->locals[i];

		if (!local->claimed)
			continue;
		for (int n = 0; n < MAX_ERRORS && hear(link, local, link->packet ? local->errors : local->port); n++)
			;
	}
}
