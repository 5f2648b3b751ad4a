// SPDX-License-Identifier: MIT
/* bl_pin_export() over a fake driver library: what it asks CUDA, and each call that fails. */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "barlane.h"
#include "rm_fixture.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define MIB  (1UL << 20)

static bl_ctx_t opened(uint64_t *va_p, bl_pin_t *pin_p)
{
	bl_ctx_t ctx = 0;

	rm_world(610);
	fake_cuda.dmabuf = true;
	check_eq(bl_open("rm", &ctx), 0);
	*va_p = fake_cuda_alloc(FAKE_PLAIN, 2 * MIB);
	check_eq(bl_pin(ctx, *va_p, 2 * MIB, 0, 0, 0, pin_p), 0);
	return ctx;
}

static void closed(bl_ctx_t ctx)
{
	rm_keep();
	check_eq(bl_close(ctx), 0);
	rm_world_end();
}

static void the_range_is_rounded_out_to_pages(void)
{
	struct bl_dmabuf dmabuf = { .fd = -1 };
	bl_pin_t pin;
	uint64_t va;
	bl_ctx_t ctx = opened(&va, &pin);

	check_eq(bl_pin_export(ctx, pin, 2 * PAGE + 5, PAGE, 0, &dmabuf), 0);
	check_eq(dmabuf.off, 5);
	check_eq(dmabuf.size, 2 * PAGE);
	check_eq(fake_cuda.export_flags, 0);
	check(fcntl(dmabuf.fd, F_GETFD) & FD_CLOEXEC);
	check_eq(bl_sys()->close(dmabuf.fd), 0);
	check_eq(bl_pin_export(ctx, pin, PAGE, PAGE, BL_EXPORT_FORCE_PCIE, &dmabuf), 0);
	check_eq(dmabuf.off, 0);
	check_eq(dmabuf.size, PAGE);
	check_eq(fake_cuda.export_flags, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
	check_eq(bl_sys()->close(dmabuf.fd), 0);
	closed(ctx);
}

static void each_missing_thing_has_a_cure(void)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	bl_pin_t pin;
	uint64_t va;
	bl_ctx_t ctx = opened(&va, &pin);

	fake_cuda.dmabuf = false;
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "attribute 124");
	check_has(bl_last_error(NULL), "open kernel modules");
	fake_cuda.no_export = true;
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "CUDA 11.7");
	fake_cuda.missing = true;
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "no driver library in this test");
	fake_cuda.missing = fake_cuda.no_export = false;
	check_eq(dmabuf.fd, -7);
	closed(ctx);
}

static void memory_that_was_freed_meanwhile_is_not_handed_out(void)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	bl_pin_t pin;
	uint64_t va;
	bl_ctx_t ctx = opened(&va, &pin);

	fake_cuda.free_at_export = true;
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "freed meanwhile");
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "no device memory");
	check_eq(dmabuf.fd, -7);
	/* the descriptor of the first try was closed: the world's end looks */
	closed(ctx);
}

static void failure_at_any_call_leaves_nothing(void)
{
	int failed = 0;

	for (int nr = 0;; nr++) {
		struct bl_dmabuf dmabuf = { .fd = -7 };
		bl_pin_t pin;
		uint64_t va;
		bl_ctx_t ctx = opened(&va, &pin);
		bool hit;
		int ret;

		fake_cuda_fail_at(nr, CUDA_ERROR_OUT_OF_MEMORY);
		ret = bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf);
		hit = fake_cuda_failed();
		fake_cuda_fail_at(-1, 0);
		check_eq(ret != 0, dmabuf.fd == -7);
		if (ret)
			check(strlen(bl_last_error(NULL)));
		else
			check_eq(bl_sys()->close(dmabuf.fd), 0);
		failed += ret != 0;
		closed(ctx);
		if (!hit)
			break;
	}
	/* attributes of the pointer, device, attribute of the device, export, id */
	check(failed >= 5);
}

static const struct tap_test tests[] = {
	{ "the range is rounded out to pages", the_range_is_rounded_out_to_pages },
	{ "each missing thing has a cure", each_missing_thing_has_a_cure },
	{ "memory that was freed meanwhile is not handed out", memory_that_was_freed_meanwhile_is_not_handed_out },
	{ "failure at any call leaves nothing", failure_at_any_call_leaves_nothing },
};

TAP_MAIN(tests)
