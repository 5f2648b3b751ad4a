/* SPDX-License-Identifier: MIT */
/* bed.h - a GPU and a NIC to test with */
#ifndef TESTS_EMU_NET_GPU_BED_H
#define TESTS_EMU_NET_GPU_BED_H

#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "net/export.h"
#include "net/gpu.h"
#include "nic.h"
#include "tests/emu/world.h"
#include "tests/tap.h"

/**
 * struct bed - what there is between bed_make() and bed_drop()
 * @gpu:     the emulated GPU, without a current context
 * @context: the NIC
 * @pd:	     its domain
 */
struct bed {
	struct doca_gpu *gpu;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct snapshot before;
};

extern struct bed bed;

/* First line of a test. @nic: "cpu0" or "dma0". */
void bed_make(const char *nic);

/* Last line: everything is as it was, nothing is left of GPU memory, doorbells and the NIC's objects. */
void bed_drop(void);

/* PCI address of an emulated GPU, valid until the next call. */
const char *bed_bus_id(int ordinal);

/* Attributes of a queue pair on the bed. */
struct doca_gpu_verbs_qp_init_attr_hl bed_attr(enum doca_gpu_dev_verbs_nic_handler handler);

/* A queue pair of 16 blocks; ends the test when it cannot be. */
struct doca_gpu_verbs_qp_hl *bed_qp(enum doca_gpu_dev_verbs_nic_handler handler);

/* What the GPU has at an address. */
void bed_read(void *dst, const void *gpu, size_t len);

/* Whether an address is one of GPU memory. */
bool bed_is_device(const void *addr);
void bed_write(const void *gpu, const void *src, size_t len);

/* The GPU's object of a queue pair, and its address if @gpu_p is not NULL. */
struct doca_gpu_dev_verbs_qp bed_dev(struct doca_gpu_verbs_qp_hl *qp, struct doca_gpu_dev_verbs_qp **gpu_p);

/* Post as a kernel does: @count blocks since the beginning. */
void bed_post(struct doca_gpu_verbs_qp *qp, uint64_t count);

/* Wait until the record, as the NIC sees it, is a count: a thread needs a moment. False: it does not. */
bool bed_record_becomes(struct doca_gpu_verbs_qp *qp, uint64_t count);

/* How a queue pair works. */
struct bl_net_qp_path bed_path(struct doca_gpu_verbs_qp *qp);

#endif
