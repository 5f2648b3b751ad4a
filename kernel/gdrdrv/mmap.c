// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Mappings of pins into processes. Pages come in by faults, up to 2 MiB at a time; core.h says why not earlier.
 */
#include "core.h"

#include "bl_compat.h"

#include <linux/sched/signal.h>

#define FAULT_WINDOW (2UL << 20)

static void vma_open(struct vm_area_struct *vma)
{
	struct bl_pin *pin = vma->vm_private_data;

	bl_pin_ref(pin);
	mutex_lock(&pin->lock);
	pin->nr_vmas++;
	mutex_unlock(&pin->lock);
}

static void vma_close(struct vm_area_struct *vma)
{
	struct bl_pin *pin = vma->vm_private_data;

	mutex_lock(&pin->lock);
	if (!--pin->nr_vmas) {
		pin->type = GDRDRV_MAPPING_NONE;
		bl_memtype_free(pin);
	}
	mutex_unlock(&pin->lock);
	bl_pin_unref(pin);
}

/*
 * Insert the page that faulted, which decides about success, and then those around it: that spares faults, and what
 * stands in the way of one is told by its own fault.
 */
static vm_fault_t insert_around(struct bl_pin *pin, struct vm_area_struct *vma, unsigned long fault)
{
	unsigned long addr = max(vma->vm_start, ALIGN_DOWN(fault, FAULT_WINDOW));
	unsigned long end = min(vma->vm_end, ALIGN_DOWN(fault, FAULT_WINDOW) + FAULT_WINDOW);
	u64 base = (u64)(vma->vm_pgoff - pin->handle) * PAGE_SIZE;
	const struct bl_run *run = bl_runs_find(&pin->runs, base + (fault - vma->vm_start));
	vm_fault_t ret = VM_FAULT_SIGBUS;
	u64 off;

	if (run)
		ret = vmf_insert_pfn(vma, fault, PHYS_PFN(run->pa + (base + (fault - vma->vm_start) - run->off)));
	if (ret != VM_FAULT_NOPAGE)
		return ret;
	off = base + (addr - vma->vm_start);
	run = bl_runs_find(&pin->runs, off);
	for (; addr < end && run; addr += PAGE_SIZE, off += PAGE_SIZE) {
		if (off - run->off >= run->len)
			run = bl_runs_find(&pin->runs, off);
		if (!run || vmf_insert_pfn(vma, addr, PHYS_PFN(run->pa + (off - run->off))) != VM_FAULT_NOPAGE)
			break;
	}
	return VM_FAULT_NOPAGE;
}

static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct bl_pin *pin = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&pin->lock);
	if (!pin->gone)
		ret = insert_around(pin, vmf->vma, ALIGN_DOWN(vmf->address, PAGE_SIZE));
	mutex_unlock(&pin->lock);
	return ret;
}

static const struct vm_operations_struct vm_ops = {
	.open = vma_open,
	.close = vma_close,
	.fault = vma_fault,
};

/**
 * bl_mmap_zap() - Remove a pin's pages from all mappings
 * @pin: a pin that is gone; its lock is held
 */
void bl_mmap_zap(struct bl_pin *pin)
{
	if (!pin->nr_vmas)
		return;
	unmap_mapping_range(pin->mapping, (loff_t)pin->handle << PAGE_SHIFT, pin->len, 1);
	bl_memtype_free(pin);
}

static int check_map(const struct bl_pin *pin, const struct vm_area_struct *vma)
{
	u64 size = vma->vm_end - vma->vm_start;

	if (pin->nr_vmas)
		return refuse(EINVAL, "map va 0x%llx: it is mapped already", pin->va);
	if (pin->gone)
		return refuse(EINVAL, "map va 0x%llx: its memory was freed", pin->va);
	if (pin->offset)
		return refuse(EINVAL, "map va 0x%llx: the pin begins 0x%x bytes into its GPU page", pin->va,
			      pin->offset);
	if (size > pin->len)
		return refuse(EINVAL, "map va 0x%llx size 0x%llx: only 0x%llx bytes are pinned", pin->va, size,
			      pin->len);
	/* a private mapping copies pages that are written to; there is nothing to copy here */
	if (!(vma->vm_flags & VM_SHARED))
		return refuse(EINVAL, "map va 0x%llx: not MAP_SHARED", pin->va);
	return 0;
}

static u32 choose_type(const struct bl_pin *pin)
{
	if (pin->want != GDRDRV_MAPPING_NONE)
		return pin->want;
	if (bl_platform_may_cache() && pin->cacheable && !pin->force_pcie)
		return GDRDRV_MAPPING_CACHED;
	return bl_platform_must_device() ? GDRDRV_MAPPING_DEVICE : GDRDRV_MAPPING_WC;
}

static int map_pin(struct bl_pin *pin, struct vm_area_struct *vma)
{
	u32 type = choose_type(pin);
	int ret = check_map(pin, vma);

	if (ret)
		return ret;
	if (type == GDRDRV_MAPPING_WC) {
		ret = bl_memtype_reserve(pin, vma->vm_end - vma->vm_start);
		if (ret) {
			refuse(-ret, "map va 0x%llx: its addresses cannot be write-combining", pin->va);
			return ret == -ENOMEM ? ret : -EAGAIN;
		}
	}
	vma->vm_page_prot = bl_platform_prot(vma->vm_page_prot, type);
	bl_vm_flags_add(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_private_data = pin;
	vma->vm_ops = &vm_ops;
	bl_pin_ref(pin);
	pin->type = type;
	pin->nr_vmas = 1;
	return 0;
}

/**
 * bl_mmap() - Map a pin
 * @f:    file of the device node
 * @vma:  where; its offset is the handle
 *
 * Return: 0, or -EACCES (not the process that opened the file), -EINVAL (handle, size, alignment, mapped already, freed),
 * -EAGAIN (addresses in use with another memory type), -ENOMEM.
 */
int bl_mmap(struct file *f, struct vm_area_struct *vma)
{
	struct bl_file *file = f->private_data;
	struct bl_pin *pin;
	int ret;

	if (!bl_file_is_mine(file))
		return refuse(EACCES, "map: the device was opened by process %d", file->owner_tgid);
	pin = bl_handle_get(file, vma->vm_pgoff);
	if (!pin)
		return refuse(EINVAL, "map: no handle 0x%lx", vma->vm_pgoff);
	mutex_lock(&pin->lock);
	ret = map_pin(pin, vma);
	mutex_unlock(&pin->lock);
	bl_pin_unref(pin);
	return ret;
}
