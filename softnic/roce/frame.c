// SPDX-License-Identifier: MIT
#include "frame.h"

#include <string.h>

#include "crc.h"
#include "softnic/bytes.h"

#define UDP	      17
#define DONT_FRAGMENT 0x4000
#define FRAGMENT      0xbfff /* any other bit of that word: more fragments, or an offset */

/* Headers as the ICRC sees them: IP, UDP and BTH. */
struct masked {
	uint8_t bytes[BL_ROCE_IPV6_LEN + BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN];
	size_t len;
};

bool bl_roce_gid_is_ipv4(const uint8_t gid[BL_ROCE_GID_LEN])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

void bl_roce_gid_from_ipv4(uint8_t gid[BL_ROCE_GID_LEN], const uint8_t addr[4])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, addr, 4);
}

static size_t ip_len(const uint8_t gid[BL_ROCE_GID_LEN])
{
	return bl_roce_gid_is_ipv4(gid) ? BL_ROCE_IPV4_LEN : BL_ROCE_IPV6_LEN;
}

size_t bl_roce_wrap_len(const uint8_t gid[BL_ROCE_GID_LEN])
{
	return ip_len(gid) + BL_ROCE_UDP_LEN;
}

/* Of a header that has its checksum in it, 0xffff. */
static uint32_t ipv4_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < BL_ROCE_IPV4_LEN; i += 2)
		sum += bl_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static void put_ipv4(const struct bl_roce_flow *flow, size_t udp_len, uint8_t *ip)
{
	memset(ip, 0, BL_ROCE_IPV4_LEN);
	ip[0] = 0x45;
	ip[1] = flow->traffic_class;
	bl_be16_put(ip + 2, (uint16_t)(BL_ROCE_IPV4_LEN + udp_len));
	bl_be16_put(ip + 6, DONT_FRAGMENT);
	ip[8] = flow->hop_limit;
	ip[9] = UDP;
	memcpy(ip + 12, flow->src + 12, 4);
	memcpy(ip + 16, flow->dst + 12, 4);
	bl_be16_put(ip + 10, (uint16_t)~ipv4_sum(ip));
}

static void put_ipv6(const struct bl_roce_flow *flow, size_t udp_len, uint8_t *ip)
{
	bl_be32_put(ip, 6U << 28 | (uint32_t)flow->traffic_class << 20);
	bl_be16_put(ip + 4, (uint16_t)udp_len);
	ip[6] = UDP;
	ip[7] = flow->hop_limit;
	memcpy(ip + 8, flow->src, 16);
	memcpy(ip + 24, flow->dst, 16);
}

size_t bl_roce_wrap_put(const struct bl_roce_flow *flow, size_t len, uint8_t *ip)
{
	size_t udp_len = BL_ROCE_UDP_LEN + len;
	uint8_t *udp = ip + ip_len(flow->src);

	if (bl_roce_gid_is_ipv4(flow->src))
		put_ipv4(flow, udp_len, ip);
	else
		put_ipv6(flow, udp_len, ip);
	bl_be16_put(udp, flow->sport);
	bl_be16_put(udp + 2, BL_ROCE_UDP_PORT);
	bl_be16_put(udp + 4, (uint16_t)udp_len);
	bl_be16_put(udp + 6, 0);
	return (size_t)(udp - ip) + BL_ROCE_UDP_LEN;
}

/* What may change on the way counts as ones. @ip is followed by UDP header and BTH. */
static struct masked mask(const uint8_t *ip)
{
	bool ipv4 = ip[0] >> 4 == 4;
	size_t head = ipv4 ? BL_ROCE_IPV4_LEN : BL_ROCE_IPV6_LEN;
	struct masked masked = {.len = head + BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN};
	uint8_t *bytes = masked.bytes;

	memcpy(bytes, ip, masked.len);
	if (ipv4) {
		bytes[1] = 0xff;
		bytes[8] = 0xff;
		bytes[10] = bytes[11] = 0xff;
	} else {
		bytes[0] |= 0x0f;
		bytes[1] = bytes[2] = bytes[3] = 0xff;
		bytes[7] = 0xff;
	}
	bytes += head;
	bytes[6] = bytes[7] = 0xff;
	bytes += BL_ROCE_UDP_LEN;
	bytes[4] = 0xff;
	return masked;
}

/* @rest: what follows the BTH, @len bytes, up to the ICRC. Return: the register. */
static uint32_t icrc(const struct masked *masked, const uint8_t *rest, size_t len)
{
	return bl_roce_crc(bl_roce_crc(BL_ROCE_CRC_SEED, masked->bytes, masked->len), rest, len);
}

static uint32_t get_icrc(const uint8_t *at)
{
	return ~((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

static void put_icrc(uint8_t *at, uint32_t reg)
{
	uint32_t word = htole32(~reg);

	memcpy(at, &word, sizeof(word));
}

uint8_t *bl_roce_frame_put(const struct bl_roce_flow *flow, const struct bl_packet *packet, uint8_t *payload,
			   size_t *len_p)
{
	unsigned int pad = bl_roce_pad(packet->len);
	uint8_t *end = payload + packet->len + pad;
	uint8_t *bth = payload - bl_roce_header_len(packet->opcode);
	size_t len = (size_t)(end - bth) + BL_ROCE_ICRC_LEN;
	uint8_t *ip = bth - bl_roce_wrap_len(flow->src);
	struct masked masked;

	memset(payload + packet->len, 0, pad);
	bl_roce_header_put(packet, bth);
	bl_roce_wrap_put(flow, len, ip);
	masked = mask(ip);
	bth += BL_ROCE_BTH_LEN;
	put_icrc(end, icrc(&masked, bth, (size_t)(end - bth)));
	*len_p = (size_t)(end - ip) + BL_ROCE_ICRC_LEN;
	return ip;
}

/* Return: BL_ROCE_GOOD, and bytes behind the IP header in *@len_p. */
static enum bl_roce_drop get_ipv4(const uint8_t *ip, size_t *len_p, struct bl_roce_flow *flow)
{
	size_t total = bl_be16(ip + 2);

	if (ip[0] != 0x45 || ip[9] != UDP || bl_be16(ip + 6) & FRAGMENT || ipv4_sum(ip) != 0xffff)
		return BL_ROCE_BAD_IP;
	if (total > *len_p || total < BL_ROCE_IPV4_LEN)
		return BL_ROCE_SHORT;
	*len_p = total - BL_ROCE_IPV4_LEN;
	flow->traffic_class = ip[1];
	flow->hop_limit = ip[8];
	bl_roce_gid_from_ipv4(flow->src, ip + 12);
	bl_roce_gid_from_ipv4(flow->dst, ip + 16);
	return BL_ROCE_GOOD;
}

static enum bl_roce_drop get_ipv6(const uint8_t *ip, size_t *len_p, struct bl_roce_flow *flow)
{
	size_t total = bl_be16(ip + 4);

	if (*len_p < BL_ROCE_IPV6_LEN)
		return BL_ROCE_SHORT;
	if (ip[6] != UDP)
		return BL_ROCE_BAD_IP;
	if (total > *len_p - BL_ROCE_IPV6_LEN)
		return BL_ROCE_SHORT;
	*len_p = total;
	flow->traffic_class = (uint8_t)(bl_be16(ip) >> 4);
	flow->hop_limit = ip[7];
	memcpy(flow->src, ip + 8, 16);
	memcpy(flow->dst, ip + 24, 16);
	return BL_ROCE_GOOD;
}

/* Nobody sends from a multicast address, from all zeros or, of IPv4, from all ones. */
static bool is_source(const uint8_t gid[BL_ROCE_GID_LEN])
{
	static const uint8_t none[BL_ROCE_GID_LEN];

	if (bl_roce_gid_is_ipv4(gid))
		return gid[12] && gid[12] < 224;
	return gid[0] != 0xff && memcmp(gid, none, sizeof(none)) != 0;
}

enum bl_roce_drop bl_roce_frame_get(const uint8_t *ip, size_t len, struct bl_roce_flow *flow, struct bl_packet *packet,
				    const uint8_t **payload_p)
{
	struct masked masked;
	enum bl_roce_drop drop;
	const uint8_t *udp;

	if (len < BL_ROCE_IPV4_LEN)
		return BL_ROCE_SHORT;
	if (ip[0] >> 4 != 4 && ip[0] >> 4 != 6)
		return BL_ROCE_BAD_IP;
	drop = ip[0] >> 4 == 4 ? get_ipv4(ip, &len, flow) : get_ipv6(ip, &len, flow);
	if (drop)
		return drop;
	if (!is_source(flow->src))
		return BL_ROCE_BAD_ADDRESS;
	if (len < BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN + BL_ROCE_ICRC_LEN)
		return BL_ROCE_SHORT;
	udp = ip + (ip[0] >> 4 == 4 ? BL_ROCE_IPV4_LEN : BL_ROCE_IPV6_LEN);
	if (bl_be16(udp + 2) != BL_ROCE_UDP_PORT || bl_be16(udp + 4) != len)
		return BL_ROCE_BAD_UDP;
	flow->sport = bl_be16(udp);
	masked = mask(ip);
	udp += BL_ROCE_UDP_LEN;
	len -= BL_ROCE_UDP_LEN + BL_ROCE_ICRC_LEN;
	if (icrc(&masked, udp + BL_ROCE_BTH_LEN, len - BL_ROCE_BTH_LEN) != get_icrc(udp + len))
		return BL_ROCE_BAD_ICRC;
	return bl_roce_header_get(udp, len, packet, payload_p);
}

enum bl_roce_drop bl_roce_datagram_get(const struct bl_roce_flow *flow, const uint8_t *bth, size_t len,
				       struct bl_packet *packet, const uint8_t **payload_p)
{
	size_t wrap;
	uint8_t headers[sizeof(((struct masked *)0)->bytes)], id[2];
	struct masked masked;
	uint32_t diff;

	if (!is_source(flow->src))
		return BL_ROCE_BAD_ADDRESS;
	if (len < BL_ROCE_BTH_LEN + BL_ROCE_ICRC_LEN)
		return BL_ROCE_SHORT;
	wrap = bl_roce_wrap_put(flow, len, headers);
	memcpy(headers + wrap, bth, BL_ROCE_BTH_LEN);
	masked = mask(headers);
	len -= BL_ROCE_ICRC_LEN;
	diff = icrc(&masked, bth + BL_ROCE_BTH_LEN, len - BL_ROCE_BTH_LEN) ^ get_icrc(bth + len);
	/* the two bytes of the identification end six bytes into the header */
	if (diff && !(bl_roce_gid_is_ipv4(flow->src) && bl_roce_crc_two_bytes(diff, wrap - 6 + len, id)))
		return BL_ROCE_BAD_ICRC;
	return bl_roce_header_get(bth, len, packet, payload_p);
}
