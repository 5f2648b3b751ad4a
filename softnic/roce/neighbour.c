// SPDX-License-Identifier: MIT
/* Ethernet addresses of those whom packets go to first. The kernel knows them, or asks; nothing is waited for here. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "link.h"

#define DISCARD_PORT 9		   /* nobody listens, and who does throws away what comes */
#define ASK_NS	     500000000ULL  /* between two attempts to have the kernel ask */
#define REFRESH_NS   1000000000ULL /* the address may become another machine's */

/*
 * A whole packet, of an acknowledgement for a queue pair that nobody has: there are receivers that die of datagrams too
 * short to be one, rdma_rxe of Linux 6.12 among them.
 * Return: what UDP carries, in *@bytes_p, as many bytes.
 */
static size_t make_probe(const struct bl_snic_path *path, uint8_t room[BL_ROCE_HEAD_ROOM + BL_ROCE_TAIL_ROOM],
			 const uint8_t **bytes_p)
{
	const struct bl_packet packet = {.opcode = BL_PKT_ACK, .syndrome = BL_AETH_ACK};
	size_t len, wrap = bl_roce_wrap_len(path->flow.src);

	*bytes_p = bl_roce_frame_put(&path->flow, &packet, room + BL_ROCE_HEAD_ROOM, &len) + wrap;
	return len - wrap;
}

void bl_roce_probe(struct bl_snic_path *path, uint16_t port)
{
	uint8_t room[BL_ROCE_HEAD_ROOM + BL_ROCE_TAIL_ROOM];
	const uint8_t *bytes;
	size_t nr = make_probe(path, room, &bytes);
	union bl_roce_address to = {.any = {.sa_family = AF_UNSPEC}};
	socklen_t len = sizeof(to.in6);

	if (bl_roce_gid_is_ipv4(path->flow.dst)) {
		to.in.sin_family = AF_INET;
		to.in.sin_port = htons(port);
		memcpy(&to.in.sin_addr, path->flow.dst + 12, 4);
		len = sizeof(to.in);
	} else {
		to.in6.sin6_family = AF_INET6;
		to.in6.sin6_port = htons(port);
		memcpy(&to.in6.sin6_addr, path->flow.dst, BL_ROCE_GID_LEN);
		to.in6.sin6_scope_id = (uint32_t)path->link->device.index;
	}
	if (sendto(path->local->errors, bytes, nr, MSG_DONTWAIT | MSG_NOSIGNAL, &to.any, len) < 0 && errno != EAGAIN)
		bl_roce_path_error(path, errno);
}

static int look_up(struct bl_snic_path *path)
{
	uint8_t mac[BL_ROCE_MAC_LEN];
	int ret = bl_roce_rtnl_neighbour(path->link->rtnl, path->hop.gid, path->hop.index, mac);

	if (ret)
		return ret;
	memcpy(path->header, mac, sizeof(mac));
	memcpy(path->to.ll.sll_addr, mac, sizeof(mac));
	path->ready = true;
	return 0;
}

bool bl_roce_path_is_ready(struct bl_snic_path *path)
{
	uint64_t tick;

	if (path->ready)
		return true;
	tick = bl_roce_tick();
	if (tick == path->looked)
		return false;
	path->looked = tick;
	if (!look_up(path))
		return true;
	if (!path->asked || tick - path->asked >= ASK_NS) {
		path->asked = tick;
		/* for a datagram in the same direction the kernel has to know the neighbour too */
		bl_roce_probe(path, DISCARD_PORT);
		look_up(path);
	}
	return path->ready;
}

/* Nobody can tell whether a peer lives but by its answers. This is called now and then. */
int bl_roce_path_state(struct bl_snic_path *path)
{
	uint64_t tick;

	if (!path->link->packet || path->hop.local)
		return 0;
	tick = bl_roce_tick();
	if (path->ready && tick - path->looked < REFRESH_NS)
		return 0;
	if (!path->ready) {
		bl_roce_path_is_ready(path);
		return 0;
	}
	path->looked = tick;
	look_up(path);
	return 0;
}
