// SPDX-License-Identifier: MIT
/* Any reply of the module behind /dev/gdrdrv, through the whole life of pins. */
#include <string.h>
#include <sys/mman.h>

#include "barlane.h"
#include "fuzz.h"

#define VA 0x7f4000000000ULL

static int has(const char *path)
{
	return !strcmp(path, "/dev/gdrdrv");
}

static void put32(void *arg, size_t at, uint32_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static void put64(void *arg, size_t at, uint64_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static uint64_t or_any(uint64_t good)
{
	return fuzz_byte() % 16 == 15 ? fuzz_number() : good;
}

static int reply(unsigned long request, void *arg)
{
	switch (request) {
	case 0xC008DAFF:
		put32(arg, 0, (uint32_t)or_any(2U << 16 | fuzz_byte() % 8));
		put32(arg, 4, (uint32_t)or_any(2U << 16));
		return 0;
	case 0xC028DA01:
		put64(arg, 32, or_any(0));
		return 0;
	case 0xC020DA07:
		put64(arg, 24, or_any(16));
		return 0;
	case 0xC008DA03:
		put32(arg, 8, (uint32_t)or_any(0));
		return 0;
	case 0xC008DA04:
	case 0xC008DA05:
		put64(arg, 8, or_any(VA));
		put64(arg, 16, or_any(0x40000));
		put32(arg, 24, (uint32_t)or_any(65536));
		put32(arg, 28, (uint32_t)or_any(2100000));
		put64(arg, 32, or_any(1234));
		put32(arg, 40, (uint32_t)or_any(1));
		put32(arg, 44, (uint32_t)or_any(1));
		return 0;
	case 0xC008DA06:
		put32(arg, 4, (uint32_t)or_any(1));
		return 0;
	case 0xC008DA02:
	case 0xC008DA08:
		return 0;
	default:
		abort(); /* a command that no module has */
	}
}

static const struct fuzz_driver driver = {.has = has, .ioctl = reply};

static void use_mapping(bl_pin_t pin, uint8_t *addr, size_t len)
{
	uint8_t bytes[64];
	void *any;
	size_t off = (size_t)fuzz_number(), some = fuzz_byte() % 65U;
	int ret;

	memset(bytes, 0x5a, sizeof(bytes));
	/* inside works, outside is refused, also where the address wraps */
	any = (void *)((uintptr_t)addr + off);
	ret = bl_copy_to(pin, any, bytes, some);
	must(!ret == (off <= len && some <= len - off));
	must(bl_copy_from(pin, bytes, any, some) == ret);
	must(!bl_copy_to(pin, addr, bytes, 1) && !bl_copy_to(pin, addr + len - 1, bytes, 1));
}

static void live(bl_ctx_t ctx)
{
	enum bl_map_type type = (enum bl_map_type)(fuzz_byte() % 5);
	struct bl_pin_info info;
	void *addr = NULL;
	size_t len;
	bl_pin_t pin = 0;

	if (bl_pin(ctx, VA + fuzz_byte() % 2, 1 + fuzz_byte(), fuzz_byte() % 2, fuzz_byte() % 2, 0, &pin)) {
		must(!pin);
		return;
	}
	if (!bl_pin_info(ctx, pin, &info)) {
		must(info.page_size && !(info.page_size & (info.page_size - 1)));
		must(info.released <= 1 && info.type == BL_MAP_NONE && !info.addr);
	}
	len = fuzz_byte() % 8 ? 4096U * (1 + fuzz_byte() % 16) : (size_t)fuzz_number();
	if (!bl_map(ctx, pin, len, type, &addr)) {
		size_t page_len = (len + 4095) & ~4095UL;

		must(addr && len);
		must(bl_map(ctx, pin, len, type, &addr) < 0);
		/* a module may claim any size: only what is really there is touched */
		use_mapping(pin, addr, page_len);
		if (fuzz_byte() % 2)
			must(!bl_unmap(ctx, pin, addr, len));
	}
	if (fuzz_byte() % 4) {
		bl_unpin(ctx, pin);
		must(bl_unpin(ctx, pin) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bl_provider_info info;
	bl_ctx_t ctx = 0;

	fuzz_begin(data, size);
	fuzz_sys(&driver);
	if (!bl_open("gdrdrv", &ctx)) {
		must(ctx);
		if (!bl_ctx_provider(ctx, &info))
			must(memchr(info.reason, '\0', sizeof(info.reason)) && info.major == 2);
		for (int i = fuzz_byte() % 4; i >= 0; i--)
			live(ctx);
		bl_close(ctx);
		must(bl_close(ctx) < 0);
	}
	fuzz_end();
	return 0;
}
