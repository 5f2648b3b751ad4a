// SPDX-License-Identifier: MIT
/*
 * Measures what copies of each engine take. Sizes come coarse first, for all directions and kinds of host memory, so
 * that time that runs out leaves a coarse table and not half of a fine one.
 */
#define log_fmt(fmt) "gpu/calibrate: " fmt
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "gpu/cuda_ptr.h"
#include "util/clock.h"
#include "util/log.h"

#define AREA	    (1UL << BL_COST_MAX_SHIFT)
#define NR_BURSTS   2U
#define BURST	    3U
#define NR_SAMPLES  (NR_BURSTS * BURST)
#define SHORT_NS    1000U   /* calls that are shorter are timed in groups, against the steps of the clock */
#define GROUP	    16U
#define HOPELESS_NS 100000U /* copies at least this long are not measured further when others are so much faster: */
#define HOPELESS    4U

struct bed;

/**
 * struct candidate - an engine that is measured
 * @engine:  its number
 * @run:     copy, as auto would; complete when it returns 0
 * @usable:  whether it copies in this direction
 * @max_len: longest copy it does
 */
struct candidate {
	enum bl_engine engine;
	int (*run)(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len);
	bool (*usable)(const struct bed *bed, enum bl_copy_dir dir);
	size_t max_len;
};

/**
 * struct bed - what is measured on
 * @pin:      the pin that asked
 * @cuda:     driver library
 * @cal:      results
 * @end_ns:   when to stop
 * @clock_ns: what reading the clock takes
 * @tried:    by engine: it was run at least once
 * @va:       GPU memory
 * @target:   the same, for ce
 * @backing:  its pin
 * @mapping:  its mapping
 * @host:     host memory, ordinary and pinned
 */
struct bed {
	const struct bl_pin *pin;
	const struct bl_cuda *cuda;
	struct bl_calibration *cal;
	uint64_t end_ns;
	uint64_t clock_ns;
	bool tried[BL_NR_ENGINES];
	uint64_t va;
	struct bl_ce_target target;
	struct bl_backing backing;
	struct bl_mapping mapping;
	void *host[2];
};

/**
 * struct samples - of one candidate at one size
 * @nr: how many
 * @ns: per copy
 */
struct samples {
	unsigned int nr;
	uint64_t ns[NR_SAMPLES];
};

static int run_cpu(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len)
{
	if (dir == BL_COPY_TO)
		bed->pin->cpu->to(bed->mapping.addr, bed->host[pinned], len);
	else
		bed->pin->cpu->from(bed->host[pinned], bed->mapping.addr, len);
	return 0;
}

static int run_ce(struct bed *bed, enum bl_copy_dir dir, int pinned, size_t len)
{
	struct bl_ce_copy copy = {
		.target = &bed->target,
		.va = bed->va,
		.host = bed->host[pinned],
		.len = len,
		.dir = dir,
		/* known here, but asking is part of a copy */
		.pinned = bl_ce_pinned(bed->cuda, bed->host[pinned], len),
	};

	return bl_ce_run(bed->cuda, &copy);
}

static bool usable_both_ways(const struct bed *bed, enum bl_copy_dir dir)
{
	return true;
}

/* A new engine is a line here, and one where engine.c runs what was picked. */
static const struct candidate candidates[] = {
	{ BL_ENGINE_CPU, run_cpu, usable_both_ways, SIZE_MAX },
	{ BL_ENGINE_CE, run_ce, usable_both_ways, SIZE_MAX },
};

#define NR_CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

void bl_refusal_note(struct bl_refusal *refusal, int ret)
{
	refusal->err = -ret;
	snprintf(refusal->why, sizeof(refusal->why), "%s", bl_last_error(NULL));
}

static struct bl_cost_row *row_of(const struct bed *bed, enum bl_engine engine, enum bl_copy_dir dir, int pinned)
{
	return &bed->cal->table.rows[engine][dir][pinned];
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t bl_median(uint64_t *ns, unsigned int nr)
{
	qsort(ns, nr, sizeof(*ns), compare);
	return (ns[(nr - 1) / 2] + ns[nr / 2]) / 2;
}

uint64_t bl_clock_cost(void)
{
	uint64_t ns[31];

	for (int i = 0; i < 31; i++) {
		ns[i] = bl_now_ns();
		ns[i] = bl_now_ns() - ns[i];
	}
	return bl_median(ns, 31);
}

/*
 * Several copies by one engine, the first of them not timed: that one brings caches, clocks and link into the state in
 * which the engine's own copies find them. -ETIME when time ran out.
 */
static int burst(struct bed *bed, const struct candidate *candidate, enum bl_copy_dir dir, int pinned, size_t len,
		 struct samples *samples)
{
	uint64_t start = bl_now_ns(), spent;
	unsigned int group;
	int ret;

	/* one try is always made: that an engine does not work at all must show */
	if (start > bed->end_ns && bed->tried[candidate->engine])
		return -ETIME;
	bed->tried[candidate->engine] = true;
	ret = candidate->run(bed, dir, pinned, len);
	group = bl_now_ns() - start < SHORT_NS ? GROUP : 1;
	for (unsigned int i = 0; i < BURST && !ret; i++) {
		start = bl_now_ns();
		if (start > bed->end_ns)
			return -ETIME;
		for (unsigned int j = 0; j < group && !ret; j++)
			ret = candidate->run(bed, dir, pinned, len);
		spent = bl_now_ns() - start;
		spent = spent > bed->clock_ns ? (spent - bed->clock_ns) / group : 0;
		/* 0 stands for unknown */
		samples->ns[samples->nr++] = spent ? spent : 1;
	}
	return ret;
}

/* Some smaller size showed that it takes very long, and that others do not: its line is known well enough. */
static bool hopeless(const struct bed *bed, const struct candidate *candidate, enum bl_copy_dir dir, int pinned,
		     unsigned int i)
{
	const uint64_t *ns = row_of(bed, candidate->engine, dir, pinned)->ns, *other;

	for (unsigned int j = BL_COST_LINE_SHIFT - BL_COST_MIN_SHIFT; j < i; j++) {
		for (size_t c = 0; c < NR_CANDIDATES; c++) {
			other = row_of(bed, candidates[c].engine, dir, pinned)->ns;
			if (ns[j] >= HOPELESS_NS && other[j] && ns[j] / HOPELESS >= other[j])
				return true;
		}
	}
	return false;
}

static bool wanted(const struct bed *bed, const struct candidate *candidate, enum bl_copy_dir dir, int pinned,
		   unsigned int i)
{
	return !bed->cal->refused[candidate->engine].err && candidate->usable(bed, dir) &&
	       candidate->max_len >> (BL_COST_MIN_SHIFT + i) && !hopeless(bed, candidate, dir, pinned, i);
}

static void refuse(struct bed *bed, const struct candidate *candidate, int ret)
{
	bl_refusal_note(&bed->cal->refused[candidate->engine], ret);
	/* what it did before it failed must not make anybody pick it */
	memset(bed->cal->table.rows[candidate->engine], 0, sizeof(bed->cal->table.rows[candidate->engine]));
}

/* All candidates at one size, in turns. -ETIME when time ran out before each had a burst: then none counts. */
static int measure_size(struct bed *bed, enum bl_copy_dir dir, int pinned, unsigned int i)
{
	struct samples samples[NR_CANDIDATES] = { 0 };
	size_t len = (size_t)1 << (BL_COST_MIN_SHIFT + i);
	int ret = 0;

	for (size_t turn = 0; turn < NR_BURSTS * NR_CANDIDATES && ret != -ETIME; turn++) {
		const struct candidate *candidate = &candidates[turn % NR_CANDIDATES];

		if (!wanted(bed, candidate, dir, pinned, i))
			continue;
		ret = burst(bed, candidate, dir, pinned, len, &samples[turn % NR_CANDIDATES]);
		if (ret && ret != -ETIME)
			refuse(bed, candidate, ret);
	}
	for (size_t c = 0; c < NR_CANDIDATES; c++) {
		if (wanted(bed, &candidates[c], dir, pinned, i) && samples[c].nr < BURST)
			return -ETIME;
	}
	for (size_t c = 0; c < NR_CANDIDATES; c++) {
		if (wanted(bed, &candidates[c], dir, pinned, i))
			row_of(bed, candidates[c].engine, dir, pinned)->ns[i] = bl_median(samples[c].ns, samples[c].nr);
	}
	return ret == -ETIME ? ret : 0;
}

/**
 * struct kind - a direction and kind of host memory
 * @dir:    direction
 * @pinned: kind of host memory
 * @done:   sizes that need not be looked at again
 */
struct kind {
	enum bl_copy_dir dir;
	int pinned;
	bool done[BL_COST_NR];
};

/* The sizes of a pass, as far as time goes; those that an earlier pass did not get to are among them. */
static void measure_pass(struct bed *bed, struct kind *kind, unsigned int stride)
{
	for (unsigned int i = 0; i < BL_COST_NR; i += stride) {
		if (kind->done[i])
			continue;
		if (measure_size(bed, kind->dir, kind->pinned, i))
			return;
		kind->done[i] = true;
	}
}

static void measure_all(struct bed *bed, uint64_t budget_ns)
{
	struct kind kinds[] = { { .dir = BL_COPY_FROM, .pinned = 1 }, { .dir = BL_COPY_FROM, .pinned = 0 },
				{ .dir = BL_COPY_TO, .pinned = 1 }, { .dir = BL_COPY_TO, .pinned = 0 } };
	uint64_t end = bl_now_ns() + budget_ns, now;
	int ret;

	bed->clock_ns = bl_clock_cost();
	ret = bl_ce_choose(bed->cuda, &bed->target, bed->va, bed->host[1]);
	if (ret)
		bl_refusal_note(&bed->cal->refused[BL_ENGINE_CE], ret);
	for (unsigned int stride = 4; stride; stride /= 2) {
		for (size_t i = 0; i < 4; i++) {
			/* an equal share of what is left, so that one slow kind does not leave the others unmeasured */
			now = bl_now_ns();
			bed->end_ns = now + (end > now ? end - now : 0) / (4 - i);
			measure_pass(bed, &kinds[i], stride);
		}
	}
	bl_cost_finish(&bed->cal->table);
}

/* The context of the pin's memory is current. */
static int set_up_memory(struct bed *bed)
{
	const struct bl_cuda *cuda = bed->cuda;
	CUdeviceptr va;
	CUresult err;

	bed->host[0] = aligned_alloc(4096, AREA);
	if (!bed->host[0])
		return fail(ENOMEM, "out of memory");
	memset(bed->host[0], 0, AREA);
	err = cuda->cuMemHostAlloc(&bed->host[1], AREA, CU_MEMHOSTALLOC_PORTABLE);
	if (err)
		return fail(bl_cuda_errno(err), "%lu bytes of pinned memory: %s", AREA, bl_cuda_strerror(err));
	memset(bed->host[1], 0, AREA);
	err = cuda->cuMemAlloc(&va, AREA);
	if (err)
		return fail(bl_cuda_errno(err), "%lu bytes of GPU memory: %s", AREA, bl_cuda_strerror(err));
	bed->va = va;
	return bl_ce_target_init(cuda, va, 0, &bed->target);
}

/* Through the provider itself: this pin has no handle and belongs to nobody. */
static int measure_mapped(struct bed *bed, uint64_t budget_ns)
{
	const struct bl_provider_ops *ops = bed->pin->ops;
	void *priv = bed->pin->ctx->priv;
	struct bl_request req = { .va = bed->va, .len = AREA };
	int ret;

	ret = ops->pin(priv, &req, &bed->backing);
	if (ret)
		return ret;
	if (bed->backing.va > req.va || req.va + AREA > bed->backing.va + bed->backing.len) {
		ret = fail(EPROTO, "the pin does not cover its memory");
		goto unpin;
	}
	bed->mapping = (struct bl_mapping){ .len = bed->backing.len, .type = bed->pin->mapping.type };
	ret = ops->map(priv, &bed->backing, &bed->mapping);
	if (ret)
		goto unpin;
	/* where the memory does not begin on a page the pin begins before it */
	bed->mapping.addr = (char *)bed->mapping.addr + (req.va - bed->backing.va);
	measure_all(bed, budget_ns);
	bed->mapping.addr = (char *)bed->mapping.addr - (req.va - bed->backing.va);
	ops->unmap(priv, &bed->backing, &bed->mapping);
unpin:
	ops->unpin(priv, &bed->backing);
	return ret;
}

int bl_bed_measure(const struct bl_pin *pin, uint64_t budget_ns, struct bl_calibration *cal)
{
	struct bed bed = { .pin = pin, .cuda = bl_cuda(), .cal = cal };
	int ret;

	ret = set_up_memory(&bed);
	if (!ret)
		ret = measure_mapped(&bed, budget_ns);
	free(bed.host[0]);
	return ret;
}
