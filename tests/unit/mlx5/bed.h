/* SPDX-License-Identifier: MIT */
/* bed.h - one device of provider "mlx5" with one of everything, made step by step, so that a test sees each fail */
#ifndef BL_TESTS_MLX5_BED_H
#define BL_TESTS_MLX5_BED_H

#include "fake/fake_mlx5.h"
#include "net/nic.h"
#include "tests/unit/ibv/fake/fake_ibv.h"

#define BED_IOVA 0x700000000000ULL

/* Where things lie in its memory. */
#define BED_RQ	  0UL
#define BED_SQ	  4096UL
#define BED_CQ	  8192UL
#define BED_DBR	  12288UL
#define BED_DATA  16384UL
#define BED_BYTES 32768UL

/**
 * struct bed - what there is so far; NULL: not yet
 * @mod: the last move
 */
struct bed {
	unsigned char *memory;
	struct bl_nic *nic;
	struct bl_nic_caps caps;
	struct bl_nic_pd *pd;
	struct bl_nic_mr *mr;
	struct bl_nic_umem *umem;
	struct bl_nic_uar *uar;
	struct bl_nic_uar_info page;
	struct bl_nic_cq *cq;
	struct bl_nic_qp *qp;
	uint32_t pdn, lkey, rkey, umem_id, cqn, qpn;
	struct bl_nic_cq_attr cq_attr;
	struct bl_nic_qp_attr qp_attr;
	struct bl_nic_qp_mod mod;
};

/* Attributes that bed_make() uses; a test may change them before. */
void bed_init(struct bed *bed);

/* Everything, and the queue pair connected to itself. Return: of the step that failed, 0. */
int bed_make(struct bed *bed);

/* Only what comes before queues. */
int bed_make_parts(struct bed *bed);
int bed_make_queues(struct bed *bed);

/* A move to a state from the one before it, or the given one. */
int bed_move(struct bed *bed, enum doca_verbs_qp_state from, enum doca_verbs_qp_state to);
int bed_connect(struct bed *bed);

struct mlx5dv_devx_obj;

/* What is below the provider. */
struct ibv_context *bed_context(const struct bed *bed);
struct mlx5dv_devx_obj *bed_queue_pair(const struct bed *bed);

/* What there is, in reverse. Return: the first error. */
int bed_drop(struct bed *bed);

#endif
