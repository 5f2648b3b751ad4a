/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * p2ptest.h - slots of the test client
 *
 * No lock: a program's threads use slots of their own, or want the race. A callback waits until the
 * get that it may overtake has read the page table, and counts.
 */
#ifndef BL_P2PTEST_H
#define BL_P2PTEST_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/pci.h>

#include "nv_p2p.h"
#include "p2ptest_uapi.h"

struct dma_buf;
struct dma_buf_attachment;
struct sg_table;

/**
 * struct slot - one pin or one import
 * @table:      page table; stays noted when it is gone, so that wrong calls can be made with it
 * @held:       it is to be put when the file is closed
 * @request:    how it was made
 * @pa:         first page
 * @read:       get is done with the page table
 * @called:     callbacks
 * @put_result: of the put in the callback
 * @mapping:    DMA mapping
 * @peer:       device of the mapping or the import, referenced
 * @dmabuf:     import
 * @attach:     its attachment
 * @sgt:        its mapping, NULL when there is none
 * @moved:      move_notify calls
 */
struct slot {
	struct nvidia_p2p_page_table *table;
	bool held;
	struct p2ptest_get request;
	u64 pa;
	struct completion read;
	atomic_t called;
	int put_result;
	struct nvidia_p2p_dma_mapping *mapping;
	struct pci_dev *peer;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	atomic_t moved;
};

struct pci_dev *p2ptest_peer(const struct p2ptest_dma *arg);
void p2ptest_peer_put(struct pci_dev *pdev);

int p2ptest_get(struct slot *slot, struct p2ptest_get *arg);
int p2ptest_put(struct slot *slot, const struct p2ptest_put *arg);
int p2ptest_state(struct slot *slot, struct p2ptest_state *arg);
int p2ptest_write(struct slot *slot, const struct p2ptest_write *arg);
int p2ptest_dma_map(struct slot *slot, struct p2ptest_dma *arg);
int p2ptest_dma_addr(struct slot *slot, struct p2ptest_addr *arg);
int p2ptest_dma_unmap(struct slot *slot);
void p2ptest_pin_drop(struct slot *slot);

int p2ptest_import(struct slot *slot, struct p2ptest_dma *arg);
int p2ptest_imported(struct slot *slot, struct p2ptest_imported *arg);
int p2ptest_import_drop(struct slot *slot);

#endif
