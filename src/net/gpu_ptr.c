// SPDX-License-Identifier: MIT
/* Addresses: the CPU's and the GPU's of the same memory, copies between them, dma-bufs. */
#define log_fmt(fmt) "gpu memory: " fmt
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "net/gpu.h"
#include "net/log.h"

int bl_gpu_address(struct doca_gpu *gpu, const void *addr, const char *what, uint64_t *va_p)
{
	struct bl_gpu_scope scope;
	CUdeviceptr va = 0;
	CUresult err;
	int ret;

	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		return ret;
	err = gpu->cuda->cuPointerGetAttribute(&va, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (uintptr_t)addr);
	bl_gpu_leave(gpu, &scope);
	if ((err || !va) && !what)
		return -EINVAL;
	if (err || !va)
		return fail(EINVAL,
			    "gpu %s: %s at %p is memory that it cannot reach (%s): allocate it with doca_gpu_mem_alloc()",
			    gpu->bus_id, what, addr, bl_cuda_strerror(err));
	*va_p = va;
	return 0;
}

/* Asked for one attribute, CUDA has one error for memory that it does not know and for calls that fail; for a list it has not. */
int bl_gpu_is_device(struct doca_gpu *gpu, const void *addr, bool *device_p)
{
	int attr = CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ret;
	struct bl_gpu_scope scope;
	unsigned int type = 0;
	void *value = &type;
	CUresult err;

	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		return ret;
	err = gpu->cuda->cuPointerGetAttributes(1, &attr, &value, (uintptr_t)addr);
	bl_gpu_leave(gpu, &scope);
	if (err)
		return fail(EIO, "gpu %s: what memory is at %p: %s", gpu->bus_id, addr, bl_cuda_strerror(err));
	*device_p = type == CU_MEMORYTYPE_DEVICE;
	return 0;
}

int bl_gpu_cpu_view(struct doca_gpu *gpu, void *addr, void **view_p)
{
	bool device = false;
	int ret = bl_gpu_is_device(gpu, addr, &device);

	if (!ret)
		*view_p = device ? bl_gpu_block_cpu(gpu, (uintptr_t)addr) : addr;
	return ret;
}

enum move { WRITE, READ, FILL };

static int move(struct doca_gpu *gpu, enum move how, uint64_t va, void *host, unsigned char value, size_t len)
{
	static const char *const calls[] = { "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemsetD8" };
	struct bl_gpu_scope scope;
	CUresult err;
	int ret;

	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		return ret;
	if (how == WRITE)
		err = gpu->cuda->cuMemcpyHtoD(va, host, len);
	else if (how == READ)
		err = gpu->cuda->cuMemcpyDtoH(host, va, len);
	else
		err = gpu->cuda->cuMemsetD8(va, value, len);
	/* copies from pageable memory and fills may return before they have arrived */
	if (!err && how != READ)
		err = gpu->cuda->cuStreamSynchronize(NULL);
	bl_gpu_leave(gpu, &scope);
	if (err)
		return fail(EIO, "gpu %s: %s at 0x%" PRIx64 " of 0x%zx bytes: %s", gpu->bus_id, calls[how], va, len,
			    bl_cuda_strerror(err));
	return 0;
}

int bl_gpu_write(struct doca_gpu *gpu, uint64_t va, const void *src, size_t len)
{
	return move(gpu, WRITE, va, (void *)(uintptr_t)src, 0, len);
}

int bl_gpu_read(struct doca_gpu *gpu, void *dst, uint64_t va, size_t len)
{
	return move(gpu, READ, va, dst, 0, len);
}

int bl_gpu_fill(struct doca_gpu *gpu, uint64_t va, unsigned char value, size_t len)
{
	return move(gpu, FILL, va, NULL, value, len);
}

int bl_gpu_fill_any(struct doca_gpu *gpu, uint64_t va, void *cpu, unsigned char value, size_t len)
{
	if (!cpu)
		return bl_gpu_fill(gpu, va, value, len);
	memset(cpu, value, len);
	return 0;
}

static int refuse_dmabuf(const struct doca_gpu *gpu, uint64_t va, size_t size, const char *why)
{
	return fail(EOPNOTSUPP, "gpu %s: dma-buf of 0x%zx bytes at 0x%" PRIx64 ": %s", gpu->bus_id, size, va, why);
}

int bl_gpu_dmabuf(struct doca_gpu *gpu, uint64_t va, size_t size, int *fd_p)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct bl_gpu_scope scope;
	CUresult err;
	int fd = -1, ret;

	if (!size || (va | size) & (page - 1))
		return fail(EINVAL, "gpu %s: dma-buf of 0x%zx bytes at 0x%" PRIx64 ": not whole pages of 0x%" PRIx64,
			    gpu->bus_id, size, va, page);
	if (!gpu->dmabuf)
		return refuse_dmabuf(gpu, va, size, "the driver makes none: it takes NVIDIA's open kernel modules");
	ret = bl_gpu_enter(gpu, &scope);
	if (ret)
		return ret;
	err = gpu->cuda->cuMemGetHandleForAddressRange(&fd, va, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
	bl_gpu_leave(gpu, &scope);
	if (err)
		return refuse_dmabuf(gpu, va, size, bl_cuda_strerror(err));
	/* the driver's are close-on-exec; the promise does not hang on that */
	if (fcntl(fd, F_SETFD, FD_CLOEXEC)) {
		ret = fail(errno, "gpu %s: dma-buf %d: %s", gpu->bus_id, fd, strerror(errno));
		close(fd);
		return ret;
	}
	*fd_p = fd;
	return 0;
}

doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd)
{
	int ret;

	ret = bl_gpu_get(gpu_dev);
	if (ret)
		return bl_net_doca(ret);
	if (!memptr_gpu || !dmabuf_fd)
		ret = fail(EINVAL, "gpu %s: dma-buf: no address, or no place for the descriptor", gpu_dev->bus_id);
	else
		ret = bl_gpu_dmabuf(gpu_dev, (uintptr_t)memptr_gpu, size, dmabuf_fd);
	bl_gpu_put(gpu_dev);
	return bl_net_doca(ret);
}

doca_error_t doca_gpu_get_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd)
{
	return doca_gpu_dmabuf_fd(gpu_dev, memptr_gpu, size, dmabuf_fd);
}
