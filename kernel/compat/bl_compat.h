/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bl_compat.h - what differs between kernels
 *
 * The modules are written for the newest kernel; older ones get its names here, and nowhere else is a kernel version
 * asked for.
 */
#ifndef BL_COMPAT_H
#define BL_COMPAT_H

#include <linux/device/class.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>

/* 6.13 made the namespace a string */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define BL_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define BL_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

/* 6.2 made the device of a class' devnode() const */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define BL_DEVNODE_DEV const struct device
#else
#define BL_DEVNODE_DEV struct device
#endif

/* name of the importer's callback in struct dma_buf_attach_ops, and of the exporter's call of it; see probe.mk */
#ifdef BL_HAVE_INVALIDATE_MAPPINGS
#define bl_invalidate_mappings		     invalidate_mappings
#define bl_dma_buf_invalidate_mappings(dmabuf) dma_buf_invalidate_mappings(dmabuf)
#else
#define bl_invalidate_mappings		     move_notify
#define bl_dma_buf_invalidate_mappings(dmabuf) dma_buf_move_notify(dmabuf)
#endif

/* Whether a function is a module's; is_vmalloc_or_module_addr() is exported from 6.12 on only. */
static inline bool bl_is_module_addr(const void *addr)
{
#ifdef MODULES_VADDR
	if ((unsigned long)addr >= MODULES_VADDR && (unsigned long)addr < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr(addr);
}

/* index of a page; see probe.mk */
#ifdef BL_HAVE_FOLIO_INDEX
#define bl_page_index __folio_index
#else
#define bl_page_index index
#endif

/*
 * Around vfs_iocb_iter_write(): wait until the file system is not frozen, and keep it so until the end of the write.
 * Since 6.8 that function does the second half by itself, but for the end of a write that was queued.
 */
static inline void bl_write_begin(struct kiocb *iocb)
{
	kiocb_start_write(iocb);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	kiocb_end_write(iocb);
#endif
}

/* for a write that was not queued, or not made */
static inline void bl_write_end(struct kiocb *iocb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	kiocb_end_write(iocb);
#endif
}

/* in the completion of one that was */
static inline void bl_write_queued_end(struct kiocb *iocb)
{
	kiocb_end_write(iocb);
}

/* 6.4 dropped the owner */
static inline struct class *bl_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/*
 * Only in ->mmap(), where the VMA is not yet seen by others and needs no lock. 6.3 took the flags out of reach; its
 * vm_flags_set() would need a GPL-only function from 6.15 on.
 */
static inline void bl_vm_flags_add(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_init(vma, vma->vm_flags | flags);
#else
	vma->vm_flags |= flags;
#endif
}

#endif
