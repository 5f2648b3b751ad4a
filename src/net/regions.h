/* SPDX-License-Identifier: MIT */
/*
 * regions.h - memory of GPUs that their threads may read in place of a NIC that is a CPU
 *
 * Each device that a program has open notes the regions of GPU memory that are registered with it, and shows each GPU that
 * has queue pairs of it those in its own memory: a table in that GPU's memory, by key. A thread that posts a short message
 * finds there that it may read it, and hands the bytes on with the request.
 *
 * One lock for all of a context; it is held while the table is written through its mapping, and while memory is made.
 */
#ifndef BL_NET_REGIONS_H
#define BL_NET_REGIONS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct bl_region;
struct bl_region_table;
struct doca_gpu;

/**
 * struct bl_regions - those of a context
 * @lock:   guards the lists
 * @first:  regions
 * @tables: one for each GPU that is shown queue pairs
 */
struct bl_regions {
	pthread_mutex_t lock;
	struct bl_region *first;
	struct bl_region_table *tables;
};

void bl_regions_begin(struct bl_regions *regions);
/* Whatever is left; in a child that was forked, too. */
void bl_regions_end(struct bl_regions *regions);

/**
 * bl_regions_add() - Memory has been registered
 * @regions: of a context whose NIC takes bytes that requests bring
 * @lkey:    its key
 * @addr:    its first byte, for whoever posts requests
 * @len:     bytes
 *
 * Memory that is no GPU's, or not all in one allocation of a CUDA context, and memory that there is no room to note,
 * is left to the NIC: that is no error. Any thread.
 */
void bl_regions_add(struct bl_regions *regions, uint32_t lkey, uint64_t addr, size_t len);

/* It is being deregistered. When this returns, threads of GPUs that ask find it no more. */
void bl_regions_remove(struct bl_regions *regions, uint32_t lkey);

/**
 * bl_regions_show() - Have the table of a GPU
 * @regions: of a context
 * @gpu:     used GPU
 * @va_p:    receives the table's address for the GPU, until bl_regions_hide()
 *
 * BARLANE_NET_BRING=0 switches it off. Return: 0, or -EOPNOTSUPP: there is none, and the NIC reads all memory by itself; that
 * is no error, and logged as a warning at most. Any thread.
 */
int bl_regions_show(struct bl_regions *regions, struct doca_gpu *gpu, uint64_t *va_p);
void bl_regions_hide(struct bl_regions *regions, struct doca_gpu *gpu);

#endif
