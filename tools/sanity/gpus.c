// SPDX-License-Identifier: MIT
/*
 * gpus.c - two GPUs in one process
 */
#include "sanity/sanity.h"

#include <stdlib.h>

#define LEN (4 * GPU_PAGE_SIZE)

static void use(const struct tool_device *device)
{
	st_cuda(device->cu->cuCtxSetCurrent(device->ctx));
}

static void barlane_two_gpus(enum tool_mem_kind kind)
{
	unsigned char *want = st_host(LEN);
	struct tool_device device[2];
	struct st_buf buf[2];
	gdr_t g;
	int nr;

	nr = tool_device_count();
	st_help(nr);
	if (nr < 2)
		st_waive("this needs two GPUs and there is %d", nr);
	st_help(tool_device_open(sanity_options.ordinal, &device[0]));
	st_help(tool_device_open((sanity_options.ordinal + 1) % nr, &device[1]));
	g = st_open();
	for (int i = 0; i < 2; i++) {
		use(&device[i]);
		st_buf_make(&device[i], g, kind, LEN, &buf[i]);
	}
	for (int i = 0; i < 2; i++) {
		st_fill(want, LEN, (uint32_t)i);
		st_ok(gdr_copy_to_mapping(buf[i].mh, (void *)(uintptr_t)buf[i].map, want, LEN));
	}
	for (int i = 0; i < 2; i++) {
		use(&device[i]);
		st_fill(want, LEN, (uint32_t)i);
		st_gpu_holds(&device[i], buf[i].mem.ptr, want, LEN);
	}
	/* and with the other GPU's context current */
	use(&device[0]);
	st_ok(gdr_unmap(g, buf[1].mh, st_buf_addr(&buf[1]), LEN));
	st_ok(gdr_unpin_buffer(g, buf[1].mh));
	st_buf_pin(g, &buf[1]);
	st_buf_map(g, &buf[1]);
	st_fill(want, 64, 1);
	st_same((const void *)(uintptr_t)buf[1].map, want, 64);
	for (int i = 0; i < 2; i++) {
		use(&device[i]);
		st_buf_drop(g, &buf[i]);
	}
	st_ok(gdr_close(g));
	free(want);
}

const struct sanity_test sanity_gpus[] = {
	SANITY_BOTH(barlane_two_gpus),
	{ 0 },
};
