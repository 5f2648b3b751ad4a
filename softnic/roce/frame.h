/* SPDX-License-Identifier: MIT */
/*
 * frame.h - a RoCE packet in UDP in IP
 *
 * Addresses are GIDs: an IPv4 address is mapped into IPv6.
 */
#ifndef SOFTNIC_ROCE_FRAME_H
#define SOFTNIC_ROCE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "header.h"

#define BL_ROCE_UDP_PORT 4791
#define BL_ROCE_GID_LEN	 16
#define BL_ROCE_IPV4_LEN 20
#define BL_ROCE_IPV6_LEN 40
#define BL_ROCE_UDP_LEN	 8

/* Room before a payload for all headers from the IP header on, and behind it for padding and ICRC. */
#define BL_ROCE_HEAD_ROOM (BL_ROCE_IPV6_LEN + BL_ROCE_UDP_LEN + BL_ROCE_MAX_HEADER)
#define BL_ROCE_TAIL_ROOM (3 + BL_ROCE_ICRC_LEN)

/* The longest headers of a packet with payload: IPv6, UDP, BTH, RETH, immediate, ICRC. */
#define BL_ROCE_OVERHEAD (BL_ROCE_IPV6_LEN + BL_ROCE_UDP_LEN + BL_ROCE_BTH_LEN + 16 + 4 + BL_ROCE_ICRC_LEN)

/**
 * struct bl_roce_flow - what IP and UDP headers say
 * @src, @dst: GIDs, both of the same kind
 * @sport: source port
 */
struct bl_roce_flow {
	uint8_t src[BL_ROCE_GID_LEN];
	uint8_t dst[BL_ROCE_GID_LEN];
	uint16_t sport;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

bool bl_roce_gid_is_ipv4(const uint8_t gid[BL_ROCE_GID_LEN]);
void bl_roce_gid_from_ipv4(uint8_t gid[BL_ROCE_GID_LEN], const uint8_t addr[4]);

/**
 * bl_roce_frame_put() - Complete a packet around its payload
 * @flow:    addresses
 * @packet:  headers; its opcode is one of a wire
 * @payload: packet->len bytes, with BL_ROCE_HEAD_ROOM before and BL_ROCE_TAIL_ROOM behind
 * @len_p:   receives the length from the IP header on
 *
 * Of IPv4, "do not fragment" is set and the identification zero, as a UDP socket makes it. The UDP checksum is zero.
 *
 * Return: the IP header. The UDP payload, for a socket, begins at the BTH.
 */
uint8_t *bl_roce_frame_put(const struct bl_roce_flow *flow, const struct bl_packet *packet, uint8_t *payload,
			   size_t *len_p);

/* Bytes of IP and UDP headers between addresses like this. */
size_t bl_roce_wrap_len(const uint8_t gid[BL_ROCE_GID_LEN]);

/* Writes IP and UDP headers to @ip, for @len bytes that they carry. Return: their length. */
size_t bl_roce_wrap_put(const struct bl_roce_flow *flow, size_t len, uint8_t *ip);

/**
 * bl_roce_frame_get() - Read a packet
 * @ip:     from the IP header on
 * @len:    bytes that are there; more than the packet has do no harm
 * @flow:   receives addresses and ports; valid unless BL_ROCE_SHORT or BL_ROCE_BAD_IP is returned
 * @packet, @payload_p: as for bl_roce_header_get()
 *
 * Whether the packet is for this NIC is for the caller to say.
 */
enum bl_roce_drop bl_roce_frame_get(const uint8_t *ip, size_t len, struct bl_roce_flow *flow, struct bl_packet *packet,
				    const uint8_t **payload_p);

/**
 * bl_roce_datagram_get() - Read a packet that came through a UDP socket
 * @flow: addresses and source port
 * @bth:  the datagram
 * @len:  its length
 *
 * The identification in an IPv4 header is part of the ICRC, and a socket does not show it: it is zero in packets of this
 * NIC, and otherwise any is taken that makes the ICRC right, so that 16 bits of it are checked and not 32.
 */
enum bl_roce_drop bl_roce_datagram_get(const struct bl_roce_flow *flow, const uint8_t *bth, size_t len,
				       struct bl_packet *packet, const uint8_t **payload_p);

#endif
