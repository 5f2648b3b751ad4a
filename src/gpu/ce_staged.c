// SPDX-License-Identifier: MIT
/* Copies of ordinary host memory, through the channel's ring. The channel's context is current, its lock is held. */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <string.h>

#include "copy/cpu.h"
#include "copy/helper.h"

#define MAX_DEPTH 8U /* transfers of one copy that are under way */

/**
 * struct shape - how a copy of ordinary memory goes through the ring; decides on speed only
 * @from:   for copies of this many bytes and more
 * @chunk:  bytes per transfer, a fraction of BL_CE_RING_SIZE
 * @block:  bytes per turn of one of the threads that copy reads out, a fraction of @chunk
 * @help:   so many more threads are worth waking
 * @stream: host side of reads is written with streaming stores
 * @wide:   reads go through the longer ring. The threads keep what they have read last in their own caches, all of the
 *          shorter ring when there are four of them, and the GPU writes there at half of the speed
 *
 * Measured on an H200, see docs/copy-engine.md: each transfer adds 2 us of the CPU's time to submit it and 4 us on the
 * GPU to report it.
 */
struct shape {
	size_t from;
	uint32_t chunk;
	uint32_t block;
	unsigned int help;
	bool stream;
	bool wide;
};

static const struct shape shapes[] = {
	{ 8UL << 20, 1U << 20, 64U << 10, 3, true, true },
	{ 4UL << 20, 512U << 10, 64U << 10, 3, true, true },
	{ 2UL << 20, 512U << 10, 64U << 10, 3, true, false },
	{ 1UL << 20, 256U << 10, 64U << 10, 2, false, false },
	{ 512UL << 10, 128U << 10, 64U << 10, 1, false, false },
	{ 256UL << 10, 128U << 10, 128U << 10, 0, false, false },
	{ 0, 256U << 10, 256U << 10, 0, false, false },
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

bool bl_ce_is_wide(const struct bl_ce_copy *copy)
{
	return copy->dir == BL_COPY_FROM && shape_of(copy->len)->wide;
}

/**
 * struct staged - a copy through the ring
 * @split:     its blocks, when it is a read
 * @copy:      what is copied
 * @ring:      its ring
 * @chunk:     bytes per transfer
 * @block:     bytes per block
 * @nr:        transfers
 * @submitted: of them, the first ones
 * @landed:    of them, those that are complete
 * @drained:   of them, those that have been copied out
 * @first:     chunk of the ring that the first one uses
 * @nr_slots:  chunks in the ring
 * @depth:     transfers that may be under way
 * @help:      so many more threads may take part
 * @host_copy: from the ring to the host
 * @seq:       number of the transfer in each slot
 * @left:      blocks in each slot that have not been copied out
 */
struct staged {
	struct bl_split split;
	const struct bl_ce_copy *copy;
	unsigned char *ring;
	size_t chunk;
	size_t block;
	size_t nr;
	size_t submitted;
	size_t landed;
	size_t drained;
	size_t first;
	size_t nr_slots;
	size_t depth;
	unsigned int help;
	bl_copy_fn host_copy;
	uint32_t seq[MAX_DEPTH];
	_Atomic(size_t) left[MAX_DEPTH];
};

static int plain_copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static unsigned char *slot_of(const struct staged *staged, size_t i)
{
	return staged->ring + (staged->first + i) % staged->nr_slots * staged->chunk;
}

static size_t chunk_len(const struct bl_ce_copy *copy, const struct staged *staged, size_t i)
{
	return i + 1 < staged->nr ? staged->chunk : copy->len - i * staged->chunk;
}

static int submit(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host,
		  size_t len)
{
	int ret = bl_ce_post(cuda, ce, dir, va, host, len);

	return ret ? ret : bl_ce_mark(cuda, ce);
}

static int submit_chunk(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged)
{
	size_t i = staged->submitted;
	int ret;

	ret = submit(cuda, ce, copy->dir, copy->va + i * staged->chunk, slot_of(staged, i),
		     chunk_len(copy, staged, i));
	if (ret)
		return ret;
	staged->seq[i % MAX_DEPTH] = ce->seq;
	staged->submitted++;
	return 0;
}

static size_t blocks_of(const struct staged *staged, size_t len)
{
	return (len + staged->block - 1) / staged->block;
}

static void copy_block(void *arg, size_t i)
{
	struct staged *staged = arg;
	size_t off = i * staged->block, chunk = off / staged->chunk;
	size_t len = staged->copy->len - off < staged->block ? staged->copy->len - off : staged->block;

	staged->host_copy((char *)staged->copy->host + off,
			  slot_of(staged, chunk) + off % staged->chunk, len);
	atomic_fetch_sub_explicit(&staged->left[chunk % MAX_DEPTH], 1, memory_order_release);
}

static void plan(struct bl_ce *ce, const struct bl_ce_copy *copy, struct staged *staged)
{
	const struct shape *shape = shape_of(copy->len);
	bool wide = ce->wide && bl_ce_is_wide(copy);
	size_t *next = wide ? &ce->wide_next : &ce->ring_next;

	memset(staged, 0, sizeof(*staged));
	staged->copy = copy;
	staged->chunk = shape->chunk;
	staged->block = shape->block;
	staged->help = shape->help;
	staged->nr = (copy->len + staged->chunk - 1) / staged->chunk;
	staged->ring = wide ? ce->wide : ce->ring;
	staged->first = (*next + staged->chunk - 1) / staged->chunk;
	staged->nr_slots = (wide ? BL_CE_WIDE_SIZE : BL_CE_RING_SIZE) / staged->chunk;
	staged->depth = staged->nr_slots < MAX_DEPTH ? staged->nr_slots : MAX_DEPTH;
	*next = (staged->first + staged->nr) % staged->nr_slots * staged->chunk;
	/* the routine for write-combining mappings stores past the caches, and ends with the fence for it */
	staged->host_copy = shape->stream ? bl_cpu_copy_select(BL_MAP_WC)->to : plain_copy;
	staged->split.run = copy_block;
	staged->split.copy = staged;
	staged->split.nr = blocks_of(staged, copy->len);
}

static int look_for_chunk(const struct bl_cuda *cuda, struct bl_ce *ce, struct staged *staged, struct bl_ce_wait *wait)
{
	size_t len;
	int ret;

	if (staged->landed == staged->submitted)
		return 0;
	ret = bl_ce_look(cuda, ce, staged->seq[staged->landed % MAX_DEPTH], wait);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	memset(wait, 0, sizeof(*wait));
	staged->landed++;
	len = staged->landed < staged->nr ? staged->landed * staged->chunk : staged->copy->len;
	atomic_store_explicit(&staged->split.ready, blocks_of(staged, len), memory_order_release);
	return 0;
}

static int submit_reads(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged, struct bl_ce_wait *wait)
{
	int ret = 0;

	while (!ret && staged->submitted < staged->nr && staged->submitted < staged->drained + staged->depth) {
		size_t slot = staged->submitted % MAX_DEPTH;

		atomic_store(&staged->left[slot], blocks_of(staged, chunk_len(copy, staged, staged->submitted)));
		ret = submit_chunk(cuda, ce, copy, staged);
		/* while the others begin with what is there */
		if (!ret)
			ret = look_for_chunk(cuda, ce, staged, wait);
	}
	return ret;
}

static void look_for_room(struct staged *staged)
{
	while (staged->drained < staged->landed &&
	       !atomic_load_explicit(&staged->left[staged->drained % MAX_DEPTH], memory_order_acquire))
		staged->drained++;
}

/* As many transfers as may be are under way while the chunks before them are copied out. */
static int read_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
		       struct staged *staged)
{
	struct bl_ce_wait wait = { 0 };
	unsigned int idle = 0;
	int ret;

	if (staged->help)
		bl_helper_lend(&staged->split, staged->help);
	ret = submit_reads(cuda, ce, copy, staged, &wait);
	if (staged->help)
		bl_helper_wake(&staged->split);
	while (!ret && staged->drained < staged->nr) {
		ret = look_for_chunk(cuda, ce, staged, &wait);
		idle = bl_split_step(&staged->split) ? 0 : idle + 1;
		/* the GPU has done its part: only other threads' last blocks are missing */
		if (staged->landed == staged->nr)
			bl_split_relax(idle);
		look_for_room(staged);
		if (!ret)
			ret = submit_reads(cuda, ce, copy, staged, &wait);
	}
	if (staged->help)
		bl_helper_return(&staged->split);
	return ret;
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
		memcpy(slot_of(staged, i), (const char *)copy->host + i * staged->chunk, chunk_len(copy, staged, i));
		ret = submit_chunk(cuda, ce, copy, staged);
		if (ret)
			return ret;
	}
	return bl_ce_wait(cuda, ce, ce->seq);
}

int bl_ce_move_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	struct staged staged;

	plan(ce, copy, &staged);
	return copy->dir == BL_COPY_TO ? write_staged(cuda, ce, copy, &staged) : read_staged(cuda, ce, copy, &staged);
}
