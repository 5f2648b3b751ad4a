// SPDX-License-Identifier: MIT
/* Provider rm in other worlds: every driver branch, a libcuda whose blob is laid out otherwise, a small BAR1. */
#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

static void use(CUdeviceptr ptr, size_t len)
{
	struct snapshot before;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	snapshot_take(&before);
	ctx = world_open("rm");
	if (bl_pin(ctx, ptr, len, 0, 0, 0, &pin))
		tap_end(TAP_FAILED, "pin: %s", bl_last_error(NULL));
	if (bl_map(ctx, pin, len, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "map: %s", bl_last_error(NULL));
	world_check_mapping(pin, addr, ptr, len);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_check_rules();
}

static void works(const void *arg)
{
	world_enter();
	use(world_alloc(2 * MIB), 2 * MIB);
	use(world_alloc(5000) & ~(BL_GPU_PAGE_SIZE - 1), 4096);
	use(world_vmm(2 * MIB, 1), 65536);
}

static void every_known_branch_works(void)
{
	static const char *const branches[] = { "515.105.01", "520.61.05",  "525.147.05", "530.41.03",	"535.274.02",
						"545.29.06",  "550.163.01", "555.58.02",  "560.35.05",	"565.77",
						"570.195.03", "575.64.05",  "580.159.04", "590.44.01",	"595.45.04" };

	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		child_run(works, NULL, (const char *[]){ "BARLANE_EMU_DRIVER", branches[i], NULL });
}

static void branch_newer_than_known_is_tried_and_proved(void)
{
	child_run(works, NULL, (const char *[]){ "BARLANE_EMU_DRIVER", "700.10.01", NULL });
}

static void driver_without_a_readable_version_is_tried_and_proved(void)
{
	child_run(works, NULL, (const char *[]){ "BARLANE_EMU_DRIVER", "garbage", NULL });
}

static void refuses_old(const void *arg)
{
	bl_ctx_t ctx;

	world_enter();
	check_eq(bl_open("rm", &ctx), -ENODEV);
	check_has(bl_last_error(NULL), "older than 515");
}

static void branch_older_than_known_is_refused(void)
{
	child_run(refuses_old, NULL, (const char *[]){ "BARLANE_EMU_DRIVER", "470.256.02", NULL });
}

static void either_right_or_refused(const void *arg)
{
	struct snapshot before;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	int ret;

	world_enter();
	ptr = world_alloc(2 * MIB);
	snapshot_take(&before);
	ctx = world_open("rm");
	ret = bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin);
	if (arg) {
		check_eq(ret, -EOPNOTSUPP);
		check_has(bl_last_error(NULL), "self-test failed");
	} else {
		check_eq(ret, 0);
		check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
		world_check_mapping(pin, addr, ptr, 65536);
	}
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_check_rules();
	/* the other way to find memory does not depend on the blob */
	use(world_vmm(2 * MIB, 1), 65536);
}

static void moved_fields_of_the_blob_are_found(void)
{
	child_run(either_right_or_refused, NULL, (const char *[]){ "BARLANE_EMU_BLOB", "shift", NULL });
	child_run(either_right_or_refused, NULL, (const char *[]){ "BARLANE_EMU_BLOB", "swap", NULL });
}

static void blob_that_lies_is_refused(void)
{
	child_run(either_right_or_refused, "", (const char *[]){ "BARLANE_EMU_BLOB", "offset", NULL });
	child_run(either_right_or_refused, "", (const char *[]){ "BARLANE_EMU_BLOB", "size", NULL });
	child_run(either_right_or_refused, "", (const char *[]){ "BARLANE_EMU_BLOB", "random", NULL });
}

static void fills_bar1(const void *arg)
{
	struct snapshot before, full;
	bl_pin_t pins[64];
	CUdeviceptr ptr;
	bl_ctx_t ctx;
	void *addr;
	int i, ret = 0;

	world_enter();
	ptr = world_alloc(1024 * MIB);
	snapshot_take(&before);
	ctx = world_open("rm");
	for (i = 0; i < 64 && !ret; i++) {
		check_eq(bl_pin(ctx, ptr + (CUdeviceptr)i * 16 * MIB, 16 * MIB, 0, 0, 0, &pins[i]), 0);
		snapshot_take(&full);
		ret = bl_map(ctx, pins[i], 16 * MIB, BL_MAP_NONE, &addr);
	}
	check(i > 4);
	check_eq(ret, -ENOMEM);
	check_has(bl_last_error(NULL), "BAR1 of device 0 is exhausted: need 16384 KiB, free ");
	snapshot_check(&full);
	/* one goes, the next one fits */
	check_eq(bl_unpin(ctx, pins[0]), 0);
	check_eq(bl_map(ctx, pins[i - 1], 16 * MIB, BL_MAP_NONE, &addr), 0);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_check_rules();
}

static void exhausted_bar1_is_an_error_that_names_the_figures(void)
{
	child_run(fills_bar1, NULL,
		  (const char *[]){ "BARLANE_EMU_BAR1", "256M", "BARLANE_EMU_STATIC_BAR1", "0", NULL });
}

static void works_with_fault(const void *spec)
{
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	int ret;

	world_enter();
	ptr = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(world.fault(spec), 0);
	ret = bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin);
	if (!ret)
		ret = bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr);
	check(ret < 0);
	check_eq(world.fault(""), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void driver_that_answers_wrongly_is_refused(void)
{
	/* a window outside BAR1, a size that is not the blob's, memory that is not video memory, somebody else's memory */
	child_run(works_with_fault, "rm.addr:*", NULL);
	child_run(works_with_fault, "rm.size:*", NULL);
	child_run(works_with_fault, "rm.space:*", NULL);
	child_run(works_with_fault, "rm.wrongmem:*", NULL);
}

static void two_gpus(const void *arg)
{
	CUdeviceptr ptrs[2];
	bl_pin_t pins[2];
	void *addrs[2];
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open("rm");
	for (int i = 0; i < 2; i++) {
		CUcontext context;

		check_eq(world.cuda->cuDevicePrimaryCtxRetain(&context, i), CUDA_SUCCESS);
		check_eq(world.cuda->cuCtxSetCurrent(context), CUDA_SUCCESS);
		ptrs[i] = world_alloc(2 * MIB);
	}
	/* the second GPU's context is current: each pin must work in its pointer's own */
	for (int i = 0; i < 2; i++) {
		check_eq(bl_pin(ctx, ptrs[i], 65536, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map(ctx, pins[i], 65536, BL_MAP_NONE, &addrs[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		world_check_mapping(pins[i], addrs[i], ptrs[i], 65536);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void two_gpus_are_told_apart(void)
{
	child_run(two_gpus, NULL, (const char *[]){ "BARLANE_EMU_GPUS", "2", NULL });
}

static const struct tap_test tests[] = {
	{ "every_known_branch_works", every_known_branch_works },
	{ "branch_newer_than_known_is_tried_and_proved", branch_newer_than_known_is_tried_and_proved },
	{ "driver_without_a_readable_version_is_tried_and_proved",
	  driver_without_a_readable_version_is_tried_and_proved },
	{ "branch_older_than_known_is_refused", branch_older_than_known_is_refused },
	{ "moved_fields_of_the_blob_are_found", moved_fields_of_the_blob_are_found },
	{ "blob_that_lies_is_refused", blob_that_lies_is_refused },
	{ "exhausted_bar1_is_an_error_that_names_the_figures", exhausted_bar1_is_an_error_that_names_the_figures },
	{ "driver_that_answers_wrongly_is_refused", driver_that_answers_wrongly_is_refused },
	{ "two_gpus_are_told_apart", two_gpus_are_told_apart },
};

TAP_MAIN(tests)
