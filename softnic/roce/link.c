// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/roce: " fmt
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "crc.h"
#include "share.h"
#include "softnic/snic.h"
#include "util/log.h"

#define PREFIX "soft_"

/* Packets of a queue pair under way: what a receiver has room for, or is likely to have. */
#define PACKET_WINDOW 128
#define UDP_WINDOW    32

uint64_t bl_roce_tick(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* Whether packet sockets are wanted; -EINVAL. */
static int wants_packet(void)
{
	const char *text = getenv("BARLANE_SNIC_WIRE");

	if (!text || !*text || !strcmp(text, "auto") || !strcmp(text, "packet"))
		return 1;
	if (!strcmp(text, "udp"))
		return 0;
	return fail(EINVAL, "BARLANE_SNIC_WIRE %s: none of auto, packet and udp", text);
}

static bool must_be_packet(void)
{
	const char *text = getenv("BARLANE_SNIC_WIRE");

	return text && !strcmp(text, "packet");
}

/* Packet sockets if they are allowed and the interface speaks Ethernet, else UDP sockets. */
static int choose(struct bl_snic_link *link)
{
	int wanted = wants_packet(), fd = -EOPNOTSUPP;

	if (wanted < 0)
		return wanted;
	if (wanted && link->device.ethernet)
		fd = BL_ROCE_OWN(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0 && must_be_packet())
		return fail(-fd, "%s: packet socket: %s", link->name, strerror(-fd));
	link->packet = fd >= 0;
	link->tx = fd >= 0 ? fd : -1;
	log_info("%s: interface %s, path MTU %u, by %s", link->name, link->device.name, link->device.path_mtu,
		 link->packet	    ? "packet sockets" :
		 !wanted	    ? "UDP sockets (BARLANE_SNIC_WIRE)" :
		 fd == -EOPNOTSUPP  ? "UDP sockets: it does not speak Ethernet" :
				      "UDP sockets: packet sockets need CAP_NET_RAW");
	return 0;
}

/* Where a kernel does not know the option, long frames go as the others do. */
static int open_long(struct bl_snic_link *link)
{
	int one = 1;

	if (link->device.path_mtu < BL_ROCE_LONG_FRAME)
		return 0;
	link->tx_long = BL_ROCE_OWN(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (link->tx_long < 0)
		return fail(-link->tx_long, "%s: packet socket: %s", link->name, strerror(-link->tx_long));
	if (setsockopt(link->tx_long, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one))) {
		bl_shm_fd_close(link->tx_long);
		link->tx_long = -1;
	}
	return 0;
}

static int open_control(struct bl_snic_link *link)
{
	link->control = BL_ROCE_OWN(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (link->control < 0)
		return fail(-link->control, "%s: socket: %s", link->name, strerror(-link->control));
	return 0;
}

/* The upper bits of queue pairs' numbers that are asked for; -1: any; -EINVAL. */
static int wanted_share(void)
{
	const char *text = getenv("BARLANE_SNIC_SHARE");
	unsigned long value;
	char *end;

	if (!text || !*text)
		return -1;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || value > UINT8_MAX)
		return fail(EINVAL, "BARLANE_SNIC_SHARE %s: no number from 0 to 255", text);
	return (int)value;
}

static int take_share(struct bl_snic_link *link)
{
	int wanted = wanted_share();

	if (wanted == -EINVAL)
		return wanted;
	link->shared = BL_ROCE_OWN(bl_roce_share_take(wanted, &link->share));
	if (link->shared >= 0)
		return 0;
	if (wanted >= 0)
		return fail(-link->shared, "%s: numbers of queue pairs with upper bits %d (BARLANE_SNIC_SHARE): %s", link->name,
			    wanted, strerror(-link->shared));
	return fail(-link->shared, "%s: numbers of queue pairs of its own, of 255 shares: %s", link->name,
		    strerror(-link->shared));
}

static int open_fds(struct bl_snic_link *link)
{
	int ret;

	link->bell = BL_ROCE_OWN(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	if (link->bell < 0)
		return fail(-link->bell, "%s: descriptors: %s", link->name, strerror(-link->bell));
	if (!link->packet)
		return 0;
	link->rtnl = BL_ROCE_OWN(bl_roce_rtnl_open());
	if (link->rtnl < 0)
		return fail(-link->rtnl, "%s: netlink: %s", link->name, strerror(-link->rtnl));
	ret = open_long(link);
	return ret ? ret : take_share(link);
}

static int alloc(struct bl_snic_link *link)
{
	link->rooms = aligned_alloc(64, BL_ROCE_BATCH * BL_ROCE_ROOM);
	if (!link->packet)
		link->inbox = malloc(bl_roce_inbox_size());
	if (link->rooms && (link->packet || link->inbox))
		return 0;
	return fail(ENOMEM, "%s: out of memory for packets", link->name);
}

static void init(struct bl_snic_link *link, const char *name)
{
	*link = (struct bl_snic_link){.control = -1, .tx = -1, .tx_long = -1, .shared = -1, .rtnl = -1, .bell = -1};
	snprintf(link->name, sizeof(link->name), "%s", name);
	for (unsigned int i = 0; i < BL_ROCE_MAX_GIDS; i++) {
		struct bl_roce_local *local = &link->locals[i];

		local->index = i;
		local->port = local->errors = local->rings[0].fd = local->rings[1].fd = -1;
	}
}

static void roce_close(struct bl_snic_link *link)
{
	if (link->rooms)
		bl_roce_flush(link);
	for (unsigned int i = 0; i < BL_ROCE_MAX_GIDS; i++)
		bl_roce_local_release(&link->locals[i]);
	bl_roce_capture_close(link->capture);
	bl_shm_fd_close(link->control);
	bl_shm_fd_close(link->tx);
	bl_shm_fd_close(link->tx_long);
	bl_shm_fd_close(link->shared);
	bl_shm_fd_close(link->rtnl);
	bl_shm_fd_close(link->bell);
	free(link->rooms);
	free(link->inbox);
	free(link);
}

static int roce_open(const char *name, uint8_t gid[BL_ROCE_GID_LEN], struct bl_snic_link **link_p)
{
	struct bl_snic_link *link;
	int ret;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return fail(ENODEV, "%s: not " PREFIX " and the name of an interface", name);
	link = aligned_alloc(_Alignof(struct bl_snic_link), sizeof(*link));
	if (!link)
		return fail(ENOMEM, "%s: out of memory", name);
	bl_roce_crc_begin();
	init(link, name);
	ret = open_control(link);
	if (!ret)
		ret = bl_roce_device_get(link->control, name + strlen(PREFIX), &link->device);
	if (!ret)
		ret = choose(link);
	if (!ret)
		ret = open_fds(link);
	if (!ret)
		ret = alloc(link);
	if (!ret)
		ret = bl_roce_capture_open(name, link->packet, &link->capture);
	if (ret) {
		roce_close(link);
		return ret;
	}
	memcpy(gid, link->device.gids[0], BL_ROCE_GID_LEN);
	*link_p = link;
	return 0;
}

static void roce_forget(struct bl_snic_link *link)
{
	struct bl_snic_path *path;

	while ((path = link->paths)) {
		link->paths = path->next;
		free(path);
	}
	for (unsigned int i = 0; i < BL_ROCE_MAX_GIDS; i++)
		bl_roce_local_forget(&link->locals[i]);
	bl_roce_capture_forget(link->capture);
	bl_shm_fd_forget(link->control);
	bl_shm_fd_forget(link->tx);
	bl_shm_fd_forget(link->tx_long);
	bl_shm_fd_forget(link->shared);
	bl_shm_fd_forget(link->rtnl);
	bl_shm_fd_forget(link->bell);
	free(link->rooms);
	free(link->inbox);
	free(link);
}

static uint32_t roce_max_payload(struct bl_snic_link *link)
{
	return link->device.path_mtu;
}

static void roce_port(struct bl_snic_link *link, struct bl_snic_port *port)
{
	*port = (struct bl_snic_port){
		.mtu = link->device.path_mtu,
		.window = link->packet ? PACKET_WINDOW : UDP_WINDOW,
		.qpn_base = (uint32_t)link->share << BL_ROCE_SHARE_BITS,
		.qpn_bits = link->packet ? BL_ROCE_SHARE_BITS : 24,
		.gids = link->device.nr_gids,
		.up = !bl_roce_interface_flaw(link->control, link->device.name),
		.wire = true,
	};
}

static int roce_gid(struct bl_snic_link *link, unsigned int index, uint8_t gid[BL_ROCE_GID_LEN])
{
	if (index >= link->device.nr_gids)
		return -EINVAL;
	memcpy(gid, link->device.gids[index], BL_ROCE_GID_LEN);
	return 0;
}

static void roce_counts(struct bl_snic_link *link, uint64_t *counters)
{
	_Static_assert(BL_SNIC_DROP_CONGESTION - BL_SNIC_DROP_SHORT == BL_ROCE_CONGESTION - BL_ROCE_SHORT,
		       "a counter for each reason, in the same order");
	for (int drop = BL_ROCE_SHORT; drop < BL_ROCE_NR_DROPS; drop++)
		counters[BL_SNIC_DROP_SHORT + drop - BL_ROCE_SHORT] += link->drops[drop];
	counters[BL_SNIC_DROP_FULL] += link->full;
	counters[BL_SNIC_DROP_SEND] += link->unsent;
}

const struct bl_snic_transport_ops bl_snic_roce = {
	.name = "roce",
	.open = roce_open,
	.close = roce_close,
	.max_payload = roce_max_payload,
	.path_open = bl_roce_path_open,
	.path_close = bl_roce_path_close,
	.reserve = bl_roce_reserve,
	.commit = bl_roce_commit,
	.poll = bl_roce_poll,
	.path_state = bl_roce_path_state,
	.wait = bl_roce_wait,
	.kick = bl_roce_kick,
	.forget = roce_forget,
	.port = roce_port,
	.gid = roce_gid,
	.way_open = bl_roce_way_open,
	.flush = bl_roce_flush,
	.path_why = bl_roce_path_why,
	.path_flaw = bl_roce_path_flaw,
	.spoil = bl_roce_spoil,
	.counts = roce_counts,
};
