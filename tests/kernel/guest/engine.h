/* SPDX-License-Identifier: MIT */
/* engine.h - the DMA engine of QEMU's edu device, moved by bl_edu.ko */
#ifndef BL_TESTS_KERNEL_ENGINE_H
#define BL_TESTS_KERNEL_ENGINE_H

#include <stdint.h>

struct p2ptest_dma;

/* The engine's PCI address goes to @dma. Returns 0 or -errno. */
int engine_find(struct p2ptest_dma *dma);

/*
 * Let the engine read @len bytes at @addr into its own memory ("in"), or write them there ("out"). Returns 0 or -errno;
 * a transfer that the IOMMU stops is no error.
 */
int engine_run(const char *way, uint64_t addr, uint64_t len);

#endif
