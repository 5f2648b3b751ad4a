/* SPDX-License-Identifier: MIT */
/* bed.h - an open fake device, and the objects that queues are made of */
#ifndef BL_TESTS_NET_BED_H
#define BL_TESTS_NET_BED_H

#include "barlane.h"
#include "barlane_net.h"
#include "fake_nic.h"
#include "gpunetio/host/doca_verbs.h"
#include "tap.h"

struct net_bed {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_qp *qp;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
};

/* A device, a domain, and attributes of a queue pair of 64 sends; no queue yet. */
void net_bed_open(struct net_bed *bed);

/* A completion queue of 64 entries with memory of the library. */
struct doca_verbs_cq *net_bed_cq(struct net_bed *bed);

/* Memory for queues, and a page of doorbells. */
struct doca_verbs_umem *net_bed_umem(struct net_bed *bed, void *addr, size_t size);
struct doca_verbs_uar *net_bed_uar(struct net_bed *bed);

/* And a queue pair of a type, with attributes that suit every move. */
void net_bed_qp(struct net_bed *bed, uint32_t type);

/* Bring it from RST to a state by the moves of a program. */
void net_bed_go(struct net_bed *bed, enum doca_verbs_qp_state state);

/* All away; ends the test when something is left. */
void net_bed_close(struct net_bed *bed);

#endif
