// SPDX-License-Identifier: MIT
/*
 * copy_access.c - which accesses the copy routines make to a mapping, one by one
 */
#include <stdint.h>

#include "barlane.h"
#include "copy/cpu.h"
#include "copy_step.h"
#include "copy_trap.h"
#include "tap.h"

#define MAX_LEN	 128
#define LONG_LEN 2175
#define LINE	 64

static struct copy_trace trace;
static uint8_t host[LONG_LEN + LINE];
static uint8_t back[LONG_LEN + LINE];

/* Beyond the sizes that are all tried: what the unrolled loops take, and a little more and less. */
static const size_t long_lens[] = {255, 256, 257, 384, 511, 512, 640, 1023, 1024, 1152, 1600, LONG_LEN};

static void need_stepping(void)
{
	copy_trap_install();
	if (!copy_step_works())
		skip("instructions cannot be stepped over here (emulator, or architecture)");
	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = (uint8_t)(1 + i % 251);
}

/* Fails the test with the copy that went wrong. */
#define check_copy(cond, name, len, off)                                                                               \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			tap_end(TAP_FAILED, "%s:%d: %s, len %zu, mapped address + %zu, %zu accesses: not true: %s",    \
				__FILE__, __LINE__, name, (size_t)(len), (size_t)(off), trace.nr, #cond);              \
	} while (0)

static void single_to(const char *name, copy_fn to)
{
	uint8_t *page = copy_step_page();

	for (size_t width = 1; width <= 8; width *= 2) {
		for (size_t off = 0; off < 2 * LINE; off += width) {
			const uint8_t *src = host + off % 13;

			copy_step_to(to, page + off, src, width, &trace);
			check_copy(trace.nr == 1, name, width, off);
			check_copy(trace.access[0].start == (uintptr_t)page + off, name, width, off);
			check_copy(trace.access[0].width == width && !trace.access[0].gap, name, width, off);
			check_copy(!memcmp(page + off, src, width), name, width, off);
		}
	}
}

static void single_from(const char *name, copy_fn from)
{
	uint8_t *page = copy_step_page();

	for (size_t i = 0; i < copy_step_size(); i++)
		page[i] = (uint8_t)(i * 7);
	for (size_t width = 1; width <= 8; width *= 2) {
		for (size_t off = 0; off < 2 * LINE; off += width) {
			uint8_t *dst = back + off % 13;

			copy_step_from(from, dst, page + off, width, &trace);
			check_copy(trace.nr == 1, name, width, off);
			check_copy(trace.access[0].addr == (uintptr_t)page + off, name, width, off);
			check_copy(!memcmp(page + off, dst, width), name, width, off);
		}
	}
}

static void aligned_1_2_4_8_bytes_to_are_one_store(void)
{
	need_stepping();
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (copy_trap_runs(bl_cpu_isas[i]))
			single_to(bl_cpu_isas[i]->name, bl_cpu_isas[i]->to);
	}
	for (unsigned int type = BL_MAP_WC; type <= BL_MAP_DEVICE; type++)
		single_to(bl_cpu_copy_select(type)->name, bl_cpu_copy_select(type)->to);
}

static void aligned_1_2_4_8_bytes_from_are_one_load(void)
{
	need_stepping();
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (copy_trap_runs(bl_cpu_isas[i]))
			single_from(bl_cpu_isas[i]->name, bl_cpu_isas[i]->from);
	}
	for (unsigned int type = BL_MAP_WC; type <= BL_MAP_DEVICE; type++)
		single_from(bl_cpu_copy_select(type)->name, bl_cpu_copy_select(type)->from);
}

/* Stores tile the range: in address order, each naturally aligned, no byte left out, none written twice. */
static void tiles(const char *name, const uint8_t *dst, size_t len, size_t off)
{
	uintptr_t next = (uintptr_t)dst;

	for (size_t i = 0; i < trace.nr; i++) {
		const struct copy_access *access = &trace.access[i];

		check_copy(access->addr == next, name, len, off);
		check_copy(access->start == next, name, len, off);
		check_copy(!access->gap && access->width, name, len, off);
		check_copy(!(access->width & (access->width - 1)), name, len, off);
		check_copy(access->start % access->width == 0, name, len, off);
		next += access->width;
	}
	check_copy(next == (uintptr_t)dst + len, name, len, off);
}

static void one_store(const char *name, copy_fn to, size_t len, size_t off)
{
	uint8_t *dst = copy_step_page() + LINE + off;
	const uint8_t *src = host + (off * 5 + len) % LINE;

	copy_step_to(to, dst, src, len, &trace);
	tiles(name, dst, len, off);
	check_copy(!memcmp(dst, src, len), name, len, off);
}

static void stores_of(const char *name, copy_fn to)
{
	for (size_t len = 1; len <= MAX_LEN; len++) {
		for (size_t off = 0; off < LINE; off++)
			one_store(name, to, len, off);
	}
	for (size_t i = 0; i < sizeof(long_lens) / sizeof(long_lens[0]); i++) {
		for (size_t off = 0; off < LINE; off += 21)
			one_store(name, to, long_lens[i], off);
	}
}

static void stores_tile_the_range_in_address_order(void)
{
	need_stepping();
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (copy_trap_runs(bl_cpu_isas[i]))
			stores_of(bl_cpu_isas[i]->name, bl_cpu_isas[i]->to);
	}
}

/*
 * The width of a load cannot be seen, but the next one's address tells where it must have ended at the latest: loads
 * start with the range, go up, and each is naturally aligned and a power of two wide.
 */
static void climbs(const char *name, const uint8_t *src, size_t len, size_t off)
{
	uintptr_t end = (uintptr_t)src + len;

	check_copy(trace.nr && trace.access[0].addr == (uintptr_t)src, name, len, off);
	for (size_t i = 0; i < trace.nr; i++) {
		uintptr_t addr = trace.access[i].addr, next = i + 1 < trace.nr ? trace.access[i + 1].addr : end;
		size_t width = next - addr;

		check_copy(addr < next && width <= LINE, name, len, off);
		check_copy(!(width & (width - 1)) && addr % width == 0, name, len, off);
	}
}

/* Bits of the bytes of the line at @line that lie in the range. */
static uint64_t part_of(uintptr_t line, uintptr_t first, uintptr_t end)
{
	uint64_t part = ~0ULL;

	if (first > line)
		part &= ~0ULL << (first - line);
	if (end < line + LINE)
		part &= ~0ULL >> (line + LINE - end);
	return part;
}

/* One load for each line, of exactly the bytes that are wanted of it: a whole line, or a masked one. */
static void masks(const char *name, const uint8_t *src, size_t len, size_t off)
{
	uintptr_t line = (uintptr_t)src & ~(LINE - 1UL);

	if (trace.nr == 1 && len <= 8 && !trace.access[0].mask) {
		climbs(name, src, len, off);
		return;
	}
	for (size_t i = 0; i < trace.nr; i++, line += LINE) {
		const struct copy_access *access = &trace.access[i];
		uint64_t part = part_of(line, (uintptr_t)src, (uintptr_t)src + len);

		check_copy((access->addr & ~(LINE - 1UL)) == line, name, len, off);
		check_copy(access->mask ? access->mask == part : part == ~0ULL, name, len, off);
	}
	check_copy(line >= (uintptr_t)src + len && line < (uintptr_t)src + len + LINE, name, len, off);
}

static void one_load(const char *name, copy_fn from, size_t len, size_t off, bool masked)
{
	const uint8_t *src = copy_step_page() + LINE + off;
	uint8_t *dst = back + (off * 3 + len) % LINE;

	copy_step_from(from, dst, src, len, &trace);
	(masked ? masks : climbs)(name, src, len, off);
	check_copy(!memcmp(src, dst, len), name, len, off);
}

static void loads_of(const char *name, copy_fn from, bool masked)
{
	uint8_t *page = copy_step_page();

	for (size_t i = 0; i < copy_step_size(); i++)
		page[i] = (uint8_t)(i * 11);
	for (size_t len = 1; len <= MAX_LEN; len++) {
		for (size_t off = 0; off < LINE; off++)
			one_load(name, from, len, off, masked);
	}
	for (size_t i = 0; i < sizeof(long_lens) / sizeof(long_lens[0]); i++) {
		for (size_t off = 0; off < LINE; off += 21)
			one_load(name, from, long_lens[i], off, masked);
	}
}

static void loads_tile_the_range_in_address_order(void)
{
	need_stepping();
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		const struct bl_cpu_isa *isa = bl_cpu_isas[i];

		if (copy_trap_runs(isa))
			loads_of(isa->name, isa->from, !strcmp(isa->name, "avx512"));
	}
}

static void accesses_of_a_line_are_as_wide_as_the_instruction_set(void)
{
	static const struct {
		const char *name;
		size_t stores;
		size_t loads;
	} want[] = {
		{"scalar", 8, 8},    {"sse4.1", 4, 4}, {"avx2", 2, 2}, {"avx512", 1, 1},
		{"movdir64b", 1, 4}, {"neon", 2, 2},   {"ls64", 1, 1},
	};
	uint8_t *page;

	need_stepping();
	page = copy_step_page();
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct bl_cpu_isa *isa = bl_cpu_isa_find(want[i].name);

		if (!isa || !copy_trap_runs(isa))
			continue;
		copy_step_to(isa->to, page, host + 3, LINE, &trace);
		check_copy(trace.nr == want[i].stores, isa->name, LINE, 0);
		copy_step_from(isa->from, back + 3, page, LINE, &trace);
		check_copy(trace.nr == want[i].loads, isa->name, LINE, 0);
	}
}

#if defined(__x86_64__)

/* Routines with fences, of every instruction set that can be forced. */
static void each_wc(void (*look)(const struct bl_cpu_copy *copy))
{
	look(bl_cpu_copy_select(BL_MAP_WC));
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (!bl_cpu_isas[i]->supported())
			continue;
		setenv("BARLANE_CPU_ISA", bl_cpu_isas[i]->name, 1);
		look(bl_cpu_copy_select(BL_MAP_WC));
	}
	unsetenv("BARLANE_CPU_ISA");
}

static const size_t fence_lens[] = {1, 2, 3, 4, 8, 15, 16, 31, 64, 100, 127, 128};

static void fences_to(const struct bl_cpu_copy *copy)
{
	uint8_t *page = copy_step_page();

	for (size_t i = 0; i < sizeof(fence_lens) / sizeof(fence_lens[0]); i++) {
		size_t len = fence_lens[i];

		copy_step_trace_to(copy->to, page + i, host, len, &trace);
		check_copy(trace.store_fences == 1 && !trace.full_fences, copy->name, len, i);
		check_copy(trace.nr && trace.nr_at_fence == trace.nr, copy->name, len, i);
		check_copy(!memcmp(page + i, host, len), copy->name, len, i);
	}
}

static void fences_from(const struct bl_cpu_copy *copy)
{
	uint8_t *page = copy_step_page();

	for (size_t i = 0; i < sizeof(fence_lens) / sizeof(fence_lens[0]); i++) {
		size_t len = fence_lens[i];

		copy_step_trace_from(copy->from, back, page + i, len, &trace);
		check_copy(trace.full_fences == 1 && !trace.store_fences, copy->name, len, i);
		check_copy(trace.nr && trace.nr_at_fence == trace.nr, copy->name, len, i);
	}
}

static void write_combining_copies_end_with_one_fence(void)
{
	need_stepping();
	each_wc(fences_to);
	each_wc(fences_from);
}

static void other_copies_have_no_fence(void)
{
	uint8_t *page;

	need_stepping();
	page = copy_step_page();
	for (unsigned int type = BL_MAP_CACHED; type <= BL_MAP_DEVICE; type++) {
		const struct bl_cpu_copy *copy = bl_cpu_copy_select(type);

		for (size_t i = 0; i < sizeof(fence_lens) / sizeof(fence_lens[0]); i++) {
			copy_step_trace_to(copy->to, page + i, host, fence_lens[i], &trace);
			check_copy(trace.nr && !trace.store_fences && !trace.full_fences, copy->name, fence_lens[i], i);
			copy_step_trace_from(copy->from, back, page + i, fence_lens[i], &trace);
			check_copy(trace.nr && !trace.store_fences && !trace.full_fences, copy->name, fence_lens[i], i);
		}
	}
}

static int mixed_fence(void *dst, const void *src, size_t len)
{
	*(volatile uint8_t *)dst = 1;
	bl_cpu_fence_mixed();
	return 0;
}

static void mixed_mappings_get_a_full_fence(void)
{
	need_stepping();
	copy_step_trace_to(mixed_fence, copy_step_page(), host, 1, &trace);
	check_eq(trace.nr, 1);
	check_eq(trace.full_fences, 1);
	check_eq(trace.nr_at_fence, 1);
}

/* The last store of a wide register; its upper half is in use until vzeroupper. */
static size_t last_wide(void)
{
	size_t last = 0;

	for (size_t i = 0; i < trace.nr; i++) {
		if (trace.access[i].width > 16)
			last = i + 1;
	}
	return last;
}

/* Upper halves that stay in use slow down the caller's older code. A line or more always uses them. */
static void clears(const struct bl_cpu_copy *copy)
{
	uint8_t *page = copy_step_page();

	for (size_t len = 1; len <= MAX_LEN; len++) {
		size_t off = (len * 7) % LINE, wide;

		copy_step_trace_to(copy->to, page + off, host, len, &trace);
		wide = last_wide();
		check_copy(!wide || (trace.upper_clears && trace.nr_at_clear >= wide), copy->name, len, off);
		check_copy(wide || len < 2 * LINE, copy->name, len, off);
		copy_step_trace_from(copy->from, back, page + off, len, &trace);
		check_copy(trace.upper_clears || len < 2 * LINE, copy->name, len, off);
	}
}

static void wide_registers_are_cleared_at_the_end(void)
{
	static const char *const wide[] = {"avx2", "avx512"};
	size_t seen = 0;

	need_stepping();
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		const struct bl_cpu_isa *isa = bl_cpu_isa_find(wide[i]);

		check(isa);
		if (!isa->supported())
			continue;
		setenv("BARLANE_CPU_ISA", wide[i], 1);
		clears(bl_cpu_copy_select(BL_MAP_WC));
		unsetenv("BARLANE_CPU_ISA");
		seen++;
	}
	if (!seen)
		skip("this CPU has neither AVX2 nor AVX-512");
}

#endif

static const struct tap_test tests[] = {
	{"aligned_1_2_4_8_bytes_to_are_one_store", aligned_1_2_4_8_bytes_to_are_one_store},
	{"aligned_1_2_4_8_bytes_from_are_one_load", aligned_1_2_4_8_bytes_from_are_one_load},
	{"stores_tile_the_range_in_address_order", stores_tile_the_range_in_address_order},
	{"loads_tile_the_range_in_address_order", loads_tile_the_range_in_address_order},
	{"accesses_of_a_line_are_as_wide_as_the_instruction_set",
	 accesses_of_a_line_are_as_wide_as_the_instruction_set},
#if defined(__x86_64__)
	{"write_combining_copies_end_with_one_fence", write_combining_copies_end_with_one_fence},
	{"other_copies_have_no_fence", other_copies_have_no_fence},
	{"mixed_mappings_get_a_full_fence", mixed_mappings_get_a_full_fence},
	{"wide_registers_are_cleared_at_the_end", wide_registers_are_cleared_at_the_end},
#endif
};

TAP_MAIN(tests)
