// SPDX-License-Identifier: MIT
/* Provider "dmabuf" through barlane.h, over a fake driver library. */
#include <errno.h>
#include <unistd.h>

#include "barlane.h"
#include "rm_fixture.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define MIB  (1UL << 20)

static bl_ctx_t opened(void)
{
	bl_ctx_t ctx = 0;

	rm_world(610);
	fake_cuda.dmabuf = true;
	check_eq(bl_open("dmabuf", &ctx), 0);
	return ctx;
}

static void closed(bl_ctx_t ctx)
{
	check_eq(bl_close(ctx), 0);
	rm_world_end();
}

static void a_pin_goes_through_its_whole_life(void)
{
	bl_ctx_t ctx = opened();
	uint64_t va = fake_cuda_alloc(FAKE_PLAIN, 2 * MIB) + 3 * PAGE;
	char sent[100], seen[100];
	struct bl_pin_info info;
	void *addr = NULL;
	bl_pin_t pin = 0;

	memset(sent, 0x4d, sizeof(sent));
	check_eq(bl_pin(ctx, va, PAGE + 1, 0, 0, 0, &pin), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.va, va);
	check_eq(info.len, 2 * PAGE);
	check_eq(info.page_size, PAGE);
	check_eq(info.released, 0);
	check_eq(fake_cuda.export_flags, 0);
	check_eq(bl_map(ctx, pin, 2 * PAGE, BL_MAP_NONE, &addr), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.type, BL_MAP_WC);
	check_eq(bl_copy_to(pin, (char *)addr + 9, sent, sizeof(sent)), 0);
	check(!memcmp(fake_vram() + (va - FAKE_VRAM_VA) + 9, sent, sizeof(sent)));
	check_eq(bl_copy_from(pin, seen, (char *)addr + 9, sizeof(seen)), 0);
	check(!memcmp(sent, seen, sizeof(sent)));
	check_eq(bl_unmap(ctx, pin, addr, 2 * PAGE), 0);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_WC, &addr), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	closed(ctx);
}

static void a_coherent_link_maps_cached_unless_pcie_is_forced(void)
{
	bl_ctx_t ctx = opened();
	uint64_t va = fake_cuda_alloc(FAKE_PLAIN, 2 * MIB);
	struct bl_pin_info info;
	bl_pin_t pin = 0;
	void *addr;

	fake_cuda.coherent = true;
	check_eq(bl_pin(ctx, va, PAGE, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_WC, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_CACHED, &addr), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.type, BL_MAP_CACHED);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_pin(ctx, va, PAGE, BL_PIN_FORCE_PCIE, 0, 0, &pin), 0);
	check_eq(fake_cuda.export_flags, 1);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_CACHED, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_NONE, &addr), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.type, BL_MAP_WC);
	closed(ctx);
}

static void a_forced_provider_says_what_is_missing(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = 0;

	fake_cuda.dmabuf = false;
	check_eq(bl_pin(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB), PAGE, 0, 0, 0, &pin), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "attribute 152");
	fake_cuda.missing = true;
	check_eq(bl_pin(ctx, FAKE_VRAM_VA, PAGE, 0, 0, 0, &pin), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "no driver library in this test");
	closed(ctx);
}

static void another_provider_takes_over_when_it_cannot_serve(void)
{
	struct bl_provider_info info;
	bl_ctx_t ctx = 0;
	bl_pin_t pin = 0;

	unsetenv("BARLANE_PROVIDER");
	unsetenv("GDRCOPY_PROVIDER");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	rm_world(610);
	check_eq(bl_open(NULL, &ctx), 0);
	check_eq(bl_ctx_provider(ctx, &info), 0);
	check_str(info.name, "dmabuf");
	check_eq(bl_pin(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB), PAGE, 0, 0, 0, &pin), 0);
	check_eq(bl_ctx_provider(ctx, &info), 0);
	check_str(info.name, "rm");
	closed(ctx);
	/* where it can, it stays */
	rm_world(610);
	fake_cuda.dmabuf = true;
	check_eq(bl_open(NULL, &ctx), 0);
	check_eq(bl_pin(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB), PAGE, 0, 0, 0, &pin), 0);
	check_eq(bl_ctx_provider(ctx, &info), 0);
	check_str(info.name, "dmabuf");
	closed(ctx);
}

static void when_nobody_can_take_over_the_pin_fails(void)
{
	bl_ctx_t ctx = 0;
	bl_pin_t pin = 0;

	rm_world(610);
	fake_sys_device(FAKE_RM_CTL, NULL);
	check_eq(bl_open(NULL, &ctx), 0);
	check_eq(bl_pin(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB), PAGE, 0, 0, 0, &pin), -ENODEV);
	check_has(bl_last_error(NULL), "rm: open /dev/nvidiactl");
	closed(ctx);
}

static int pin_and_map(bl_ctx_t ctx, uint64_t va)
{
	void *addr = NULL;
	bl_pin_t pin = 0;
	int ret;

	ret = bl_pin(ctx, va, PAGE, 0, 0, 0, &pin);
	return ret ? ret : bl_map(ctx, pin, PAGE, BL_MAP_NONE, &addr);
}

static void failure_at_any_call_leaves_nothing(void)
{
	int failed = 0;

	for (int nr = 0;; nr++) {
		bl_ctx_t ctx = opened();
		uint64_t va = fake_cuda_alloc(FAKE_PLAIN, 2 * MIB);
		bool hit;

		fake_cuda_fail_at(nr, CUDA_ERROR_OUT_OF_MEMORY);
		failed += pin_and_map(ctx, va) != 0;
		hit = fake_cuda_failed();
		fake_cuda_fail_at(-1, 0);
		closed(ctx);
		if (!hit)
			break;
	}
	check(failed >= 4);
	for (int op = FAKE_MMAP; op <= FAKE_MADVISE; op += FAKE_MADVISE - FAKE_MMAP) {
		bl_ctx_t ctx = opened();

		fake_sys_fail_next((enum fake_op)op, ENOMEM);
		check_eq(pin_and_map(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB)), -ENOMEM);
		check_eq(fake_sys_vmas(), 0);
		closed(ctx);
	}
}

static void the_kernels_refusal_has_a_name(void)
{
	bl_ctx_t ctx = opened();

	fake_sys_fail_next(FAKE_MMAP, 524);
	check_eq(pin_and_map(ctx, fake_cuda_alloc(FAKE_PLAIN, 2 * MIB)), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "mmap of the dma-buf");
	closed(ctx);
}

static void a_range_that_cuda_does_not_export_is_refused(void)
{
	bl_ctx_t ctx = opened();
	uint64_t va = fake_cuda_alloc(FAKE_PLAIN, 2 * MIB);
	bl_pin_t pin = 0;

	check_eq(bl_pin(ctx, va, 4 * MIB, 0, 0, 0, &pin), -EINVAL);
	check_has(bl_last_error(NULL), "as dma-buf");
	check_eq(bl_pin(ctx, fake_cuda_alloc(FAKE_MANAGED, 2 * MIB), PAGE, 0, 0, 0, &pin), -EOPNOTSUPP);
	check_eq(bl_pin(ctx, 0x1234560000, PAGE, 0, 0, 0, &pin), -EINVAL);
	closed(ctx);
}

static const struct tap_test tests[] = {
	{"a pin goes through its whole life", a_pin_goes_through_its_whole_life},
	{"a coherent link maps cached unless PCIe is forced", a_coherent_link_maps_cached_unless_pcie_is_forced},
	{"a forced provider says what is missing", a_forced_provider_says_what_is_missing},
	{"another provider takes over when it cannot serve", another_provider_takes_over_when_it_cannot_serve},
	{"when nobody can take over the pin fails", when_nobody_can_take_over_the_pin_fails},
	{"failure at any call leaves nothing", failure_at_any_call_leaves_nothing},
	{"the kernel's refusal has a name", the_kernels_refusal_has_a_name},
	{"a range that CUDA does not export is refused", a_range_that_cuda_does_not_export_is_refused},
};

TAP_MAIN(tests)
