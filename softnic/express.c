// SPDX-License-Identifier: MIT
/* Requests that are given whole: ahead of the doorbell, beside the ring that has them as well. */
#include "express.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "qp.h"
#include "util/guard.h"

/* @line: the words; @tag: of the request that is wanted, @raw: receives it */
struct whole {
	const uint64_t *line;
	uint32_t tag;
	uint8_t raw[BL_SNIC_WQEBB];
};

/* In no order: each word says itself which request it is of. Return: 0, or -EAGAIN: one of them is of another. */
static int read_words(void *arg)
{
	struct whole *whole = arg;

	for (unsigned int i = 0; i < BL_SNIC_EXPRESS_WORDS; i++) {
		/* what was released before the words is read after them */
		uint64_t word = __atomic_load_n(&whole->line[i], __ATOMIC_ACQUIRE);
		uint32_t part = (uint32_t)word;

		if ((uint32_t)(word >> 32) != whole->tag)
			return -EAGAIN;
		memcpy(whole->raw + i * sizeof(part), &part, sizeof(part));
	}
	return 0;
}

/* One block, and the next of the ring. */
static bool is_next(const struct bl_sq *sq, const uint8_t *raw)
{
	unsigned int nr = bl_wqe_nr_segs(raw);

	return bl_wqe_index(raw) == (uint16_t)sq->pi && nr && nr * BL_WQE_SEG <= BL_SNIC_WQEBB;
}

/*
 * One that has brought its bytes was given without a release: where they do not count, its memory is read behind that of
 * its doorbell.
 */
static bool is_whole(const struct bl_sq *sq, const uint8_t *raw)
{
	struct bl_wqe wqe;
	const char *why;

	if (!bl_wqe_is_marked(raw))
		return true;
	return !sq->waits && (bl_wqe_parse(raw, &wqe, &why) || wqe.brought);
}

/* All before it are taken, and its place in the copy of the ring is free. */
static bool has_room(const struct bl_snic_qp *qp)
{
	const struct bl_sq *sq = &qp->sq;

	return sq->taken == sq->pi && sq->fetched == sq->pi && sq->pi - sq->ci < qp->attr.sq_nr;
}

/* What has this tag was there before, or will come; a stale line must not pass for news when tags come round again. */
static bool is_behind(uint64_t word, uint32_t tag)
{
	return (int32_t)((uint32_t)(word >> 32) - tag) < 0;
}

bool bl_express_is_news(const struct bl_snic_qp *qp)
{
	const struct bl_sq *sq = &qp->sq;
	uint64_t first;

	if (bl_guard_load64(sq->express, &first))
		return true;
	return first != sq->express_seen && (uint32_t)(first >> 32) == (uint32_t)(sq->pi + 1);
}

void bl_express_look(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	struct whole whole = {.line = sq->express, .tag = (uint32_t)(sq->pi + 1)};
	uint64_t first;
	int ret;

	/* when the first word has come, so have most others, which lie in another line of the cache: that comes meanwhile */
	__builtin_prefetch(&whole.line[BL_SNIC_EXPRESS_WORDS / 2]);
	if (bl_guard_load64(whole.line, &first)) {
		/* the ring has it all */
		sq->express = NULL;
		return;
	}
	if (first == sq->express_seen)
		return;
	if ((uint32_t)(first >> 32) != whole.tag) {
		if (is_behind(first, whole.tag))
			sq->express_seen = first;
		return;
	}
	if (!has_room(qp))
		return;
	ret = bl_guard_call(whole.line, BL_SNIC_EXPRESS_WORDS * sizeof(*whole.line), read_words, &whole);
	if (ret == -EAGAIN)
		return;
	sq->express_seen = first;
	if (ret || !is_next(sq, whole.raw) || !is_whole(sq, whole.raw))
		return;
	memcpy(sq->blocks + (size_t)(sq->pi & (qp->attr.sq_nr - 1)) * BL_SNIC_WQEBB, whole.raw, sizeof(whole.raw));
	sq->pi++;
	sq->fetched++;
}
