/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * topo_pci.h - the devices of this machine, and what is known of each pair of a GPU and a peer
 */
#ifndef BL_NVFS_TOPO_PCI_H
#define BL_NVFS_TOPO_PCI_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/pci.h>

#include "topo.h"

struct bl_map;
struct seq_file;

/* GPUs that have a number; more than any host has */
#define BL_TOPO_GPUS 64

/**
 * struct bl_pair - a GPU, and a peer that has reached it. It stays until the module goes
 * @node:     in the list of all
 * @gpu:      address: domain << 16 | bus << 8 | devfn
 * @peer:     likewise
 * @index:    number of the GPU, UINT_MAX: none was left
 * @distance: when the peer was let in last
 * @ios:      requests of drivers, while peer_stats_enabled is set
 */
struct bl_pair {
	struct list_head node;
	u64 gpu;
	u64 peer;
	u32 index;
	u32 distance;
	atomic64_t ios;
};

static inline u64 bl_topo_key(u32 domain, u8 bus, u8 devfn)
{
	return (u64)domain << 16 | bus << 8 | devfn;
}

static inline u64 bl_topo_key_of(const struct pci_dev *pdev)
{
	return bl_topo_key(pci_domain_nr(pdev->bus), pdev->bus->number, pdev->devfn);
}

/* topo_pci.c */
extern char *bl_gpu_ids;
int bl_topo_init(void);
void bl_topo_exit(void);
int bl_topo_lock(const struct bl_topo **topo_p);
void bl_topo_unlock(void);
u32 bl_topo_priority(const struct pci_dev *peer, u64 gpu);

/* topo_pair.c */
extern int bl_allow_unknown_routes;
int bl_pair_admit(const struct bl_map *map, struct pci_dev *peer, struct bl_pair **pair_p);
void bl_pair_count(struct bl_pair *pair);
u64 bl_pair_gpu(u32 index);
u64 bl_pair_ios(u64 gpu, u64 peer);
void bl_pair_spread(u64 gpu, u64 ios[33]);
u32 bl_pair_cross_percent(u64 gpu);
void bl_pair_reset(void);
void bl_pair_exit(void);

/* topo_show.c */
int bl_topo_show_bridges(struct seq_file *s, void *unused);
int bl_topo_show_distance(struct seq_file *s, void *unused);
int bl_topo_show_affinity(struct seq_file *s, void *unused);

#endif
