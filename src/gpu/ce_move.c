// SPDX-License-Identifier: MIT
/* The transfers of one copy. The channel's context is current, its lock is held. */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <inttypes.h>

#include "copy/arrive.h"
#include "util/clock.h"
#include "util/log.h"

/* A transfer is at most this long, so that one deadline does for all of them. */
#define MAX_DIRECT (1UL << 30)

/* Reads up to this long are watched arriving: measured, the longest for which that is faster. */
#define LAND_PINNED (16UL << 10)
#define LAND_OTHER  (128UL << 10)

/* Looks at the landing area for one at the clock; and how long nothing comes before the GPU is asked for a report. */
#define LAND_POLLS	 16U
#define LAND_PATIENCE_NS 20000U

int bl_ce_post(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host, size_t len)
{
	CUresult err;

	if (dir == BL_COPY_TO)
		err = cuda->cuMemcpyHtoDAsync(va, host, len, ce->stream);
	else
		err = cuda->cuMemcpyDtoHAsync(host, va, len, ce->stream);
	if (err)
		return fail(bl_cuda_errno(err), "copy va 0x%" PRIx64 " len 0x%zx: %s", va, len, bl_cuda_strerror(err));
	ce->last = dir;
	ce->last_len = len;
	return 0;
}

/* A part of a copy. Where CUDA does not take it, memory that was freed may be the reason. */
static int post(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy, size_t off, void *host,
		size_t len, struct bl_ce_entry *entry)
{
	int ret = bl_ce_post(cuda, ce, copy->dir, copy->va + off, host, len), gone;

	if (!ret)
		return 0;
	gone = bl_ce_ask(cuda, entry);
	return gone ? gone : ret;
}

static int move_direct(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
		       struct bl_ce_entry *entry)
{
	/* only the last wait is one without CUDA, in which there is time */
	bool late = copy->len <= MAX_DIRECT && !ce->asks[copy->dir];
	int ret = late ? 0 : bl_ce_ask(cuda, entry);

	for (size_t off = 0, len; off < copy->len && !ret; off += len) {
		len = copy->len - off < MAX_DIRECT ? copy->len - off : MAX_DIRECT;
		ret = post(cuda, ce, copy, off, (char *)copy->host + off, len, entry);
		if (!ret && ce->asks[copy->dir])
			ret = bl_ce_wait_idle(cuda, ce);
		else if (!ret && off + len < copy->len)
			ret = bl_ce_wait_posted(cuda, ce);
		else if (!ret)
			ret = bl_ce_wait_out(cuda, ce, entry);
	}
	return ret;
}

bool bl_ce_lands(const struct bl_ce_copy *copy)
{
	return copy->dir == BL_COPY_FROM && copy->len <= (copy->pinned ? LAND_PINNED : LAND_OTHER) &&
	       !((copy->va | copy->len) % sizeof(uint32_t));
}

static unsigned char *landing_place(struct bl_ce *ce, size_t len)
{
	size_t at = ce->land_next + len <= BL_CE_LAND_SIZE ? ce->land_next : 0;

	ce->land_next = (at + len + 63) & ~63UL;
	return ce->land + at;
}

/*
 * The bytes are taken as they arrive. No report is asked for before nothing has come for a while: it would hold up the
 * next copy. What looks as if it had not arrived is taken when the report comes.
 */
static int take_landing(const struct bl_cuda *cuda, struct bl_ce *ce, char *host, unsigned char *land, size_t len,
			struct bl_ce_entry *entry)
{
	unsigned int polls = 0;
	uint64_t since = 0;
	size_t done, got;
	int ret;

	bl_ce_go_out(cuda, entry);
	for (done = 0; done < len; done += got) {
		got = bl_arrive(host + done, land + done, len - done, ce->mark);
		if (got)
			since = 0;
		else if (++polls % LAND_POLLS == 0 && !since)
			since = bl_now_ns();
		else if (polls % LAND_POLLS == 0 && bl_now_ns() - since > LAND_PATIENCE_NS)
			break;
	}
	if (done == len)
		return 0;
	ret = bl_ce_come_back(cuda, ce, entry);
	if (!ret)
		ret = bl_ce_wait_posted(cuda, ce);
	if (!ret)
		bl_arrive_all(host + done, land + done, len - done, ce->mark);
	return ret;
}

static int read_landing(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct bl_ce_entry *entry)
{
	unsigned char *land;
	int ret;

	if (ce->unclean)
		bl_arrive_reset(ce->land, BL_CE_LAND_SIZE, ce->mark);
	ce->unclean = true;
	land = landing_place(ce, copy->len);
	ret = post(cuda, ce, copy, 0, land, copy->len, entry);
	if (!ret)
		ret = bl_ce_ask(cuda, entry);
	if (!ret)
		ret = take_landing(cuda, ce, copy->host, land, copy->len, entry);
	ce->unclean = ret;
	return ret;
}

/* A copy that could not be submitted to its end leaves transfers behind that still use the channel's memory. */
static void drain(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	bl_fail_hush(1);
	if (!ce->broken) {
		/* the last transfer may have no number yet */
		bl_ce_mark(cuda, ce);
		bl_ce_wait(cuda, ce, ce->seq);
	}
	bl_fail_hush(-1);
}

int bl_ce_move(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy, struct bl_ce_entry *entry)
{
	int ret;

	if (ce->land && bl_ce_lands(copy)) {
		ret = read_landing(cuda, ce, copy, entry);
	} else if (copy->pinned) {
		ret = move_direct(cuda, ce, copy, entry);
	} else {
		ret = bl_ce_ask(cuda, entry);
		if (!ret)
			ret = bl_ce_move_staged(cuda, ce, copy);
	}
	if (!ret)
		return 0;
	drain(cuda, ce);
	/* what did not end matters more than why no more was submitted: nobody else may do this copy now */
	return ce->broken ? -ce->broken : ret;
}
