// SPDX-License-Identifier: MIT
/* barlane.h end to end, over a fake module: what handles do in every state, in every order. */
#include <errno.h>
#include <unistd.h>

#include "lifecycle_fixture.h"

/* Every call with handles that must not work; nothing may be written and nothing may happen. */
static void refused(bl_ctx_t ctx, bl_pin_t pin, int err)
{
	struct bl_pin_info info;
	void *addr = &info;
	char byte = 0;

	memset(&info, 0x5a, sizeof(info));
	check_eq(bl_unpin(ctx, pin), err);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_NONE, &addr), err);
	check(addr == &info);
	check_eq(bl_unmap(ctx, pin, addr, PAGE), err);
	check_eq(bl_pin_info(ctx, pin, &info), err);
	check_eq((unsigned char)byte, 0);
	check_eq(info.va, 0x5a5a5a5a5a5a5a5aLL);
}

static void a_pin_goes_through_its_whole_life(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 2 * PAGE, 3 * PAGE);
	uint8_t *addr = mapped(ctx, pin, 3 * PAGE), buf[4096];

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 7);
	check_eq(bl_copy_to(pin, addr + 100, buf, sizeof(buf)), 0);
	check(!memcmp(fake_vram() + 2 * PAGE + 100, buf, sizeof(buf)));
	memset(buf, 0, sizeof(buf));
	check_eq(bl_copy_from(pin, buf, addr + 100, sizeof(buf)), 0);
	check(!memcmp(fake_vram() + 2 * PAGE + 100, buf, sizeof(buf)));
	check_eq(bl_unmap(ctx, pin, addr, 3 * PAGE), 0);
	addr = mapped(ctx, pin, PAGE);
	check_eq(bl_unmap(ctx, pin, addr, PAGE), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	closed(ctx);
}

static void info_follows_the_state(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, PAGE, PAGE + 1);
	struct bl_pin_info info;
	uint8_t *addr;

	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.va, VA + PAGE);
	check_eq(info.len, 2 * PAGE);
	check_eq(info.page_size, PAGE);
	check_eq(info.type, BL_MAP_NONE);
	check(!info.addr);
	check_eq(info.map_len, 0);
	check_eq(info.released, 0);
	check_eq(info.tsc_khz, 2100000);
	check_eq(info.pin_cycles, 4242);
	addr = mapped(ctx, pin, 1);
	fake_gdrdrv.released = true;
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.type, BL_MAP_WC);
	check(info.addr == addr);
	check_eq(info.map_len, sysconf(_SC_PAGESIZE));
	check_eq(info.released, 1);
	check_eq(bl_unmap(ctx, pin, addr, 1), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.type, BL_MAP_NONE);
	check(!info.addr);
	closed(ctx);
}

static void what_was_never_a_handle_is_einval(void)
{
	static const bl_pin_t handles[] = {0, 1, 2, 0xffffffff, 1ULL << 32, 77ULL << 32 | 1, UINT64_MAX, 1ULL << 63};
	bl_ctx_t ctx = opened();
	struct bl_provider_info info;
	bl_pin_t pin = 7;
	char byte = 0;

	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		refused(ctx, handles[i], -EINVAL);
		refused(handles[i], handles[i], -EINVAL);
		check_eq(bl_copy_to(handles[i], &byte, &byte, 1), -EINVAL);
		check_eq(bl_copy_from(handles[i], &byte, &byte, 1), -EINVAL);
		check_eq(bl_copy_to(handles[i], &byte, &byte, 0), -EINVAL);
		check_eq(bl_close(handles[i]), -EINVAL);
		check_eq(bl_ctx_provider(handles[i], &info), -EINVAL);
		check_eq(bl_pin(handles[i], VA, PAGE, 0, 0, 0, &pin), -EINVAL);
		check_eq(pin, 7);
	}
	closed(ctx);
}

static void unpinned_handles_are_stale_for_ever(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t old[100];
	char byte = 0;

	for (int i = 0; i < 100; i++) {
		old[i] = pinned(ctx, PAGE, PAGE);
		check_eq(bl_unpin(ctx, old[i]), 0);
	}
	/* slots are in use again */
	for (int i = 0; i < 100; i++)
		pinned(ctx, PAGE, PAGE);
	for (int i = 0; i < 100; i++) {
		refused(ctx, old[i], -EINVAL);
		check_eq(bl_copy_to(old[i], &byte, &byte, 1), -EINVAL);
	}
	closed(ctx);
}

static void a_pin_works_only_with_its_own_context(void)
{
	bl_ctx_t ctx = opened(), other = 0;
	bl_pin_t pin = pinned(ctx, 0, PAGE);

	check_eq(bl_open("gdrdrv", &other), 0);
	refused(other, pin, -EINVAL);
	refused(pin, ctx, -EINVAL);
	mapped(ctx, pin, PAGE);
	refused(other, pin, -EINVAL);
	check_eq(bl_close(other), 0);
	closed(ctx);
}

static void closing_takes_pins_and_mappings_along(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pins[5];
	uint8_t *addr[5];
	char byte = 0;

	for (int i = 0; i < 5; i++) {
		pins[i] = pinned(ctx, (uint64_t)i * PAGE, PAGE);
		addr[i] = i % 2 ? NULL : mapped(ctx, pins[i], PAGE);
	}
	closed(ctx);
	for (int i = 0; i < 5; i++) {
		refused(ctx, pins[i], -EINVAL);
		if (addr[i])
			check_eq(bl_copy_to(pins[i], addr[i], &byte, 1), -EINVAL);
	}
	check_eq(bl_close(ctx), -EINVAL);
	check_has(bl_last_error(NULL), "closed already");
}

static void unpinning_unmaps_first(void)
{
	static const char *const calls[] = {"munmap len 0x10000", "unpin c008da02/8: 0*2"};
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);
	uint8_t *addr = mapped(ctx, pin, PAGE);
	char byte = 0;

	fake_trace_begin();
	check_eq(bl_unpin(ctx, pin), 0);
	fake_trace_expect(calls, 2);
	check_eq(bl_copy_from(pin, &byte, addr, 1), -EINVAL);
	closed(ctx);
}

static void mapping_twice_is_eagain(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE), second;
	uint8_t *addr = mapped(ctx, pin, PAGE);
	void *again = NULL;

	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_NONE, &again), -EAGAIN);
	check(!again);
	/* another pin of the same memory is another matter */
	second = pinned(ctx, 0, 2 * PAGE);
	check(mapped(ctx, second, PAGE) != addr);
	check_eq(bl_unpin(ctx, second), 0);
	check_eq(bl_unmap(ctx, pin, addr, PAGE), 0);
	closed(ctx);
}

static void only_the_whole_mapping_is_unmapped(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, 2 * PAGE);
	uint8_t *addr = mapped(ctx, pin, PAGE + 1), byte = 9;

	check_eq(bl_unmap(ctx, pin, addr, PAGE), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, 2 * PAGE), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, 0), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, SIZE_MAX), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr + page, page), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr + 1, PAGE + 1), -EINVAL);
	check_eq(bl_unmap(ctx, pin, NULL, PAGE + 1), -EINVAL);
	check_eq(bl_copy_to(pin, addr, &byte, 1), 0);
	/* lengths count in pages, as they do for mmap */
	check_eq(bl_unmap(ctx, pin, addr, PAGE + page), 0);
	check_eq(bl_unmap(ctx, pin, addr, PAGE + page), -EINVAL);
	check_eq(bl_copy_to(pin, addr, &byte, 1), -EINVAL);
	closed(ctx);
}

static void lengths_that_cannot_be_mapped_are_einval(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);
	void *addr = NULL;

	check_eq(bl_map(ctx, pin, 0, BL_MAP_NONE, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE + 1, BL_MAP_NONE, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, SIZE_MAX, BL_MAP_NONE, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE, (enum bl_map_type)4, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE, (enum bl_map_type)-1, &addr), -EINVAL);
	check_eq(bl_map(ctx, pin, PAGE, BL_MAP_NONE, NULL), -EINVAL);
	check(!addr);
	mapped(ctx, pin, 1);
	closed(ctx);
}

static void an_unaligned_pin_cannot_be_mapped(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, PAGE + 8, 8);
	struct bl_pin_info info;
	void *addr = NULL;

	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.va, VA + PAGE);
	check_eq(bl_map(ctx, pin, 8, BL_MAP_NONE, &addr), -EINVAL);
	check_has(bl_last_error(NULL), "0x8 bytes into its page");
	check(!addr);
	closed(ctx);
}

static void requests_that_make_no_sense_are_einval(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = 7;

	fake_trace_begin();
	check_eq(bl_pin(ctx, 0, PAGE, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, VA, 0, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, VA, SIZE_MAX, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, UINT64_MAX, 1, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, UINT64_MAX - PAGE, 1, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, UINT64_MAX - PAGE, PAGE, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, VA, PAGE, 2, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, VA, PAGE, UINT32_MAX, 0, 0, &pin), -EINVAL);
	check_eq(bl_pin(ctx, VA, PAGE, 0, 0, 0, NULL), -EINVAL);
	/* none of them reached the module */
	fake_trace_expect((const char *const[]){""}, 0);
	/* this one does: the module knows no such memory */
	check_eq(bl_pin(ctx, 4096, PAGE, 0, 0, 0, &pin), -EINVAL);
	check_eq(pin, 7);
	check_eq(bl_open("gdrdrv", NULL), -EINVAL);
	check_eq(bl_ctx_provider(ctx, NULL), -EINVAL);
	check_eq(bl_pin_info(ctx, pinned(ctx, 0, PAGE), NULL), -EINVAL);
	closed(ctx);
}

static void copies_stay_inside_the_mapping(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, 2 * PAGE);
	uint8_t *addr = mapped(ctx, pin, page), buf[16] = {0};

	check_eq(bl_copy_to(pin, addr + page - 16, buf, 16), 0);
	check_eq(bl_copy_to(pin, addr + page - 15, buf, 16), -EINVAL);
	check_eq(bl_copy_to(pin, addr + page, buf, 1), -EINVAL);
	check_eq(bl_copy_to(pin, addr - 1, buf, 1), -EINVAL);
	check_eq(bl_copy_to(pin, addr - 1, buf, 2), -EINVAL);
	check_eq(bl_copy_to(pin, addr, buf, SIZE_MAX), -EINVAL);
	check_eq(bl_copy_to(pin, addr + 8, buf, SIZE_MAX - 4), -EINVAL);
	check_eq(bl_copy_to(pin, NULL, buf, 1), -EINVAL);
	check_eq(bl_copy_to(pin, buf, addr, 16), -EINVAL);
	check_eq(bl_copy_from(pin, addr, buf, 16), -EINVAL);
	check_eq(bl_copy_from(pin, buf, addr + page - 15, 16), -EINVAL);
	check_eq(bl_copy_from(pin, buf, addr + page - 16, 16), 0);
	check_has((bl_copy_to(pin, addr + page, buf, 1), bl_last_error(NULL)), "not inside the mapping");
	/* nothing to do is no error, also at the very end */
	check_eq(bl_copy_to(pin, addr + page, buf, 0), 0);
	check_eq(bl_copy_from(pin, buf, addr + page, 0), 0);
	check_eq(bl_copy_to(pin, addr + page + 1, buf, 0), -EINVAL);
	closed(ctx);
}

static void mappings_of_several_types_live_together(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pins[3];
	uint8_t *addr[3], buf[300], seen[300];

	for (uint32_t i = 0; i < 3; i++) {
		fake_gdrdrv.type = i + 1;
		pins[i] = pinned(ctx, i * PAGE, PAGE);
		addr[i] = mapped(ctx, pins[i], PAGE);
	}
	for (int i = 0; i < 3; i++) {
		memset(buf, 0x30 + i, sizeof(buf));
		check_eq(bl_copy_to(pins[i], addr[i] + 3, buf, sizeof(buf)), 0);
		check_eq(bl_copy_from(pins[i], seen, addr[i] + 3, sizeof(seen)), 0);
		check(!memcmp(buf, seen, sizeof(buf)));
		check(!memcmp(fake_vram() + (size_t)i * PAGE + 3, buf, sizeof(buf)));
	}
	closed(ctx);
}

static void errors_of_unmap_and_unpin_leave_no_handle_behind(void)
{
	bl_ctx_t ctx = opened();
	bl_pin_t pin = pinned(ctx, 0, PAGE);

	fake_sys_fail_next(FAKE_IOCTL, EIO);
	check_eq(bl_unpin(ctx, pin), -EIO);
	refused(ctx, pin, -EINVAL);
	/* the module still has it: closing the descriptor gives it back, which the fake counts as untidy */
	check_eq(bl_close(ctx), 0);
	check_has(fake_violations(), "close with a pin left");
	check_eq(fake_gdrdrv_pins(), 0);
}

static void closing_tells_the_first_error_and_closes(void)
{
	bl_ctx_t ctx = opened();

	pinned(ctx, 0, PAGE);
	pinned(ctx, PAGE, PAGE);
	fake_sys_fail_next(FAKE_IOCTL, EIO);
	check_eq(bl_close(ctx), -EIO);
	check_eq(bl_close(ctx), -EINVAL);
	check_eq(fake_sys_files(), 0);
	check_eq(fake_gdrdrv_pins(), 0);
}

static void the_provider_of_a_context_is_told(void)
{
	bl_ctx_t ctx = opened();
	struct bl_provider_info info;

	check_eq(bl_ctx_provider(ctx, &info), 0);
	check_str(info.name, "gdrdrv");
	check_eq(info.usable, 1);
	check_eq(info.persistent, 1);
	check_eq(info.major, 2);
	check_eq(info.minor, 6);
	check_str(info.reason, "module version 2.6");
	closed(ctx);
}

static const struct tap_test tests[] = {
	{"a pin goes through its whole life", a_pin_goes_through_its_whole_life},
	{"info follows the state", info_follows_the_state},
	{"what was never a handle is EINVAL", what_was_never_a_handle_is_einval},
	{"unpinned handles are stale for ever", unpinned_handles_are_stale_for_ever},
	{"a pin works only with its own context", a_pin_works_only_with_its_own_context},
	{"closing takes pins and mappings along", closing_takes_pins_and_mappings_along},
	{"unpinning unmaps first", unpinning_unmaps_first},
	{"mapping twice is EAGAIN", mapping_twice_is_eagain},
	{"only the whole mapping is unmapped", only_the_whole_mapping_is_unmapped},
	{"lengths that cannot be mapped are EINVAL", lengths_that_cannot_be_mapped_are_einval},
	{"an unaligned pin cannot be mapped", an_unaligned_pin_cannot_be_mapped},
	{"requests that make no sense are EINVAL", requests_that_make_no_sense_are_einval},
	{"copies stay inside the mapping", copies_stay_inside_the_mapping},
	{"mappings of several types live together", mappings_of_several_types_live_together},
	{"errors of unmap and unpin leave no handle behind", errors_of_unmap_and_unpin_leave_no_handle_behind},
	{"closing tells the first error and closes", closing_tells_the_first_error_and_closes},
	{"the provider of a context is told", the_provider_of_a_context_is_told},
};

TAP_MAIN(tests)
