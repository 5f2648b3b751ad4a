// SPDX-License-Identifier: MIT
/*
 * access.c - what a mapping shows after its memory or its library instance is gone
 */
#include "sanity/sanity.h"

#include <signal.h>

#define ACCESS_SIZE (5 * GPU_PAGE_SIZE)
#define MAGIC	    0x600dda7au

static void invalidation_access_after_gdr_close(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	uint32_t value = 0;
	gdr_t g;
	int sig;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, ACCESS_SIZE, &buf);
	buf.map[0] = MAGIC;
	st_flush();
	st_check_eq(buf.map[0], MAGIC);
	st_ok(gdr_close(g));
	sig = st_peek(buf.map, &value);
	st_log("load after gdr_close(): signal %d, value 0x%x", sig, value);
	st_check(sig == SIGBUS || sig == SIGSEGV || value != MAGIC);
	st_help(tool_mem_free(&buf.mem));
}

static void invalidation_access_after_free(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	uint32_t value = 0;
	int persistent, sig;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	persistent = st_attr(g, GDR_ATTR_USE_PERSISTENT_MAPPING);
	st_buf_make(&device, g, kind, ACCESS_SIZE, &buf);
	buf.map[0] = MAGIC;
	st_flush();
	st_help(tool_mem_free(&buf.mem));
	sig = st_peek(buf.map, &value);
	st_log("load after free: persistent %d, signal %d, value 0x%x", persistent, sig, value);
	if (persistent) {
		st_check_eq(sig, 0);
		st_check_eq(value, MAGIC);
	} else {
		st_check_eq(sig, SIGBUS);
	}
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
}

static void invalidation_two_mappings(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf a, b;
	uint32_t value = 0;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, ACCESS_SIZE, &a);
	st_buf_make(&device, g, kind, ACCESS_SIZE, &b);
	a.map[0] = 1;
	b.map[0] = MAGIC;
	st_flush();
	st_help(tool_mem_free(&a.mem));
	st_check_eq(st_peek(b.map, &value), 0);
	st_check_eq(value, MAGIC);
	b.map[1] = ~MAGIC;
	st_flush();
	value = ~MAGIC;
	st_gpu_holds(&device, b.mem.ptr + 4, &value, sizeof(value));
	st_ok(gdr_unmap(g, a.mh, st_buf_addr(&a), a.len));
	st_ok(gdr_unmap(g, b.mh, st_buf_addr(&b), b.len));
	st_ok(gdr_unpin_buffer(g, a.mh));
	st_ok(gdr_unpin_buffer(g, b.mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&b.mem));
}

const struct sanity_test sanity_access[] = {
	SANITY_BOTH(invalidation_access_after_gdr_close),
	SANITY_BOTH(invalidation_access_after_free),
	SANITY_BOTH(invalidation_two_mappings),
	{ 0 },
};
