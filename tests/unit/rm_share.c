// SPDX-License-Identifier: MIT
/* Pins that share a mapping with provider rm: what the driver is told, in which order, and what it never sees. */
#include <errno.h>

#include "barlane.h"
#include "gpu/core.h"
#include "rm_fixture.h"

#define PAGE 65536UL
#define MIB  (1UL << 20)

/**
 * struct pair - two pins of one object
 * @va:   device addresses
 * @pin:  pins
 * @addr: where they are mapped
 */
struct pair {
	bl_ctx_t ctx;
	uint64_t va[2];
	bl_pin_t pin[2];
	void *addr[2];
};

/* Duplicates of the two pins, as numbered by the fake driver after the self-test. */
#define FIRST  "caf00007"
#define SECOND "caf00008"

/* Two small allocations in one page; the self-test is done. */
static void pair_new(struct pair *p, unsigned int branch)
{
	bl_pin_t first = 0;

	*p = (struct pair){ 0 };
	rm_world(branch);
	check_eq(bl_open("rm", &p->ctx), 0);
	p->va[0] = fake_cuda_alloc(FAKE_PLAIN, 1000);
	p->va[1] = fake_cuda_alloc(FAKE_PLAIN, 1000);
	check_eq(bl_pin(p->ctx, p->va[0], 1000, 0, 0, 0, &first), 0);
	for (int i = 0; i < 2; i++)
		check_eq(bl_pin(p->ctx, p->va[i], 1000, 0, 0, 0, &p->pin[i]), 0);
	check_eq(bl_unpin(p->ctx, first), 0);
}

static int pair_map(struct pair *p, int i)
{
	return bl_map_byte(p->ctx, p->pin[i], 1000, BL_MAP_NONE, &p->addr[i]);
}

static void pair_end(struct pair *p)
{
	check_eq(bl_close(p->ctx), 0);
	rm_world_end();
}

static void two_sharers_are_one_map_and_one_unmap(void)
{
	static const unsigned int branches[] = { 525, 535, 545, 580, 595 };
	static const char *const made[] = {
		"open /dev/nvidia3",
		"nvidia3 c9/4: c",
		"nvidiactl 4e/56: c1d00077 caf00001 " FIRST " 0*3 10000 0*3 ffff 0 d 0",
		"mmap nvidia3 len 0x10000 off 0x0",
		"madvise len 0x10000 advice 10",
		"close nvidia3",
		"nvidiactl 2a/32: c1d00077 c1d00077 d07 0*3 c ffff | " FIRST " " SECOND " 0",
	};
	/* the pin that made the mapping goes first: its duplicate stays until the other one is unmapped */
	static const char *const undone[] = {
		"munmap len 0x10000",
		"nvidiactl 4f/32: c1d00077 caf00001 " FIRST " 0*2 38 ffff 0",
		"nvidiactl 29/16: c1d00077 caf00001 " FIRST " ffff",
	};
	static const char *const rest[] = { "nvidiactl 29/16: c1d00077 caf00001 " SECOND " ffff" };

	for (size_t i = 0; i < NR_OF(branches); i++) {
		struct pair p;

		pair_new(&p, branches[i]);
		fake_trace_begin();
		/* the first one is mapped with the rest of its GPU page, so that the second one is inside */
		check_eq(pair_map(&p, 0) | pair_map(&p, 1), 0);
		fake_trace_expect(made, NR_OF(made));
		check((char *)p.addr[1] - (char *)p.addr[0] == (ptrdiff_t)(p.va[1] - p.va[0]));
		fake_trace_begin();
		check_eq(bl_unpin(p.ctx, p.pin[0]), 0);
		fake_trace_expect(rest, 0);
		fake_trace_begin();
		check_eq(bl_unmap(p.ctx, p.pin[1], p.addr[1], 1000), 0);
		fake_trace_expect(undone, NR_OF(undone));
		fake_trace_begin();
		check_eq(bl_unpin(p.ctx, p.pin[1]), 0);
		fake_trace_expect(rest, NR_OF(rest));
		pair_end(&p);
	}
}

static void a_driver_that_cannot_compare_gives_a_mapping_to_each(void)
{
	/* before 525 there is no such question, and none is asked */
	static const char *const own[] = {
		"open /dev/nvidia3",
		"nvidia3 c9/4: c",
		"nvidiactl 4e/56: c1d00077 caf00001 " SECOND " 0*3 10000 0*3 ffff 0 d 0",
		"mmap nvidia3 len 0x10000 off 0x0",
		"madvise len 0x10000 advice 10",
		"close nvidia3",
	};
	struct pair p;

	pair_new(&p, 515);
	check_eq(pair_map(&p, 0), 0);
	fake_trace_begin();
	check_eq(pair_map(&p, 1), 0);
	fake_trace_expect(own, NR_OF(own));
	check_eq(fake_rm_maps(), 2);
	pair_end(&p);
	/* a refusal is no failure */
	pair_new(&p, 580);
	check_eq(pair_map(&p, 0), 0);
	fake_rm.fail_at = 0;
	check_eq(pair_map(&p, 1), 0);
	check(fake_rm.refused);
	check_eq(fake_rm_maps(), 2);
	check_eq(fake_sys_vmas(), 2);
	pair_end(&p);
}

static void memory_that_is_not_the_same_is_not_shared_whatever_its_address(void)
{
	struct pair p;
	struct bl_pin_info info;

	pair_new(&p, 580);
	fake_rm.apart = true;
	check_eq(pair_map(&p, 0) | pair_map(&p, 1), 0);
	check_eq(fake_rm_maps(), 2);
	check_eq(bl_pin_info(p.ctx, p.pin[0], &info), 0);
	check_eq(info.sharers, 1);
	/* each of the two is looked at; the one that is proved to be the same is found behind the other */
	fake_rm.apart = false;
	check_eq(bl_unmap(p.ctx, p.pin[0], p.addr[0], 1000), 0);
	check_eq(pair_map(&p, 0), 0);
	check_eq(fake_rm_maps(), 1);
	check_eq(bl_pin_info(p.ctx, p.pin[0], &info), 0);
	check_eq(info.sharers, 2);
	pair_end(&p);
}

static void a_pin_maps_again_while_others_use_its_mapping(void)
{
	struct bl_pin_info info;
	bl_pin_t wide = 0;
	void *one, *two;
	struct pair p;

	pair_new(&p, 580);
	check_eq(bl_pin(p.ctx, p.va[0], 2 * PAGE, 0, 0, 0, &wide), 0);
	check_eq(bl_map(p.ctx, wide, 1000, BL_MAP_NONE, &one), 0);
	check_eq(pair_map(&p, 1), 0);
	check_eq(fake_rm_maps(), 1);
	check_eq(bl_pin_info(p.ctx, wide, &info), 0);
	check_eq(info.map_len, 4096);
	check_eq(bl_copy_to(wide, (char *)one + 4096, "", 1), -EINVAL);
	check_eq(bl_unmap(p.ctx, wide, one, 1000), 0);
	check_eq(fake_rm_maps(), 1);
	/* more than the mapping shows: one of its own, from the same backing */
	check_eq(bl_map(p.ctx, wide, PAGE + 1, BL_MAP_NONE, &two), 0);
	check_eq(fake_rm_maps(), 2);
	check(one != two);
	check_eq(bl_pin_info(p.ctx, wide, &info), 0);
	check_eq(info.sharers, 1);
	check_eq(bl_unmap(p.ctx, p.pin[1], p.addr[1], 1000), 0);
	check_eq(fake_rm_maps(), 1);
	memset(two, 0x31, PAGE + 1);
	check_eq(fake_vram()[p.va[0] - FAKE_VRAM_VA + PAGE], 0x31);
	check_eq(bl_unpin(p.ctx, wide), 0);
	check_eq(fake_rm_maps(), 0);
	pair_end(&p);
}

static void sharers_count_as_mappings_of_their_type(void)
{
	bl_pin_t cached = 0;
	struct pair p;
	void *addr;

	pair_new(&p, 580);
	check_eq(bl_pin(p.ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB), PAGE, 0, 0, 0, &cached), 0);
	check_eq(pair_map(&p, 0) | pair_map(&p, 1), 0);
	fake_rm.caching = 0;
	check_eq(bl_map(p.ctx, cached, PAGE, BL_MAP_NONE, &addr), 0);
	check(atomic_load(&bl_maps_mixed));
	check_eq(bl_unmap(p.ctx, p.pin[0], p.addr[0], 1000), 0);
	check(atomic_load(&bl_maps_mixed));
	check_eq(bl_unpin(p.ctx, p.pin[1]), 0);
	check(!atomic_load(&bl_maps_mixed));
	pair_end(&p);
}

static void a_wish_for_another_type_is_not_met_by_sharing(void)
{
	struct pair p;

	pair_new(&p, 580);
	check_eq(pair_map(&p, 0), 0);
	check_eq(bl_map_byte(p.ctx, p.pin[1], 1000, BL_MAP_CACHED, &p.addr[1]), -EOPNOTSUPP);
	check_eq(fake_rm_maps(), 1);
	check_eq(bl_map_byte(p.ctx, p.pin[1], 1000, BL_MAP_WC, &p.addr[1]), 0);
	check_eq(fake_rm_maps(), 1);
	pair_end(&p);
}

static void the_last_sharer_learns_that_the_mapping_is_stuck(void)
{
	struct pair p;
	int objects;

	pair_new(&p, 580);
	check_eq(pair_map(&p, 0) | pair_map(&p, 1), 0);
	objects = fake_rm_objects();
	check_eq(bl_unpin(p.ctx, p.pin[0]), 0);
	fake_sys_fail_next(FAKE_MUNMAP, ENOMEM);
	check_eq(bl_unmap(p.ctx, p.pin[1], p.addr[1], 1000), -EBUSY);
	check_eq(bl_unpin(p.ctx, p.pin[1]), 0);
	check_eq(bl_close(p.ctx), 0);
	/* what the mapping shows is held by the duplicate that it was made with; the other one went */
	check_eq(fake_rm_objects(), objects - 1);
	check_eq(fake_rm_maps(), 1);
	check_eq(fake_sys_vmas(), 1);
	check_str(fake_violations(), "");
	rm_keep();
}

/* What two sharers do in their life, in both orders. */
static int live(struct pair *p, int first)
{
	int last = 1 - first, ret = 0;
	char byte = 5;

	ret |= pair_map(p, 0) | pair_map(p, 1);
	if (ret)
		return ret;
	ret |= bl_unmap(p->ctx, p->pin[first], p->addr[first], 1000);
	ret |= bl_copy_to(p->pin[last], p->addr[last], &byte, 1);
	check_eq(bl_copy_to(p->pin[first], p->addr[first], &byte, 1), -EINVAL);
	ret |= bl_unpin(p->ctx, p->pin[first]);
	ret |= bl_copy_to(p->pin[last], p->addr[last], &byte, 1);
	ret |= bl_unpin(p->ctx, p->pin[last]);
	return ret;
}

static void refusal_at_any_escape_leaves_nothing(void)
{
	for (int first = 0; first < 2; first++) {
		for (int nr = 0;; nr++) {
			struct pair p;
			int ret;

			pair_new(&p, 580);
			fake_rm.fail_at = nr;
			ret = live(&p, first);
			fake_rm.fail_at = -1;
			check_eq(bl_close(p.ctx), 0);
			check_str(fake_violations(), "");
			check_eq(fake_sys_vmas(), 0);
			/* an object whose free was refused goes with its client */
			check_eq(fake_rm_objects(), 0);
			check_eq(fake_rm_maps(), 0);
			check_eq(fake_sys_files(), 0);
			fake_cuda_end();
			if (!fake_rm.refused) {
				check_eq(ret, 0);
				check(nr >= 4);
				break;
			}
		}
	}
}

static void shortage_at_any_call_leaves_nothing(void)
{
	for (int first = 0; first < 2; first++) {
		for (int nr = 0;; nr++) {
			struct pair p;
			bool hit;

			pair_new(&p, 580);
			fake_sys_fail_at(nr, EMFILE);
			live(&p, first);
			hit = fake_sys_failed();
			fake_sys_fail_at(-1, 0);
			check_eq(bl_close(p.ctx), 0);
			check_str(fake_violations(), "");
			if (fake_sys_vmas()) {
				/* only a munmap that failed keeps a mapping, and then what is under it */
				check_eq(fake_sys_vmas(), 1);
				check_eq(fake_rm_maps(), 1);
				rm_keep();
			} else {
				check_eq(fake_rm_maps(), 0);
				check_eq(fake_rm_objects(), 0);
				fake_cuda_end();
			}
			if (!hit) {
				check(nr >= 10);
				break;
			}
		}
	}
}

static const struct tap_test tests[] = {
	{ "two sharers are one map and one unmap", two_sharers_are_one_map_and_one_unmap },
	{ "a driver that cannot compare gives a mapping to each", a_driver_that_cannot_compare_gives_a_mapping_to_each },
	{ "memory that is not the same is not shared whatever its address",
	  memory_that_is_not_the_same_is_not_shared_whatever_its_address },
	{ "a pin maps again while others use its mapping", a_pin_maps_again_while_others_use_its_mapping },
	{ "sharers count as mappings of their type", sharers_count_as_mappings_of_their_type },
	{ "a wish for another type is not met by sharing", a_wish_for_another_type_is_not_met_by_sharing },
	{ "the last sharer learns that the mapping is stuck", the_last_sharer_learns_that_the_mapping_is_stuck },
	{ "refusal at any escape to two sharers leaves nothing", refusal_at_any_escape_leaves_nothing },
	{ "shortage at any call of two sharers leaves nothing", shortage_at_any_call_leaves_nothing },
};

TAP_MAIN(tests)
