// SPDX-License-Identifier: MIT
/*
 * buffer.c - GPU, library and memory for tests
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

void st_gpu(struct tool_device *device)
{
	if (tool_device_open(sanity_options.ordinal, device))
		st_fail("%s", tool_why());
}

void st_alloc(const struct tool_device *device, enum tool_mem_kind kind, size_t size, struct tool_mem *mem)
{
	int ret = tool_mem_alloc(device, kind, size, mem);

	if (ret == -EOPNOTSUPP)
		st_waive("%s", tool_why());
	if (ret)
		st_fail("%s of %zu bytes: %s", tool_value_name(kind, tool_mem_kinds), size, tool_why());
}

gdr_t st_open(void)
{
	gdr_t g = gdr_open();

	if (!g)
		st_fail("gdr_open() failed; \"barlane providers\" shows why");
	return g;
}

int st_attr(gdr_t g, gdr_attr_t attr)
{
	int value = -1;

	st_ok(gdr_get_attribute(g, attr, &value));
	return value;
}

void st_needs_private_pins(gdr_t g)
{
	int value = 0;

	/* a library older than this attribute has no dma-buf provider */
	if (!gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value) && value)
		st_waive("pins are dma-bufs here: descriptors and mappings that other processes may share");
}

void st_needs_force_pcie(const struct tool_device *device, gdr_t g)
{
	if (!st_attr(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE))
		st_waive("pin flag FORCE_PCIE is not supported here");
	if (!tool_device_attr(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES))
		st_waive("GPU %d is reached over PCIe in any case", device->ordinal);
	if (tool_device_attr(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 10)
		st_waive("GPU %d has a compute capability below 10", device->ordinal);
}

void st_needs_shared_gpu(const struct tool_device *device)
{
	int mode = tool_device_attr(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);

	if (mode != CU_COMPUTEMODE_DEFAULT)
		st_waive("compute mode %d does not let two processes use GPU %d", mode, device->ordinal);
}

void st_buf_pin(gdr_t g, struct st_buf *buf)
{
	st_ok(gdr_pin_buffer(g, buf->mem.ptr, buf->len, 0, 0, &buf->mh));
	st_check(buf->mh.h);
}

void st_buf_map(gdr_t g, struct st_buf *buf)
{
	void *map = NULL;

	st_ok(gdr_map(g, buf->mh, &map, buf->len));
	st_check(map);
	st_ok(gdr_get_info(g, buf->mh, &buf->info));
	st_check_eq(buf->info.mapped, 1);
	buf->map = (volatile uint32_t *)((char *)map + (buf->mem.ptr - buf->info.va));
}

void st_buf_make(const struct tool_device *device, gdr_t g, enum tool_mem_kind kind, size_t len, struct st_buf *buf)
{
	memset(buf, 0, sizeof(*buf));
	buf->len = len;
	st_alloc(device, kind, len, &buf->mem);
	st_buf_pin(g, buf);
	st_buf_map(g, buf);
}

void *st_buf_addr(const struct st_buf *buf)
{
	return (char *)(uintptr_t)buf->map - (buf->mem.ptr - buf->info.va);
}

void st_buf_drop(gdr_t g, struct st_buf *buf)
{
	st_ok(gdr_unmap(g, buf->mh, st_buf_addr(buf), buf->len));
	st_ok(gdr_unpin_buffer(g, buf->mh));
	st_help(tool_mem_free(&buf->mem));
}

size_t st_free_memory(const struct tool_device *device)
{
	size_t left = 0, total = 0;

	st_cuda(device->cu->cuMemGetInfo(&left, &total));
	return left;
}

void st_flush(void)
{
	/* a full fence empties write-combining buffers on x86 and orders them before the driver's doorbell elsewhere */
	atomic_thread_fence(memory_order_seq_cst);
}

void st_fill(void *host, size_t len, uint32_t seed)
{
	unsigned char *bytes = host;
	uint32_t state = seed * 2654435761u + 12345;

	for (size_t i = 0; i < len; i++) {
		state = state * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(state >> 24);
	}
}

void *st_host(size_t len)
{
	void *host = malloc(len);

	if (!host)
		st_fail("no host memory for %zu bytes", len);
	return host;
}

void st_gpu_holds_at(const char *file, int line, const struct tool_device *device, CUdeviceptr ptr, const void *want,
		     size_t len)
{
	void *got = st_host(len);

	st_cuda(device->cu->cuMemcpyDtoH(got, ptr, len));
	st_same_at(file, line, got, want, len);
	free(got);
}
