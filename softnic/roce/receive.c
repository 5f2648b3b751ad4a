// SPDX-License-Identifier: MIT
/* Packets that come in. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "link.h"

#define AT_ONCE	     32 /* from a UDP socket */
#define MAX_DATAGRAM (BL_ROCE_MAX_HEADER + BL_ROCE_MAX_PAYLOAD + BL_ROCE_TAIL_ROOM)

/* Where a packet came from and goes to; who takes it. */
struct arrival {
	struct bl_snic_link *link;
	const struct bl_roce_local *local;
	bl_snic_receive_fn *fn;
	void *arg;
};

size_t bl_roce_inbox_size(void)
{
	return (size_t)AT_ONCE * MAX_DATAGRAM;
}

/* Return: whether it was a packet for somebody here. */
static bool hand(const struct arrival *arrival, enum bl_roce_drop drop, const struct bl_roce_flow *flow,
		 const struct bl_packet *packet, const uint8_t *payload)
{
	struct bl_snic_link *link = arrival->link;

	if (!drop && memcmp(flow->dst, bl_roce_local_gid(link, arrival->local), BL_ROCE_GID_LEN) != 0)
		drop = BL_ROCE_BAD_ADDRESS;
	if (drop) {
		link->drops[drop]++;
		return false;
	}
	arrival->fn(arrival->arg, flow->src, packet, payload);
	return true;
}

static bool take_frame(const struct arrival *arrival, const struct bl_roce_frame *frame)
{
	struct bl_roce_flow flow;
	struct bl_packet packet;
	const uint8_t *payload = NULL;
	enum bl_roce_drop drop = BL_ROCE_SHORT;

	if (!frame->cut) {
		bl_roce_capture_add(arrival->link->capture, frame->bytes, (size_t)(frame->ip - frame->bytes), frame->ip,
				    frame->len);
		drop = bl_roce_frame_get(frame->ip, frame->len, &flow, &packet, &payload);
	}
	return hand(arrival, drop, &flow, &packet, payload);
}

/* What is dropped counts too, so that no flood keeps the NIC from its other work. */
static unsigned int receive_ring(const struct arrival *arrival, struct bl_roce_ring *ring, unsigned int budget)
{
	struct bl_roce_frame frame;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < budget && bl_roce_ring_next(ring, &frame); i++) {
		nr += take_frame(arrival, &frame);
		bl_roce_ring_done(ring);
	}
	return nr;
}

static bool flow_of(const struct arrival *arrival, const union bl_roce_address *from, struct bl_roce_flow *flow)
{
	*flow = (struct bl_roce_flow){.hop_limit = 0};
	memcpy(flow->dst, bl_roce_local_gid(arrival->link, arrival->local), BL_ROCE_GID_LEN);
	if (from->any.sa_family == AF_INET) {
		bl_roce_gid_from_ipv4(flow->src, (const uint8_t *)&from->in.sin_addr);
		flow->sport = ntohs(from->in.sin_port);
	} else {
		memcpy(flow->src, &from->in6.sin6_addr, BL_ROCE_GID_LEN);
		flow->sport = ntohs(from->in6.sin6_port);
	}
	return from->any.sa_family == AF_INET || from->any.sa_family == AF_INET6;
}

static bool take_datagram(const struct arrival *arrival, const struct msghdr *msg, const uint8_t *bytes, size_t len)
{
	struct bl_roce_flow flow;
	struct bl_packet packet;
	const uint8_t *payload = NULL;
	enum bl_roce_drop drop = BL_ROCE_SHORT;
	uint8_t wrap[BL_ROCE_IPV6_LEN + BL_ROCE_UDP_LEN];

	if (flow_of(arrival, msg->msg_name, &flow) && !(msg->msg_flags & MSG_TRUNC)) {
		if (arrival->link->capture)
			bl_roce_capture_add(arrival->link->capture, wrap, bl_roce_wrap_put(&flow, len, wrap), bytes,
					    len);
		drop = bl_roce_datagram_get(&flow, bytes, len, &packet, &payload);
	}
	return hand(arrival, drop, &flow, &packet, payload);
}

static unsigned int receive_udp(const struct arrival *arrival, unsigned int budget)
{
	struct mmsghdr msgs[AT_ONCE];
	struct iovec iovs[AT_ONCE];
	union bl_roce_address from[AT_ONCE];
	unsigned int nr = 0, n = budget < AT_ONCE ? budget : AT_ONCE;
	int got;

	for (unsigned int i = 0; i < n; i++) {
		iovs[i] = (struct iovec){
			.iov_base = arrival->link->inbox + (size_t)i * MAX_DATAGRAM,
			.iov_len = MAX_DATAGRAM,
		};
		msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &iovs[i],
			.msg_iovlen = 1,
		};
	}
	got = recvmmsg(arrival->local->port, msgs, n, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		nr += take_datagram(arrival, &msgs[i].msg_hdr, iovs[i].iov_base, msgs[i].msg_len);
	return nr;
}

unsigned int bl_roce_receive(struct bl_snic_link *link, struct bl_roce_local *local, bl_snic_receive_fn *fn, void *arg,
			     unsigned int budget)
{
	const struct arrival arrival = {.link = link, .local = local, .fn = fn, .arg = arg};
	unsigned int nr = 0;

	if (!link->packet)
		return receive_udp(&arrival, budget);
	for (int i = 0; i < 2 && nr < budget; i++) {
		if (local->rings[i].fd >= 0)
			nr += receive_ring(&arrival, &local->rings[i], budget - nr);
	}
	return nr;
}
