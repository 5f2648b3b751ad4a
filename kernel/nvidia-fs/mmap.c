// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The VMA of a shadow. It says where user space has it; pages come in when somebody touches them, which nobody
 * needs to.
 *
 * The VMA gets a file of its own in place of the node's, so that the end of the last of VMA and requests ends the
 * shadow: the kernel calls release() without locks, in the task that dropped the file.
 */
#include "core.h"
#include "stats.h"

#include "bl_compat.h"

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>

static int shadow_release(struct inode *inode, struct file *f)
{
	struct bl_shadow *shadow = bl_shadow_of(f);
	struct bl_shelf *shelf = shadow->shelf;

	bl_shadow_wait(shadow);
	if (!bl_shelf_give(shelf, shadow))
		bl_shadow_free(shadow);
	bl_shelf_put(shelf);
	atomic64_inc(&bl_stats.munmap);
	return 0;
}

static const struct file_operations shadow_fops = {
	.owner = THIS_MODULE,
	.release = shadow_release,
};

/* Entries without struct pages: nobody can get a page through them and send it to a drive on his own. */
static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct bl_shadow *shadow = bl_shadow_of(vma->vm_file);

	if (vmf->pgoff >= shadow->nr_slots * BL_SLOT_PAGES)
		return VM_FAULT_SIGBUS;
	WRITE_ONCE(shadow->touched, true);
	return vmf_insert_pfn(vma, vmf->address & PAGE_MASK, page_to_pfn(shadow->pages[vmf->pgoff]));
}

/* A shadow goes as a whole, and stays where it is. */
static int vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -ENOMEM;
}

static int vma_mremap(struct vm_area_struct *vma)
{
	return -ENOMEM;
}

static void vma_close(struct vm_area_struct *vma)
{
	bl_place_remove(vma);
}

static const struct vm_operations_struct vm_ops = {
	.close = vma_close,
	.may_split = vma_may_split,
	.mremap = vma_mremap,
	.fault = vma_fault,
};

static int check_mmap(const struct vm_area_struct *vma)
{
	unsigned long len = vma->vm_end - vma->vm_start;
	unsigned long need = VM_SHARED | VM_READ | VM_WRITE | VM_MAYREAD | VM_MAYWRITE;

	if (vma->vm_pgoff)
		return refuse(EIO, "mmap: offset 0x%lx, not 0", vma->vm_pgoff << PAGE_SHIFT);
	if (len > NVIDIA_FS_MAX_SHADOW)
		return refuse(EINVAL, "mmap: 0x%lx bytes, more than a shadow has", len);
	if (len > BL_GPU_PAGE && len % BL_GPU_PAGE)
		return refuse(EINVAL, "mmap: 0x%lx bytes, neither less than a GPU page nor whole ones", len);
	if ((vma->vm_flags & need) != need || vma->vm_flags & VM_EXEC)
		return refuse(EINVAL, "mmap: not shared, or not for reading and writing");
	return 0;
}

static int get_shadow(struct bl_shelf *shelf, unsigned long len, struct bl_shadow **shadow_p)
{
	*shadow_p = bl_shelf_take(shelf, len);
	return *shadow_p ? 0 : bl_shadow_new(len, shadow_p);
}

static int map_shadow(struct bl_shelf *shelf, struct vm_area_struct *vma)
{
	struct bl_shadow *shadow;
	struct file *file;
	int ret;

	ret = check_mmap(vma);
	if (ret)
		return ret;
	ret = get_shadow(shelf, vma->vm_end - vma->vm_start, &shadow);
	if (ret)
		return refuse(-ret, "mmap: no memory for a shadow of 0x%lx bytes", vma->vm_end - vma->vm_start);
	file = anon_inode_getfile("[nvidia-fs]", &shadow_fops, shadow, O_RDWR);
	if (IS_ERR(file)) {
		bl_shadow_free(shadow);
		return PTR_ERR(file);
	}
	kref_get(&shelf->ref);
	shadow->shelf = shelf;
	vma_set_file(vma, file);
	fput(file);
	bl_vm_flags_add(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_ops = &vm_ops;
	bl_place_add(vma);
	return 0;
}

/**
 * bl_mmap() - Make a shadow and show it
 * @f:   file of a node
 * @vma: where
 *
 * Return: 0, or -EIO (offset), -EINVAL (length, flags), -ENOMEM.
 */
int bl_mmap(struct file *f, struct vm_area_struct *vma)
{
	int ret = map_shadow(f->private_data, vma);

	atomic64_inc(&bl_stats.mmap_n);
	if (ret)
		atomic64_inc(&bl_stats.mmap_err);
	else
		atomic64_inc(&bl_stats.mmap_ok);
	return ret;
}

/* Whatever node it was mapped through. */
static struct file *walk(struct mm_struct *mm, u64 addr)
{
	struct vm_area_struct *vma;
	struct file *file = NULL;

	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start == addr && vma->vm_ops == &vm_ops)
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	return file;
}

/**
 * bl_mmap_file() - Find a shadow of the calling process
 * @node: file of a node; it takes longer when the shadow was mapped through another one
 * @addr: where its VMA begins
 *
 * Context: may sleep.
 * Return: the shadow's file with a reference for the caller, or NULL.
 */
struct file *bl_mmap_file(struct file *node, u64 addr)
{
	struct file *file;

	if (!current->mm || !addr)
		return NULL;
	file = bl_place_find(node->private_data, addr);
	return file ? file : walk(current->mm, addr);
}
