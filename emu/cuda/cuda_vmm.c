// SPDX-License-Identifier: MIT
/* Reservations of device addresses, and what is mapped in them. */
#include <stdlib.h>

#include "api.h"
#include "arena.h"
#include "phys.h"
#include "state.h"

static struct emu_table reservations; /* struct emu_node */

struct emu_node *emu_reservation_find(uint64_t va)
{
	return emu_table_find(&reservations, va);
}

static CUresult reserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr hint)
{
	struct emu_node *node = malloc(sizeof(*node));

	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->size = size;
	if (emu_arena_take(size, align, hint, &node->va))
		goto free_node;
	if (emu_table_add(&reservations, node))
		goto give;
	*ptr = node->va;
	return CUDA_SUCCESS;
give:
	emu_arena_give(node->va, size);
free_node:
	free(node);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr addr, unsigned long long flags)
{
	CUresult ret = emu_enter();

	if (!ret)
		ret = emu_cuda_fault("cuda.vmm", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!ptr || !size || !emu_vmm_granular(size) || flags || align & (align - 1))
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	ret = reserve(ptr, size, align > EMU_VMM_GRANULARITY ? align : EMU_VMM_GRANULARITY, addr);
	emu_unlock();
	return ret;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult ret = emu_enter();
	struct emu_node *node;

	if (!ret)
		ret = emu_cuda_fault("cuda.unmap", CUDA_ERROR_INVALID_VALUE);
	if (ret)
		return ret;
	emu_lock();
	node = emu_reservation_find(ptr);
	if (!node || node->va != ptr || node->size != size || emu_table_overlap(&emu_allocs, ptr, size)) {
		ret = CUDA_ERROR_INVALID_VALUE;
	} else {
		emu_table_remove(&reservations, node);
		emu_arena_give(ptr, size);
		free(node);
	}
	emu_unlock();
	return ret;
}

static CUresult map(CUdeviceptr ptr, size_t size, struct emu_phys *phys)
{
	struct emu_alloc *alloc;

	if (emu_arena_bind(ptr, emu_phys_mem(phys), size, emu_phys_rdma(phys)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	alloc = emu_alloc_new(EMU_VMM, ptr, size);
	if (!alloc) {
		emu_arena_unbind(ptr, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	alloc->gpu = emu_phys_mem(phys)->gpu;
	alloc->phys = phys;
	alloc->block_id = emu_phys_id(phys);
	alloc->access = 0;
	emu_phys_get(phys);
	return CUDA_SUCCESS;
}

/* As the driver does, part of a handle cannot be mapped. */
CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t off, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	CUresult ret = emu_enter();
	const struct emu_node *node;
	struct emu_phys *phys;

	if (!ret)
		ret = emu_cuda_fault("cuda.vmm", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!size || !emu_vmm_granular(ptr) || !emu_vmm_granular(size) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	node = emu_reservation_find(ptr);
	phys = emu_phys_find(handle);
	if (!phys || !node || size > node->va + node->size - ptr || emu_table_overlap(&emu_allocs, ptr, size))
		ret = CUDA_ERROR_INVALID_VALUE;
	else if (off || size != emu_phys_size(phys))
		ret = CUDA_ERROR_NOT_SUPPORTED;
	else
		ret = map(ptr, size, phys);
	emu_unlock();
	return ret;
}

/* Whether whole mappings fill the range; lock held. */
static int mapped_whole(uint64_t ptr, uint64_t size)
{
	while (size) {
		const struct emu_alloc *alloc = emu_alloc_find(ptr);

		if (!alloc || alloc->kind != EMU_VMM || alloc->node.va != ptr || alloc->node.size > size)
			return 0;
		ptr += alloc->node.size;
		size -= alloc->node.size;
	}
	return 1;
}

/* Whether the range lies in a reservation and cuts no mapping; parts of it need not be mapped. Lock held. */
static int can_unmap(uint64_t ptr, uint64_t size)
{
	const struct emu_node *node = emu_reservation_find(ptr);
	const struct emu_alloc *alloc;
	uint64_t end = ptr + size;

	if (!size || !emu_vmm_granular(ptr) || !emu_vmm_granular(size) || !node || size > node->va + node->size - ptr)
		return 0;
	for (uint64_t at = ptr; at < end; at = alloc->node.va + alloc->node.size) {
		alloc = emu_table_overlap(&emu_allocs, at, end - at);
		if (!alloc)
			return 1;
		if (alloc->node.va < ptr || alloc->node.va + alloc->node.size > end)
			return 0;
	}
	return 1;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult ret = emu_enter();
	struct emu_alloc *alloc;

	if (!ret)
		ret = emu_cuda_fault("cuda.unmap", CUDA_ERROR_INVALID_VALUE);
	if (ret)
		return ret;
	emu_lock();
	if (!can_unmap(ptr, size)) {
		emu_unlock();
		return CUDA_ERROR_INVALID_VALUE;
	}
	while ((alloc = emu_table_overlap(&emu_allocs, ptr, size))) {
		emu_alloc_retire(alloc);
		emu_lock();
	}
	emu_unlock();
	return CUDA_SUCCESS;
}

static int access_ok(const CUmemAccessDesc *desc)
{
	return desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE && emu_gpu(desc->location.id) &&
	       (desc->flags == 0 || desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
		desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void set_access(const CUmemAccessDesc *desc, uint64_t ptr, uint64_t size)
{
	struct emu_alloc *alloc;

	for (uint64_t at = ptr; at < ptr + size; at = alloc->node.va + alloc->node.size) {
		alloc = emu_alloc_find(at);
		if (alloc->gpu->index == desc->location.id)
			alloc->access = desc->flags;
	}
}

/* Access of other GPUs is checked and not kept: there is no link between emulated GPUs. */
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t nr)
{
	CUresult ret = emu_enter();

	if (!ret)
		ret = emu_cuda_fault("cuda.vmm", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!desc || !nr || !size)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < nr; i++) {
		if (!access_ok(&desc[i]))
			return CUDA_ERROR_INVALID_VALUE;
	}
	emu_lock();
	if (mapped_whole(ptr, size)) {
		for (size_t i = 0; i < nr; i++)
			set_access(&desc[i], ptr, size);
	} else {
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}
