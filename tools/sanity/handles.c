// SPDX-License-Identifier: MIT
/*
 * handles.c - handles that are stale, used twice or used for too much
 */
#include "sanity/sanity.h"

#include <errno.h>

#define LEN (4 * GPU_PAGE_SIZE)

/* Every call that takes a handle. */
static void all_refuse(gdr_t g, gdr_mh_t mh, void *map)
{
	char host[16] = { 0 };
	gdr_info_t info;
	void *none = NULL;
	int flag;

	st_err(gdr_get_info(g, mh, &info), EINVAL);
	st_err(gdr_get_callback_flag(g, mh, &flag), EINVAL);
	st_err(gdr_map(g, mh, &none, LEN), EINVAL);
	st_err(gdr_map_v2(g, mh, &none, LEN, GDR_MAP_FLAG_DEFAULT), EINVAL);
	st_check(!none);
	st_err(gdr_unmap(g, mh, map, LEN), EINVAL);
	st_err(gdr_copy_to_mapping(mh, map, host, sizeof(host)), EINVAL);
	st_err(gdr_copy_from_mapping(mh, host, map, sizeof(host)), EINVAL);
	st_err(gdr_unpin_buffer(g, mh), EINVAL);
}

static void barlane_stale_handle(enum tool_mem_kind kind)
{
	struct st_buf buf, again;
	struct tool_device device;
	gdr_mh_t stale;
	void *map;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	stale = buf.mh;
	map = st_buf_addr(&buf);
	st_ok(gdr_unmap(g, buf.mh, map, LEN));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	all_refuse(g, stale, map);
	/* the next pin is likely to take the same place */
	again = buf;
	st_buf_pin(g, &again);
	st_buf_map(g, &again);
	st_check(again.mh.h != stale.h);
	all_refuse(g, stale, st_buf_addr(&again));
	again.map[0] = 42;
	st_check_eq(again.map[0], 42);
	st_buf_drop(g, &again);
	st_ok(gdr_close(g));
}

static void barlane_handle_of_another_instance(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	void *none = NULL;
	gdr_info_t info;
	gdr_t g, other;

	st_gpu(&device);
	g = st_open();
	other = st_open();
	st_check(g != other);
	st_buf_make(&device, g, kind, LEN, &buf);
	st_err(gdr_get_info(other, buf.mh, &info), EINVAL);
	st_err(gdr_map(other, buf.mh, &none, LEN), EINVAL);
	st_err(gdr_unmap(other, buf.mh, st_buf_addr(&buf), LEN), EINVAL);
	st_err(gdr_unpin_buffer(other, buf.mh), EINVAL);
	st_ok(gdr_close(other));
	buf.map[0] = 42;
	st_check_eq(buf.map[0], 42);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void barlane_double_unmap(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), LEN));
	st_err(gdr_unmap(g, buf.mh, st_buf_addr(&buf), LEN), EINVAL);
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&buf.mem));
}

static void barlane_partial_unmap(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	char *map;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	map = st_buf_addr(&buf);
	st_err(gdr_unmap(g, buf.mh, map, LEN / 2), EINVAL);
	st_err(gdr_unmap(g, buf.mh, map + GPU_PAGE_SIZE, LEN - GPU_PAGE_SIZE), EINVAL);
	st_err(gdr_unmap(g, buf.mh, map + GPU_PAGE_SIZE, LEN), EINVAL);
	st_err(gdr_unmap(g, buf.mh, map, LEN + GPU_PAGE_SIZE), EINVAL);
	st_err(gdr_unmap(g, buf.mh, NULL, LEN), EINVAL);
	for (size_t i = 0; i < LEN / 4; i += 1024) {
		buf.map[i] = (uint32_t)i;
		st_check_eq(buf.map[i], i);
	}
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void barlane_map_larger_than_pin(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = LEN };
	struct tool_device device;
	void *map = NULL;
	gdr_info_t info;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, 2 * LEN, &buf.mem);
	st_buf_pin(g, &buf);
	st_ok(gdr_get_info(g, buf.mh, &info));
	st_err(gdr_map(g, buf.mh, &map, info.mapped_size + 1), EINVAL);
	st_err(gdr_map(g, buf.mh, &map, SIZE_MAX), EINVAL);
	st_err(gdr_map(g, buf.mh, &map, 0), EINVAL);
	st_err(gdr_map_v2(g, buf.mh, &map, LEN, 4), EINVAL);
	st_err(gdr_map_v2(g, buf.mh, &map, LEN, -1), EINVAL);
	st_check(!map);
	/* less than the pin is fine */
	st_ok(gdr_map(g, buf.mh, &map, GPU_PAGE_SIZE));
	st_ok(gdr_unmap(g, buf.mh, map, GPU_PAGE_SIZE));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&buf.mem));
}

static void barlane_second_map(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	void *map = NULL;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	st_err(gdr_map(g, buf.mh, &map, LEN), EAGAIN);
	st_err(gdr_map(g, buf.mh, &map, GPU_PAGE_SIZE), EAGAIN);
	st_check(!map);
	for (uint32_t i = 0; i < 20; i++) {
		st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), LEN));
		st_buf_map(g, &buf);
		if (i)
			st_check_eq(buf.map[1], i - 1);
		buf.map[1] = i;
		st_flush();
	}
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void barlane_unpin_while_mapped(enum tool_mem_kind kind)
{
	struct tool_device device;
	uint32_t value = 0;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	buf.map[0] = 0xfeedf00d;
	st_flush();
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_check(st_peek(buf.map, &value) || value != 0xfeedf00d);
	st_err(gdr_unmap(g, buf.mh, st_buf_addr(&buf), LEN), EINVAL);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&buf.mem));
}

static void barlane_use_after_close(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	gdr_mh_t mh = { 0 };
	int value, minor;
	gdr_t g, other;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	st_ok(gdr_close(g));
	all_refuse(g, buf.mh, st_buf_addr(&buf));
	st_err(gdr_pin_buffer(g, buf.mem.ptr, LEN, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer_v2(g, buf.mem.ptr, LEN, 0, &mh), EINVAL);
	st_err(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), EINVAL);
	st_err(gdr_driver_get_version(g, &value, &minor), EINVAL);
	st_err(gdr_close(g), EINVAL);
	st_check(!mh.h);
	/* the next instance must not revive the old name */
	other = st_open();
	st_check(other != g);
	st_err(gdr_pin_buffer(g, buf.mem.ptr, LEN, 0, 0, &mh), EINVAL);
	st_ok(gdr_close(other));
	st_help(tool_mem_free(&buf.mem));
}

const struct sanity_test sanity_handles[] = {
	SANITY_ONE(barlane_stale_handle),
	SANITY_ONE(barlane_handle_of_another_instance),
	SANITY_ONE(barlane_double_unmap),
	SANITY_ONE(barlane_partial_unmap),
	SANITY_ONE(barlane_map_larger_than_pin),
	SANITY_ONE(barlane_second_map),
	SANITY_ONE(barlane_unpin_while_mapped),
	SANITY_ONE(barlane_use_after_close),
	{ 0 },
};
