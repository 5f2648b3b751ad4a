/* SPDX-License-Identifier: MIT */
/*
 * wqe.h - send work requests, as mlx5 hardware takes them
 *
 * The parser sees bytes that nobody else can change any more, and believes none of them. It says what a request is, not
 * whether its keys allow it: that is checked when memory is reached.
 */
#ifndef SOFTNIC_WQE_H
#define SOFTNIC_WQE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bl_wqe_opcode {
	BL_WQE_NOP = 0x00,
	BL_WQE_WRITE = 0x08,
	BL_WQE_WRITE_IMM = 0x09,
	BL_WQE_SEND = 0x0a,
	BL_WQE_SEND_IMM = 0x0b,
	BL_WQE_WAIT = 0x0f,
	BL_WQE_READ = 0x10,
	BL_WQE_CMP_SWAP = 0x11,
	BL_WQE_FETCH_ADD = 0x12,
	BL_WQE_MASKED_CMP_SWAP = 0x14,
	BL_WQE_MASKED_FETCH_ADD = 0x15,
	BL_WQE_DUMP = 0x23
};

/* Fence modes. */
enum bl_wqe_fence {
	BL_WQE_NO_FENCE,
	BL_WQE_SMALL_FENCE,  /* after local operations: those are over when the next one begins anyway */
	BL_WQE_READ_FENCE,   /* after all reads and atomics */
	BL_WQE_STRONG_FENCE, /* after everything */
	BL_WQE_READ_AND_SMALL_FENCE
};

/* When there is a CQE. */
enum bl_wqe_ce { BL_WQE_CE_ERROR, BL_WQE_CE_FIRST_ERROR, BL_WQE_CE_ALWAYS, BL_WQE_CE_EVENT };

#define BL_WQE_SEG	 16
#define BL_WQE_MAX_SEGS	 63
#define BL_WQE_MAX_BYTES (BL_WQE_MAX_SEGS * BL_WQE_SEG)
#define BL_WQE_MAX_LEN	 (1U << 30)

/* Byte 9 of a request that brings its bytes along; how many is byte 10. */
#define BL_WQE_BROUGHT 0xb1

/* Syndromes of what is wrong with a request or came of it. */
enum bl_syndrome {
	BL_SYNDROME_NONE = 0x00,
	BL_SYNDROME_LOCAL_LENGTH = 0x01,
	BL_SYNDROME_LOCAL_OPERATION = 0x02,
	BL_SYNDROME_LOCAL_PROTECTION = 0x04,
	BL_SYNDROME_FLUSHED = 0x05,
	BL_SYNDROME_BAD_RESPONSE = 0x10,
	BL_SYNDROME_LOCAL_ACCESS = 0x11,
	BL_SYNDROME_REMOTE_INVALID = 0x12,
	BL_SYNDROME_REMOTE_ACCESS = 0x13,
	BL_SYNDROME_REMOTE_OPERATION = 0x14,
	BL_SYNDROME_RETRIES = 0x15,
	BL_SYNDROME_RNR_RETRIES = 0x16
};

/**
 * struct bl_wqe - a work request, taken apart
 * @opcode:	 enum bl_wqe_opcode
 * @fence:	 enum bl_wqe_fence
 * @ce:		 enum bl_wqe_ce
 * @nr_segs:	 of 16 bytes, 1 to 63
 * @first_seg:	 the first with data
 * @operand_len: of atomics, 4 or 8
 * @index:	 of its first block, modulo 2^16
 * @qpn:	 whose it says it is
 * @imm:	 immediate, as it stands there
 * @rkey, @raddr: of requests that name remote memory
 * @len:	 bytes of its data segments; of atomics @operand_len
 * @brought:	 bytes of its one data segment that its block has behind the last segment: those that the memory had when it
 *		 was posted; 0: none
 * @swap_add, @compare, @swap_mask, @compare_mask: of atomics; the field boundary of a masked add is in @compare_mask
 * @wait_index, @wait_cqn: of WAIT
 */
struct bl_wqe {
	uint8_t opcode;
	uint8_t fence;
	uint8_t ce;
	uint8_t nr_segs;
	uint8_t first_seg;
	uint8_t operand_len;
	bool solicited;
	uint16_t index;
	uint32_t qpn;
	uint32_t imm;
	uint32_t rkey;
	uint32_t len;
	uint8_t brought;
	uint64_t raddr;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_mask;
	uint64_t compare_mask;
	uint32_t wait_index;
	uint32_t wait_cqn;
};

/* Reading a control segment alone: index, opcode and number of segments. */
static inline uint16_t bl_wqe_index(const uint8_t *raw)
{
	return (uint16_t)(raw[1] << 8 | raw[2]);
}

static inline unsigned int bl_wqe_nr_segs(const uint8_t *raw)
{
	return raw[7] & 0x3f;
}

/**
 * bl_wqe_parse() - Take a request apart
 * @raw:   its segments, as many as the control segment says
 * @wqe:   receives it; opcode, index, ce and nr_segs also when it is bad
 * @why_p: receives what is wrong with it, a text that never goes away
 *
 * Return: enum bl_syndrome, BL_SYNDROME_NONE when it is good.
 */
enum bl_syndrome bl_wqe_parse(const uint8_t *raw, struct bl_wqe *wqe, const char **why_p);

/* Whether a request says that it has brought its bytes along. */
static inline bool bl_wqe_is_marked(const uint8_t *raw)
{
	return raw[9] == BL_WQE_BROUGHT;
}

/* Whether its data, if it has any, begins inside of it. */
static inline bool bl_wqe_starts_inline(const struct bl_wqe *wqe, const uint8_t *raw)
{
	return wqe->first_seg < wqe->nr_segs && raw[wqe->first_seg * BL_WQE_SEG] & 0x80;
}

/* Data of a request that is all inline, in one segment; NULL: it is not. */
const uint8_t *bl_wqe_inline(const struct bl_wqe *wqe, const uint8_t *raw);

/* The bytes that a request has brought along: as many as @wqe->brought says. */
static inline const uint8_t *bl_wqe_brought(const struct bl_wqe *wqe, const uint8_t *raw)
{
	return raw + wqe->nr_segs * BL_WQE_SEG;
}

/**
 * struct bl_wqe_piece - a piece of a request's data
 * @bytes: inline data, or NULL: it lies in memory
 * @addr, @lkey: of the memory
 * @len:   bytes, never 0
 */
struct bl_wqe_piece {
	const uint8_t *bytes;
	uint64_t addr;
	uint32_t lkey;
	uint32_t len;
};

/**
 * struct bl_wqe_walk - going through the data of a request
 * @raw, @end: of the segments
 * @at:	       next segment
 * @skip:      bytes of data that are still to be left out
 */
struct bl_wqe_walk {
	const uint8_t *raw;
	uint32_t at;
	uint32_t end;
	uint64_t skip;
};

/* Start @off bytes into the data. */
void bl_wqe_walk_start(struct bl_wqe_walk *walk, const struct bl_wqe *wqe, const uint8_t *raw, uint64_t off);

/* The next piece, at most @max > 0 bytes of it; false at the end. */
bool bl_wqe_walk_next(struct bl_wqe_walk *walk, uint64_t max, struct bl_wqe_piece *piece);

static inline bool bl_wqe_is_atomic(const struct bl_wqe *wqe)
{
	return wqe->opcode >= BL_WQE_CMP_SWAP && wqe->opcode <= BL_WQE_MASKED_FETCH_ADD;
}

/* A local operation: no packet. */
static inline bool bl_wqe_is_local(const struct bl_wqe *wqe)
{
	return wqe->opcode == BL_WQE_NOP || wqe->opcode == BL_WQE_WAIT || wqe->opcode == BL_WQE_DUMP;
}

/* Something comes back, and lands in its data segments. */
static inline bool bl_wqe_is_fetch(const struct bl_wqe *wqe)
{
	return wqe->opcode == BL_WQE_READ || bl_wqe_is_atomic(wqe);
}

#endif
