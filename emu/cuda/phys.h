/* SPDX-License-Identifier: MIT */
/* phys.h - memory made by cuMemCreate; all functions are called with emu_lock() held */
#ifndef EMU_CUDA_PHYS_H
#define EMU_CUDA_PHYS_H

#include "gpu/cuda_abi.h"
#include "vram.h"

#define EMU_VMM_GRANULARITY EMU_BLOCK_SIZE

static inline int emu_vmm_granular(uint64_t value)
{
	return !(value & (EMU_VMM_GRANULARITY - 1));
}

struct emu_phys;

/* Memory of a handle that its user still holds, or NULL. */
struct emu_phys *emu_phys_find(CUmemGenericAllocationHandle handle);

/* A mapping more, a mapping less. */
void emu_phys_get(struct emu_phys *phys);
void emu_phys_put(struct emu_phys *phys);

struct emu_mem *emu_phys_mem(const struct emu_phys *phys);
uint64_t emu_phys_size(const struct emu_phys *phys);

/* CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID; CU_MEM_HANDLE_TYPE_* it can be exported as; made for GPUDirect RDMA. */
uint32_t emu_phys_id(const struct emu_phys *phys);
int emu_phys_handle_types(const struct emu_phys *phys);
int emu_phys_rdma(const struct emu_phys *phys);

#endif
