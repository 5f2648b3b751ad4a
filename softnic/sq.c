// SPDX-License-Identifier: MIT
/* Send queues: from doorbells to requests that are parsed. */
#include <errno.h>

#include "bytes.h"
#include "express.h"
#include "loop.h"
#include "mem.h"
#include "qp.h"
#include "util/guard.h"

/* Blocks taken over in one go: a slow memory is worth one long read, others should have their turn. */
#define TAKE_MAX 64

/* How long a block may be behind its doorbell. */
#define LATE_NS 1000000000ULL

#define HALF 0x8000U

/* Whether a count that was read is one more than @sq->pi by no more than the ring has; otherwise it is an old one. */
static void advance(struct bl_snic_qp *qp, uint64_t ahead)
{
	if (ahead <= qp->attr.sq_nr)
		qp->sq.pi += ahead;
}

/* More than the ring has, and not an older value either: nothing that was posted can be meant. */
static bool is_wild(const struct bl_snic_qp *qp, uint16_t ahead)
{
	return ahead > qp->attr.sq_nr && ahead < HALF;
}

/*
 * Whether what was read is news. A word that nobody writes while another one is watched says nothing, and 16 bits that
 * stay where they are would be an error half a round later, and requests that nobody has posted at its end.
 */
static bool is_news(struct bl_snic_qp *qp, uint64_t word)
{
	bool news = word != qp->sq.seen;

	qp->sq.seen = word;
	return news;
}

/* Memory of the queue was taken away: none of it is touched again. */
static void lose(struct bl_snic_qp *qp, const char *what, const void *addr, int err)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_LOCAL_ACCESS};

	qp->sq.lost = true;
	bl_qp_fail(qp, UINT64_MAX, &cause, "%s at %p cannot be read: %s", what, addr, strerror(err));
}

/* Acquire, here and below: the blocks are read after the count that covers them. */
static bool look_at_record(struct bl_snic_qp *qp, uint16_t *wild_p)
{
	uint32_t record;
	uint16_t ahead;

	if (bl_guard_load32(&qp->attr.dbrec[1], &record)) {
		lose(qp, "doorbell record", &qp->attr.dbrec[1], EFAULT);
		return true;
	}
	record = be32toh(record);
	ahead = (uint16_t)(record - (uint32_t)qp->sq.pi);
	if (!is_news(qp, record))
		return true;
	*wild_p = (uint16_t)record;
	advance(qp, ahead);
	return !is_wild(qp, ahead);
}

static bool look_at_register(struct bl_snic_qp *qp, uint16_t *wild_p)
{
	uint32_t half[2];
	uint16_t ahead;
	uint64_t word;

	if (bl_guard_load64(qp->uar_word, &word)) {
		lose(qp, "doorbell register", qp->uar_word, EFAULT);
		return true;
	}
	memcpy(half, &word, sizeof(half));
	if (!is_news(qp, word) || be32toh(half[1]) >> 8 != qp->num)
		return true;
	*wild_p = (uint16_t)(be32toh(half[0]) >> 8);
	ahead = (uint16_t)(*wild_p - (uint16_t)qp->sq.pi);
	advance(qp, ahead);
	return !is_wild(qp, ahead);
}

/* 64 bits are never an old value that looks like a new one: what is too far ahead is wrong. */
static void look_at_watched(struct bl_snic_qp *qp)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_LOCAL_OPERATION};
	uint64_t count;

	if (bl_guard_load64(qp->sq.watched, &count)) {
		lose(qp, "watched word", qp->sq.watched, EFAULT);
		return;
	}
	if (count <= qp->sq.pi)
		return;
	if (count - qp->sq.pi > qp->attr.sq_nr && qp->state == BL_SNIC_RTS)
		bl_qp_fail(qp, UINT64_MAX, &cause,
			   "the watched word says %llu where %llu is posted: more than the ring's %u blocks",
			   (unsigned long long)count, (unsigned long long)qp->sq.pi, qp->attr.sq_nr);
	else
		advance(qp, count - qp->sq.pi);
}

static void look(struct bl_snic_qp *qp)
{
	static const struct bl_cause cause = {.syndrome = BL_SYNDROME_LOCAL_OPERATION};
	uint16_t wild = 0;
	bool good;

	if (qp->sq.express && bl_express_look(qp))
		return;
	if (qp->sq.watched)
		look_at_watched(qp);
	if (qp->sq.lost)
		return;
	good = qp->attr.no_dbrec ? look_at_register(qp, &wild) : look_at_record(qp, &wild);
	if (!good && qp->state == BL_SNIC_RTS)
		bl_qp_fail(qp, UINT64_MAX, &cause,
			   "doorbell says %u where %u is posted: more than the ring's %u blocks", wild,
			   (uint16_t)qp->sq.pi, qp->attr.sq_nr);
}

/* Return: 0, or what the ring's memory says. */
static int fetch(struct bl_snic_qp *qp)
{
	uint32_t nr = qp->attr.sq_nr, slot = 0, run;
	struct bl_sq *sq = &qp->sq;
	uint64_t limit = sq->taken + TAKE_MAX;
	int ret = 0;

	if (limit > sq->pi)
		limit = sq->pi;
	/* a copy that is still in use is not written over */
	if (limit > sq->ci + nr)
		limit = sq->ci + nr;
	while (sq->fetched < limit && !ret) {
		slot = (uint32_t)sq->fetched & (nr - 1);
		run = nr - slot;
		if (run > limit - sq->fetched)
			run = (uint32_t)(limit - sq->fetched);
		ret = bl_snic_mem_read(&qp->attr.sq, qp->attr.sq_off + (uint64_t)slot * BL_SNIC_WQEBB,
				       sq->blocks + (size_t)slot * BL_SNIC_WQEBB, (size_t)run * BL_SNIC_WQEBB);
		sq->fetched += ret ? 0 : run;
	}
	if (ret)
		lose(qp, "send ring", bl_snic_mem_at(&qp->attr.sq, qp->attr.sq_off + (uint64_t)slot * BL_SNIC_WQEBB), -ret);
	return ret;
}

/* In one piece: what wrapped is put behind the end, where nothing else ever is. */
static const uint8_t *straighten(struct bl_snic_qp *qp, unsigned int nr_bb)
{
	uint32_t nr = qp->attr.sq_nr, slot = (uint32_t)qp->sq.taken & (nr - 1);
	uint8_t *blocks = qp->sq.blocks;

	if (slot + nr_bb > nr)
		memcpy(blocks + (size_t)nr * BL_SNIC_WQEBB, blocks, (size_t)(slot + nr_bb - nr) * BL_SNIC_WQEBB);
	return blocks + (size_t)slot * BL_SNIC_WQEBB;
}

/* The next request, where it stays; it counts when it is added. */
static struct bl_wr *new_wr(struct bl_snic_qp *qp, unsigned int nr_bb)
{
	struct bl_wr *wr = bl_qp_wr(qp, qp->sq.tail);

	*wr = (struct bl_wr){.raw = straighten(qp, nr_bb), .nr_bb = (uint16_t)nr_bb};
	return wr;
}

static void add(struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	struct bl_sq *sq = &qp->sq;

	sq->tail++;
	sq->taken += wr->nr_bb;
	sq->late = 0;
	sq->waits = sq->waits || wr->wqe.opcode == BL_WQE_WAIT;
	bl_snic_count(qp->nic, BL_SNIC_WQE, 1);
	if (wr->syndrome)
		bl_snic_count(qp->nic, BL_SNIC_WQE_BAD, 1);
}

static void add_bad(struct bl_snic_qp *qp, const char *why)
{
	struct bl_wr *wr = new_wr(qp, 1);
	const char *parser_why;

	bl_wqe_parse(wr->raw, &wr->wqe, &parser_why);
	wr->wqe.index = (uint16_t)qp->sq.taken;
	wr->syndrome = BL_SYNDROME_LOCAL_OPERATION;
	wr->why = why;
	add(qp, wr);
}

/* The block is not there yet, or only a part of the request is: it may come. Whether that took too long. */
static bool is_overdue(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;

	/* read it again the next time */
	sq->fetched = sq->taken;
	if (!sq->late)
		sq->late = qp->nic->now ? qp->nic->now : 1;
	return qp->nic->now - sq->late >= LATE_NS;
}

static const char *check_kind(const struct bl_snic_qp *qp, const struct bl_wqe *wqe)
{
	if (wqe->qpn != qp->num)
		return "the number in the request is not this queue pair's";
	if (!bl_qp_is_rc(qp) && bl_wqe_is_fetch(wqe))
		return "an unreliable connection cannot read";
	return NULL;
}

static void add_parsed(struct bl_snic_qp *qp, unsigned int nr_bb)
{
	struct bl_wr *wr = new_wr(qp, nr_bb);
	const char *why;

	wr->syndrome = bl_wqe_parse(wr->raw, &wr->wqe, &wr->why);
	why = wr->syndrome ? NULL : check_kind(qp, &wr->wqe);
	if (why) {
		wr->syndrome = BL_SYNDROME_LOCAL_OPERATION;
		wr->why = why;
	}
	if (qp->sq.waits)
		wr->wqe.brought = 0;
	add(qp, wr);
	bl_loop_ahead(qp, wr);
}

/* One request, if it is there. */
static bool take_one(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	const uint8_t *raw = sq->blocks + (size_t)(sq->taken & (qp->attr.sq_nr - 1)) * BL_SNIC_WQEBB;
	unsigned int nr_bb = (bl_wqe_nr_segs(raw) * BL_WQE_SEG + BL_SNIC_WQEBB - 1) / BL_SNIC_WQEBB;

	if (bl_wqe_index(raw) != (uint16_t)sq->taken) {
		if (!is_overdue(qp))
			return false;
		add_bad(qp, "the index in its control segment is not its own");
	} else if (!nr_bb || nr_bb > qp->attr.sq_nr) {
		add_bad(qp, nr_bb ? "more segments than the ring has" : "no segments");
	} else if (sq->taken + nr_bb > sq->pi) {
		if (!is_overdue(qp))
			return false;
		add_bad(qp, "more segments than the doorbell covers");
	} else if (sq->taken + nr_bb > sq->fetched) {
		return false;
	} else {
		add_parsed(qp, nr_bb);
	}
	return true;
}

/* What cannot be read is news: who takes it finds out. */
bool bl_sq_rung(const struct bl_snic_qp *qp)
{
	const struct bl_sq *sq = &qp->sq;
	uint64_t word = 0;
	uint32_t record;

	if (qp->state != BL_SNIC_RTS || !qp->attr.sq_nr || sq->lost)
		return false;
	if (sq->express && bl_express_is_news(qp))
		return true;
	if (sq->watched && (bl_guard_load64(sq->watched, &word) || word > sq->pi))
		return true;
	if (qp->attr.no_dbrec)
		return bl_guard_load64(qp->uar_word, &word) || word != sq->seen;
	return bl_guard_load32(&qp->attr.dbrec[1], &record) || be32toh(record) != sq->seen;
}

int bl_sq_take(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	int nr = 0;

	if (!qp->attr.sq_nr || sq->lost)
		return 0;
	look(qp);
	if (sq->lost || (sq->taken != sq->pi && fetch(qp)))
		return 1;
	if (sq->taken == sq->pi)
		return 0;
	while (sq->taken < sq->fetched && take_one(qp))
		nr++;
	return nr;
}
