// SPDX-License-Identifier: MIT
/*
 * A part of a pin as a dma-buf: a descriptor that other drivers take, a network adapter's for instance. CUDA makes it,
 * whatever provider pinned the memory.
 */
#define log_fmt(fmt) "gpu/export: " fmt
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "cuda_ptr.h"
#include "sys.h"
#include "util/log.h"

/**
 * struct range - what is exported
 * @asked: device address of the first byte that the caller wants
 * @len:   bytes from there
 * @va:    start of the dma-buf: @asked, rounded down to a page
 * @size:  bytes of the dma-buf, whole pages
 */
struct range {
	uint64_t asked;
	uint64_t len;
	uint64_t va;
	uint64_t size;
};

static int check_request(const struct bl_pin *pin, uint64_t off, size_t len, uint32_t flags)
{
	const struct bl_backing *backing = &pin->backing;

	if (pin->dead)
		return fail(EINVAL, "export: unpinned already");
	if (flags & ~BL_EXPORT_FORCE_PCIE)
		return fail(EINVAL, "export va 0x%" PRIx64 ": unknown flags 0x%x", backing->va, flags);
	if (!len || off > backing->len || len > backing->len - off)
		return fail(EINVAL, "export off 0x%" PRIx64 " len 0x%zx: the pin has 0x%" PRIx64 " bytes", off, len,
			    backing->len);
	return 0;
}

/* Not every module keeps what CUDA frees. */
static int check_kept(struct bl_pin *pin)
{
	int released = 0, ret = 0;

	if (pin->ops->released)
		ret = pin->ops->released(pin->ctx->priv, &pin->backing, &released);
	if (!ret && released)
		ret = fail(EINVAL, "export va 0x%" PRIx64 ": the memory was freed under the pin", pin->asked);
	return ret;
}

/* CUDA's id of the allocation that was pinned, 0 where nobody has asked for it yet (provider gdrdrv). */
static uint64_t pinned_id(const struct bl_pin *pin)
{
	if (pin->backing.buffer_id)
		return pin->backing.buffer_id;
	return atomic_load_explicit(&pin->ce_known, memory_order_acquire) ? pin->ce.buffer_id : 0;
}

/* What CUDA has at the pinned address must be what was pinned, and hold all of the range. */
static int find_memory(const struct bl_cuda *cuda, const struct bl_pin *pin, const struct range *range,
		       struct bl_cuda_ptr *ptr)
{
	uint64_t id = pinned_id(pin);
	int ret;

	ret = bl_cuda_ptr_query(cuda, pin->asked, ptr);
	if (ret)
		return ret;
	if (id && ptr->buffer_id != id)
		return fail(EINVAL, "export va 0x%" PRIx64 ": the pinned memory was freed, other memory has its address",
			    pin->asked);
	if (range->asked < ptr->base || range->asked - ptr->base > ptr->size ||
	    range->len > ptr->size - (range->asked - ptr->base))
		return fail(EOPNOTSUPP,
			    "export va 0x%" PRIx64 " len 0x%" PRIx64 " leaves the allocation at 0x%" PRIx64
			    " size 0x%" PRIx64 ": only the CPU reaches the rest of the pin",
			    range->asked, range->len, ptr->base, ptr->size);
	return 0;
}

static int check_device(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr)
{
	CUresult err;
	int can = 0;

	if (!cuda->cuMemGetHandleForAddressRange)
		return fail(EOPNOTSUPP, "export: libcuda.so.1 has no cuMemGetHandleForAddressRange: drivers that know "
					"CUDA 11.7 have it");
	err = cuda->cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, ptr->device);
	if (err || !can)
		return fail(EOPNOTSUPP,
			    "export: device %d does not make dma-bufs (attribute %d is 0): it takes NVIDIA's open kernel "
			    "modules, Linux 5.12 or later, and a GPU that those modules drive (Turing or later)",
			    ptr->ordinal, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
	return 0;
}

static int refused(const struct range *range, uint32_t flags, CUresult err)
{
	int code = bl_cuda_errno(err);

	if (flags && (err == CUDA_ERROR_INVALID_VALUE || err == CUDA_ERROR_NOT_SUPPORTED))
		return fail(EOPNOTSUPP,
			    "export va 0x%" PRIx64 " len 0x%" PRIx64 ": %s with a mapping over PCIe, which newer drivers make "
			    "where there is a coherent link; try without BL_EXPORT_FORCE_PCIE",
			    range->va, range->size, bl_cuda_strerror(err));
	if (err == CUDA_ERROR_NOT_SUPPORTED)
		return fail(code,
			    "export va 0x%" PRIx64 " len 0x%" PRIx64 ": %s: the driver makes no dma-buf of this memory; "
			    "memory of cuMemAlloc, or of cuMemCreate with gpuDirectRDMACapable, can be exported",
			    range->va, range->size, bl_cuda_strerror(err));
	return fail(code, "export va 0x%" PRIx64 " len 0x%" PRIx64 " as dma-buf: %s", range->va, range->size,
		    bl_cuda_strerror(err));
}

/* The driver's descriptors are close-on-exec; the promise does not hang on that. */
static int close_on_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || (!(flags & FD_CLOEXEC) && fcntl(fd, F_SETFD, flags | FD_CLOEXEC)))
		return fail(errno, "export: descriptor %d: %s", fd, strerror(errno));
	return 0;
}

/*
 * An id is never given out twice: the same one before and after means that the address was not freed, and given to
 * other memory, while CUDA looked.
 */
static int check_same(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr)
{
	uint64_t id = 0;

	if (!cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr->va) && id == ptr->buffer_id)
		return 0;
	return fail(EINVAL, "export va 0x%" PRIx64 ": the memory was freed meanwhile", ptr->va);
}

static int export_range(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, const struct range *range,
			uint32_t flags, int *fd_p)
{
	unsigned long long how = flags & BL_EXPORT_FORCE_PCIE ? CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE : 0;
	struct bl_cuda_scope scope;
	CUresult err;
	int fd = -1, ret;

	ret = bl_cuda_enter(cuda, ptr, &scope);
	if (ret)
		return ret;
	err = cuda->cuMemGetHandleForAddressRange(&fd, range->va, range->size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, how);
	bl_cuda_leave(cuda, &scope);
	if (err)
		return refused(range, flags, err);
	ret = close_on_exec(fd);
	if (!ret)
		ret = check_same(cuda, ptr);
	if (ret) {
		bl_sys()->close(fd);
		return ret;
	}
	*fd_p = fd;
	return 0;
}

static int export_locked(struct bl_pin *pin, uint64_t off, size_t len, uint32_t flags, struct bl_dmabuf *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_ptr ptr;
	struct range range;
	int fd = -1, ret;

	ret = check_request(pin, off, len, flags);
	if (ret)
		return ret;
	if (!cuda)
		return fail(EOPNOTSUPP, "export: %s", bl_cuda_error());
	range.asked = pin->backing.va + off;
	range.len = len;
	range.va = range.asked & ~(page - 1);
	range.size = ((range.asked + len + page - 1) & ~(page - 1)) - range.va;
	ret = check_kept(pin);
	if (!ret)
		ret = find_memory(cuda, pin, &range, &ptr);
	if (!ret)
		ret = check_device(cuda, &ptr);
	if (!ret)
		ret = export_range(cuda, &ptr, &range, flags, &fd);
	if (ret)
		return ret;
	*out = (struct bl_dmabuf){ .fd = fd, .off = range.asked - range.va, .size = range.size };
	return 0;
}

int bl_pin_export(bl_ctx_t ctx, bl_pin_t id, uint64_t off, size_t len, uint32_t flags, struct bl_dmabuf *out)
{
	struct bl_pin *pin = NULL;
	int ret;

	if (!out)
		return fail(EINVAL, "export: no place for the answer");
	ret = bl_pin_get(ctx, id, &pin);
	if (ret)
		return ret;
	/* held all along: memory of bl_alloc() would go with its pin */
	pthread_mutex_lock(&pin->lock);
	ret = export_locked(pin, off, len, flags, out);
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin);
	return ret;
}
