// SPDX-License-Identifier: MIT
/* Pins of one context that share a mapping: what it saves, what stays apart, and how it ends. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "gpu/edge.h"
#include "tests/tap.h"
#include "world.h"

#define MIB	 (1UL << 20)
#define PAGE	 65536UL
#define NR_SMALL 16
#define SMALL	 1000UL

static const char *const dynamic_bar1[] = { "BARLANE_EMU_STATIC_BAR1", "0", NULL };
static const char *const dmabuf_world[] = { "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL };

/**
 * struct piece - a pin that is mapped
 * @va:   device address
 * @pin:  its pin
 * @addr: CPU address of the same byte
 */
struct piece {
	CUdeviceptr va;
	size_t len;
	bl_pin_t pin;
	char *addr;
};

static void piece_map(bl_ctx_t ctx, struct piece *piece)
{
	void *addr = NULL;

	check_eq(bl_map_byte(ctx, piece->pin, piece->len, BL_MAP_NONE, &addr), 0);
	piece->addr = addr;
}

static void piece_pin(bl_ctx_t ctx, CUdeviceptr va, size_t len, struct piece *piece)
{
	*piece = (struct piece){ .va = va, .len = len };
	if (bl_pin(ctx, va, len, 0, 0, 0, &piece->pin))
		tap_end(TAP_FAILED, "pin: %s", bl_last_error(NULL));
}

static void piece_new(bl_ctx_t ctx, CUdeviceptr va, size_t len, struct piece *piece)
{
	piece_pin(ctx, va, len, piece);
	piece_map(ctx, piece);
}

static void piece_check(const struct piece *piece)
{
	world_check_mapping(piece->pin, piece->addr, piece->va, piece->len);
}

static uint32_t sharers_of(bl_ctx_t ctx, const struct piece *piece)
{
	struct bl_pin_info info;

	check_eq(bl_pin_info(ctx, piece->pin, &info), 0);
	check_eq(info.reserved, 0);
	return info.sharers;
}

static struct bl_emu_counts counts(void)
{
	struct bl_emu_counts now;

	world.counts(&now);
	return now;
}

/* A context whose client and self-test are there, so that only what follows is counted. */
static bl_ctx_t warm_context(const char *provider)
{
	CUdeviceptr va = world_alloc(2 * MIB);
	bl_ctx_t ctx = world_open(provider);
	struct piece piece;

	piece_new(ctx, va, PAGE, &piece);
	check_eq(bl_unpin(ctx, piece.pin), 0);
	world_free(va);
	return ctx;
}

/* @arg: which one is mapped first, of those that follow each other */
static void neighbours(const void *arg)
{
	struct bl_emu_counts before, one, all;
	struct piece pieces[NR_SMALL];
	CUdeviceptr va[NR_SMALL];
	int first = *(const int *)arg;
	bl_ctx_t ctx;
	char byte = 1;

	world_enter();
	ctx = warm_context("rm");
	/* all in the first page of a block */
	for (int i = 0; i < NR_SMALL; i++)
		va[i] = world_alloc(SMALL);
	check(va[NR_SMALL - 1] + SMALL <= (va[0] & ~(PAGE - 1)) + PAGE);
	before = counts();
	piece_new(ctx, va[first], SMALL, &pieces[first]);
	one = counts();
	check(one.bar1_used > before.bar1_used);
	for (int i = 0; i < NR_SMALL; i++) {
		if (i != first)
			piece_new(ctx, va[i], SMALL, &pieces[i]);
	}
	all = counts();
	check_eq(all.maps, before.maps + 1);
	check_eq(all.vmas, before.vmas + 1);
	check_eq(all.bar1_used, one.bar1_used);
	for (int i = 0; i < NR_SMALL; i++) {
		check_eq(sharers_of(ctx, &pieces[i]), NR_SMALL);
		check(pieces[i].addr - pieces[0].addr == (ptrdiff_t)(va[i] - va[0]));
		piece_check(&pieces[i]);
	}
	/* each handle is its own: the address of another is refused, and so is a copy after its end */
	check_eq(bl_unmap(ctx, pieces[1].pin, pieces[2].addr, SMALL), -EINVAL);
	for (int i = NR_SMALL - 1; i > 0; i--) {
		check_eq(bl_unmap(ctx, pieces[i].pin, pieces[i].addr, SMALL), 0);
		check_eq(bl_copy_to(pieces[i].pin, pieces[i].addr, &byte, 1), -EINVAL);
		check_eq(sharers_of(ctx, &pieces[i]), 0);
		check_eq(sharers_of(ctx, &pieces[0]), (unsigned int)i);
		check_eq(bl_unpin(ctx, pieces[i].pin), 0);
		piece_check(&pieces[0]);
		check_eq(counts().vmas, before.vmas + 1);
	}
	check_eq(bl_unmap(ctx, pieces[0].pin, pieces[0].addr, SMALL), 0);
	all = counts();
	check_eq(all.maps, before.maps);
	check_eq(all.vmas, before.vmas);
	check_eq(all.bar1_used, before.bar1_used);
	check_eq(bl_unpin(ctx, pieces[0].pin), 0);
	check_eq(counts().dups, before.dups);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void small_allocations_of_one_page_take_one_mapping(void)
{
	for (int first = 0; first < NR_SMALL; first += NR_SMALL / 2 - 1)
		child_run(neighbours, &first, dynamic_bar1);
}

static void ranges(const void *arg)
{
	struct piece whole, inside, same, longer, elsewhere;
	uint64_t maps, off = 0;
	bl_pin_t found = 0;
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context("rm");
	va = arg ? world_vmm(8 * MIB, 1) : world_alloc(8 * MIB);
	maps = counts().maps;
	piece_pin(ctx, va + 5 * PAGE, 3 * PAGE, &inside);
	piece_new(ctx, va + 2 * PAGE, 4 * MIB, &whole);
	piece_map(ctx, &inside);
	piece_new(ctx, va + 2 * PAGE, 4 * MIB, &same);
	check_eq(counts().maps, maps + 1);
	check(same.addr == whole.addr && inside.addr == whole.addr + 3 * PAGE);
	/* from a page before, and to a page behind: nobody's mapping grows under its pointers */
	piece_new(ctx, va + PAGE, 4 * MIB, &longer);
	check_eq(counts().maps, maps + 2);
	piece_new(ctx, va + 6 * MIB, PAGE, &elsewhere);
	check_eq(counts().maps, maps + 3);
	check_eq(sharers_of(ctx, &longer), 1);
	check_eq(sharers_of(ctx, &inside), 3);
	/* an address leads to the pin with most bytes behind it */
	check_eq(bl_pin_find(inside.addr + 5, &found, &off), 0);
	check(found == whole.pin || found == same.pin);
	check_eq(off, 3 * PAGE + 5);
	check_eq(bl_unpin(ctx, whole.pin), 0);
	check_eq(bl_unpin(ctx, same.pin), 0);
	check_eq(bl_pin_find(inside.addr + 5, &found, &off), 0);
	check_eq(found, inside.pin);
	check_eq(off, 5);
	check_eq(bl_pin_find(inside.addr + 3 * PAGE, &found, &off), -ENOENT);
	check_eq(bl_copy_to(inside.pin, inside.addr - PAGE, &off, 8), -EINVAL);
	piece_check(&inside);
	piece_check(&longer);
	piece_check(&elsewhere);
	/* a mapping that outlived its maker is shared on; its last page is in no other */
	piece_new(ctx, va + 4 * MIB + PAGE, PAGE, &whole);
	check_eq(counts().maps, maps + 3);
	check_eq(sharers_of(ctx, &inside), 2);
	piece_check(&whole);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void what_lies_inside_shares_and_what_reaches_out_does_not(void)
{
	child_run(ranges, NULL, NULL);
	child_run(ranges, "vmm", NULL);
	child_run(ranges, NULL, dynamic_bar1);
}

static void engines(const void *arg)
{
	struct piece whole, part;
	char sent[PAGE], seen[PAGE];
	uint64_t flag = 0;
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context("rm");
	va = world_alloc(2 * MIB);
	piece_new(ctx, va, MIB, &whole);
	piece_new(ctx, va + 4 * PAGE, PAGE, &part);
	check(part.addr == whole.addr + 4 * PAGE);
	check_eq(bl_unpin(ctx, whole.pin), 0);
	memset(sent, 0x4d, sizeof(sent));
	check_eq(bl_copy(part.pin, 0, sent, PAGE, BL_COPY_TO, BL_ENGINE_CE), 0);
	check_eq(bl_copy(part.pin, 0, seen, PAGE, BL_COPY_FROM, BL_ENGINE_CPU), 0);
	check(!memcmp(sent, seen, PAGE));
	check_eq(bl_copy(part.pin, PAGE - 1, sent, 2, BL_COPY_TO, BL_ENGINE_CE), -EINVAL);
	check_eq(bl_publish(part.pin, part.addr + 8, "hello", 5, (uint64_t *)part.addr, 77), 0);
	check_eq(bl_flush(part.pin), 0);
	check_eq(world.cuda->cuMemcpyDtoH(&flag, va + 4 * PAGE, sizeof(flag)), CUDA_SUCCESS);
	check_eq(flag, 77);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void copies_by_any_engine_go_where_the_pin_is(void)
{
	child_run(engines, NULL, NULL);
}

/* An address comes back with other memory, while a pin keeps the old. */
static void recycled(const void *provider)
{
	struct piece old, new;
	char seen[100];
	CUdeviceptr va, again;
	uint64_t vmas;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context(provider);
	va = world_alloc(2 * MIB);
	vmas = counts().vmas;
	piece_new(ctx, va, PAGE, &old);
	memset(seen, 0x11, sizeof(seen));
	check_eq(bl_copy_to(old.pin, old.addr, seen, sizeof(seen)), 0);
	world_free(va);
	again = world_alloc(2 * MIB);
	check_eq(again, va); /* else this shows nothing */
	piece_new(ctx, again, PAGE, &new);
	check(new.addr != old.addr);
	check_eq(counts().vmas, vmas + 2);
	piece_check(&new);
	check_eq(bl_copy_from(old.pin, seen, old.addr, sizeof(seen)), 0);
	for (size_t i = 0; i < sizeof(seen); i++)
		check_eq(seen[i], 0x11);
	check_eq(sharers_of(ctx, &old), 1);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void other_memory_at_the_same_address_is_not_shared(void)
{
	child_run(recycled, "rm", NULL);
	child_run(recycled, "dmabuf", dmabuf_world);
}

static void expect_own(const void *provider)
{
	struct piece a, b;
	CUdeviceptr va;
	uint64_t vmas;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context(provider);
	va = world_alloc(2 * MIB);
	vmas = counts().vmas;
	piece_new(ctx, va, PAGE, &a);
	piece_new(ctx, va, PAGE, &b);
	check(a.addr != b.addr);
	check_eq(counts().vmas, vmas + 2);
	check_eq(sharers_of(ctx, &a), 1);
	piece_check(&a);
	piece_check(&b);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void without_proof_there_is_a_mapping_for_each(void)
{
	child_run(expect_own, "gdrdrv", (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", NULL });
	child_run(expect_own, "rm", (const char *[]){ "BARLANE_EMU_DRIVER", "515.105.01", NULL });
}

static void by_allocation(const void *arg)
{
	struct piece a, b, next, both, vmm[2];
	CUdeviceptr va, small[2], range;
	uint64_t vmas;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context("dmabuf");
	va = world_alloc(2 * MIB);
	small[0] = world_alloc(SMALL);
	small[1] = world_alloc(SMALL);
	vmas = counts().vmas;
	piece_new(ctx, va, MIB, &a);
	piece_new(ctx, va + PAGE, PAGE, &b);
	check_eq(counts().vmas, vmas + 1);
	check(b.addr == a.addr + PAGE);
	/* of another allocation nothing is known, be it in the same page */
	piece_new(ctx, small[0], SMALL, &both);
	piece_new(ctx, small[1], SMALL, &next);
	check_eq(counts().vmas, vmas + 3);
	check_eq(bl_unpin(ctx, a.pin), 0);
	piece_check(&b);
	piece_check(&next);
	check_eq(bl_unpin(ctx, b.pin), 0);
	check_eq(counts().vmas, vmas + 2);
	/* nor of a range of addresses in which memory can be exchanged */
	range = world_vmm(2 * MIB, 1);
	for (int i = 0; i < 2; i++)
		piece_new(ctx, range, PAGE, &vmm[i]);
	check(vmm[0].addr != vmm[1].addr);
	check_eq(counts().vmas, vmas + 4);
	check_eq(bl_close(ctx), 0);
	check_eq(counts().vmas, vmas);
	check_eq(counts().dmabufs, 0);
	world_check_rules();
}

static void dma_bufs_share_within_an_allocation(void)
{
	child_run(by_allocation, NULL, dmabuf_world);
}

static void apart(const void *arg)
{
	void *legacy[2] = { NULL };
	struct piece mine, other;
	bl_pin_t pins[2];
	bl_ctx_t ctx, second;
	CUdeviceptr va;
	uint64_t vmas;
	gdr_mh_t handles[2];
	gdr_t g;

	world_enter();
	ctx = warm_context("rm");
	second = world_open("rm");
	va = world_alloc(2 * MIB);
	vmas = counts().vmas;
	/* as libgdrapi maps: neither with each other nor with pins of the native interface */
	for (int i = 0; i < 2; i++) {
		check_eq(bl_pin(ctx, va, PAGE, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map_for_edge(ctx, pins[i], PAGE, BL_MAP_NONE, &legacy[i]), 0);
	}
	piece_new(ctx, va, PAGE, &mine);
	check_eq(counts().vmas, vmas + 3);
	check(legacy[0] != legacy[1] && legacy[0] != (void *)mine.addr && legacy[1] != (void *)mine.addr);
	check_eq(bl_unmap(ctx, pins[0], legacy[0], PAGE), 0);
	check_eq(counts().vmas, vmas + 2);
	/* contexts are apart too: one may be closed without asking the other */
	piece_new(second, va, PAGE, &other);
	check_eq(counts().vmas, vmas + 3);
	check_eq(bl_close(ctx), 0);
	check_eq(counts().vmas, vmas + 1);
	piece_check(&other);
	check_eq(bl_close(second), 0);
	/* and through the library itself */
	g = gdr_open();
	check(g);
	for (int i = 0; i < 2; i++) {
		check_eq(gdr_pin_buffer(g, va, PAGE, 0, 0, &handles[i]), 0);
		check_eq(gdr_map(g, handles[i], &legacy[i], PAGE), 0);
	}
	check(legacy[0] != legacy[1]);
	check_eq(gdr_unmap(g, handles[0], legacy[0], PAGE), 0);
	check_eq(gdr_unmap(g, handles[1], legacy[1], PAGE), 0);
	check_eq(gdr_close(g), 0);
	world_check_rules();
}

static void mappings_of_libgdrapi_and_of_other_contexts_stay_apart(void)
{
	child_run(apart, NULL, (const char *[]){ "BARLANE_PROVIDER", "rm", NULL });
}

static void allocated(const void *arg)
{
	struct bl_emu_counts before;
	struct bl_alloc mem;
	struct piece part;
	char byte = 9;
	bl_ctx_t ctx;

	world_enter();
	ctx = warm_context("rm");
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0); /* the self-test for such memory */
	check_eq(bl_free(ctx, mem.pin), 0);
	before = counts();
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0);
	piece_new(ctx, mem.va + PAGE, PAGE, &part);
	check(part.addr == (char *)mem.addr + PAGE);
	piece_check(&part);
	/* the memory's address range goes, the other pin and what it shows stay */
	check_eq(bl_free(ctx, mem.pin), 0);
	check_eq(bl_copy_to(part.pin, part.addr, &byte, 1), 0);
	byte = 0;
	check_eq(bl_copy_from(part.pin, &byte, part.addr, 1), 0);
	check_eq(byte, 9);
	check_eq(counts().vmas, before.vmas + 1);
	check_eq(bl_unpin(ctx, part.pin), 0);
	check_eq(counts().vmas, before.vmas);
	check_eq(counts().dups, before.dups);
	check_eq(counts().vram_used, before.vram_used);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void memory_of_the_library_is_shared_and_freed(void)
{
	child_run(allocated, NULL, NULL);
}

static void many_rounds(const void *arg)
{
	struct bl_emu_counts before, after;
	struct piece pieces[3];
	CUdeviceptr va;
	bl_ctx_t ctx;
	int fds;

	world_enter();
	ctx = warm_context("rm");
	va = world_alloc(2 * MIB);
	before = counts();
	fds = world_fds();
	for (int i = 0; i < 10000; i++) {
		for (int k = 0; k < 3; k++)
			piece_new(ctx, va + (CUdeviceptr)k * 512, SMALL, &pieces[k]);
		for (int k = 0; k < 3; k++) {
			struct piece *piece = &pieces[(i + k * (i & 4 ? 1 : 2)) % 3];

			if (i & 8)
				check_eq(bl_unmap(ctx, piece->pin, piece->addr, SMALL), 0);
			check_eq(bl_unpin(ctx, piece->pin), 0);
		}
	}
	after = counts();
	check_eq(after.maps, before.maps);
	check_eq(after.vmas, before.vmas);
	check_eq(after.dups, before.dups);
	check_eq(after.nodes, before.nodes);
	check_eq(after.bar1_used, before.bar1_used);
	check_eq(world_fds(), fds);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void ten_thousand_rounds_leave_nothing(void)
{
	child_run(many_rounds, NULL, dynamic_bar1);
}

static void forked(const void *arg)
{
	struct piece a, b;
	CUdeviceptr va;
	bl_ctx_t ctx;
	int status;
	pid_t pid;

	world_enter();
	ctx = warm_context("rm");
	va = world_alloc(2 * MIB);
	piece_new(ctx, va, PAGE, &a);
	piece_new(ctx, va, PAGE, &b);
	check(a.addr == b.addr);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		unsigned char resident;
		char byte = 3;

		/* nothing is mapped there, and no handle serves */
		_exit(!mincore(a.addr, 4096, &resident) || bl_copy_to(a.pin, a.addr, &byte, 1) != -EACCES ||
		      bl_unmap(ctx, b.pin, b.addr, PAGE) != -EACCES || bl_close(ctx));
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(bl_unpin(ctx, a.pin), 0);
	piece_check(&b);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void a_forked_child_has_no_part_in_it(void)
{
	child_run(forked, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "small_allocations_of_one_page_take_one_mapping", small_allocations_of_one_page_take_one_mapping },
	{ "what_lies_inside_shares_and_what_reaches_out_does_not", what_lies_inside_shares_and_what_reaches_out_does_not },
	{ "copies_by_any_engine_go_where_the_pin_is", copies_by_any_engine_go_where_the_pin_is },
	{ "other_memory_at_the_same_address_is_not_shared", other_memory_at_the_same_address_is_not_shared },
	{ "without_proof_there_is_a_mapping_for_each", without_proof_there_is_a_mapping_for_each },
	{ "dma_bufs_share_within_an_allocation", dma_bufs_share_within_an_allocation },
	{ "mappings_of_libgdrapi_and_of_other_contexts_stay_apart", mappings_of_libgdrapi_and_of_other_contexts_stay_apart },
	{ "memory_of_the_library_is_shared_and_freed", memory_of_the_library_is_shared_and_freed },
	{ "ten_thousand_rounds_leave_nothing", ten_thousand_rounds_leave_nothing },
	{ "a_forked_child_has_no_part_in_it", a_forked_child_has_no_part_in_it },
};

TAP_MAIN(tests)
