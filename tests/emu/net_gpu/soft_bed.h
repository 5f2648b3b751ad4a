/* SPDX-License-Identifier: MIT */
/* soft_bed.h - a GPU, the software NIC, and queue pairs in one call */
#ifndef TESTS_EMU_NET_GPU_SOFT_BED_H
#define TESTS_EMU_NET_GPU_SOFT_BED_H

#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "net/export.h"
#include "tests/emu/world.h"
#include "tests/tap.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* What there is between soft_make() and soft_drop(). */
extern struct doca_gpu *gpu;
extern struct ibv_context *nic;
extern struct ibv_pd *pd;

/* Completions of queue pairs that are made from now on are counted by the library. */
extern int folded;

/* First and last line of a test. */
void soft_make(void);
void soft_drop(void);

/* A queue pair of 16 blocks and @rq receive lists; ends the test when it cannot be. */
struct doca_gpu_verbs_qp_hl *soft_qp(enum doca_gpu_dev_verbs_nic_handler handler, uint32_t rq, int uc);

#endif
