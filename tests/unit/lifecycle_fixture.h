/* SPDX-License-Identifier: MIT */
/* lifecycle_fixture.h - steps that tests of barlane.h over the fake module share */
#ifndef TESTS_UNIT_LIFECYCLE_FIXTURE_H
#define TESTS_UNIT_LIFECYCLE_FIXTURE_H

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "tap.h"

#define VA   FAKE_VRAM_VA
#define PAGE 65536UL

static inline bl_ctx_t opened(void)
{
	bl_ctx_t ctx = 0;

	fake_gdrdrv_begin(6);
	check_eq(bl_open("gdrdrv", &ctx), 0);
	check(ctx);
	return ctx;
}

static inline void closed(bl_ctx_t ctx)
{
	check_eq(bl_close(ctx), 0);
	fake_gdrdrv_end();
}

static inline bl_pin_t pinned(bl_ctx_t ctx, uint64_t off, size_t len)
{
	bl_pin_t pin = 0;

	check_eq(bl_pin(ctx, VA + off, len, 0, 0, 0, &pin), 0);
	check(pin);
	return pin;
}

static inline uint8_t *mapped(bl_ctx_t ctx, bl_pin_t pin, size_t len)
{
	void *addr = NULL;

	check_eq(bl_map(ctx, pin, len, BL_MAP_NONE, &addr), 0);
	check(addr);
	return addr;
}

#endif
