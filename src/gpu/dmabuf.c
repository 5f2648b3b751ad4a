// SPDX-License-Identifier: MIT
/*
 * Provider "dmabuf": CUDA exports the range as a dma-buf and the driver lets it be mapped (CUDA 13.3, driver 610 and
 * later). No kernel module, nothing undocumented.
 */
#define log_fmt(fmt) "gpu/dmabuf: " fmt
#include "provider.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/cuda_ptr.h"
#include "gpu/driver_version.h"
#include "gpu/mmap.h"
#include "gpu/sys.h"
#include "util/fork.h"
#include "util/log.h"

/* First branch whose dma-bufs of discrete GPUs can be mapped, by its release notes. */
#define FIRST_BRANCH 610

struct dmabuf_pin {
	int fd;
	enum bl_map_type type;
};

static int dmabuf_probe(struct bl_provider_info *info)
{
	struct bl_driver_version version;

	/* what the drop-in library reports is its own interface: there is no module */
	info->major = 2;
	info->minor = 6;
	info->persistent = 1;
	if (bl_driver_version_read(&version)) {
		snprintf(info->reason, sizeof(info->reason), "no NVIDIA driver is loaded");
		return -ENODEV;
	}
	if (version.major < FIRST_BRANCH) {
		snprintf(info->reason, sizeof(info->reason),
			 "driver %s does not let dma-bufs be mapped, %d and later do (CUDA 13.3)", version.text,
			 FIRST_BRANCH);
		return -EOPNOTSUPP;
	}
	info->force_pcie = 1;
	snprintf(info->reason, sizeof(info->reason), "driver %s", version.text);
	return 0;
}

static int dmabuf_open(void **priv_p)
{
	*priv_p = NULL;
	return 0;
}

static void dmabuf_close(void *priv)
{
}

static int device_can(const struct bl_cuda *cuda, CUdevice device)
{
	int dmabuf = 0, mmap = 0;

	return !cuda->cuDeviceGetAttribute(&dmabuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) && dmabuf &&
	       !cuda->cuDeviceGetAttribute(&mmap, CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED, device) && mmap;
}

static int dmabuf_settle(void *priv)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUdevice device;
	CUresult err;
	int nr = 0;

	if (!cuda)
		return fail_quiet(EOPNOTSUPP, "%s", bl_cuda_error());
	if (!cuda->cuMemGetHandleForAddressRange)
		return fail_quiet(EOPNOTSUPP, "libcuda.so.1 has no cuMemGetHandleForAddressRange");
	err = cuda->cuDeviceGetCount(&nr);
	if (err)
		return fail(ENODEV, "cuDeviceGetCount: %s", bl_cuda_strerror(err));
	for (int i = 0; i < nr; i++) {
		if (!cuda->cuDeviceGet(&device, i) && device_can(cuda, device))
			return 0;
	}
	return fail_quiet(EOPNOTSUPP, "no device reports attribute %d (dma-buf mmap)",
			  CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED);
}

/* On a coherent platform the mapping is cached unless it is forced over PCIe. */
static enum bl_map_type expected_type(const struct bl_cuda *cuda, CUdevice device, uint32_t flags)
{
	int coherent = 0;

	cuda->cuDeviceGetAttribute(&coherent, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device);
	return coherent && !(flags & BL_PIN_FORCE_PCIE) ? BL_MAP_CACHED : BL_MAP_WC;
}

static int export_range(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, const struct bl_backing *backing,
			uint32_t flags, int *fd_p)
{
	int pcie = flags & BL_PIN_FORCE_PCIE ? CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE : 0;
	struct bl_cuda_scope scope;
	CUresult err;
	int fd = -1, ret;

	ret = bl_cuda_enter(cuda, ptr, &scope);
	if (ret)
		return ret;
	err = cuda->cuMemGetHandleForAddressRange(&fd, backing->va, backing->len, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						  (unsigned long long)pcie);
	ret = err ? 0 : bl_fork_fd_add(fd);
	bl_cuda_leave(cuda, &scope);
	if (err)
		return fail(bl_cuda_errno(err), "export va 0x%" PRIx64 " len 0x%" PRIx64 " as dma-buf: %s", backing->va,
			    backing->len, bl_cuda_strerror(err));
	if (ret) {
		bl_sys()->close(fd);
		return fail(-ret, "export va 0x%" PRIx64 ": descriptor %d: %s", backing->va, fd, strerror(-ret));
	}
	*fd_p = fd;
	return 0;
}

/*
 * Nothing tells whether two dma-bufs show the same memory. But an allocation never moves: two of the same allocation,
 * which was there before and after each export, do, as far as its own pages go. For VMM memory
 * CUDA's documentation does not say that the id changes when other memory is mapped at the address: no proof.
 */
static uint64_t object_of(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, const struct bl_backing *backing)
{
	uint64_t page = backing->page_size, end = (ptr->base + ptr->size + page - 1) & ~(page - 1);
	struct bl_cuda_ptr now;
	int ret;

	if (!ptr->legacy_ipc || !ptr->buffer_id || backing->va < (ptr->base & ~(page - 1)) ||
	    backing->va + backing->len > end)
		return 0;
	bl_fail_hush(1);
	ret = bl_cuda_ptr_query(cuda, ptr->va, &now);
	bl_fail_hush(-1);
	return !ret && now.buffer_id == ptr->buffer_id ? ptr->base : 0;
}

static int dmabuf_pin(void *priv, const struct bl_request *req, struct bl_backing *backing)
{
	const struct bl_cuda *cuda = bl_cuda();
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct bl_cuda_ptr ptr;
	struct dmabuf_pin *pin;
	int ret;

	if (!cuda)
		return fail(ENODEV, "pin: %s", bl_cuda_error());
	ret = bl_cuda_ptr_query(cuda, req->va, &ptr);
	if (ret)
		return ret;
	if (!device_can(cuda, ptr.device))
		return fail(EOPNOTSUPP, "pin va 0x%" PRIx64 ": device %d does not let dma-bufs be mapped", req->va,
			    ptr.ordinal);
	pin = malloc(sizeof(*pin));
	if (!pin)
		return fail(ENOMEM, "pin: out of memory");
	backing->va = req->va & ~(page - 1);
	backing->len = ((req->va + req->len + page - 1) & ~(page - 1)) - backing->va;
	backing->page_size = (uint32_t)page;
	backing->buffer_id = ptr.buffer_id;
	backing->priv = pin;
	pin->type = expected_type(cuda, ptr.device, req->flags);
	ret = export_range(cuda, &ptr, backing, req->flags, &pin->fd);
	if (ret)
		free(pin);
	else
		backing->object_va = object_of(cuda, &ptr, backing);
	return ret;
}

static int dmabuf_unpin(void *priv, struct bl_backing *backing)
{
	struct dmabuf_pin *pin = backing->priv;

	bl_device_close(pin->fd);
	free(pin);
	return 0;
}

static int dmabuf_map(void *priv, struct bl_backing *backing, struct bl_mapping *mapping)
{
	const struct dmabuf_pin *pin = backing->priv;
	int ret;

	if (mapping->type != BL_MAP_NONE && mapping->type != pin->type)
		return fail(EINVAL, "map va 0x%" PRIx64 ": wanted type %d, this memory maps with type %d", backing->va,
			    mapping->type, pin->type);
	ret = bl_device_mmap(pin->fd, mapping->len, 0, &mapping->addr);
	if (ret)
		return fail(-ret == 524 ? EOPNOTSUPP : -ret, "map va 0x%" PRIx64 " len 0x%zx: mmap of the dma-buf: %s",
			    backing->va, mapping->len, strerror(-ret));
	mapping->type = pin->type;
	return 0;
}

static bool dmabuf_same(void *priv, const struct bl_backing *a, const struct bl_backing *b)
{
	const struct dmabuf_pin *one = a->priv, *two = b->priv;

	/* over PCIe or over a coherent link are two ways to the same bytes, and a pin asks for one of them */
	return a->buffer_id == b->buffer_id && one->type == two->type;
}

const struct bl_provider_ops bl_provider_dmabuf = {
	.name = "dmabuf",
	.probe = dmabuf_probe,
	.open = dmabuf_open,
	.close = dmabuf_close,
	.settle = dmabuf_settle,
	.pin = dmabuf_pin,
	.unpin = dmabuf_unpin,
	.map = dmabuf_map,
	.unmap = bl_device_unmap,
	.same = dmabuf_same,
};
