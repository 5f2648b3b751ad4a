/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nv_p2p.h - the NVIDIA driver's kernel interface for peers, as the emulated card exports it
 *
 * Names, numbers and layouts are NVIDIA's, so that clients find what they know; every layout is
 * asserted in p2p.c.
 */
#ifndef BL_CARD_NV_P2P_H
#define BL_CARD_NV_P2P_H

#include <linux/types.h>

struct pci_dev;

#define NVIDIA_P2P_PAGE_TABLE_V1       0x00010002U /* branches up to 575 */
#define NVIDIA_P2P_PAGE_TABLE_V2       0x00020000U /* 580 and later */
#define NVIDIA_P2P_DMA_MAPPING_VERSION 0x00020003U

#define NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING 1U
#define NVIDIA_P2P_PAGE_TABLE_CPU_CACHEABLE 1U

enum nvidia_p2p_page_size_type {
	NVIDIA_P2P_PAGE_SIZE_4KB,
	NVIDIA_P2P_PAGE_SIZE_64KB,
	NVIDIA_P2P_PAGE_SIZE_128KB,
};

struct nvidia_p2p_page {
	u64 physical_address;
	u32 registers[6];
};

/* @flags exists from version 2.0 on: a table of version 1.x ends before it. */
struct nvidia_p2p_page_table {
	u32 version;
	u32 page_size;
	struct nvidia_p2p_page **pages;
	u32 entries;
	u8 *gpu_uuid;
	u32 flags;
};

struct nvidia_p2p_dma_mapping {
	u32 version;
	enum nvidia_p2p_page_size_type page_size_type;
	u32 entries;
	u64 *dma_addresses;
	void *private;
	struct pci_dev *pci_dev;
};

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 va, u64 length,
			 struct nvidia_p2p_page_table **table_p, void (*free_callback)(void *data),
			 void *data);
int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 va, struct nvidia_p2p_page_table *table);
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *table);
int nvidia_p2p_get_pages_persistent(u64 va, u64 length, struct nvidia_p2p_page_table **table_p,
				    u32 flags);
int nvidia_p2p_put_pages_persistent(u64 va, struct nvidia_p2p_page_table *table, u32 flags);
int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
			     struct nvidia_p2p_dma_mapping **mapping_p);
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
			       struct nvidia_p2p_dma_mapping *mapping);
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *mapping);
int nvidia_p2p_init_mapping(u64 p2p_token, char *gpu_uuid, u64 thread_id, u64 map, u64 unmap,
			    void *data);
int nvidia_p2p_destroy_mapping(u64 p2p_token);

#endif
