// SPDX-License-Identifier: MIT
/*
 * stranger - packets that nobody asked for, as Ethernet frames out of an interface
 *
 * Each kind is dropped by a NIC for a reason of its own, whose counter is printed with how many were sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/bytes.h"
#include "softnic/roce/crc.h"
#include "softnic/roce/frame.h"

#define ETHER_LEN 14
#define PAYLOAD	  32

/**
 * struct options - of the command line
 * @qpn, @psn: of the queue pair that is meant, and what it expects next
 * @datagram:  by a UDP socket, as another host's program would; kinds that a socket cannot send are left out
 */
struct options {
	int interface;
	uint8_t mac[6];
	struct bl_roce_flow flow;
	uint32_t qpn, psn;
	unsigned int count;
	bool datagram;
};

/**
 * struct frame - one that is being made
 * @ip:	 from the IP header on, @len bytes
 * @udp: its UDP header
 */
struct frame {
	uint8_t room[ETHER_LEN + BL_ROCE_HEAD_ROOM + PAYLOAD + BL_ROCE_TAIL_ROOM];
	struct bl_packet packet;
	struct bl_roce_flow flow;
	uint8_t *ip;
	uint8_t *udp;
	size_t len;
};

/**
 * struct kind - of stranger
 * @counter: that counts it
 * @before:  changes the headers before they are written
 * @after:   changes what was written
 * @sign:    the ICRC is made right again
 * @ip_only: it is about a header that a UDP socket does not write
 */
struct kind {
	const char *name;
	const char *counter;
	void (*before)(struct frame *frame);
	void (*after)(struct frame *frame);
	bool sign;
	bool ip_only;
};

static uint8_t *bth_of(const struct frame *frame)
{
	return frame->udp + BL_ROCE_UDP_LEN;
}

static void other_number(struct frame *frame)
{
	frame->packet.dest_qpn ^= 0x4000;
}

static void other_source(struct frame *frame)
{
	frame->flow.src[15] ^= 0x40;
}

/* As far away as it gets from what has been, and from what may come soon. */
static void far_ahead(struct frame *frame)
{
	frame->packet.psn = (frame->packet.psn + 0x400000) & BL_PSN_MASK;
}

/* Of a queue pair that waits for nothing of the kind, or for another one. */
static void answer(struct frame *frame)
{
	far_ahead(frame);
	frame->packet.opcode = BL_PKT_ACK;
	frame->packet.syndrome = BL_AETH_ACCESS;
	frame->packet.len = 0;
}

static void other_icrc(struct frame *frame)
{
	frame->ip[frame->len - 1] ^= 0x01;
}

static void other_payload(struct frame *frame)
{
	frame->ip[frame->len - BL_ROCE_ICRC_LEN - 3] ^= 0x80;
}

static void other_version(struct frame *frame)
{
	bth_of(frame)[1] |= 0x01;
}

static void other_partition(struct frame *frame)
{
	bl_be16_put(bth_of(frame) + 2, 0x8001);
}

/* Of an unreliable datagram. */
static void other_service(struct frame *frame)
{
	bth_of(frame)[0] = 0x64;
}

static void congestion(struct frame *frame)
{
	bth_of(frame)[0] = 0x81;
}

/* An acknowledgement has no payload. */
static void answer_with_payload(struct frame *frame)
{
	bth_of(frame)[0] = BL_PKT_ACK;
}

static void set_lengths(struct frame *frame, size_t behind_udp)
{
	bl_be16_put(frame->udp + 4, (uint16_t)(BL_ROCE_UDP_LEN + behind_udp));
	frame->len = (size_t)(frame->udp - frame->ip) + BL_ROCE_UDP_LEN + behind_udp;
}

static uint32_t sum_of(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < BL_ROCE_IPV4_LEN; i += 2)
		sum += bl_be16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The IP header says as much as there is, and its checksum is right. */
static void set_ip(struct frame *frame, size_t len)
{
	if (frame->ip[0] >> 4 == 6) {
		bl_be16_put(frame->ip + 4, (uint16_t)(len - BL_ROCE_IPV6_LEN));
		return;
	}
	bl_be16_put(frame->ip + 2, (uint16_t)len);
	bl_be16_put(frame->ip + 10, 0);
	bl_be16_put(frame->ip + 10, (uint16_t)~sum_of(frame->ip));
}

static void cut_off(struct frame *frame)
{
	set_lengths(frame, 9);
	set_ip(frame, frame->len);
}

static void other_udp_length(struct frame *frame)
{
	bl_be16_put(frame->udp + 4, (uint16_t)(bl_be16(frame->udp + 4) - 4));
}

/* What a fragment says of itself, of IPv4; of IPv6 another header than UDP's comes next. */
static void fragment(struct frame *frame)
{
	if (frame->ip[0] >> 4 == 6) {
		frame->ip[6] = 44;
		return;
	}
	bl_be16_put(frame->ip + 6, 0x2000);
	set_ip(frame, frame->len);
}

static const struct kind kinds[] = {
	{ "number", "rx_unknown_qp", .before = other_number },
	{ "source", "rx_wrong_peer", .before = other_source },
	{ "sequence", "rx_out_of_order", .before = far_ahead },
	{ "answer", NULL, .before = answer },
	{ "icrc", "drop_icrc", .after = other_icrc },
	{ "payload", "drop_icrc", .after = other_payload },
	{ "version", "drop_version", .after = other_version, .sign = true },
	{ "partition", "drop_pkey", .after = other_partition, .sign = true },
	{ "service", "drop_opcode", .after = other_service, .sign = true },
	{ "congestion", "drop_congestion", .after = congestion, .sign = true },
	{ "length", "drop_length", .after = answer_with_payload, .sign = true },
	{ "short", "drop_short", .after = cut_off },
	{ "udp", "drop_udp", .after = other_udp_length, .ip_only = true },
	{ "fragment", "drop_ip", .after = fragment, .ip_only = true },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The ICRC of what is there, as the architecture has it: what routers change counts as ones. */
static void sign(struct frame *frame)
{
	uint8_t headers[BL_ROCE_IPV6_LEN + BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN];
	size_t ip_len = (size_t)(frame->udp - frame->ip), len = ip_len + BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN;
	uint8_t *end = frame->ip + frame->len - BL_ROCE_ICRC_LEN;
	uint32_t reg;

	memcpy(headers, frame->ip, len);
	if (headers[0] >> 4 == 4) {
		headers[1] = headers[8] = headers[10] = headers[11] = 0xff;
	} else {
		headers[0] |= 0x0f;
		headers[1] = headers[2] = headers[3] = headers[7] = 0xff;
	}
	headers[ip_len + 6] = headers[ip_len + 7] = 0xff;
	headers[ip_len + BL_ROCE_UDP_LEN + 4] = 0xff;
	reg = bl_roce_crc(BL_ROCE_CRC_SEED, headers, len);
	reg = ~bl_roce_crc(reg, frame->ip + len, (size_t)(end - frame->ip) - len);
	for (int i = 0; i < BL_ROCE_ICRC_LEN; i++)
		end[i] = (uint8_t)(reg >> 8 * i);
}

/* A write of this peer, with a key that nobody has given out: harmless even to who takes it. */
static void make(const struct options *options, const struct kind *kind, struct frame *frame)
{
	*frame = (struct frame){
		.packet = { .opcode = BL_PKT_WRITE_ONLY, .flags = BL_PKT_ACK_REQ, .dest_qpn = options->qpn, .psn = options->psn,
			    .rkey = 0xdead, .dma_len = PAYLOAD, .len = PAYLOAD },
		.flow = options->flow,
	};
	if (kind->before)
		kind->before(frame);
	frame->ip = bl_roce_frame_put(&frame->flow, &frame->packet, frame->room + ETHER_LEN + BL_ROCE_HEAD_ROOM, &frame->len);
	frame->udp = frame->ip + bl_roce_wrap_len(frame->flow.src) - BL_ROCE_UDP_LEN;
	if (kind->after)
		kind->after(frame);
	if (kind->sign)
		sign(frame);
}

static int send_frame(const struct options *options, int fd, struct frame *frame)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = 6, .sll_ifindex = options->interface };
	uint8_t *ether = frame->ip - ETHER_LEN;

	memcpy(ether, options->mac, 6);
	memcpy(ether + 6, (const uint8_t[]){ 2, 0, 0, 0, 0, 0x66 }, 6);
	bl_be16_put(ether + 12, frame->ip[0] >> 4 == 4 ? 0x0800 : 0x86dd);
	return sendto(fd, ether, frame->len + ETHER_LEN, 0, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
}

/* By a socket that is bound to the source, whose kernel writes IP and UDP headers. */
static int send_datagram(const struct options *options, int fd, struct frame *frame)
{
	size_t head = (size_t)(bth_of(frame) - frame->ip);
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(BL_ROCE_UDP_PORT) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(BL_ROCE_UDP_PORT) };
	bool ipv4 = bl_roce_gid_is_ipv4(options->flow.dst);

	memcpy(&v4.sin_addr, options->flow.dst + 12, 4);
	memcpy(&v6.sin6_addr, options->flow.dst, 16);
	return sendto(fd, frame->ip + head, frame->len - head, 0, ipv4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
		      ipv4 ? sizeof(v4) : sizeof(v6)) < 0 ? -errno : 0;
}

static int open_datagram(struct options *options)
{
	bool ipv4 = bl_roce_gid_is_ipv4(options->flow.src);
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr *at = ipv4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = ipv4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(at->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&v4.sin_addr, options->flow.src + 12, 4);
	memcpy(&v6.sin6_addr, options->flow.src, 16);
	if (fd < 0 || bind(fd, at, len) || getsockname(fd, at, &len))
		return -1;
	options->flow.sport = ntohs(ipv4 ? v4.sin_port : v6.sin6_port);
	return fd;
}

static int send_kinds(struct options *options)
{
	int fd = options->datagram ? open_datagram(options) : socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), ret = 0;
	struct frame frame;

	if (fd < 0) {
		fprintf(stderr, "stranger: socket: %s\n", strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < NR_KINDS && !ret; i++) {
		if (options->datagram && kinds[i].ip_only)
			continue;
		for (unsigned int n = 0; n < options->count && !ret; n++) {
			make(options, &kinds[i], &frame);
			ret = options->datagram ? send_datagram(options, fd, &frame) : send_frame(options, fd, &frame);
			/* not faster than a NIC that shares its CPU takes them */
			usleep(500);
		}
		if (ret)
			fprintf(stderr, "stranger: %s: %s\n", kinds[i].name, strerror(-ret));
		else
			printf("%s %s %u\n", kinds[i].name, kinds[i].counter ? kinds[i].counter : "-", options->count);
	}
	close(fd);
	return ret ? 1 : 0;
}

static bool get_gid(const char *text, uint8_t gid[BL_ROCE_GID_LEN])
{
	uint8_t v4[4];

	if (inet_pton(AF_INET6, text, gid) == 1)
		return true;
	if (inet_pton(AF_INET, text, v4) != 1)
		return false;
	bl_roce_gid_from_ipv4(gid, v4);
	return true;
}

static bool get_option(int option, struct options *options)
{
	switch (option) {
	case 'i':
		options->interface = (int)if_nametoindex(optarg);
		return options->interface > 0;
	case 'm':
		return ether_aton_r(optarg, (struct ether_addr *)options->mac) != NULL;
	case 'f':
		return get_gid(optarg, options->flow.src);
	case 't':
		return get_gid(optarg, options->flow.dst);
	case 'q':
		options->qpn = (uint32_t)strtoul(optarg, NULL, 0);
		return true;
	case 'p':
		options->psn = (uint32_t)strtoul(optarg, NULL, 0);
		return true;
	case 'n':
		options->count = (unsigned int)strtoul(optarg, NULL, 0);
		return true;
	case 'u':
		options->datagram = true;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct options options = { .count = 10, .flow = { .sport = 0xc123, .hop_limit = 64 } };
	int option;

	while ((option = getopt(argc, argv, "i:m:f:t:q:p:n:u")) >= 0) {
		if (get_option(option, &options))
			continue;
		fprintf(stderr, "usage: wire_stranger -i INTERFACE -m MAC -f FROM -t TO -q QPN -p PSN [-n COUNT]\n"
				"       wire_stranger -u -f FROM -t TO -q QPN -p PSN [-n COUNT]\n");
		return 1;
	}
	bl_roce_crc_begin();
	return send_kinds(&options);
}
