// SPDX-License-Identifier: MIT
/* The other providers, through libgdrapi, and the choice between them. */
#include <stdint.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

static void round_trip(gdr_t g, CUdeviceptr ptr, size_t len)
{
	gdr_info_t info;
	gdr_mh_t mh;
	void *addr;
	int ret;

	ret = gdr_pin_buffer(g, ptr, len, 0, 0, &mh);
	if (ret)
		tap_end(TAP_FAILED, "pin: %d %s", ret, bl_last_error(NULL));
	check_eq(gdr_get_info(g, mh, &info), 0);
	check_eq(info.mapped, 0);
	check(info.va <= ptr && info.va + info.mapped_size >= ptr + len);
	check_eq(gdr_map(g, mh, &addr, len), 0);
	check_eq(gdr_get_info(g, mh, &info), 0);
	check_eq(info.mapped, 1);
	check_eq(info.wc_mapping, 1);
	check_eq(info.mapping_type, GDR_MAPPING_TYPE_WC);
	world_check_mapping(mh.h, addr, ptr, len);
	check_eq(gdr_map(g, mh, &addr, len), EAGAIN);
	check_eq(gdr_unmap(g, mh, addr, len), 0);
	check_eq(gdr_unmap(g, mh, addr, len), EINVAL);
	check_eq(gdr_unpin_buffer(g, mh), 0);
	check_eq(gdr_unpin_buffer(g, mh), EINVAL);
}

struct expect {
	int major;
	int minor;
	int persistent;
	int dmabuf;
};

static void serves(const void *arg)
{
	const struct expect *want = arg;
	struct snapshot before;
	int major, minor, value;
	CUdeviceptr ptr;
	gdr_t g;

	world_enter();
	ptr = world_alloc(2 * MIB);
	snapshot_take(&before);
	g = gdr_open();
	if (!g)
		tap_end(TAP_FAILED, "open: %s", bl_last_error(NULL));
	check_eq(gdr_driver_get_version(g, &major, &minor), 0);
	check_eq(major, want->major);
	check_eq(minor, want->minor);
	check_eq(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), 0);
	check_eq(value, want->persistent);
	check_eq(gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value), 0);
	check_eq(value, want->dmabuf);
	round_trip(g, ptr, 2 * MIB);
	round_trip(g, ptr + 65536, 65536);
	check_eq(gdr_close(g), 0);
	check_eq(gdr_close(g), EINVAL);
	snapshot_check(&before);
	world_free(ptr);
	world_check_rules();
}

static void module_of_every_version_serves(void)
{
	static const char *const versions[] = { "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6" };

	for (int minor = 0; minor <= 6; minor++) {
		struct expect want = { .major = 2, .minor = minor, .persistent = minor >= 5 };

		child_run(serves, &want,
			  (const char *[]){ "BARLANE_EMU_NODES", "rm,gdrdrv", "BARLANE_EMU_GDRDRV", versions[minor],
					    NULL });
	}
}

static void module_that_does_not_keep_pages_serves(void)
{
	struct expect want = { .major = 2, .minor = 6 };

	child_run(serves, &want,
		  (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", "BARLANE_EMU_GDRDRV_PERSISTENT", "0", NULL });
}

static void rm_serves_without_a_module(void)
{
	struct expect want = { .major = 2, .minor = 6, .persistent = 1 };

	child_run(serves, &want, NULL);
}

static void dmabuf_serves_on_new_drivers(void)
{
	struct expect want = { .major = 2, .minor = 6, .persistent = 1, .dmabuf = 1 };

	child_run(serves, &want,
		  (const char *[]){ "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL });
}

static void dmabuf_gives_way(const void *arg)
{
	CUdeviceptr ptr;
	int value;
	gdr_t g;

	world_enter();
	ptr = world_alloc(2 * MIB);
	g = gdr_open();
	check(g);
	round_trip(g, ptr, 65536);
	check_eq(gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value), 0);
	check_eq(value, 0);
	check_eq(gdr_close(g), 0);
	world_check_rules();
}

/* A new kernel driver below an old libcuda: only the first pin can tell. */
static void dmabuf_that_turns_out_useless_gives_way_to_rm(void)
{
	child_run(dmabuf_gives_way, NULL,
		  (const char *[]){ "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13000", NULL });
}

static void forced_dmabuf(const void *arg)
{
	gdr_t g;

	world_enter();
	g = gdr_open();
	check(!g);
	check_has(bl_last_error(NULL), "provider dmabuf was asked for and cannot serve");
	check_has(bl_last_error(NULL), "580");
}

static void forced_provider_that_cannot_serve_is_an_error(void)
{
	child_run(forced_dmabuf, NULL, (const char *[]){ "GDRCOPY_USE_DMABUF_MMAP", "1", NULL });
	child_run(forced_dmabuf, NULL, (const char *[]){ "BARLANE_PROVIDER", "dmabuf", NULL });
	child_run(forced_dmabuf, NULL, (const char *[]){ "GDRCOPY_PROVIDER", "dmabuf", NULL });
}

static void nobody_serves(const void *arg)
{
	gdr_t g;

	world_enter();
	g = gdr_open();
	check(!g);
	check_has(bl_last_error(NULL), "no provider can serve");
	check_has(bl_last_error(NULL), "gdrdrv: open /dev/gdrdrv");
	check_has(bl_last_error(NULL), "dmabuf: ");
	check_has(bl_last_error(NULL), "rm: open /dev/nvidiactl");
}

static void open_says_of_each_provider_why_it_cannot_serve(void)
{
	child_run(nobody_serves, NULL, (const char *[]){ "BARLANE_EMU_NODES", "", NULL });
	child_run(nobody_serves, NULL,
		  (const char *[]){ "BARLANE_EMU_NODES", "rm,gdrdrv", "BARLANE_EMU_NODE_MODE", "deny", NULL });
}

static void callback_fires(const void *arg)
{
	CUdeviceptr ptr;
	gdr_mh_t mh;
	void *addr;
	int flag;
	gdr_t g;

	world_enter();
	ptr = world_alloc(2 * MIB);
	g = gdr_open();
	check(g);
	check_eq(gdr_pin_buffer(g, ptr, 65536, 0, 0, &mh), 0);
	check_eq(gdr_map(g, mh, &addr, 65536), 0);
	check_eq(gdr_get_callback_flag(g, mh, &flag), 0);
	check_eq(flag, 0);
	world_free(ptr);
	check_eq(gdr_get_callback_flag(g, mh, &flag), 0);
	check_eq(flag, 1);
	check_eq(gdr_unmap(g, mh, addr, 65536), 0);
	check_eq(gdr_unpin_buffer(g, mh), 0);
	check_eq(gdr_close(g), 0);
	world_check_rules();
}

static void free_under_a_pin_that_does_not_keep_it_sets_the_flag(void)
{
	child_run(callback_fires, NULL,
		  (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", "BARLANE_EMU_GDRDRV_PERSISTENT", "0", NULL });
}

static void unaligned(const void *arg)
{
	CUdeviceptr ptr;
	gdr_info_t info;
	gdr_mh_t mh;
	void *addr;
	gdr_t g;

	world_enter();
	ptr = world_alloc(2 * MIB);
	g = gdr_open();
	check(g);
	check_eq(gdr_pin_buffer(g, ptr + 8, 16, 0, 0, &mh), 0);
	check_eq(gdr_get_info(g, mh, &info), 0);
	check_eq(info.va, ptr);
	check(gdr_map(g, mh, &addr, 16) == EINVAL);
	check_eq(gdr_unpin_buffer(g, mh), 0);
	check_eq(gdr_close(g), 0);
}

static void unaligned_pins_pin_and_do_not_map(void)
{
	child_run(unaligned, NULL, NULL);
	child_run(unaligned, NULL, (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", NULL });
	child_run(unaligned, NULL,
		  (const char *[]){ "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL });
}

static const struct tap_test tests[] = {
	{ "module_of_every_version_serves", module_of_every_version_serves },
	{ "module_that_does_not_keep_pages_serves", module_that_does_not_keep_pages_serves },
	{ "rm_serves_without_a_module", rm_serves_without_a_module },
	{ "dmabuf_serves_on_new_drivers", dmabuf_serves_on_new_drivers },
	{ "dmabuf_that_turns_out_useless_gives_way_to_rm", dmabuf_that_turns_out_useless_gives_way_to_rm },
	{ "forced_provider_that_cannot_serve_is_an_error", forced_provider_that_cannot_serve_is_an_error },
	{ "open_says_of_each_provider_why_it_cannot_serve", open_says_of_each_provider_why_it_cannot_serve },
	{ "free_under_a_pin_that_does_not_keep_it_sets_the_flag", free_under_a_pin_that_does_not_keep_it_sets_the_flag },
	{ "unaligned_pins_pin_and_do_not_map", unaligned_pins_pin_and_do_not_map },
};

TAP_MAIN(tests)
