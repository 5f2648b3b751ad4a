// SPDX-License-Identifier: MIT
/* Memory made by cuMemCreate, and its handles. */
#include <stdlib.h>

#include "api.h"
#include "phys.h"
#include "rm.h"
#include "state.h"

/**
 * struct emu_phys - memory made by cuMemCreate
 * @next:    list of all
 * @mem:     storage
 * @hmemory: RM handle
 * @id:      CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @handles: what its user holds: one from cuMemCreate, one from each cuMemRetainAllocationHandle
 * @maps:    mappings
 * @size:    bytes
 * @types:   CU_MEM_HANDLE_TYPE_* it can be exported as
 * @rdma:    made for GPUDirect RDMA
 */
struct emu_phys {
	struct emu_phys *next;
	struct emu_mem *mem;
	uint32_t hmemory;
	uint32_t id;
	unsigned int handles;
	unsigned int maps;
	uint64_t size;
	int types;
	int rdma;
};

static struct emu_phys *phys_list;

uint64_t emu_phys_size(const struct emu_phys *phys)
{
	return phys->size;
}

uint32_t emu_phys_id(const struct emu_phys *phys)
{
	return phys->id;
}

struct emu_mem *emu_phys_mem(const struct emu_phys *phys)
{
	return phys->mem;
}

int emu_phys_handle_types(const struct emu_phys *phys)
{
	return phys->types;
}

int emu_phys_rdma(const struct emu_phys *phys)
{
	return phys->rdma;
}

struct emu_phys *emu_phys_find(CUmemGenericAllocationHandle handle)
{
	for (struct emu_phys *phys = phys_list; phys; phys = phys->next) {
		if ((uintptr_t)phys == handle && phys->handles)
			return phys;
	}
	return NULL;
}

static void phys_reap(struct emu_phys *phys)
{
	struct emu_phys **link = &phys_list;

	if (phys->handles || phys->maps)
		return;
	while (*link != phys)
		link = &(*link)->next;
	*link = phys->next;
	emu_rm_remove(phys->hmemory);
	emu_mem_put(phys->mem);
	free(phys);
}

void emu_phys_get(struct emu_phys *phys)
{
	phys->maps++;
}

void emu_phys_put(struct emu_phys *phys)
{
	phys->maps--;
	phys_reap(phys);
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	return emu_gpu(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int option)
{
	CUresult ret = emu_enter();

	if (!ret)
		ret = check_prop(prop);
	if (!ret)
		ret = emu_cuda_fault("cuda.vmm", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	if (!granularity || option < CU_MEM_ALLOC_GRANULARITY_MINIMUM || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = EMU_VMM_GRANULARITY;
	return CUDA_SUCCESS;
}

static struct emu_phys *phys_new(size_t size, const CUmemAllocationProp *prop)
{
	struct emu_phys *phys = calloc(1, sizeof(*phys));
	uint32_t hclient;

	if (!phys)
		return NULL;
	phys->size = size;
	phys->types = prop->requestedHandleTypes;
	phys->rdma = prop->allocFlags.gpuDirectRDMACapable == 1;
	phys->id = emu_next_id();
	phys->mem = emu_mem_alloc(emu_gpu(prop->location.id), size);
	if (!phys->mem)
		goto free_phys;
	if (emu_rm_add(phys->mem, &hclient, &phys->hmemory))
		goto put_mem;
	phys->handles = 1;
	phys->next = phys_list;
	phys_list = phys;
	return phys;
put_mem:
	emu_mem_put(phys->mem);
free_phys:
	free(phys);
	return NULL;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	CUresult ret = emu_enter();
	struct emu_phys *phys;

	if (!ret)
		ret = check_prop(prop);
	if (ret)
		return ret;
	if (!handle || !size || !emu_vmm_granular(size) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	ret = emu_cuda_fault("cuda.alloc", CUDA_ERROR_OUT_OF_MEMORY);
	if (ret)
		return ret;
	emu_lock();
	phys = phys_new(size, prop);
	emu_unlock();
	if (!phys)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = (uintptr_t)phys;
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult ret = emu_enter();
	struct emu_phys *phys;

	if (ret)
		return ret;
	emu_lock();
	phys = emu_phys_find(handle);
	if (phys) {
		phys->handles--;
		phys_reap(phys);
	}
	emu_unlock();
	return phys ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult ret = emu_enter();
	struct emu_alloc *alloc;

	if (ret)
		return ret;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	alloc = emu_alloc_find((uintptr_t)addr);
	if (alloc && alloc->kind == EMU_VMM) {
		alloc->phys->handles++;
		*handle = (uintptr_t)alloc->phys;
	} else {
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle, int type,
				      unsigned long long flags)
{
	CUresult ret = emu_enter();
	struct emu_phys *phys;
	int fd = -1;

	if (!ret)
		ret = emu_cuda_fault("cuda.export", CUDA_ERROR_NOT_SUPPORTED);
	if (ret)
		return ret;
	if (!shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	phys = emu_phys_find(handle);
	if (!phys || !(phys->types & type))
		ret = CUDA_ERROR_INVALID_VALUE;
	else
		fd = emu_rm_export_fd(phys->mem);
	emu_unlock();
	if (ret)
		return ret;
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)shareable = fd;
	return CUDA_SUCCESS;
}
