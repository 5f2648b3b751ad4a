// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Video memory as CPUs see it. Pages are entered by faults and not by mmap: a mapping that is being
 * made is not yet where a zap would find it, but a fault and a zap exclude each other.
 */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/fs.h>
#include <linux/mm.h>

#include "bl_card_compat.h"
#include "card.h"

/*
 * Enter the GPU page around the fault. @pa and @size: what the mapping's object is; @off: of the
 * fault in it.
 */
vm_fault_t bl_view_insert(struct vm_fault *vmf, phys_addr_t pa, u64 off, u64 size)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 first = round_down(off, BL_CARD_PAGE_SIZE);
	u64 last = min(first + BL_CARD_PAGE_SIZE, size);
	unsigned long at = vmf->address & PAGE_MASK;
	vm_fault_t ret = VM_FAULT_NOPAGE;

	if (off >= size)
		return VM_FAULT_SIGBUS;
	first = max(first, off - min_t(u64, off, at - vma->vm_start));
	last = min(last, off + (vma->vm_end - at));
	for (u64 pos = first; pos < last && ret == VM_FAULT_NOPAGE; pos += PAGE_SIZE) {
		if (vma->vm_flags & VM_MIXEDMAP)
			ret = bl_slice_insert(vma, at + (pos - off), pa + pos);
		else
			ret = vmf_insert_pfn(vma, at + (pos - off), PHYS_PFN(pa + pos));
	}
	return ret;
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct bl_mem *mem = vmf->vma->vm_private_data;
	u64 start = (u64)mem->block * BL_CARD_BLOCK_SIZE;
	u64 off = ((u64)vmf->pgoff << PAGE_SHIFT) - start;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&bl_cpu_view);
	if (mem->visible)
		ret = bl_view_insert(vmf, bl_block_pa(mem->card, mem->block), off,
				     bl_mem_size(mem));
	up_read(&bl_cpu_view);
	return ret;
}

static void view_open(struct vm_area_struct *vma)
{
	bl_mem_get(vma->vm_private_data);
}

static void view_close(struct vm_area_struct *vma)
{
	bl_mem_put(vma->vm_private_data);
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.fault = view_fault,
};

/*
 * Children do not inherit it, and it is nothing to dump. Pages are mapped as the kernel maps them
 * itself: uncached.
 */
void bl_view_prepare(struct vm_area_struct *vma, const struct vm_operations_struct *ops,
		     bool has_pages)
{
	bl_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	bl_vm_flags_set(vma, has_pages ? VM_MIXEDMAP : VM_IO | VM_PFNMAP);
	vma->vm_page_prot = has_pages ? pgprot_noncached(vma->vm_page_prot) :
					pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = ops;
}

/*
 * mmap_lock is held here, so bl_rm may not be taken. Objects of a space are found in its xarray,
 * under that one's own lock, and an object leaves the array before its last reference goes.
 */
static struct bl_mem *find_mem(struct bl_space *space, u64 start, u64 len)
{
	struct bl_mem *mem, *found = NULL;
	unsigned long handle;

	xa_lock(&space->mems);
	xa_for_each(&space->mems, handle, mem) {
		u64 off = start - (u64)mem->block * BL_CARD_BLOCK_SIZE;

		if (off < bl_mem_size(mem) && len <= bl_mem_size(mem) - off) {
			bl_mem_get(mem);
			found = mem;
			break;
		}
	}
	xa_unlock(&space->mems);
	return found;
}

int bl_view_mmap(struct bl_space *space, struct vm_area_struct *vma)
{
	struct bl_mem *mem;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	mem = find_mem(space, (u64)vma->vm_pgoff << PAGE_SHIFT, vma->vm_end - vma->vm_start);
	if (!mem)
		return -EINVAL;
	vma->vm_private_data = mem;
	bl_view_prepare(vma, &view_ops, mem->has_pages);
	return 0;
}

/*
 * The owner's file is open, or is being released and has no mapping left. Another object's mappings
 * are not touched.
 */
void bl_view_hide(struct bl_mem *mem)
{
	down_write(&bl_cpu_view);
	mem->visible = false;
	up_write(&bl_cpu_view);
	unmap_mapping_range(mem->space->file->f_mapping, (u64)mem->block * BL_CARD_BLOCK_SIZE,
			    bl_mem_size(mem), 1);
}
