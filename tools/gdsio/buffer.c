// SPDX-License-Identifier: MIT
/* Memory of workers, of the kinds that -m names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "gdsio/gdsio.h"

static int open_host(struct gdsio_buffer *buffer)
{
	void *addr = NULL;

	if (buffer->kind == MEM_HOSTALLOC)
		return tool_cuda(buffer->cu->cuMemHostAlloc(&buffer->host, buffer->size, CU_MEMHOSTALLOC_PORTABLE),
				 "cuMemHostAlloc");
	if (buffer->kind == MEM_MMAP) {
		addr = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (addr == MAP_FAILED)
			return tool_fail(errno, "mmap of %zu bytes: %s", buffer->size, strerror(errno));
	} else if (posix_memalign(&addr, 4096, buffer->size)) {
		return tool_fail(ENOMEM, "no %zu bytes of memory", buffer->size);
	}
	memset(addr, 0, buffer->size);
	buffer->host = addr;
	return 0;
}

int gdsio_buffer_open(const struct tool_device *device, enum gdsio_mem kind, size_t size, struct gdsio_buffer *buffer)
{
	int ret;

	*buffer = (struct gdsio_buffer){ .kind = kind, .size = size, .cu = device ? device->cu : NULL };
	if (kind == MEM_CUDA || kind == MEM_CUMEM) {
		ret = tool_mem_alloc(device, kind == MEM_CUDA ? TOOL_MEM_ALLOC : TOOL_MEM_VMM, size, &buffer->mem);
		if (ret)
			return ret;
		buffer->addr = buffer->mem.ptr;
		return 0;
	}
	ret = open_host(buffer);
	buffer->addr = ret ? 0 : (uint64_t)(uintptr_t)buffer->host;
	return ret;
}

void gdsio_buffer_close(struct gdsio_buffer *buffer)
{
	if (!buffer->addr)
		return;
	if (!buffer->host)
		tool_mem_free(&buffer->mem);
	else if (buffer->kind == MEM_HOSTALLOC)
		buffer->cu->cuMemFreeHost(buffer->host);
	else if (buffer->kind == MEM_MMAP)
		munmap(buffer->host, buffer->size);
	else
		free(buffer->host);
	buffer->addr = 0;
}

int gdsio_buffer_put(const struct gdsio_buffer *buffer, size_t off, const void *from, size_t len)
{
	int ret;

	if (buffer->host) {
		memcpy((char *)buffer->host + off, from, len);
		return 0;
	}
	ret = tool_cuda(buffer->cu->cuMemcpyHtoD(buffer->addr + off, from, len), "cuMemcpyHtoD");
	/* a small copy from pageable memory may still be on its way; cuFile's calls are in no stream */
	return ret ? ret : tool_cuda(buffer->cu->cuCtxSynchronize(), "cuCtxSynchronize");
}

int gdsio_buffer_get(const struct gdsio_buffer *buffer, size_t off, void *to, size_t len)
{
	if (!buffer->host)
		return tool_cuda(buffer->cu->cuMemcpyDtoH(to, buffer->addr + off, len), "cuMemcpyDtoH");
	memcpy(to, (char *)buffer->host + off, len);
	return 0;
}
