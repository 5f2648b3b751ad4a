/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nv_p2p.h - functions that the GPU driver exports to other kernel modules
 *
 * Declared here from their documented interface, so that no source of that driver is needed to build. Tables of pages
 * are of major version 1 (drivers 515 to 575) or 2 (from 580): version 2 only adds @flags. They belong to the driver,
 * which may free one right after the free callback of its owner returned.
 */
#ifndef BL_NV_P2P_H
#define BL_NV_P2P_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define NV_P2P_PAGE_64K	      1U /* of enum page_size; 0 is 4 KiB and 2 is 128 KiB */
#define NV_P2P_GPU_PAGE_SHIFT 16
#define NV_P2P_GPU_PAGE_SIZE  (1ULL << NV_P2P_GPU_PAGE_SHIFT)
#define NV_P2P_MAJOR(version) ((version) >> 16)

#define NV_P2P_TABLE_CPU_CACHEABLE 1U /* flags of a table: the CPU may cache the pages */
#define NV_P2P_GET_FORCE_BAR1	   1U /* flags of a persistent get: pages in the PCI aperture */

struct nv_p2p_page {
	u64 physical_address;
	u32 legacy[6];
};

struct nv_p2p_page_table {
	u32 version;
	u32 page_size;
	struct nv_p2p_page **pages;
	u32 entries;
	u8 *gpu_uuid;
	u32 flags; /* from version 2 on */
};

static_assert(sizeof(struct nv_p2p_page) == 32);
static_assert(offsetof(struct nv_p2p_page_table, pages) == 8);
static_assert(offsetof(struct nv_p2p_page_table, entries) == 16);
static_assert(offsetof(struct nv_p2p_page_table, gpu_uuid) == 24);
static_assert(offsetof(struct nv_p2p_page_table, flags) == 32);

/*
 * get: va and length in whole GPU pages; sleeps. @freed is called, with locks of the driver held, when the memory goes
 * before put does. put: waits for a call of @freed that is under way; is harmless after it. Neither may be called from
 * @freed.
 */
int nvidia_p2p_get_pages(u64 token, u32 va_space, u64 va, u64 len, struct nv_p2p_page_table **table_p,
			 void (*freed)(void *data), void *data);
int nvidia_p2p_put_pages(u64 token, u32 va_space, u64 va, struct nv_p2p_page_table *table);
int nvidia_p2p_free_page_table(struct nv_p2p_page_table *table);

/* The pages stay until put, whatever their owner does. */
int nvidia_p2p_get_pages_persistent(u64 va, u64 len, struct nv_p2p_page_table **table_p, u32 flags);
int nvidia_p2p_put_pages_persistent(u64 va, struct nv_p2p_page_table *table, u32 flags);

/* Before there was get_pages_persistent: not 0 when get_pages takes a null @freed for the same. */
extern int nvidia_p2p_cap_persistent_pages;

#endif
