// SPDX-License-Identifier: MIT
#include "header.h"

#include <string.h>

#include "softnic/bytes.h"

/* What follows the BTH, in this order. */
#define KNOWN	   0x01
#define RETH	   0x02
#define AETH	   0x04
#define ATOMIC	   0x08
#define ATOMIC_ACK 0x10
#define IMM	   0x20
#define PAYLOAD	   0x40 /* may have one */
#define GOES_ON	   0x80 /* not the last of its message: it has a payload, and no padding */

#define NR_RC 0x20
#define NR_UC 0x0c /* and the others are of reliable connections only */

static const uint8_t parts[NR_RC] = {
	[BL_PKT_SEND_FIRST] = KNOWN | PAYLOAD | GOES_ON,
	[BL_PKT_SEND_MIDDLE] = KNOWN | PAYLOAD | GOES_ON,
	[BL_PKT_SEND_LAST] = KNOWN | PAYLOAD,
	[BL_PKT_SEND_LAST_IMM] = KNOWN | PAYLOAD | IMM,
	[BL_PKT_SEND_ONLY] = KNOWN | PAYLOAD,
	[BL_PKT_SEND_ONLY_IMM] = KNOWN | PAYLOAD | IMM,
	[BL_PKT_WRITE_FIRST] = KNOWN | PAYLOAD | GOES_ON | RETH,
	[BL_PKT_WRITE_MIDDLE] = KNOWN | PAYLOAD | GOES_ON,
	[BL_PKT_WRITE_LAST] = KNOWN | PAYLOAD,
	[BL_PKT_WRITE_LAST_IMM] = KNOWN | PAYLOAD | IMM,
	[BL_PKT_WRITE_ONLY] = KNOWN | PAYLOAD | RETH,
	[BL_PKT_WRITE_ONLY_IMM] = KNOWN | PAYLOAD | RETH | IMM,
	[BL_PKT_READ_REQUEST] = KNOWN | RETH,
	[BL_PKT_READ_FIRST] = KNOWN | PAYLOAD | GOES_ON | AETH,
	[BL_PKT_READ_MIDDLE] = KNOWN | PAYLOAD | GOES_ON,
	[BL_PKT_READ_LAST] = KNOWN | PAYLOAD | AETH,
	[BL_PKT_READ_ONLY] = KNOWN | PAYLOAD | AETH,
	[BL_PKT_ACK] = KNOWN | AETH,
	[BL_PKT_ATOMIC_ACK] = KNOWN | AETH | ATOMIC_ACK,
	[BL_PKT_CMP_SWAP] = KNOWN | ATOMIC,
	[BL_PKT_FETCH_ADD] = KNOWN | ATOMIC,
};

#define CONGESTION   0x81
#define DEFAULT_PKEY 0xffff
#define MEMBER	     0x8000 /* full or limited: both are of the partition */

static uint8_t parts_of(uint8_t opcode)
{
	uint8_t low = opcode & ~BL_PKT_UC;

	if (low >= NR_RC || (opcode & BL_PKT_UC && low >= NR_UC))
		return 0;
	return parts[low];
}

static size_t len_of(uint8_t has)
{
	return BL_ROCE_BTH_LEN + (has & RETH ? 16 : 0) + (has & AETH ? 4 : 0) + (has & ATOMIC ? 28 : 0) +
	       (has & ATOMIC_ACK ? 8 : 0) + (has & IMM ? 4 : 0);
}

size_t bl_roce_header_len(uint8_t opcode)
{
	uint8_t has = parts_of(opcode);

	return has ? len_of(has) : 0;
}

void bl_roce_header_put(const struct bl_packet *packet, uint8_t *at)
{
	uint8_t has = parts_of(packet->opcode);

	at[0] = packet->opcode;
	at[1] = (uint8_t)((packet->flags & BL_PKT_SOLICITED ? 0x80 : 0) | bl_roce_pad(packet->len) << 4);
	bl_be16_put(at + 2, DEFAULT_PKEY);
	bl_be32_put(at + 4, packet->dest_qpn & 0xffffff);
	bl_be32_put(at + 8, (packet->flags & BL_PKT_ACK_REQ ? 1U << 31 : 0) | (packet->psn & BL_PSN_MASK));
	at += BL_ROCE_BTH_LEN;
	if (has & (RETH | ATOMIC)) {
		bl_be64_put(at, packet->va);
		bl_be32_put(at + 8, packet->rkey);
		at += 12;
	}
	if (has & RETH) {
		bl_be32_put(at, packet->dma_len);
		at += 4;
	}
	if (has & ATOMIC) {
		bl_be64_put(at, packet->swap_add);
		bl_be64_put(at + 8, packet->compare);
	}
	if (has & AETH) {
		bl_be32_put(at, (uint32_t)packet->syndrome << 24 | (packet->msn & 0xffffff));
		at += 4;
	}
	if (has & ATOMIC_ACK)
		bl_be64_put(at, packet->original);
	/* as it is in the request: its order is the program's affair */
	if (has & IMM)
		memcpy(at, &packet->imm, sizeof(packet->imm));
}

static void get_parts(const uint8_t *at, uint8_t has, struct bl_packet *packet)
{
	if (has & (RETH | ATOMIC)) {
		packet->va = bl_be64(at);
		packet->rkey = bl_be32(at + 8);
		at += 12;
	}
	if (has & RETH) {
		packet->dma_len = bl_be32(at);
		at += 4;
	}
	if (has & ATOMIC) {
		packet->operand_len = 8;
		packet->swap_add = bl_be64(at);
		packet->compare = bl_be64(at + 8);
	}
	if (has & AETH) {
		packet->syndrome = at[0];
		packet->msn = bl_be32(at) & 0xffffff;
		at += 4;
	}
	if (has & ATOMIC_ACK)
		packet->original = bl_be64(at);
	if (has & IMM)
		memcpy(&packet->imm, at, sizeof(packet->imm));
}

/* Bytes of payload among the @len behind the headers. */
static enum bl_roce_drop get_payload(size_t len, unsigned int pad, uint8_t has, struct bl_packet *packet)
{
	if (len < pad || len - pad > BL_ROCE_MAX_PAYLOAD || len % 4)
		return BL_ROCE_BAD_LENGTH;
	packet->len = (uint32_t)(len - pad);
	if (!(has & PAYLOAD) && len)
		return BL_ROCE_BAD_LENGTH;
	if (has & GOES_ON && (pad || !len))
		return BL_ROCE_BAD_LENGTH;
	return BL_ROCE_GOOD;
}

enum bl_roce_drop bl_roce_header_get(const uint8_t *bth, size_t len, struct bl_packet *packet,
				     const uint8_t **payload_p)
{
	uint8_t has;
	size_t head;

	if (len < BL_ROCE_BTH_LEN)
		return BL_ROCE_SHORT;
	if (bth[1] & 0xf)
		return BL_ROCE_BAD_VERSION;
	if (bth[0] == CONGESTION)
		return BL_ROCE_CONGESTION;
	if ((bl_be16(bth + 2) | MEMBER) != DEFAULT_PKEY)
		return BL_ROCE_BAD_PKEY;
	has = parts_of(bth[0]);
	if (!has)
		return BL_ROCE_BAD_OPCODE;
	head = len_of(has);
	if (len < head)
		return BL_ROCE_SHORT;
	*packet = (struct bl_packet){
		.opcode = bth[0],
		.flags = (uint8_t)((bth[1] & 0x80 ? BL_PKT_SOLICITED : 0) | (bth[8] & 0x80 ? BL_PKT_ACK_REQ : 0)),
		.dest_qpn = bl_be32(bth + 4) & 0xffffff,
		.psn = bl_be32(bth + 8) & BL_PSN_MASK,
	};
	get_parts(bth + BL_ROCE_BTH_LEN, has, packet);
	*payload_p = bth + head;
	return get_payload(len - head, bth[1] >> 4 & 3, has, packet);
}
