/* SPDX-License-Identifier: MIT */
/* header.h - the headers of a RoCE packet from the BTH on, and what may be wrong with a packet */
#ifndef SOFTNIC_ROCE_HEADER_H
#define SOFTNIC_ROCE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "softnic/packet.h"

#define BL_ROCE_BTH_LEN	    12
#define BL_ROCE_MAX_HEADER  40 /* of an atomic; with payload 32 */
#define BL_ROCE_ICRC_LEN    4
#define BL_ROCE_MAX_PAYLOAD 4096U
#define BL_ROCE_MIN_PAYLOAD 256U

/**
 * enum bl_roce_drop - why a packet is dropped; each is a counter
 * @BL_ROCE_GOOD:	it is not
 * @BL_ROCE_SHORT:	it ends before its headers do, or was cut off
 * @BL_ROCE_BAD_IP:	an IP header that RoCE does not have: options, fragments, a checksum that is wrong
 * @BL_ROCE_BAD_ADDRESS: for somebody else, or from an address that nobody has
 * @BL_ROCE_BAD_UDP:	another port, or a length that is not the packet's
 * @BL_ROCE_BAD_ICRC:	changed on its way
 * @BL_ROCE_BAD_VERSION: of the transport header
 * @BL_ROCE_BAD_PKEY:	another partition than the default one
 * @BL_ROCE_BAD_OPCODE:	none of a reliable or unreliable connection, or one that this NIC does not have
 * @BL_ROCE_BAD_LENGTH:	payload or padding that the opcode cannot have
 * @BL_ROCE_CONGESTION:	a congestion notification, of which no use is made
 */
enum bl_roce_drop {
	BL_ROCE_GOOD,
	BL_ROCE_SHORT,
	BL_ROCE_BAD_IP,
	BL_ROCE_BAD_ADDRESS,
	BL_ROCE_BAD_UDP,
	BL_ROCE_BAD_ICRC,
	BL_ROCE_BAD_VERSION,
	BL_ROCE_BAD_PKEY,
	BL_ROCE_BAD_OPCODE,
	BL_ROCE_BAD_LENGTH,
	BL_ROCE_CONGESTION,
	BL_ROCE_NR_DROPS
};

/* Bytes of the headers that an opcode has; 0: it is none of a wire. */
size_t bl_roce_header_len(uint8_t opcode);

/* Bytes of zero behind a payload. */
static inline unsigned int bl_roce_pad(uint32_t len)
{
	return -len & 3;
}

/* Writes the headers to @at, bl_roce_header_len() bytes. The opcode is one of a wire. */
void bl_roce_header_put(const struct bl_packet *packet, uint8_t *at);

/**
 * bl_roce_header_get() - Read the headers of a packet whose ICRC is right
 * @bth:       the packet from its BTH on
 * @len:       bytes of it, without the ICRC
 * @packet:    receives what they say
 * @payload_p: receives where the payload begins, packet->len bytes
 *
 * Return: BL_ROCE_GOOD or what is wrong.
 */
enum bl_roce_drop bl_roce_header_get(const uint8_t *bth, size_t len, struct bl_packet *packet,
				     const uint8_t **payload_p);

#endif
