// SPDX-License-Identifier: MIT
/*
 * memory.c - parts of allocations, many mappings, large ones, and memory that is freed while pinned
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#define NR_MAPPINGS 1000
#define FDS_NEEDED  (3 * NR_MAPPINGS + 100) /* a mapping may take a descriptor or two */
#define HELD_SIZE   (64UL << 20)
#define SMALL_SIZE  4096
#define NR_SMALL    3

static void barlane_interior_pointer(enum tool_mem_kind kind)
{
	static const size_t offsets[] = { GPU_PAGE_SIZE, 5 * GPU_PAGE_SIZE, 31 * GPU_PAGE_SIZE, 63 * GPU_PAGE_SIZE };
	struct tool_device device;
	struct tool_mem mem;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, 64 * GPU_PAGE_SIZE, &mem);
	st_cuda(device.cu->cuMemsetD8(mem.ptr, 0, mem.size));
	st_cuda(device.cu->cuCtxSynchronize());
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct st_buf buf = { .mem.ptr = mem.ptr + offsets[i], .len = GPU_PAGE_SIZE };
		uint32_t want[2] = { 0xab0000 + (uint32_t)i, 0 };

		st_buf_pin(g, &buf);
		st_buf_map(g, &buf);
		st_check(buf.info.va <= buf.mem.ptr);
		buf.map[0] = want[0];
		st_flush();
		st_gpu_holds(&device, buf.mem.ptr, want, sizeof(want));
		st_gpu_holds(&device, buf.mem.ptr - 4, &want[1], 4);
		st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
		st_ok(gdr_unpin_buffer(g, buf.mh));
	}
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

/*
 * What communication libraries do with a small allocation: round it out to GPU pages, pin that, and add the
 * difference. The GPU pages hold other allocations too.
 */
static void barlane_neighbouring_allocations(enum tool_mem_kind kind)
{
	unsigned char want[SMALL_SIZE], own[SMALL_SIZE];
	CUdeviceptr ptr[NR_SMALL];
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	for (int i = 0; i < NR_SMALL; i++) {
		st_cuda(device.cu->cuMemAlloc(&ptr[i], SMALL_SIZE));
		st_cuda(device.cu->cuMemsetD8(ptr[i], (unsigned char)(0x10 + i), SMALL_SIZE));
	}
	st_cuda(device.cu->cuCtxSynchronize());
	for (int i = 0; i < NR_SMALL; i++) {
		CUdeviceptr start = ptr[i] & GPU_PAGE_MASK;
		CUdeviceptr end = (ptr[i] + SMALL_SIZE + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
		struct st_buf buf = { .mem.ptr = start, .len = end - start };
		char *at;

		st_buf_pin(g, &buf);
		st_buf_map(g, &buf);
		at = (char *)st_buf_addr(&buf) + (ptr[i] - buf.info.va);
		st_fill(own, SMALL_SIZE, (uint32_t)i);
		st_ok(gdr_copy_to_mapping(buf.mh, at, own, SMALL_SIZE));
		st_gpu_holds(&device, ptr[i], own, SMALL_SIZE);
		for (int j = i + 1; j < NR_SMALL; j++) {
			memset(want, 0x10 + j, SMALL_SIZE);
			st_gpu_holds(&device, ptr[j], want, SMALL_SIZE);
		}
		st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
		st_ok(gdr_unpin_buffer(g, buf.mh));
	}
	st_ok(gdr_close(g));
	for (int i = 0; i < NR_SMALL; i++)
		st_cuda(device.cu->cuMemFree(ptr[i]));
}

static void barlane_free_before_unpin(enum tool_mem_kind kind)
{
	struct tool_device device;
	size_t before, held, after;
	struct st_buf buf;
	int flag = -1;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	if (!st_attr(g, GDR_ATTR_USE_PERSISTENT_MAPPING))
		st_waive("a pin does not keep memory here");
	before = st_free_memory(&device);
	if (before < 2 * HELD_SIZE)
		st_waive("only %zu bytes of GPU memory are free, this needs %zu", before, 2 * HELD_SIZE);
	st_buf_make(&device, g, kind, HELD_SIZE, &buf);
	for (size_t i = 0; i < HELD_SIZE / 4; i += (1 << 20) / 4)
		buf.map[i] = (uint32_t)i;
	st_flush();
	st_help(tool_mem_free(&buf.mem));
	st_ok(gdr_get_callback_flag(g, buf.mh, &flag));
	st_check_eq(flag, 0);
	for (size_t i = 0; i < HELD_SIZE / 4; i += (1 << 20) / 4)
		st_check_eq(buf.map[i], i);
	held = st_free_memory(&device);
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	after = st_free_memory(&device);
	st_log("free: %zu before, %zu while pinned, %zu after", before, held, after);
	/* half of it: other programs may use the GPU as well */
	st_check(before - held > HELD_SIZE / 2 && before > held);
	st_check(after > held && after - held > HELD_SIZE / 2);
	st_ok(gdr_close(g));
}

static void need_fds(rlim_t nr)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < nr)
		st_waive("this needs up to %llu descriptors and the limit is %llu", (unsigned long long)nr,
			 (unsigned long long)limit.rlim_max);
	if (limit.rlim_cur >= nr)
		return;
	limit.rlim_cur = nr;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		st_fail("setrlimit: %s", strerror(errno));
}

static void barlane_thousand_mappings(enum tool_mem_kind kind)
{
	struct st_buf *bufs = st_host(NR_MAPPINGS * sizeof(*bufs));
	uint32_t *all = st_host(NR_MAPPINGS * GPU_PAGE_SIZE);
	struct tool_device device;
	struct tool_mem mem;
	gdr_t g;

	need_fds(FDS_NEEDED);
	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, NR_MAPPINGS * GPU_PAGE_SIZE, &mem);
	for (uint32_t i = 0; i < NR_MAPPINGS; i++) {
		bufs[i] = (struct st_buf){ .mem.ptr = mem.ptr + i * GPU_PAGE_SIZE, .len = GPU_PAGE_SIZE };
		st_buf_pin(g, &bufs[i]);
		st_buf_map(g, &bufs[i]);
	}
	for (uint32_t i = 0; i < NR_MAPPINGS; i++) {
		bufs[i].map[0] = i;
		bufs[i].map[GPU_PAGE_SIZE / 4 - 1] = ~i;
	}
	st_flush();
	st_cuda(device.cu->cuMemcpyDtoH(all, mem.ptr, NR_MAPPINGS * GPU_PAGE_SIZE));
	for (uint32_t i = 0; i < NR_MAPPINGS; i++) {
		st_check_eq(all[i * (GPU_PAGE_SIZE / 4)], i);
		st_check_eq(all[(i + 1) * (GPU_PAGE_SIZE / 4) - 1], ~i);
	}
	for (uint32_t i = 0; i < NR_MAPPINGS; i++) {
		st_ok(gdr_unmap(g, bufs[i].mh, st_buf_addr(&bufs[i]), bufs[i].len));
		st_ok(gdr_unpin_buffer(g, bufs[i].mh));
	}
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
	free(all);
	free(bufs);
}

static void barlane_large_mapping(enum tool_mem_kind kind)
{
	const size_t len = (sanity_options.big + GPU_PAGE_OFFSET) & GPU_PAGE_MASK, step = 16UL << 20;
	struct tool_device device;
	struct st_buf buf;
	uint64_t want;
	size_t left;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	left = st_free_memory(&device);
	if (left < len + len / 16)
		st_waive("%zu bytes of GPU memory are free, this needs %zu; choose less with --big", left, len);
	st_buf_make(&device, g, kind, len, &buf);
	st_check_eq(buf.info.mapped_size, len);
	for (size_t off = 0; off < len; off += step)
		*(volatile uint64_t *)((volatile char *)buf.map + off) = off ^ len;
	want = ~(uint64_t)len;
	*(volatile uint64_t *)((volatile char *)buf.map + len - 8) = want;
	st_flush();
	st_gpu_holds(&device, buf.mem.ptr + len - 8, &want, 8);
	for (size_t off = 0; off < len; off += step) {
		want = off ^ len;
		st_gpu_holds(&device, buf.mem.ptr + off, &want, 8);
	}
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

const struct sanity_test sanity_memory[] = {
	SANITY_ONE(barlane_interior_pointer),
	SANITY_ONE(barlane_neighbouring_allocations),
	SANITY_BOTH(barlane_free_before_unpin),
	SANITY_ONE(barlane_thousand_mappings),
	SANITY_ONE(barlane_large_mapping),
	{ 0 },
};
