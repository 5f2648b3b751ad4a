// SPDX-License-Identifier: MIT
/*
 * abi.c - details that programs in the field depend on
 */
#include "sanity/sanity.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define LEN    (4 * GPU_PAGE_SIZE)
#define CANARY 0xc5

/* Version 1 of the description, as programs that look up the symbol gdr_get_info declare it themselves. */
struct info_v1 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned int mapped : 1;
	unsigned int wc_mapping : 1;
};

_Static_assert(sizeof(struct info_v1) == 40, "layout of version 1");
_Static_assert(sizeof(gdr_info_v2_t) == 48, "layout of version 2");

static void barlane_info_v1(enum tool_mem_kind kind)
{
	int (*get_info)(gdr_t g, gdr_mh_t mh, struct info_v1 *info);
	struct {
		struct info_v1 info;
		unsigned char canary[64];
	} area;
	void *symbol = dlsym(RTLD_DEFAULT, "gdr_get_info");
	unsigned char want[64];
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	if (!symbol)
		st_fail("the library has no symbol gdr_get_info");
	memcpy(&get_info, &symbol, sizeof(get_info));
	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	memset(&area, CANARY, sizeof(area));
	memset(want, CANARY, sizeof(want));
	st_ok(get_info(g, buf.mh, &area.info));
	st_same(area.canary, want, sizeof(want));
	st_check_eq(area.info.va, buf.info.va);
	st_check_eq(area.info.mapped_size, buf.info.mapped_size);
	st_check_eq(area.info.page_size, buf.info.page_size);
	st_check_eq(area.info.mapped, 1);
	st_check_eq(area.info.wc_mapping, buf.info.wc_mapping);
	st_err(get_info(g, (gdr_mh_t){ buf.mh.h + 1 }, &area.info), EINVAL);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

/* Small accesses at every place of a cache line leave their neighbours alone. */
static void barlane_small_accesses_are_exact(enum tool_mem_kind kind)
{
	unsigned char want[192], value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, got[8];
	struct tool_device device;
	struct st_buf buf;
	char *map;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, GPU_PAGE_SIZE, &buf);
	map = (char *)(uintptr_t)buf.map;
	for (size_t off = 32; off < 160; off++) {
		for (size_t len = 1; len <= 8; len++) {
			st_cuda(device.cu->cuMemsetD8(buf.mem.ptr, CANARY, sizeof(want)));
			st_cuda(device.cu->cuCtxSynchronize());
			memset(want, CANARY, sizeof(want));
			memcpy(want + off, value, len);
			st_ok(gdr_copy_to_mapping(buf.mh, map + off, value, len));
			st_gpu_holds(&device, buf.mem.ptr, want, sizeof(want));
			memset(got, 0, sizeof(got));
			st_ok(gdr_copy_from_mapping(buf.mh, got, map + off, len));
			st_same(got, value, len);
			for (size_t i = len; i < sizeof(got); i++)
				st_check_eq(got[i], 0);
		}
	}
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void check_bounds(const struct st_buf *buf, char *map, char *host)
{
	const size_t len = buf->len;
	const struct {
		char *at;
		size_t len;
	} bad[] = {
		{ map, len + 1 },	  { map + len, 1 },  { map + len - 1, 2 },     { map - 1, 1 },
		{ map - 1, 2 },		  { map, SIZE_MAX }, { map + 8, SIZE_MAX - 4 }, { NULL, 8 },
		{ map + 1, SIZE_MAX / 2 }, { host, 8 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		st_err(gdr_copy_to_mapping(buf->mh, bad[i].at, host, bad[i].len), EINVAL);
		st_err(gdr_copy_from_mapping(buf->mh, host, bad[i].at, bad[i].len), EINVAL);
	}
	st_ok(gdr_copy_to_mapping(buf->mh, map, host, len));
	st_ok(gdr_copy_to_mapping(buf->mh, map + len - 1, host, 1));
	st_ok(gdr_copy_from_mapping(buf->mh, host, map + len - 8, 8));
	st_ok(gdr_copy_to_mapping(buf->mh, map, host, 0));
	st_ok(gdr_copy_from_mapping(buf->mh, host, map, 0));
}

static void barlane_copies_stay_inside(enum tool_mem_kind kind)
{
	char *host = st_host(LEN);
	struct st_buf buf, other;
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	memset(host, 1, LEN);
	st_buf_make(&device, g, kind, LEN, &buf);
	st_buf_make(&device, g, kind, LEN, &other);
	check_bounds(&buf, st_buf_addr(&buf), host);
	st_err(gdr_copy_to_mapping(buf.mh, st_buf_addr(&other), host, 8), EINVAL);
	st_err(gdr_copy_from_mapping(other.mh, host, st_buf_addr(&buf), 8), EINVAL);
	st_buf_drop(g, &other);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
	free(host);
}

static void barlane_versions_and_strings(enum tool_mem_kind kind)
{
	int major = -1, minor = -1, value = -1;
	const char *name = NULL;
	gdr_t g = st_open();

	gdr_runtime_get_version(&major, &minor);
	st_check_eq(major, GDR_API_MAJOR_VERSION);
	st_check(minor >= GDR_API_MINOR_VERSION);
	major = minor = -1;
	st_ok(gdr_driver_get_version(g, &major, &minor));
	st_check(((uint32_t)major << MAJOR_VERSION_SHIFT | (uint32_t)minor) >= MINIMUM_GDRDRV_VERSION);
	for (int type = GDR_MAPPING_TYPE_NONE; type < GDR_MAPPING_TYPE_MAX; type++) {
		name = NULL;
		st_ok(gdr_get_mapping_type_string(type, &name));
		st_check(name && *name);
	}
	st_err(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_MAX, &name), EINVAL);
	st_err(gdr_get_mapping_type_string((gdr_mapping_type_t)-1, &name), EINVAL);
	st_err(gdr_get_attribute(g, (gdr_attr_t)0, &value), EINVAL);
	st_check_eq(value, 0);
	st_err(gdr_get_attribute(g, GDR_ATTR_MAX, &value), EINVAL);
	st_ok(gdr_close(g));
}

const struct sanity_test sanity_abi[] = {
	SANITY_ONE(barlane_info_v1),
	SANITY_ONE(barlane_small_accesses_are_exact),
	SANITY_ONE(barlane_copies_stay_inside),
	SANITY_ONE(barlane_versions_and_strings),
	{ 0 },
};
