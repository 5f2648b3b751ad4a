// SPDX-License-Identifier: MIT
/*
 * Each call that provider rm makes fails in turn. Whatever fails, the call says so, nothing is left behind, no rule of
 * the driver interface is broken, and the next attempt works.
 */
#include <sys/mman.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

/**
 * struct walk - one point of failure
 * @point: name of the point
 * @value: what the call fails with
 * @undo:  the point is met while undoing too: then RM may keep an object until its client goes
 */
struct walk {
	const char *point;
	int value;
	int undo;
	int nth;
};

static int round_trip(CUdeviceptr ptr, int *undo_p)
{
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	int ret, err;

	*undo_p = 0;
	ret = bl_open("rm", &ctx);
	if (ret)
		return ret;
	ret = bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin);
	if (!ret)
		ret = bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr);
	if (!ret) {
		world_check_mapping(pin, addr, ptr, 65536);
		ret = bl_unmap(ctx, pin, addr, 65536);
		if (!ret)
			ret = bl_unpin(ctx, pin);
		*undo_p = ret < 0;
	}
	err = bl_close(ctx);
	return ret ? ret : err;
}

/* Exit status of the child cannot carry "did not fire": a file shared with the parent does. */
static int *fired;

static void fail_nth(const void *arg)
{
	const struct walk *walk = arg;
	struct snapshot before;
	CUdeviceptr ptr;
	char spec[64];
	int ret, undo;

	world_enter();
	ptr = world_alloc(2 * MIB);
	snapshot_take(&before);
	snprintf(spec, sizeof(spec), "%s:%d:%d", walk->point, walk->nth, walk->value);
	check_eq(world.fault(spec), 0);
	ret = round_trip(ptr, &undo);
	check_eq(world.fault(""), 0);
	*fired = ret != 0;
	if (ret)
		check(strlen(bl_last_error(NULL)) > 0);
	snapshot_check(&before);
	if (!walk->undo)
		world_check_rules();
	/* a self-test that failed stays failed: only then may the next attempt be refused */
	ret = round_trip(ptr, &undo);
	if (ret)
		check_has(bl_last_error(NULL), "self-test failed");
	world_free(ptr);
}

static void walk_point(struct walk walk)
{
	int fires = 0, quiet = 0;

	fired = mmap(NULL, sizeof(*fired), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(fired != MAP_FAILED);
	/* some failures are survived by design (an optional answer): stop when several in a row changed nothing */
	for (walk.nth = 1; walk.nth < 200 && quiet < 12; walk.nth++) {
		*fired = 0;
		child_run(fail_nth, &walk, NULL);
		fires += *fired;
		quiet = *fired ? 0 : quiet + 1;
	}
	munmap(fired, sizeof(*fired));
	check(fires > 0);
}

static void opening_the_control_node_fails(void)
{
	walk_point((struct walk){ .point = "open.ctl", .value = EACCES });
}

static void opening_the_device_node_fails(void)
{
	walk_point((struct walk){ .point = "open.dev", .value = EMFILE });
}

static void allocating_objects_fails(void)
{
	walk_point((struct walk){ .point = "rm.alloc", .value = 0x1A });
}

static void duplicating_fails(void)
{
	walk_point((struct walk){ .point = "rm.dup", .value = 0x1B });
}

static void controls_fail(void)
{
	walk_point((struct walk){ .point = "rm.control", .value = 0x56 });
}

static void mapping_in_rm_fails(void)
{
	walk_point((struct walk){ .point = "rm.map", .value = 0x51 });
}

static void mmap_fails(void)
{
	walk_point((struct walk){ .point = "mmap", .value = ENOMEM });
}

static void madvise_fails(void)
{
	walk_point((struct walk){ .point = "madvise", .value = EINVAL });
}

static void unmapping_in_rm_fails(void)
{
	walk_point((struct walk){ .point = "rm.unmap", .value = 0x40, .undo = 1 });
}

static void freeing_fails(void)
{
	walk_point((struct walk){ .point = "rm.free", .value = 0x40, .undo = 1 });
}

static void any_ioctl_fails(void)
{
	walk_point((struct walk){ .point = "ioctl", .value = EIO, .undo = 1 });
}

static void interrupted(const void *arg)
{
	CUdeviceptr ptr;
	char spec[32];
	int undo;

	world_enter();
	ptr = world_alloc(2 * MIB);
	for (int nth = 1; nth < 40; nth++) {
		snprintf(spec, sizeof(spec), "ioctl:%d:%d", nth, EINTR);
		check_eq(world.fault(spec), 0);
		check_eq(round_trip(ptr, &undo), 0);
	}
	world_check_rules();
}

static void interrupted_ioctls_are_repeated(void)
{
	child_run(interrupted, NULL, NULL);
}

static void interrupted_for_ever(const void *arg)
{
	struct snapshot before;
	CUdeviceptr ptr;
	char spec[32];
	int undo;

	world_enter();
	ptr = world_alloc(2 * MIB);
	snapshot_take(&before);
	snprintf(spec, sizeof(spec), "ioctl:*:%d", EINTR);
	check_eq(world.fault(spec), 0);
	check_eq(round_trip(ptr, &undo), -EINTR);
	check_eq(world.fault(""), 0);
	snapshot_check(&before);
	world_check_rules();
}

static void driver_that_never_answers_is_an_error(void)
{
	child_run(interrupted_for_ever, NULL, NULL);
}

static void munmap_fails_once(const void *arg)
{
	struct bl_emu_counts counts;
	CUdeviceptr ptr, other;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ptr = world_alloc(2 * MIB);
	other = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, other, 65536, 0, 0, 0, &pin), 0); /* the self-test has its own munmap calls */
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
	check_eq(world.fault("munmap:1:22"), 0);
	check_eq(bl_unmap(ctx, pin, addr, 65536), -EBUSY);
	check_has(bl_last_error(NULL), "stays allocated until the process ends");
	bl_unpin(ctx, pin);
	bl_close(ctx);
	world_free(ptr);
	/* the mapping lives, so what it shows must too: nothing under it was freed */
	world.counts(&counts);
	check_eq(counts.vmas, 1);
	check_eq(counts.maps, 1);
	check_eq(counts.dups, 1);
	world_check_rules();
	/* and other memory can still be used */
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, other, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
	world_check_mapping(pin, addr, other, 65536);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void mapping_that_cannot_be_removed_keeps_its_memory(void)
{
	child_run(munmap_fails_once, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "opening_the_control_node_fails", opening_the_control_node_fails },
	{ "opening_the_device_node_fails", opening_the_device_node_fails },
	{ "allocating_objects_fails", allocating_objects_fails },
	{ "duplicating_fails", duplicating_fails },
	{ "controls_fail", controls_fail },
	{ "mapping_in_rm_fails", mapping_in_rm_fails },
	{ "mmap_fails", mmap_fails },
	{ "madvise_fails", madvise_fails },
	{ "unmapping_in_rm_fails", unmapping_in_rm_fails },
	{ "freeing_fails", freeing_fails },
	{ "any_ioctl_fails", any_ioctl_fails },
	{ "interrupted_ioctls_are_repeated", interrupted_ioctls_are_repeated },
	{ "driver_that_never_answers_is_an_error", driver_that_never_answers_is_an_error },
	{ "mapping_that_cannot_be_removed_keeps_its_memory", mapping_that_cannot_be_removed_keeps_its_memory },
};

TAP_MAIN(tests)
