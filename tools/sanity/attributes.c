// SPDX-License-Identifier: MIT
/*
 * attributes.c - properties of what serves an instance, and what extended tests see of a kernel module
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <stdio.h>

#define REFCOUNT    "/proc/driver/gdrdrv/nv_get_pages_refcount"
#define LEAKAGE_LEN (5 * GPU_PAGE_SIZE)

static void attributes_sanity(enum tool_mem_kind kind)
{
	gdr_t g = st_open();
	int persistent, force_pcie;

	persistent = st_attr(g, GDR_ATTR_USE_PERSISTENT_MAPPING);
	force_pcie = st_attr(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE);
	st_log("persistent %d, FORCE_PCIE %d", persistent, force_pcie);
	st_check(persistent == 0 || persistent == 1);
	st_check(force_pcie == 0 || force_pcie == 1);
	st_ok(gdr_close(g));
}

/* Return: pages that the kernel module holds, or -errno when it does not say. */
static long refcount(void)
{
	FILE *file = fopen(REFCOUNT, "re");
	long value = -EIO;

	if (!file)
		return -errno;
	if (fscanf(file, "%ld", &value) != 1)
		value = -EIO;
	fclose(file);
	return value;
}

static void close_inherited(int sock, void *arg)
{
	gdr_t *g = arg;

	st_await(sock);
	gdr_close(*g);
	st_signal(sock);
}

static void leakage_pin_pages_fork(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = LEAKAGE_LEN };
	struct tool_device device;
	struct st_child child;
	long before = refcount();
	gdr_t g;

	if (before < 0)
		st_waive("%s: %s", REFCOUNT, strerror((int)-before));
	if (before)
		st_waive("%s: %ld pages are pinned by others", REFCOUNT, before);
	g = st_open();
	st_fork(close_inherited, &g, &child);
	st_gpu(&device);
	st_alloc(&device, kind, buf.len, &buf.mem);
	st_buf_pin(g, &buf);
	st_ok(gdr_close(g));
	st_signal(child.sock);
	st_await(child.sock);
	st_join(&child);
	st_check_eq(refcount(), 0);
	st_help(tool_mem_free(&buf.mem));
}

const struct sanity_test sanity_attributes[] = {
	SANITY_ONE(attributes_sanity),
	{ "leakage_pin_pages_fork_cumemalloc", leakage_pin_pages_fork, TOOL_MEM_ALLOC, true },
	{ 0 },
};
