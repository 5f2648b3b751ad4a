// SPDX-License-Identifier: MIT
/* Requests that are given whole: ahead of the doorbell, beside the ring that has them as well. */
#include "express.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "qp.h"
#include "util/guard.h"

#define BYTES (BL_SNIC_EXPRESS_BLOCKS * BL_SNIC_EXPRESS_WORDS * sizeof(uint64_t))

/*
 * @line: the words; @tag: of the request that is wanted, @slots: where its blocks go, in the copy of the ring, if there is room
 * for them, else NULL; @nr: its blocks
 */
struct whole {
	const uint64_t *line;
	uint32_t tag;
	unsigned int nr;
	uint8_t *slots[BL_SNIC_EXPRESS_BLOCKS];
};

/* In no order: each word says itself which block it is of. Return: 0, or -EAGAIN: one of them is of another. */
static int read_block(struct whole *whole, unsigned int block)
{
	const uint64_t *line = whole->line + (size_t)block * BL_SNIC_EXPRESS_WORDS;
	uint8_t *raw = whole->slots[block];

	if (!raw)
		return -EAGAIN;
	for (unsigned int i = 0; i < BL_SNIC_EXPRESS_WORDS; i++) {
		/* what was released before the words is read after them */
		uint64_t word = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE);
		uint32_t part = (uint32_t)word;

		if ((uint32_t)(word >> 32) != whole->tag + block)
			return -EAGAIN;
		memcpy(raw + i * sizeof(part), &part, sizeof(part));
	}
	return 0;
}

/* The first block says how many there are. */
static int read_words(void *arg)
{
	struct whole *whole = arg;
	int ret = read_block(whole, 0);

	if (ret)
		return ret;
	whole->nr = (bl_wqe_nr_segs(whole->slots[0]) * BL_WQE_SEG + BL_SNIC_WQEBB - 1) / BL_SNIC_WQEBB;
	for (unsigned int block = 1; block < whole->nr && block < BL_SNIC_EXPRESS_BLOCKS && !ret; block++)
		ret = read_block(whole, block);
	return ret;
}

/*
 * One that has brought its bytes was given without a release: where they do not count, its memory is read behind that of
 * its doorbell. It is of one block, so that it is in one piece.
 */
static bool is_whole(const struct bl_sq *sq, const struct whole *whole)
{
	const uint8_t *raw = whole->slots[0];
	struct bl_wqe wqe;
	const char *why;

	if (!bl_wqe_is_marked(raw))
		return true;
	return !sq->waits && whole->nr == 1 && (bl_wqe_parse(raw, &wqe, &why) || wqe.brought);
}

/* The next of the ring. */
static bool is_next(const struct bl_sq *sq, const struct whole *whole)
{
	return bl_wqe_index(whole->slots[0]) == (uint16_t)sq->pi && whole->nr && whole->nr <= BL_SNIC_EXPRESS_BLOCKS;
}

/* All before it are taken, and the places of @nr blocks in the copy of the ring are free. */
static bool has_room(const struct bl_snic_qp *qp, unsigned int nr)
{
	const struct bl_sq *sq = &qp->sq;

	return sq->taken == sq->pi && sq->fetched == sq->pi && sq->pi - sq->ci + nr <= qp->attr.sq_nr;
}

/* Nothing reads them before they are posted. */
static void set_slots(const struct bl_snic_qp *qp, struct whole *whole)
{
	for (unsigned int block = 0; block < BL_SNIC_EXPRESS_BLOCKS; block++) {
		size_t slot = (qp->sq.pi + block) & (qp->attr.sq_nr - 1);

		whole->slots[block] = has_room(qp, block + 1) ? qp->sq.blocks + slot * BL_SNIC_WQEBB : NULL;
	}
}

/* What has this tag was there before, or will come; a stale line must not pass for news when tags come round again. */
static bool is_behind(uint64_t word, uint32_t tag)
{
	return (int32_t)((uint32_t)(word >> 32) - tag) < 0;
}

/* When the first word has come, so have most others, which lie in another line of the cache: that comes meanwhile. */
static void expect_rest(const uint64_t *line)
{
	__builtin_prefetch(&line[BL_SNIC_EXPRESS_WORDS / 2]);
}

bool bl_express_is_news(const struct bl_snic_qp *qp)
{
	const struct bl_sq *sq = &qp->sq;
	uint64_t first;

	expect_rest(sq->express);
	if (bl_guard_load64(sq->express, &first))
		return true;
	return first != sq->express_seen && (uint32_t)(first >> 32) == (uint32_t)(sq->pi + 1);
}

bool bl_express_look(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	struct whole whole = {.line = sq->express, .tag = (uint32_t)(sq->pi + 1)};
	uint64_t first;
	int ret;

	expect_rest(whole.line);
	if (bl_guard_load64(whole.line, &first)) {
		/* the ring has it all */
		sq->express = NULL;
		return false;
	}
	if (first == sq->express_seen)
		return false;
	if ((uint32_t)(first >> 32) != whole.tag) {
		if (is_behind(first, whole.tag))
			sq->express_seen = first;
		return false;
	}
	set_slots(qp, &whole);
	if (!whole.slots[0])
		return false;
	ret = bl_guard_call(whole.line, BYTES, read_words, &whole);
	if (ret == -EAGAIN)
		return false;
	sq->express_seen = first;
	if (ret || !is_next(sq, &whole) || !is_whole(sq, &whole))
		return false;
	sq->pi += whole.nr;
	sq->fetched += whole.nr;
	return true;
}
