// SPDX-License-Identifier: MIT
/* What the core says of BAR1, as the tools see it. */
#include <errno.h>

#include "child.h"
#include "gpu/edge.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

/* A BAR1 smaller than video memory, where mappings need windows. */
static const char *const small[] = {"BARLANE_EMU_BAR1", "64M", "BARLANE_EMU_VRAM", "1G", NULL};

static void mapping_uses_it(const void *arg)
{
	uint64_t size = 0, before = 0, during = 0, after = 0;
	struct snapshot snapshot;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ptr = world_alloc(8 * MIB);
	snapshot_take(&snapshot);
	check_eq(bl_gpu_bar1(0, &size, &before), 0);
	check_eq(size, 64 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, ptr, 8 * MIB, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, 8 * MIB, BL_MAP_NONE, &addr), 0);
	check_eq(bl_gpu_bar1(0, &size, &during), 0);
	check_eq(before - during, 8 * MIB);
	check_eq(bl_close(ctx), 0);
	check_eq(bl_gpu_bar1(0, &size, &after), 0);
	check_eq(after, before);
	snapshot_check(&snapshot);
	world_check_rules();
}

static void a_mapping_uses_bar1_and_gives_it_back(void)
{
	child_run(mapping_uses_it, NULL, small);
}

static void refuses_what_is_not_there(const void *arg)
{
	uint64_t size = 1, avail = 2;
	struct snapshot before;

	world_enter();
	snapshot_take(&before);
	check_eq(bl_gpu_bar1(7, &size, &avail), -ENODEV);
	check_eq(bl_gpu_bar1(-1, &size, &avail), -ENODEV);
	check_eq(size, 1);
	check_eq(avail, 2);
	snapshot_check(&before);
}

static void a_gpu_that_does_not_exist_is_enodev(void)
{
	child_run(refuses_what_is_not_there, NULL, NULL);
}

static void refuses_without_nodes(const void *arg)
{
	uint64_t size = 1, avail = 2;
	struct snapshot before;

	world_enter();
	snapshot_take(&before);
	check_eq(bl_gpu_bar1(0, &size, &avail), -EACCES);
	check_has(bl_last_error(NULL), "/dev/nvidiactl");
	check_eq(size, 1);
	snapshot_check(&before);
}

static void nodes_that_may_not_be_opened_are_eacces(void)
{
	child_run(refuses_without_nodes, NULL, (const char *[]){"BARLANE_EMU_NODE_MODE", "deny", NULL});
}

static void gives_back_on_error(const void *arg)
{
	uint64_t size = 1, avail = 2;
	struct snapshot before;

	world_enter();
	snapshot_take(&before);
	for (int nth = 1; nth <= 3; nth++) {
		char spec[32];

		snprintf(spec, sizeof(spec), "rm.control:%d:31", nth);
		check_eq(world.fault(spec), 0);
		check(bl_gpu_bar1(0, &size, &avail) < 0);
		check_eq(world.fault(""), 0);
		check_eq(size, 1);
		snapshot_check(&before);
	}
	check_eq(bl_gpu_bar1(0, &size, &avail), 0);
	check(avail <= size);
	world_check_rules();
}

static void a_refused_request_leaves_nothing_behind(void)
{
	child_run(gives_back_on_error, NULL, NULL);
}

static const struct tap_test tests[] = {
	{"a_mapping_uses_bar1_and_gives_it_back", a_mapping_uses_bar1_and_gives_it_back},
	{"a_gpu_that_does_not_exist_is_enodev", a_gpu_that_does_not_exist_is_enodev},
	{"nodes_that_may_not_be_opened_are_eacces", nodes_that_may_not_be_opened_are_eacces},
	{"a_refused_request_leaves_nothing_behind", a_refused_request_leaves_nothing_behind},
};

TAP_MAIN(tests)
