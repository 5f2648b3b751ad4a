// SPDX-License-Identifier: MIT
/* The transfers of one copy. The channel's context is current, its lock is held. */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "copy/arrive.h"
#include "copy/cpu.h"
#include "util/clock.h"
#include "util/log.h"

/* A transfer is at most this long, so that one deadline does for all of them. */
#define MAX_DIRECT (1UL << 30)

#define MAX_DEPTH 8U /* transfers of one copy that are under way */

/* Reads up to this long are watched arriving: measured, the longest for which that is faster. */
#define LAND_PINNED (16UL << 10)
#define LAND_OTHER  (128UL << 10)

/* Looks at the landing area for one at the clock; and how long nothing comes before the GPU is asked for a report. */
#define LAND_POLLS	 16U
#define LAND_PATIENCE_NS 20000U

/**
 * struct shape - how a copy of ordinary memory goes through the ring; decides on speed only
 * @from:   for copies of this many bytes and more
 * @chunk:  bytes per transfer, a fraction of BL_CE_RING_SIZE
 * @stream: host side of reads is written with streaming stores
 *
 * Measured on an H200, see docs/copy-engine.md: each transfer adds 2 us of the CPU's time to submit it and 4 us on the
 * GPU to report it.
 */
struct shape {
	size_t from;
	uint32_t chunk;
	bool stream;
};

static const struct shape shapes[] = {
	{ 8UL << 20, 1U << 20, true },
	{ 2UL << 20, 512U << 10, true },
	{ 1UL << 20, 256U << 10, false },
	{ 256UL << 10, 128U << 10, false },
	{ 0, 256U << 10, false },
};

static const struct shape *shape_of(size_t len)
{
	const struct shape *shape = shapes;

	while (len < shape->from)
		shape++;
	return shape;
}

size_t bl_ce_chunk(size_t len, bool *stream_p)
{
	const struct shape *shape = shape_of(len);

	*stream_p = shape->stream;
	return shape->chunk;
}

int bl_ce_post(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host, size_t len)
{
	CUresult err;

	if (dir == BL_COPY_TO)
		err = cuda->cuMemcpyHtoDAsync(va, host, len, ce->stream);
	else
		err = cuda->cuMemcpyDtoHAsync(host, va, len, ce->stream);
	if (err)
		return fail(bl_cuda_errno(err), "copy va 0x%" PRIx64 " len 0x%zx: %s", va, len, bl_cuda_strerror(err));
	return 0;
}

static int submit(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host,
		  size_t len)
{
	int ret = bl_ce_post(cuda, ce, dir, va, host, len);

	return ret ? ret : bl_ce_mark(cuda, ce);
}

static int move_direct(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	int ret = 0;

	for (size_t off = 0, len; off < copy->len && !ret; off += len) {
		len = copy->len - off < MAX_DIRECT ? copy->len - off : MAX_DIRECT;
		ret = bl_ce_post(cuda, ce, copy->dir, copy->va + off, (char *)copy->host + off, len);
		if (!ret && ce->asks)
			ret = bl_ce_wait_idle(cuda, ce);
		else if (!ret)
			ret = bl_ce_wait_posted(cuda, ce);
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
static int take_landing(const struct bl_cuda *cuda, struct bl_ce *ce, char *host, unsigned char *land, size_t len)
{
	unsigned int polls = 0;
	uint64_t since = 0;
	size_t done, got;
	int ret;

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
	ret = bl_ce_wait_posted(cuda, ce);
	if (!ret)
		bl_arrive_all(host + done, land + done, len - done, ce->mark);
	return ret;
}

static int read_landing(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	unsigned char *land;
	int ret;

	if (ce->unclean)
		bl_arrive_reset(ce->land, BL_CE_LAND_SIZE, ce->mark);
	ce->unclean = true;
	land = landing_place(ce, copy->len);
	ret = bl_ce_post(cuda, ce, copy->dir, copy->va, land, copy->len);
	if (!ret)
		ret = take_landing(cuda, ce, copy->host, land, copy->len);
	ce->unclean = ret;
	return ret;
}

/**
 * struct staged - a copy through the ring
 * @chunk:     bytes per transfer
 * @nr:        transfers
 * @submitted: of them, the first ones
 * @first:     chunk of the ring that the first one uses
 * @nr_slots:  chunks in the ring
 * @depth:     transfers that may be under way
 * @host_copy: from the ring to the host
 * @seq:       number of the transfer in each slot
 */
struct staged {
	size_t chunk;
	size_t nr;
	size_t submitted;
	size_t first;
	size_t nr_slots;
	size_t depth;
	bl_copy_fn host_copy;
	uint32_t seq[MAX_DEPTH];
};

static int plain_copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static void plan(struct bl_ce *ce, const struct bl_ce_copy *copy, struct staged *staged)
{
	const struct shape *shape = shape_of(copy->len);

	staged->chunk = shape->chunk;
	staged->nr = (copy->len + staged->chunk - 1) / staged->chunk;
	staged->submitted = 0;
	staged->first = (ce->ring_next + staged->chunk - 1) / staged->chunk;
	staged->nr_slots = BL_CE_RING_SIZE / staged->chunk;
	staged->depth = staged->nr_slots < MAX_DEPTH ? staged->nr_slots : MAX_DEPTH;
	ce->ring_next = (staged->first + staged->nr) % staged->nr_slots * staged->chunk;
	/* the routine for write-combining mappings stores past the caches, and ends with the fence for it */
	staged->host_copy = shape->stream ? bl_cpu_copy_select(BL_MAP_WC)->to : plain_copy;
}

static unsigned char *slot_of(const struct bl_ce *ce, const struct staged *staged, size_t i)
{
	return ce->ring + (staged->first + i) % staged->nr_slots * staged->chunk;
}

static size_t chunk_len(const struct bl_ce_copy *copy, const struct staged *staged, size_t i)
{
	return i + 1 < staged->nr ? staged->chunk : copy->len - i * staged->chunk;
}

static int submit_chunk(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged)
{
	size_t i = staged->submitted;
	int ret;

	ret = submit(cuda, ce, copy->dir, copy->va + i * staged->chunk, slot_of(ce, staged, i),
		     chunk_len(copy, staged, i));
	if (ret)
		return ret;
	staged->seq[i % MAX_DEPTH] = ce->seq;
	staged->submitted++;
	return 0;
}

/* As many transfers as may be are under way while the chunk before them is copied out. */
static int read_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
		       struct staged *staged)
{
	int ret = 0;

	for (size_t i = 0; i < staged->nr; i++) {
		while (!ret && staged->submitted < staged->nr && staged->submitted < i + staged->depth)
			ret = submit_chunk(cuda, ce, copy, staged);
		if (!ret)
			ret = bl_ce_wait(cuda, ce, staged->seq[i % MAX_DEPTH]);
		if (ret)
			return ret;
		staged->host_copy((char *)copy->host + i * staged->chunk, slot_of(ce, staged, i),
				  chunk_len(copy, staged, i));
	}
	return 0;
}

static int write_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged)
{
	int ret;

	for (size_t i = 0; i < staged->nr; i++) {
		if (i >= staged->depth) {
			ret = bl_ce_wait(cuda, ce, staged->seq[(i - staged->depth) % MAX_DEPTH]);
			if (ret)
				return ret;
		}
		memcpy(slot_of(ce, staged, i), (const char *)copy->host + i * staged->chunk, chunk_len(copy, staged, i));
		ret = submit_chunk(cuda, ce, copy, staged);
		if (ret)
			return ret;
	}
	return bl_ce_wait(cuda, ce, ce->seq);
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

int bl_ce_move(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	struct staged staged;
	int ret;

	if (ce->land && bl_ce_lands(copy)) {
		ret = read_landing(cuda, ce, copy);
	} else if (copy->pinned) {
		ret = move_direct(cuda, ce, copy);
	} else {
		plan(ce, copy, &staged);
		ret = copy->dir == BL_COPY_TO ? write_staged(cuda, ce, copy, &staged) :
						read_staged(cuda, ce, copy, &staged);
	}
	if (!ret)
		return 0;
	drain(cuda, ce);
	/* what did not end matters more than why no more was submitted: nobody else may do this copy now */
	return ce->broken ? -ce->broken : ret;
}
