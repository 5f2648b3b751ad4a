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

/* Memory that this provider may or may not be able to pin: if it can, the data must be right. */
static void pin_or_unsupported(const struct tool_device *device, gdr_t g, CUdeviceptr ptr, size_t len)
{
	struct st_buf buf = { .mem.ptr = ptr, .len = len };
	uint32_t word = 0x0ddba11;
	int ret;

	ret = gdr_pin_buffer(g, ptr, len, 0, 0, &buf.mh);
	if (ret) {
		/* a kernel module says EINVAL for whatever it cannot resolve */
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
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	st_err(gdr_pin_buffer(g, mem.ptr, LEN, 0, 0, NULL), EINVAL);
	st_err(gdr_pin_buffer_v2(g, mem.ptr, LEN, 0, NULL), EINVAL);
	st_err(gdr_pin_buffer(NULL, mem.ptr, LEN, 0, 0, &mh), EINVAL);
	st_ok(gdr_pin_buffer(g, mem.ptr, LEN, 0, 0, &mh));
	st_err(gdr_map(g, mh, NULL, LEN), EINVAL);
	st_err(gdr_get_info(g, mh, NULL), EINVAL);
	st_err(gdr_get_callback_flag(g, mh, NULL), EINVAL);
	st_err(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, NULL), EINVAL);
	st_err(gdr_unpin_buffer(g, (gdr_mh_t){ 0 }), EINVAL);
	st_err(gdr_close(NULL), EINVAL);
	st_ok(gdr_unpin_buffer(g, mh));
	st_ok(gdr_close(g));
}

static void barlane_pin_zero_size(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	st_err(gdr_pin_buffer(g, mem.ptr, 0, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, mem.ptr + 8, 0, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer_v2(g, mem.ptr, 0, 0, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
}

static void barlane_pin_overflowing_size(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	st_err(gdr_pin_buffer(g, mem.ptr, SIZE_MAX, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, mem.ptr, SIZE_MAX - mem.ptr, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, mem.ptr, SIZE_MAX - mem.ptr + 1, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, mem.ptr, SIZE_MAX / 2, 0, 0, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
}

static void barlane_pin_address_zero(enum tool_mem_kind kind)
{
	struct tool_device device;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_err(gdr_pin_buffer(g, 0, LEN, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, 0, 0, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, 8, 8, 0, 0, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
}

static void barlane_pin_host_pointer(enum tool_mem_kind kind)
{
	struct tool_device device;
	gdr_mh_t mh = { 0 };
	char *host;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	host = aligned_alloc(GPU_PAGE_SIZE, LEN);
	st_check(host);
	memset(host, 1, LEN);
	st_err(gdr_pin_buffer(g, (uintptr_t)host, LEN, 0, 0, &mh), EINVAL);
	st_err(gdr_pin_buffer(g, (uintptr_t)&device, 8, 0, 0, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	free(host);
}

static void barlane_pin_pinned_host_pointer(enum tool_mem_kind kind)
{
	struct tool_device device;
	gdr_mh_t mh = { 0 };
	void *host = NULL;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_cuda(device.cu->cuMemHostAlloc(&host, LEN, CU_MEMHOSTALLOC_DEVICEMAP));
	st_err2(gdr_pin_buffer(g, (uintptr_t)host, LEN, 0, 0, &mh), EINVAL, EOPNOTSUPP);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	st_cuda(device.cu->cuMemFreeHost(host));
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
	struct tool_device device;
	gdr_mh_t mh = { 0 };
	CUdeviceptr ptr = 0;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_cuda(device.cu->cuMemAllocManaged(&ptr, LEN, CU_MEM_ATTACH_GLOBAL));
	st_err2(gdr_pin_buffer(g, ptr, LEN, 0, 0, &mh), EINVAL, EOPNOTSUPP);
	prefetch(&device, ptr, LEN);
	st_err2(gdr_pin_buffer(g, ptr, LEN, 0, 0, &mh), EINVAL, EOPNOTSUPP);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	st_cuda(device.cu->cuMemFree(ptr));
}

static void barlane_pin_freed_pointer(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	/* large enough for an object of its own: the driver keeps nothing of it */
	st_alloc(&device, kind, 8 << 20, &mem);
	st_help(tool_mem_free(&mem));
	st_err(gdr_pin_buffer(g, mem.ptr, LEN, 0, 0, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
}

static void barlane_pin_pool_memory(enum tool_mem_kind kind)
{
	struct tool_device device;
	CUdeviceptr ptr = 0;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	if (!device.cu->cuMemAllocAsync || !tool_device_attr(&device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
		st_waive("GPU %d has no memory pools", device.ordinal);
	st_cuda(device.cu->cuMemAllocAsync(&ptr, 8 << 20, NULL));
	st_cuda(device.cu->cuStreamSynchronize(NULL));
	pin_or_unsupported(&device, g, (ptr + GPU_PAGE_OFFSET) & GPU_PAGE_MASK, LEN);
	st_ok(gdr_close(g));
	st_cuda(device.cu->cuMemFreeAsync(ptr, NULL));
	st_cuda(device.cu->cuStreamSynchronize(NULL));
}

static void barlane_pin_vmm_that_cannot_be_exported(enum tool_mem_kind kind)
{
	CUmemGenericAllocationHandle handle;
	struct tool_device device;
	CUdeviceptr ptr = 0;
	size_t size;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	size = tool_vmm_granularity(&device);
	if (!size)
		st_waive("GPU %d has no virtual memory management", device.ordinal);
	st_help(tool_vmm_create(&device, size, false, &handle));
	st_cuda(device.cu->cuMemAddressReserve(&ptr, size, 0, 0, 0));
	st_help(tool_vmm_map(&device, ptr, size, handle));
	pin_or_unsupported(&device, g, ptr, size);
	st_ok(gdr_close(g));
}

/* Neighbours in the address space that are different objects. */
static void barlane_pin_across_objects(enum tool_mem_kind kind)
{
	CUmemGenericAllocationHandle handles[2];
	struct tool_device device;
	gdr_mh_t mh = { 0 };
	CUdeviceptr ptr = 0;
	size_t size;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_private_pins(g);
	size = tool_vmm_granularity(&device);
	if (!size)
		st_waive("GPU %d has no virtual memory management", device.ordinal);
	st_cuda(device.cu->cuMemAddressReserve(&ptr, 2 * size, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		st_help(tool_vmm_create(&device, size, true, &handles[i]));
		st_help(tool_vmm_map(&device, ptr + (size_t)i * size, size, handles[i]));
	}
	st_err2(gdr_pin_buffer(g, ptr, 2 * size, 0, 0, &mh), EINVAL, EOPNOTSUPP);
	st_err2(gdr_pin_buffer(g, ptr + size - GPU_PAGE_SIZE, 2 * GPU_PAGE_SIZE, 0, 0, &mh), EINVAL, EOPNOTSUPP);
	st_check(!mh.h);
	/* each for itself is fine */
	for (int i = 0; i < 2; i++) {
		st_ok(gdr_pin_buffer(g, ptr + (size_t)i * size, size, 0, 0, &mh));
		st_ok(gdr_unpin_buffer(g, mh));
	}
	st_ok(gdr_close(g));
}

static void barlane_pin_past_the_end(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, 8 << 20, &mem);
	st_err2(gdr_pin_buffer(g, mem.ptr, mem.size + (64 << 20), 0, 0, &mh), EINVAL, EOPNOTSUPP);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

static void barlane_pin_force_pcie_unsupported(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	if (st_attr(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE))
		st_waive("pin flag FORCE_PCIE is supported here");
	st_alloc(&device, kind, LEN, &mem);
	st_err(gdr_pin_buffer_v2(g, mem.ptr, LEN, GDR_PIN_FLAG_FORCE_PCIE, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

static void barlane_pin_unknown_flag(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	st_err(gdr_pin_buffer_v2(g, mem.ptr, LEN, 2, &mh), EINVAL);
	st_err(gdr_pin_buffer_v2(g, mem.ptr, LEN, 1U << 31, &mh), EINVAL);
	st_check(!mh.h);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
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
