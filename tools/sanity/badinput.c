// SPDX-License-Identifier: MIT
/*
 * badinput.c - what cannot be pinned is refused, with a reason, and leaves nothing behind
 */
#include "sanity/sanity.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define LEN	 (4 * GPU_PAGE_SIZE)
#define FAILURES 1000
#define SLACK	 (64UL << 20)

/**
 * struct bad - what a test here works on
 * @device: GPU
 * @g:      library instance
 * @mem:    GPU memory; @mem.ptr 0 when there is none
 * @mh:     stays 0: what is refused writes no handle
 */
struct bad {
	struct tool_device device;
	gdr_t g;
	struct tool_mem mem;
	gdr_mh_t mh;
};

/* @len: bytes of memory to allocate, 0 for none */
static void begin(struct bad *bad, enum tool_mem_kind kind, size_t len)
{
	*bad = (struct bad){ 0 };
	st_gpu(&bad->device);
	bad->g = st_open();
	if (len)
		st_alloc(&bad->device, kind, len, &bad->mem);
}

static void finish(struct bad *bad)
{
	st_check(!bad->mh.h);
	st_ok(gdr_close(bad->g));
	if (bad->mem.ptr)
		st_help(tool_mem_free(&bad->mem));
}

/* Macros, so that a failure names the line of the test. */
#define refused(bad, ptr, len, err)	     st_err(gdr_pin_buffer((bad).g, ptr, len, 0, 0, &(bad).mh), err)
#define refused_v2(bad, ptr, len, flags, err) st_err(gdr_pin_buffer_v2((bad).g, ptr, len, flags, &(bad).mh), err)
/* A kernel module says EINVAL for whatever it cannot resolve. */
#define unsupported(bad, ptr, len) st_err2(gdr_pin_buffer((bad).g, ptr, len, 0, 0, &(bad).mh), EINVAL, EOPNOTSUPP)

/* Memory that this provider may or may not be able to pin: if it can, the data must be right. */
static void pin_or_unsupported(const struct tool_device *device, gdr_t g, CUdeviceptr ptr, size_t len)
{
	struct st_buf buf = { .mem.ptr = ptr, .len = len };
	uint32_t word = 0x0ddba11;
	int ret;

	ret = gdr_pin_buffer(g, ptr, len, 0, 0, &buf.mh);
	if (ret) {
		st_err_at(__FILE__, __LINE__, "gdr_pin_buffer", ret, EOPNOTSUPP, EINVAL);
		st_check(!buf.mh.h);
		return;
	}
	st_log("this provider can pin it");
	st_buf_map(g, &buf);
	buf.map[0] = word;
	buf.map[len / 4 - 1] = ~word;
	st_flush();
	st_gpu_holds(device, ptr, &word, sizeof(word));
	word = ~word;
	st_gpu_holds(device, ptr + len - 4, &word, sizeof(word));
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	st_ok(gdr_unpin_buffer(g, buf.mh));
}

static void barlane_pin_null_arguments(enum tool_mem_kind kind)
{
	struct bad bad;
	gdr_mh_t mh;
	gdr_t g;

	begin(&bad, kind, LEN);
	g = bad.g;
	st_err(gdr_pin_buffer(g, bad.mem.ptr, LEN, 0, 0, NULL), EINVAL);
	st_err(gdr_pin_buffer_v2(g, bad.mem.ptr, LEN, 0, NULL), EINVAL);
	st_err(gdr_pin_buffer(NULL, bad.mem.ptr, LEN, 0, 0, &bad.mh), EINVAL);
	st_ok(gdr_pin_buffer(g, bad.mem.ptr, LEN, 0, 0, &mh));
	st_err(gdr_map(g, mh, NULL, LEN), EINVAL);
	st_err(gdr_get_info(g, mh, NULL), EINVAL);
	st_err(gdr_get_callback_flag(g, mh, NULL), EINVAL);
	st_err(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, NULL), EINVAL);
	st_err(gdr_unpin_buffer(g, (gdr_mh_t){ 0 }), EINVAL);
	st_err(gdr_close(NULL), EINVAL);
	st_ok(gdr_unpin_buffer(g, mh));
	finish(&bad);
}

static void barlane_pin_zero_size(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, LEN);
	refused(bad, bad.mem.ptr, 0, EINVAL);
	refused(bad, bad.mem.ptr + 8, 0, EINVAL);
	refused_v2(bad, bad.mem.ptr, 0, 0, EINVAL);
	finish(&bad);
}

static void barlane_pin_overflowing_size(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, LEN);
	refused(bad, bad.mem.ptr, SIZE_MAX, EINVAL);
	refused(bad, bad.mem.ptr, SIZE_MAX - bad.mem.ptr, EINVAL);
	refused(bad, bad.mem.ptr, SIZE_MAX - bad.mem.ptr + 1, EINVAL);
	refused(bad, bad.mem.ptr, SIZE_MAX / 2, EINVAL);
	finish(&bad);
}

static void barlane_pin_address_zero(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, 0);
	refused(bad, 0, LEN, EINVAL);
	refused(bad, 0, 0, EINVAL);
	refused(bad, 8, 8, EINVAL);
	finish(&bad);
}

static void barlane_pin_host_pointer(enum tool_mem_kind kind)
{
	struct bad bad;
	char *host;

	begin(&bad, kind, 0);
	host = aligned_alloc(GPU_PAGE_SIZE, LEN);
	st_check(host);
	memset(host, 1, LEN);
	refused(bad, (uintptr_t)host, LEN, EINVAL);
	refused(bad, (uintptr_t)&bad, 8, EINVAL);
	finish(&bad);
	free(host);
}

static void barlane_pin_pinned_host_pointer(enum tool_mem_kind kind)
{
	void *host = NULL;
	struct bad bad;

	begin(&bad, kind, 0);
	st_cuda(bad.device.cu->cuMemHostAlloc(&host, LEN, CU_MEMHOSTALLOC_DEVICEMAP));
	unsupported(bad, (uintptr_t)host, LEN);
	finish(&bad);
	st_cuda(bad.device.cu->cuMemFreeHost(host));
}

/* Managed memory that lies on the GPU at the moment is still managed memory. */
static void prefetch(const struct tool_device *device, CUdeviceptr ptr, size_t len)
{
	CUresult (*move)(CUdeviceptr ptr, size_t size, CUdevice device, CUstream stream);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&move = lib ? dlsym(lib, "cuMemPrefetchAsync") : NULL;
	if (!move)
		st_fail("the driver library has no cuMemPrefetchAsync");
	st_cuda(move(ptr, len, device->dev, NULL));
	st_cuda(device->cu->cuCtxSynchronize());
}

static void barlane_pin_managed_pointer(enum tool_mem_kind kind)
{
	CUdeviceptr ptr = 0;
	struct bad bad;

	begin(&bad, kind, 0);
	st_cuda(bad.device.cu->cuMemAllocManaged(&ptr, LEN, CU_MEM_ATTACH_GLOBAL));
	unsupported(bad, ptr, LEN);
	prefetch(&bad.device, ptr, LEN);
	unsupported(bad, ptr, LEN);
	finish(&bad);
	st_cuda(bad.device.cu->cuMemFree(ptr));
}

static void barlane_pin_freed_pointer(enum tool_mem_kind kind)
{
	CUdeviceptr ptr;
	struct bad bad;

	/* large enough for an object of its own: the driver keeps nothing of it */
	begin(&bad, kind, 8 << 20);
	ptr = bad.mem.ptr;
	st_help(tool_mem_free(&bad.mem));
	bad.mem.ptr = 0;
	refused(bad, ptr, LEN, EINVAL);
	finish(&bad);
}

static void barlane_pin_pool_memory(enum tool_mem_kind kind)
{
	CUdeviceptr ptr = 0;
	struct bad bad;

	begin(&bad, kind, 0);
	if (!bad.device.cu->cuMemAllocAsync ||
	    !tool_device_attr(&bad.device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
		st_waive("GPU %d has no memory pools", bad.device.ordinal);
	st_cuda(bad.device.cu->cuMemAllocAsync(&ptr, 8 << 20, NULL));
	st_cuda(bad.device.cu->cuStreamSynchronize(NULL));
	pin_or_unsupported(&bad.device, bad.g, (ptr + GPU_PAGE_OFFSET) & GPU_PAGE_MASK, LEN);
	finish(&bad);
	st_cuda(bad.device.cu->cuMemFreeAsync(ptr, NULL));
	st_cuda(bad.device.cu->cuStreamSynchronize(NULL));
}

static size_t needs_vmm(const struct tool_device *device)
{
	size_t granularity = tool_vmm_granularity(device);

	if (!granularity)
		st_waive("GPU %d has no virtual memory management", device->ordinal);
	return granularity;
}

static void barlane_pin_vmm_that_cannot_be_exported(enum tool_mem_kind kind)
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr ptr = 0;
	struct bad bad;
	size_t size;

	begin(&bad, kind, 0);
	size = needs_vmm(&bad.device);
	st_help(tool_vmm_create(&bad.device, size, false, &handle));
	st_cuda(bad.device.cu->cuMemAddressReserve(&ptr, size, 0, 0, 0));
	st_help(tool_vmm_map(&bad.device, ptr, size, handle));
	pin_or_unsupported(&bad.device, bad.g, ptr, size);
	finish(&bad);
}

/* Neighbours in the address space that are different objects. */
static void barlane_pin_across_objects(enum tool_mem_kind kind)
{
	CUmemGenericAllocationHandle handles[2];
	CUdeviceptr ptr = 0;
	struct bad bad;
	gdr_mh_t mh;
	size_t size;

	begin(&bad, kind, 0);
	st_needs_private_pins(bad.g);
	size = needs_vmm(&bad.device);
	st_cuda(bad.device.cu->cuMemAddressReserve(&ptr, 2 * size, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		st_help(tool_vmm_create(&bad.device, size, true, &handles[i]));
		st_help(tool_vmm_map(&bad.device, ptr + (size_t)i * size, size, handles[i]));
	}
	unsupported(bad, ptr, 2 * size);
	unsupported(bad, ptr + size - GPU_PAGE_SIZE, 2 * GPU_PAGE_SIZE);
	/* each for itself is fine */
	for (int i = 0; i < 2; i++) {
		st_ok(gdr_pin_buffer(bad.g, ptr + (size_t)i * size, size, 0, 0, &mh));
		st_ok(gdr_unpin_buffer(bad.g, mh));
	}
	finish(&bad);
}

static void barlane_pin_past_the_end(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, 8 << 20);
	unsupported(bad, bad.mem.ptr, bad.mem.size + (64 << 20));
	finish(&bad);
}

static void barlane_pin_force_pcie_unsupported(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, LEN);
	if (st_attr(bad.g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE))
		st_waive("pin flag FORCE_PCIE is supported here");
	refused_v2(bad, bad.mem.ptr, LEN, GDR_PIN_FLAG_FORCE_PCIE, EINVAL);
	finish(&bad);
}

static void barlane_pin_unknown_flag(enum tool_mem_kind kind)
{
	struct bad bad;

	begin(&bad, kind, LEN);
	refused_v2(bad, bad.mem.ptr, LEN, 2, EINVAL);
	refused_v2(bad, bad.mem.ptr, LEN, 1U << 31, EINVAL);
	finish(&bad);
}

static void barlane_errors_leave_nothing(enum tool_mem_kind kind)
{
	struct tool_device device;
	size_t fds, memory;
	struct st_buf buf;
	gdr_mh_t mh = { 0 };
	void *map = NULL;
	void *host;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	/* what the first pin of a process sets up stays */
	st_buf_make(&device, g, kind, LEN, &buf);
	host = st_host(LEN);
	fds = st_fds_count();
	memory = st_free_memory(&device);
	for (int i = 0; i < FAILURES; i++) {
		st_refused(gdr_pin_buffer(g, (uintptr_t)host, LEN, 0, 0, &mh));
		st_refused(gdr_pin_buffer(g, buf.mem.ptr, SIZE_MAX / 2, 0, 0, &mh));
		st_refused(gdr_map(g, buf.mh, &map, buf.len));
	}
	st_check_eq(st_fds_count(), fds);
	/* other programs may use the GPU as well; what the failures ask for is much more than that */
	st_check(st_free_memory(&device) + SLACK > memory);
	for (int i = 0; i < FAILURES / 10; i++) {
		st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
		st_ok(gdr_unpin_buffer(g, buf.mh));
		st_buf_pin(g, &buf);
		st_buf_map(g, &buf);
	}
	st_check_eq(st_fds_count(), fds);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
	free(host);
}

const struct sanity_test sanity_badinput[] = {
	SANITY_ONE(barlane_pin_null_arguments),
	SANITY_ONE(barlane_pin_zero_size),
	SANITY_ONE(barlane_pin_overflowing_size),
	SANITY_ONE(barlane_pin_address_zero),
	SANITY_ONE(barlane_pin_host_pointer),
	SANITY_ONE(barlane_pin_pinned_host_pointer),
	SANITY_ONE(barlane_pin_managed_pointer),
	SANITY_ONE(barlane_pin_freed_pointer),
	SANITY_ONE(barlane_pin_pool_memory),
	SANITY_ONE(barlane_pin_vmm_that_cannot_be_exported),
	SANITY_ONE(barlane_pin_across_objects),
	SANITY_ONE(barlane_pin_past_the_end),
	SANITY_ONE(barlane_pin_force_pcie_unsupported),
	SANITY_ONE(barlane_pin_unknown_flag),
	SANITY_ONE(barlane_errors_leave_nothing),
	{ 0 },
};
