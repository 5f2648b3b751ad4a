// SPDX-License-Identifier: MIT
/* Parts of nvidia-fs.ko that need no kernel: gates, chunks, joined entries, holes. SEED=N is a seed for random ones. */
#include "chunks.h"
#include "gate.h"
#include "holes.h"
#include "joiner.h"
#include "nv_p2p.h"
#include "tap.h"

#include <time.h>

#define PAGE ((u64)65536)

int kernel_allocations = -1;

static u64 state;

static u64 draw(u64 nr)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % nr;
}

static void a_gate_lets_nobody_in_once_it_is_closed(void)
{
	struct bl_gate gate = { 0 };

	check(bl_gate_enter(&gate));
	check(bl_gate_enter(&gate));
	check(!bl_gate_leave(&gate));
	check(!bl_gate_is_idle(&gate));
	gate.closed = true;
	check(!bl_gate_enter(&gate));
	check(!bl_gate_is_idle(&gate));
	check(!bl_gate_reopen(&gate));
	/* the last one is who is waited for */
	check(bl_gate_leave(&gate));
	check(bl_gate_is_idle(&gate));
	check(!bl_gate_enter(&gate));
	check(bl_gate_reopen(&gate));
	check(bl_gate_enter(&gate));
	check(!bl_gate_leave(&gate));
}

static void an_open_gate_is_not_reopened_and_never_idle(void)
{
	struct bl_gate gate = { 0 };

	check(!bl_gate_is_idle(&gate));
	check(!bl_gate_reopen(&gate));
	gate.closed = true;
	check(bl_gate_is_idle(&gate));
}

/* A table of pages at these addresses. */
struct table {
	struct nv_p2p_page page[64];
	struct nv_p2p_page *pages[64];
	struct nv_p2p_page_table table;
};

static void fill(struct table *t, const u64 *pa, u32 nr)
{
	*t = (struct table){ .table = { .version = 0x20000, .page_size = NV_P2P_PAGE_64K, .entries = nr } };
	t->table.pages = t->pages;
	for (u32 i = 0; i < nr; i++) {
		t->page[i].physical_address = pa[i];
		t->pages[i] = &t->page[i];
	}
}

static void neighbours_become_one_chunk(void)
{
	static const u64 pa[] = { 16 * PAGE, 17 * PAGE, 18 * PAGE, 4 * PAGE, 5 * PAGE, 7 * PAGE, 6 * PAGE };
	struct bl_chunks chunks;
	struct table t;

	fill(&t, pa, 7);
	check_eq(bl_chunks_read(&chunks, &t.table), 0);
	check_eq(chunks.nr, 4);
	check_eq(chunks.chunk[0].len, 3 * PAGE);
	check_eq(chunks.chunk[1].off, 3 * PAGE);
	check_eq(chunks.chunk[1].pa, 4 * PAGE);
	check_eq(chunks.chunk[1].len, 2 * PAGE);
	check_eq(chunks.chunk[3].off, 6 * PAGE);
	bl_chunks_free(&chunks);
	check(!chunks.chunk && !chunks.nr);
}

static void bad_tables_and_no_memory_are_errors(void)
{
	static const u64 odd[] = { PAGE, 2 * PAGE + 4096 };
	static const u64 high[] = { U64_MAX - PAGE + 1 };
	static const u64 negative[] = { PAGE, 1ULL << 63 };
	static const u64 good[] = { PAGE, 3 * PAGE };
	struct bl_chunks chunks;
	struct table t;

	fill(&t, odd, 2);
	check_eq(bl_chunks_read(&chunks, &t.table), -EINVAL);
	fill(&t, high, 1);
	check_eq(bl_chunks_read(&chunks, &t.table), -EINVAL);
	fill(&t, negative, 2);
	check_eq(bl_chunks_read(&chunks, &t.table), -EINVAL);
	fill(&t, good, 0);
	check_eq(bl_chunks_read(&chunks, &t.table), -EINVAL);
	fill(&t, good, 2);
	kernel_allocations = 0;
	check_eq(bl_chunks_read(&chunks, &t.table), -ENOMEM);
	/* a single one needs none */
	fill(&t, good, 1);
	check_eq(bl_chunks_read(&chunks, &t.table), 0);
	kernel_allocations = -1;
	check_eq(chunks.nr, 1);
	check_eq(chunks.chunk[0].off, 0);
	check_eq(chunks.chunk[0].pa, PAGE);
	check_eq(chunks.chunk[0].len, PAGE);
	bl_chunks_free(&chunks);
	check(!chunks.chunk);
}

static void any_byte_is_found_in_its_chunk(void)
{
	for (int round = 0; round < 200; round++) {
		u32 nr = 1 + (u32)draw(64);
		struct bl_chunks chunks;
		struct table t;
		u64 pa[64];

		for (u32 i = 0; i < nr; i++)
			pa[i] = i && draw(3) ? pa[i - 1] + PAGE : draw(1 << 20) * PAGE;
		fill(&t, pa, nr);
		check_eq(bl_chunks_read(&chunks, &t.table), 0);
		for (u32 i = 0; i < nr; i++) {
			u64 off = i * PAGE + draw(PAGE);
			const struct bl_chunk *chunk = &chunks.chunk[bl_chunks_find(&chunks, off)];

			check(off >= chunk->off && off - chunk->off < chunk->len);
			check_eq(chunk->pa + (off - chunk->off), pa[i] + off % PAGE);
		}
		bl_chunks_free(&chunks);
	}
}

static void holes_that_touch_are_one(void)
{
	static struct nvidia_fs_hole hole[NVIDIA_FS_MAX_HOLES];
	struct bl_holes holes = { .hole = hole };

	check(bl_holes_add(&holes, 0));
	check(bl_holes_add(&holes, 1));
	check(bl_holes_add(&holes, 5));
	check(bl_holes_add(&holes, 6));
	check(bl_holes_add(&holes, 8));
	check_eq(holes.nr, 3);
	check_eq(holes.blocks, 5);
	check_eq(holes.hole[0].npages, 2);
	check_eq(holes.hole[1].start, 5);
	check_eq(holes.hole[1].npages, 2);
	check_eq(holes.hole[2].start, 8);
}

static void more_holes_than_there_is_room_for_are_told(void)
{
	static struct nvidia_fs_hole hole[NVIDIA_FS_MAX_HOLES];
	struct bl_holes holes = { .hole = hole };

	for (u32 i = 0; i < NVIDIA_FS_MAX_HOLES; i++)
		check(bl_holes_add(&holes, 2 * i));
	check(!bl_holes_add(&holes, 2 * NVIDIA_FS_MAX_HOLES));
	/* the last one can still grow */
	check(bl_holes_add(&holes, 2 * NVIDIA_FS_MAX_HOLES - 1));
	check_eq(holes.nr, NVIDIA_FS_MAX_HOLES);
}

static void pieces_that_follow_join(void)
{
	struct bl_joiner j = { .max_len = U32_MAX, .boundary = U64_MAX };

	check(!bl_joiner_add(&j, 0x10000, 0x80000, 0x1000));
	check(bl_joiner_add(&j, 0x11000, 0x81000, 0x1000));
	/* neighbours for one side only */
	check(!bl_joiner_add(&j, 0x12000, 0x90000, 0x1000));
	check(!bl_joiner_add(&j, 0x20000, 0x91000, 0x1000));
	check(bl_joiner_add(&j, 0x21000, 0x92000, 0xf000));
	check_eq(j.len, 0x10000);
}

static void entries_keep_to_the_limits_of_the_queue(void)
{
	struct bl_joiner j = { .max_len = 0x2000, .boundary = 0xffff };

	check_eq(bl_joiner_fits(&j, 0x1000, 0x8000), 0x2000);
	check_eq(bl_joiner_fits(&j, 0xf000, 0x2000), 0x1000);
	check_eq(bl_joiner_fits(&j, 0xffff, 2), 1);
	check_eq(bl_joiner_fits(&j, 0x10000, 0x800), 0x800);
	check(!bl_joiner_add(&j, 0, 0xe000, 0x1000));
	check(bl_joiner_add(&j, 0x1000, 0xf000, 0x1000));
	/* the entry is full */
	check(!bl_joiner_add(&j, 0x2000, 0x10000, 0x1000));
	/* and this one would cross a boundary */
	j.max_len = U32_MAX;
	check(!bl_joiner_add(&j, 0, 0x1f000, 0x1000));
	check(!bl_joiner_add(&j, 0x1000, 0x20000, 0x1000));
	j.boundary = U64_MAX;
	check_eq(bl_joiner_fits(&j, U64_MAX - 0xfff, 0x1000), 0x1000);
	check_eq(bl_joiner_fits(&j, 0, U32_MAX), U32_MAX);
}

/* Whatever comes: entries hold the same bytes in the same order, and none breaks a limit. */
static void random_pieces_make_good_entries(void)
{
	for (int round = 0; round < 2000; round++) {
		struct bl_joiner j = { .max_len = 4096U << draw(6), .boundary = (4096ULL << draw(8)) - 1 };
		u64 pa = draw(1 << 20) * 4096, dma = draw(1 << 20) * 4096, total = 0;

		for (int i = 0; i < 40; i++) {
			u32 len = 4096 * (1 + (u32)draw(16));

			if (!draw(3))
				pa = draw(1 << 20) * 4096;
			if (!draw(3))
				dma = draw(1 << 20) * 4096;
			while (len) {
				u32 part = bl_joiner_fits(&j, dma, len), before = j.len;
				u64 start = j.start, next = j.next, next_pa = j.next_pa;

				check(part && part <= len);
				if (bl_joiner_add(&j, pa, dma, part)) {
					check(before && next == dma && next_pa == pa);
					check_eq(j.start, start);
					check_eq(j.len, before + part);
				} else {
					check_eq(j.start, dma);
					check_eq(j.len, part);
				}
				check(j.len <= j.max_len);
				check_eq(j.start & ~j.boundary, (j.start + j.len - 1) & ~j.boundary);
				total += part;
				pa += part;
				dma += part;
				len -= part;
			}
		}
		check(total);
	}
}

static const struct tap_test tests[] = {
	{ "a_gate_lets_nobody_in_once_it_is_closed", a_gate_lets_nobody_in_once_it_is_closed },
	{ "an_open_gate_is_not_reopened_and_never_idle", an_open_gate_is_not_reopened_and_never_idle },
	{ "neighbours_become_one_chunk", neighbours_become_one_chunk },
	{ "bad_tables_and_no_memory_are_errors", bad_tables_and_no_memory_are_errors },
	{ "any_byte_is_found_in_its_chunk", any_byte_is_found_in_its_chunk },
	{ "holes_that_touch_are_one", holes_that_touch_are_one },
	{ "more_holes_than_there_is_room_for_are_told", more_holes_than_there_is_room_for_are_told },
	{ "pieces_that_follow_join", pieces_that_follow_join },
	{ "entries_keep_to_the_limits_of_the_queue", entries_keep_to_the_limits_of_the_queue },
	{ "random_pieces_make_good_entries", random_pieces_make_good_entries },
};

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	state = seed ? strtoull(seed, NULL, 0) : (u64)time(NULL);
	printf("# seed %llu; SEED=N repeats it\n", (unsigned long long)state);
	state = state * 0x9e3779b97f4a7c15ULL + 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
