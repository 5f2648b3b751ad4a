// SPDX-License-Identifier: MIT
/* native_calls.c - bl_flush() and bl_publish() make no system call, take no lock, allocate nothing */
#include "barlane.h"
#include "fake_gdrdrv.h"
#include "gpu/edge.h"
#include "quiet.h"
#include "tap.h"

/* In the data segment: nothing here may fault in what is not there for want of a system call. */
static uint8_t sent[4096];

static int publish_all_sizes(bl_pin_t pin, uint8_t *va)
{
	uint64_t *flag = (uint64_t *)(va + 8192);

	for (size_t len = 0; len <= sizeof(sent); len++) {
		if (bl_publish(pin, va + len % 64, sent, len, flag, len) || bl_flush(pin))
			return QUIET_CALL_FAILED;
		if (*flag != len || memcmp(va + len % 64, sent, len))
			return QUIET_WRONG_BYTES;
	}
	return 0;
}

/* With @mixed a second mapping of another type exists, and a full fence follows. */
static void run_locked_down(uint32_t type, bool mixed)
{
	unsigned long before;
	bl_pin_t pin[2];
	bl_ctx_t ctx;
	void *va = NULL;
	int ret;

	fake_gdrdrv_begin(6);
	if (bl_open("gdrdrv", &ctx))
		quiet_leave(QUIET_WRONG_SETUP);
	for (int i = mixed; i >= 0; i--) {
		fake_gdrdrv.type = i ? 3 - type : type;
		if (bl_pin(ctx, FAKE_VRAM_VA, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin[i]) ||
		    bl_map_for_edge(ctx, pin[i], BL_GPU_PAGE_SIZE, BL_MAP_NONE, &va))
			quiet_leave(QUIET_WRONG_SETUP);
	}
	memset(sent, 0x3c, sizeof(sent));
	quiet_lock_down();
	before = quiet_calls;
	ret = publish_all_sizes(pin[0], va);
	quiet_leave(ret ? ret : quiet_calls != before ? QUIET_CALLED : 0);
}

static void flush_and_publish_make_no_calls(void)
{
	quiet_check(run_locked_down, BL_MAP_WC, false);
	quiet_check(run_locked_down, BL_MAP_CACHED, false);
	quiet_check(run_locked_down, BL_MAP_WC, true);
}

/* libgdrapi's mappings, whose own copies would call CUDA */
static void publish_to_mappings_with_an_engine_makes_no_calls(void)
{
	setenv("GDRCOPY_ENGINE", "ce", 1);
	quiet_check(run_locked_down, BL_MAP_WC, false);
	setenv("GDRCOPY_ENGINE", "auto", 1);
	quiet_check(run_locked_down, BL_MAP_WC, false);
	quiet_check(run_locked_down, BL_MAP_CACHED, true);
	unsetenv("GDRCOPY_ENGINE");
}

static void counters_count(void)
{
	unsigned long before = quiet_calls;
	void *volatile p = malloc(1);

	free(p);
	check_eq(quiet_calls, before + 2);
}

static const struct tap_test tests[] = {
	{ "flush_and_publish_make_no_calls", flush_and_publish_make_no_calls },
	{ "publish_to_mappings_with_an_engine_makes_no_calls", publish_to_mappings_with_an_engine_makes_no_calls },
	{ "counters_count", counters_count },
};

TAP_MAIN(tests)
