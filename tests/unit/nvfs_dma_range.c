// SPDX-License-Identifier: MIT
/*
 * Ranges that drivers of Linux 6.17 and later ask for: the vectors of a request, each over slots that stand in for GPU
 * pages, become DMA ranges. SEED=N is a seed for random requests.
 */
#include "dma_range.h"
#include "tap.h"

#include <time.h>

#define SLOT	 65536U
#define MAX_VECS 64
#define NO_LIMIT U32_MAX
#define NO_EDGE	 U64_MAX

int kernel_allocations = -1;

static u64 state;

static u64 draw(u64 nr)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % nr;
}

/* A vector: bytes of neighbouring slots, from an offset in the first one on. */
struct vec {
	u32 slot;
	u32 off;
	u32 len;
};

/* A request and a place in it. Slot @broken has gone. */
struct request {
	u64 pa[256];
	u64 dma[256];
	struct vec vec[MAX_VECS];
	u32 nr;
	u32 broken;
	u32 at;
	u32 done;
};

static struct request req;

static int peek(void *arg, struct bl_dma_piece *piece)
{
	const struct request *r = arg;
	u32 slot, off;

	if (r->at == r->nr)
		return 0;
	off = r->vec[r->at].off + r->done;
	slot = r->vec[r->at].slot + off / SLOT;
	off %= SLOT;
	if (slot == r->broken)
		return -EIO;
	piece->pa = r->pa[slot] + off;
	piece->dma = r->dma[slot] + off;
	piece->len = r->vec[r->at].len - r->done;
	if (piece->len > SLOT - off)
		piece->len = SLOT - off;
	return 1;
}

static void go_on(void *arg, u32 len)
{
	struct request *r = arg;

	check(len && r->done + len <= r->vec[r->at].len);
	r->done += len;
	if (r->done == r->vec[r->at].len) {
		r->at++;
		r->done = 0;
	}
}

static const struct bl_dma_source source = { .peek = peek, .skip = go_on, .arg = &req };

/* Slots that are neighbours on both sides. */
static void begin(void)
{
	req = (struct request){ .broken = U32_MAX };
	for (u32 i = 0; i < 256; i++) {
		req.pa[i] = 0x100000000 + (u64)i * SLOT;
		req.dma[i] = 0x40000000 + (u64)i * SLOT;
	}
}

static void add(u32 slot, u32 off, u32 len)
{
	check(req.nr < MAX_VECS);
	req.vec[req.nr++] = (struct vec){ slot, off, len };
}

static void gives(u32 max_len, u64 boundary, u64 dma, u32 len)
{
	struct bl_dma_range range;

	check_eq(bl_dma_range_next(&source, max_len, boundary, &range), 1);
	check_eq(range.dma, dma);
	check_eq(range.len, len);
}

static void ends(void)
{
	struct bl_dma_range range = { 1, 2 };

	check_eq(bl_dma_range_next(&source, NO_LIMIT, NO_EDGE, &range), 0);
	check_eq(range.dma, 1);
	check_eq(range.len, 2);
}

static void an_empty_request_has_no_range(void)
{
	begin();
	ends();
	ends();
}

static void vectors_that_follow_are_one_range(void)
{
	begin();
	add(0, 4096, 60 * 1024);
	add(1, 0, 3 * SLOT);
	add(4, 0, 4096);
	gives(NO_LIMIT, NO_EDGE, 0x40001000, 60 * 1024 + 3 * SLOT + 4096);
	ends();
	/* the second one goes back */
	begin();
	add(3, 0, SLOT);
	add(2, 0, SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40030000, SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40020000, SLOT);
	ends();
	/* and here a block is left out */
	begin();
	add(3, 0, 4096);
	add(3, 8192, 4096);
	gives(NO_LIMIT, NO_EDGE, 0x40030000, 4096);
	gives(NO_LIMIT, NO_EDGE, 0x40032000, 4096);
	ends();
}

static void a_vector_is_cut_where_either_side_does_not_follow(void)
{
	begin();
	req.pa[2] += 0x10000000;
	add(0, 0, 3 * SLOT + 4096);
	gives(NO_LIMIT, NO_EDGE, 0x40000000, 2 * SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40020000, SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40030000, 4096);
	ends();
	begin();
	req.dma[1] = 0x90000000;
	add(0, 0, 3 * SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40000000, SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x90000000, SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40020000, SLOT);
	ends();
}

static void a_range_is_no_longer_than_a_segment(void)
{
	begin();
	add(0, 0, 2 * SLOT);
	gives(96 * 1024, NO_EDGE, 0x40000000, 64 * 1024);
	/* a piece that does not fit whole begins a range of its own */
	gives(96 * 1024, NO_EDGE, 0x40010000, 64 * 1024);
	ends();
	begin();
	add(0, 0, 20 * 1024);
	gives(8192, NO_EDGE, 0x40000000, 8192);
	gives(8192, NO_EDGE, 0x40002000, 8192);
	gives(8192, NO_EDGE, 0x40004000, 4096);
	ends();
}

static void a_range_does_not_cross_a_boundary(void)
{
	begin();
	add(0, 60 * 1024, 72 * 1024);
	gives(NO_LIMIT, 0xffff, 0x4000f000, 4096);
	gives(NO_LIMIT, 0xffff, 0x40010000, SLOT);
	gives(NO_LIMIT, 0xffff, 0x40020000, 4096);
	ends();
	/* a boundary of 4 GiB */
	begin();
	req.dma[0] = 0xffff0000;
	req.dma[1] = 0x100000000;
	add(0, 0, 2 * SLOT);
	gives(NO_LIMIT, 0xffffffff, 0xffff0000, SLOT);
	gives(NO_LIMIT, 0xffffffff, 0x100000000, SLOT);
	ends();
	/* the last bytes that there are */
	begin();
	req.dma[0] = U64_MAX - SLOT + 1;
	add(0, 0, SLOT);
	gives(NO_LIMIT, NO_EDGE, U64_MAX - SLOT + 1, SLOT);
	ends();
}

static void a_piece_that_has_gone_is_an_error_behind_what_came_before(void)
{
	struct bl_dma_range range;

	begin();
	req.broken = 1;
	add(0, 0, 3 * SLOT);
	gives(NO_LIMIT, NO_EDGE, 0x40000000, SLOT);
	check_eq(bl_dma_range_next(&source, NO_LIMIT, NO_EDGE, &range), -EIO);
	check_eq(bl_dma_range_next(&source, NO_LIMIT, NO_EDGE, &range), -EIO);
}

static void random_request(void)
{
	u32 slot = 0;

	begin();
	for (u32 i = 0; i < 256; i++) {
		if (!draw(4))
			req.pa[i] = draw(1 << 20) * SLOT;
		if (!draw(4))
			req.dma[i] = draw(1 << 20) * SLOT;
		if (i && draw(2)) {
			req.pa[i] = req.pa[i - 1] + SLOT;
			req.dma[i] = req.dma[i - 1] + SLOT;
		}
	}
	for (u32 nr = 1 + (u32)draw(20); nr; nr--) {
		u32 off = draw(3) ? 0 : (u32)draw(16) * 4096;

		if (!draw(3))
			slot = (u32)draw(200);
		add(slot, off, 4096 * (1 + (u32)draw(40)));
		slot = (slot + (off + req.vec[req.nr - 1].len) / SLOT) % 200;
	}
}

/* The address of a byte of the request, by the vectors alone. */
static u64 address(u64 at, u64 *pa_p)
{
	u32 i = 0;
	u64 off;

	while (at >= req.vec[i].len)
		at -= req.vec[i++].len;
	off = req.vec[i].off + at;
	*pa_p = req.pa[req.vec[i].slot + off / SLOT] + off % SLOT;
	return req.dma[req.vec[i].slot + off / SLOT] + off % SLOT;
}

/* Ranges are the request's bytes in their order, each within the limits; none could have taken more in. */
static void random_requests_become_good_ranges(void)
{
	for (int round = 0; round < 1000; round++) {
		u32 max_len = 4096U << draw(9);
		u64 boundary = draw(4) ? (4096ULL << draw(10)) - 1 : NO_EDGE, total = 0, at = 0, pa, next_pa;
		struct bl_dma_range range;
		int ret;

		random_request();
		for (u32 i = 0; i < req.nr; i++)
			total += req.vec[i].len;
		while ((ret = bl_dma_range_next(&source, max_len, boundary, &range)) == 1) {
			u64 edge = range.dma & ~boundary;

			check(range.len && range.len <= max_len && at + range.len <= total);
			check_eq((range.dma + range.len - 1) & ~boundary, edge);
			check_eq(address(at, &pa), range.dma);
			for (u32 in = 0; in < range.len; in += 4096) {
				check_eq(address(at + in, &next_pa), range.dma + in);
				check_eq(next_pa, pa + in);
			}
			at += range.len;
			if (at < total && max_len >= 2 * SLOT && boundary == NO_EDGE && range.len <= SLOT)
				check(address(at, &next_pa) != range.dma + range.len || next_pa != pa + range.len);
		}
		check_eq(ret, 0);
		check_eq(at, total);
	}
}

static const struct tap_test tests[] = {
	{ "an_empty_request_has_no_range", an_empty_request_has_no_range },
	{ "vectors_that_follow_are_one_range", vectors_that_follow_are_one_range },
	{ "a_vector_is_cut_where_either_side_does_not_follow", a_vector_is_cut_where_either_side_does_not_follow },
	{ "a_range_is_no_longer_than_a_segment", a_range_is_no_longer_than_a_segment },
	{ "a_range_does_not_cross_a_boundary", a_range_does_not_cross_a_boundary },
	{ "a_piece_that_has_gone_is_an_error_behind_what_came_before",
	  a_piece_that_has_gone_is_an_error_behind_what_came_before },
	{ "random_requests_become_good_ranges", random_requests_become_good_ranges },
};

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	state = seed ? strtoull(seed, NULL, 0) : (u64)time(NULL);
	printf("# seed %llu; SEED=N repeats it\n", (unsigned long long)state);
	state = state * 0x9e3779b97f4a7c15ULL + 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
