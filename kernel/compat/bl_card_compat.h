/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bl_card_compat.h - what the emulated card's driver and the test modules need of kernels older or
 * newer than 6.12
 */
#ifndef BL_CARD_COMPAT_H
#define BL_CARD_COMPAT_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>

/* Since 6.3 flags of a mapping are changed through a function that takes its lock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void bl_vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#else
static inline void bl_vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vm_flags_set(vma, flags);
}
#endif

/*
 * A reference to a file that may be on its way out; false when it is. Since 6.7 there is a function
 * for it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline bool bl_file_get_live(struct file *file)
{
	return atomic_long_inc_not_zero(&file->f_count);
}
#else
static inline bool bl_file_get_live(struct file *file)
{
	return get_file_active(&file);
}
#endif

/* Kernels without ZONE_DEVICE (Debian's 6.1 for arm64) make no pages for memory of devices. */
#ifndef CONFIG_ZONE_DEVICE
static inline void *memremap_pages(struct dev_pagemap *pgmap, int nid)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void memunmap_pages(struct dev_pagemap *pgmap)
{
}
#endif

/* Since 6.13 the name of a namespace is a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define BL_IMPORT_DMA_BUF() MODULE_IMPORT_NS(DMA_BUF)
#else
#define BL_IMPORT_DMA_BUF() MODULE_IMPORT_NS("DMA_BUF")
#endif

#endif
