/* SPDX-License-Identifier: MIT */
/*
 * packet.h - one packet, between the NIC and a transport
 *
 * The fields that an opcode has are those of its headers on a RoCE wire; the others are zero. All in host order but @imm.
 */
#ifndef SOFTNIC_PACKET_H
#define SOFTNIC_PACKET_H

#include <stdint.h>

/* BTH opcodes. Reliable connections use them as they are, unreliable ones with BL_PKT_UC. */
enum bl_packet_opcode {
	BL_PKT_SEND_FIRST = 0x00,
	BL_PKT_SEND_MIDDLE = 0x01,
	BL_PKT_SEND_LAST = 0x02,
	BL_PKT_SEND_LAST_IMM = 0x03,
	BL_PKT_SEND_ONLY = 0x04,
	BL_PKT_SEND_ONLY_IMM = 0x05,
	BL_PKT_WRITE_FIRST = 0x06,
	BL_PKT_WRITE_MIDDLE = 0x07,
	BL_PKT_WRITE_LAST = 0x08,
	BL_PKT_WRITE_LAST_IMM = 0x09,
	BL_PKT_WRITE_ONLY = 0x0a,
	BL_PKT_WRITE_ONLY_IMM = 0x0b,
	BL_PKT_READ_REQUEST = 0x0c,
	BL_PKT_READ_FIRST = 0x0d,
	BL_PKT_READ_MIDDLE = 0x0e,
	BL_PKT_READ_LAST = 0x0f,
	BL_PKT_READ_ONLY = 0x10,
	BL_PKT_ACK = 0x11,
	BL_PKT_ATOMIC_ACK = 0x12,
	BL_PKT_CMP_SWAP = 0x13,
	BL_PKT_FETCH_ADD = 0x14,
	/* not of the wire: messages whose bytes do not travel in packets, place.h */
	BL_PKT_PLACE_SEND = 0x18,
	BL_PKT_PLACE_SEND_IMM = 0x19,
	BL_PKT_PLACE_WRITE = 0x1a,
	BL_PKT_PLACE_WRITE_IMM = 0x1b,
	/* not of the wire: about memory that may be placed from, share.h */
	BL_PKT_SHARE = 0x1c,
	/* not of the wire: all answers of a read whose bytes were placed, place.h */
	BL_PKT_READ_PLACED = 0x1d,
	/* not of the wire: masked atomics, which only a transport between two of these NICs can carry */
	BL_PKT_MASKED_CMP_SWAP = 0x1e,
	BL_PKT_MASKED_FETCH_ADD = 0x1f,
	BL_PKT_UC = 0x20
};

#define BL_PKT_SOLICITED 0x1
#define BL_PKT_ACK_REQ	 0x2
#define BL_PKT_PLACE	 0x8 /* of a read request: it is of request @swap_add, and its bytes may be placed */
#define BL_PKT_PLACING	 0x4 /* of an acknowledgement: messages after it are being placed */

#define BL_PSN_MASK 0xffffffU

/* Syndromes of an acknowledgement. */
#define BL_AETH_ACK	   0x1f
#define BL_AETH_RNR	   0x20 /* | timer code */
#define BL_AETH_SEQUENCE   0x60
#define BL_AETH_INVALID	   0x61
#define BL_AETH_ACCESS	   0x62
#define BL_AETH_OPERATION  0x63
#define BL_AETH_UNPLACED   0x64 /* not of the wire: this message cannot be placed, send its bytes */

/**
 * struct bl_packet - headers of a packet; the payload lies beside it
 * @opcode:   enum bl_packet_opcode
 * @flags:    BL_PKT_*
 * @syndrome: of acknowledgements and read responses
 * @operand_len: of atomics, 4 or 8
 * @imm:      immediate, as in the WQE; of a read request, bytes of payload that each answer but the last has, 0: path MTU
 *	      (not of the wire, where it is always 0)
 * @src_qpn:  only where the transport can carry it; else 0
 * @va, @rkey, @dma_len: of requests that name memory
 * @swap_add, @compare, @swap_mask, @compare_mask: of atomics; the field boundary of a masked add is in @compare_mask.
 *	      Of what is placed, @compare_mask is how many sequence numbers it takes, and @swap_add the request's count in
 *	      its send queue; with @compare, of another NIC, @swap_add is where it begins in shared memory of that number
 * @original: of atomic acknowledgements
 * @len:      bytes of payload
 */
struct bl_packet {
	uint8_t opcode;
	uint8_t flags;
	uint8_t syndrome;
	uint8_t operand_len;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	uint32_t psn;
	uint32_t msn;
	uint32_t imm;
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t va;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_mask;
	uint64_t compare_mask;
	uint64_t original;
	uint32_t len;
	uint32_t reserved;
};

#endif
