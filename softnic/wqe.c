// SPDX-License-Identifier: MIT
#include "wqe.h"

#include "bytes.h"

#define INLINE	    0x80000000U
#define OPMOD_EXT_4 8
#define OPMOD_EXT_8 9

/* Fields of the control segment. */
enum { OPMOD = 0, OPCODE = 3, QPN_DS = 4, BROUGHT_LEN = 10, FM_CE_SE = 11, CTRL_IMM = 12 };

#define BLOCK 64

static void parse_ctrl(const uint8_t *raw, struct bl_wqe *wqe)
{
	*wqe = (struct bl_wqe){
		.opcode = raw[OPCODE],
		.fence = raw[FM_CE_SE] >> 5,
		.ce = raw[FM_CE_SE] >> 2 & 3,
		.nr_segs = (uint8_t)bl_wqe_nr_segs(raw),
		.first_seg = 1,
		.solicited = raw[FM_CE_SE] & 2,
		.index = bl_wqe_index(raw),
		.qpn = bl_be32(raw + QPN_DS) >> 8,
	};
	memcpy(&wqe->imm, raw + CTRL_IMM, sizeof(wqe->imm));
}

static bool has_raddr(const struct bl_wqe *wqe)
{
	return wqe->opcode == BL_WQE_WRITE || wqe->opcode == BL_WQE_WRITE_IMM || bl_wqe_is_fetch(wqe);
}

/* Whether that many segments follow the ones before; then they are at the result. */
static const uint8_t *take_segs(const uint8_t *raw, struct bl_wqe *wqe, unsigned int nr)
{
	const uint8_t *seg = raw + wqe->first_seg * BL_WQE_SEG;

	if (wqe->first_seg + nr > wqe->nr_segs)
		return NULL;
	wqe->first_seg += (uint8_t)nr;
	return seg;
}

/* Masked, of 4 bytes: both kinds fit one segment. */
static void parse_masked_4(const uint8_t *seg, struct bl_wqe *wqe)
{
	wqe->operand_len = 4;
	wqe->swap_add = bl_be32(seg);
	if (wqe->opcode == BL_WQE_MASKED_FETCH_ADD) {
		wqe->compare_mask = bl_be32(seg + 4);
		return;
	}
	wqe->compare = bl_be32(seg + 4);
	wqe->swap_mask = bl_be32(seg + 8);
	wqe->compare_mask = bl_be32(seg + 12);
}

static void parse_masked_8(const uint8_t *seg, struct bl_wqe *wqe)
{
	wqe->operand_len = 8;
	wqe->swap_add = bl_be64(seg);
	if (wqe->opcode == BL_WQE_MASKED_FETCH_ADD) {
		wqe->compare_mask = bl_be64(seg + 8);
		return;
	}
	wqe->compare = bl_be64(seg + 8);
	wqe->swap_mask = bl_be64(seg + 16);
	wqe->compare_mask = bl_be64(seg + 24);
}

/* Return: what is wrong, or NULL. */
static const char *parse_atomic(const uint8_t *raw, struct bl_wqe *wqe)
{
	bool masked = wqe->opcode == BL_WQE_MASKED_CMP_SWAP || wqe->opcode == BL_WQE_MASKED_FETCH_ADD;
	bool wide = wqe->opcode == BL_WQE_MASKED_CMP_SWAP && raw[OPMOD] == OPMOD_EXT_8;
	const uint8_t *seg;

	if (masked && raw[OPMOD] != OPMOD_EXT_4 && raw[OPMOD] != OPMOD_EXT_8)
		return "masked atomic with an opcode modifier that is neither 8 nor 9";
	seg = take_segs(raw, wqe, wide ? 2 : 1);
	if (!seg)
		return "atomic without its segments";
	if (masked && raw[OPMOD] == OPMOD_EXT_4) {
		parse_masked_4(seg, wqe);
	} else if (masked) {
		parse_masked_8(seg, wqe);
	} else {
		wqe->operand_len = 8;
		wqe->swap_add = bl_be64(seg);
		wqe->compare = bl_be64(seg + 8);
	}
	return NULL;
}

static bool is_known(const struct bl_wqe *wqe)
{
	switch (wqe->opcode) {
	case BL_WQE_NOP:
	case BL_WQE_WRITE:
	case BL_WQE_WRITE_IMM:
	case BL_WQE_SEND:
	case BL_WQE_SEND_IMM:
	case BL_WQE_WAIT:
	case BL_WQE_READ:
	case BL_WQE_CMP_SWAP:
	case BL_WQE_FETCH_ADD:
	case BL_WQE_MASKED_CMP_SWAP:
	case BL_WQE_MASKED_FETCH_ADD:
	case BL_WQE_DUMP:
		return true;
	default:
		return false;
	}
}

/* Headers after the control segment. Return: what is wrong, or NULL. */
static const char *parse_headers(const uint8_t *raw, struct bl_wqe *wqe)
{
	const uint8_t *seg;

	if (has_raddr(wqe)) {
		seg = take_segs(raw, wqe, 1);
		if (!seg)
			return "no remote address segment";
		wqe->raddr = bl_be64(seg);
		wqe->rkey = bl_be32(seg + 8);
	}
	if (bl_wqe_is_atomic(wqe))
		return parse_atomic(raw, wqe);
	if (wqe->opcode == BL_WQE_WAIT) {
		seg = take_segs(raw, wqe, 1);
		if (!seg)
			return "no segment that says what to wait for";
		wqe->wait_index = bl_be32(seg + 8);
		wqe->wait_cqn = bl_be32(seg + 12) & 0xffffff;
	}
	return NULL;
}

static enum bl_syndrome operation(const char *why, const char **why_p)
{
	*why_p = why;
	return BL_SYNDROME_LOCAL_OPERATION;
}

static enum bl_syndrome length(const char *why, const char **why_p)
{
	*why_p = why;
	return BL_SYNDROME_LOCAL_LENGTH;
}

/* Segments with data: where each ends, and how much it is together. */
static enum bl_syndrome parse_data(const uint8_t *raw, struct bl_wqe *wqe, const char **why_p)
{
	uint32_t at = wqe->first_seg * BL_WQE_SEG, end = wqe->nr_segs * BL_WQE_SEG, count;
	bool sends = !bl_wqe_is_fetch(wqe) && wqe->opcode != BL_WQE_DUMP;
	uint64_t len = 0;

	while (at < end) {
		count = bl_be32(raw + at) & ~INLINE;
		if (!(bl_be32(raw + at) & INLINE)) {
			at += BL_WQE_SEG;
		} else if (!sends) {
			return operation("inline data where a result has to land", why_p);
		} else if (count > end - at - 4) {
			return operation("inline data beyond the end of the request", why_p);
		} else {
			at += (4 + count + BL_WQE_SEG - 1) & ~(BL_WQE_SEG - 1U);
		}
		len += count;
	}
	if (len > BL_WQE_MAX_LEN)
		return length("more than 1 GiB", why_p);
	if (bl_wqe_is_atomic(wqe) && len < wqe->operand_len)
		return length("no room for the result of an atomic", why_p);
	wqe->len = bl_wqe_is_atomic(wqe) ? wqe->operand_len : (uint32_t)len;
	return BL_SYNDROME_NONE;
}

/*
 * What it has brought is that of its memory at the time of its post. Of one that is to wait for something, the memory may be
 * written until then.
 */
static uint8_t brought(const uint8_t *raw, const struct bl_wqe *wqe)
{
	bool sends = wqe->opcode == BL_WQE_SEND || wqe->opcode == BL_WQE_SEND_IMM || wqe->opcode == BL_WQE_WRITE ||
		     wqe->opcode == BL_WQE_WRITE_IMM;

	if (!bl_wqe_is_marked(raw) || !sends || wqe->fence || wqe->nr_segs != wqe->first_seg + 1 ||
	    bl_be32(raw + wqe->first_seg * BL_WQE_SEG) != raw[BROUGHT_LEN] ||
	    raw[BROUGHT_LEN] > BLOCK - wqe->nr_segs * BL_WQE_SEG)
		return 0;
	return raw[BROUGHT_LEN];
}

enum bl_syndrome bl_wqe_parse(const uint8_t *raw, struct bl_wqe *wqe, const char **why_p)
{
	const char *why;

	parse_ctrl(raw, wqe);
	if (!wqe->nr_segs)
		return operation("no segments", why_p);
	if (!is_known(wqe))
		return operation("opcode that this NIC does not have", why_p);
	if (wqe->fence > BL_WQE_READ_AND_SMALL_FENCE)
		return operation("unknown fence mode", why_p);
	why = parse_headers(raw, wqe);
	if (why)
		return operation(why, why_p);
	if (wqe->opcode == BL_WQE_NOP || wqe->opcode == BL_WQE_WAIT)
		return BL_SYNDROME_NONE;
	wqe->brought = brought(raw, wqe);
	return parse_data(raw, wqe, why_p);
}

const uint8_t *bl_wqe_inline(const struct bl_wqe *wqe, const uint8_t *raw)
{
	const uint8_t *seg = raw + wqe->first_seg * BL_WQE_SEG;

	if (!bl_wqe_starts_inline(wqe, raw) || (bl_be32(seg) & ~INLINE) != wqe->len)
		return NULL;
	return seg + 4;
}

void bl_wqe_walk_start(struct bl_wqe_walk *walk, const struct bl_wqe *wqe, const uint8_t *raw, uint64_t off)
{
	*walk = (struct bl_wqe_walk){
		.raw = raw,
		.at = wqe->first_seg * BL_WQE_SEG,
		.end = wqe->nr_segs * BL_WQE_SEG,
		.skip = off,
	};
}

bool bl_wqe_walk_next(struct bl_wqe_walk *walk, uint64_t max, struct bl_wqe_piece *piece)
{
	while (walk->at < walk->end) {
		const uint8_t *seg = walk->raw + walk->at;
		uint32_t word = bl_be32(seg), count = word & ~INLINE, left;
		bool is_inline = word & INLINE;

		if (walk->skip >= count) {
			walk->skip -= count;
			walk->at += is_inline ? (4 + count + BL_WQE_SEG - 1) & ~(BL_WQE_SEG - 1U) : BL_WQE_SEG;
			continue;
		}
		left = count - (uint32_t)walk->skip;
		*piece = (struct bl_wqe_piece){
			.bytes = is_inline ? seg + 4 + walk->skip : NULL,
			.addr = is_inline ? 0 : bl_be64(seg + 8) + walk->skip,
			.lkey = is_inline ? 0 : bl_be32(seg + 4),
			.len = left < max ? left : (uint32_t)max,
		};
		walk->skip += piece->len;
		return true;
	}
	return false;
}
