// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "api.h"
#include "env.h"
#include "phys.h"
#include "rm.h"
#include "state.h"

#define MMAP_SINCE 13030

/* Object around the range; what is exported may reach beyond the allocation, as with the driver. Lock held. */
static CUresult find_object(uint64_t ptr, uint64_t size, struct emu_mem **mem_p, uint64_t *off_p)
{
	const struct emu_block *block = emu_block_find(ptr);
	const struct emu_alloc *alloc = emu_alloc_find(ptr);
	const struct emu_node *node;

	if (block && block->nr_allocs) {
		node = &block->node;
		*mem_p = block->mem;
	} else if (alloc && alloc->kind == EMU_VMM) {
		node = &alloc->node;
		*mem_p = emu_phys_mem(alloc->phys);
	} else {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*off_p = ptr - node->va;
	if (size <= node->size - *off_p)
		return CUDA_SUCCESS;
	/* the driver exports several mappings side by side as one dma-buf; this one does not */
	return !block && emu_range_ok(ptr, size) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct emu_mem *mem;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	uint64_t off;
	int fd = -1;

	if (!ret)
		ret = emu_cuda_fault("cuda.export", CUDA_ERROR_NOT_SUPPORTED);
	if (ret)
		return ret;
	/* as with the closed kernel modules */
	if (!emu_env()->dmabuf)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!handle || !size || (ptr | size) & (page - 1) || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
		return CUDA_ERROR_INVALID_VALUE;
	/* a second way to the memory exists on coherent platforms only */
	if (flags)
		return flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE ? CUDA_ERROR_NOT_SUPPORTED :
									      CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	ret = find_object(ptr, size, &mem, &off);
	if (!ret)
		fd = emu_rm_dmabuf_fd(mem, off, size, emu_env()->cuda_version >= MMAP_SINCE);
	emu_unlock();
	if (ret)
		return ret;
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)handle = fd;
	return CUDA_SUCCESS;
}
