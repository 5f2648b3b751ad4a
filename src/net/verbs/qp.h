/* SPDX-License-Identifier: MIT */
/* qp.h - a queue pair of doca_verbs.h, and what the rest of the library may ask of it */
#ifndef BL_NET_VERBS_QP_H
#define BL_NET_VERBS_QP_H

#include "objects.h"
#include "qp_size.h"

/**
 * struct doca_verbs_qp - its parent is the protection domain
 * @init:    as it was made
 * @size:    of its queues
 * @uar:     page of the program, in use; NULL: @own_uar
 * @uar_info: of either
 * @lock:    one move at a time
 * @mod:     what moves have set
 */
struct doca_verbs_qp {
	struct bl_object object;
	struct bl_context *context;
	struct bl_pd *pd;
	struct bl_nic_qp *nic_qp;
	struct doca_verbs_qp_init_attr init;
	struct bl_qp_size size;
	struct bl_queue_mem mem;
	struct doca_verbs_cq *send_cq;
	struct doca_verbs_cq *recv_cq;
	struct doca_verbs_srq *srq;
	struct doca_verbs_uar *uar;
	struct bl_nic_uar *own_uar;
	struct bl_nic_uar_info uar_info;
	uint32_t num;
	pthread_mutex_t lock;
	struct bl_nic_qp_mod mod;
	struct bl_event_source source;
};

/* Look a pointer of the program up; 0, -EINVAL, -EACCES with the reason. To be given back with bl_qp_put(). */
int bl_qp_get(struct doca_verbs_qp *key, struct doca_verbs_qp **qp_p);

static inline void bl_qp_put(struct doca_verbs_qp *qp)
{
	bl_object_put(&qp->object);
}

/* A queue pair that never moved. */
void bl_qp_mod_init(struct bl_nic_qp_mod *mod);

/**
 * bl_qp_info() - A queue pair as the NIC has it, with the cause of an error
 * @key:  queue pair of the program
 * @info: receives the answer
 *
 * Return: 0, -EINVAL, -EACCES, or what the provider says; with the reason.
 */
int bl_qp_info(struct doca_verbs_qp *key, struct bl_nic_qp_info *info);

/**
 * bl_qp_watch() - Have the NIC take a count of posted send blocks from a word too
 * @key:  queue pair of the program
 * @word: 64-bit count since the queue pair left RST; NULL: no longer
 *
 * Return: 0; -EOPNOTSUPP: the NIC cannot, somebody has to ring its doorbell; -EINVAL, -EACCES.
 */
int bl_qp_watch(struct doca_verbs_qp *key, const uint64_t *word);

/**
 * bl_qp_express() - Have the NIC take requests that are given whole from a line of words too
 * @key:  queue pair of the program
 * @line: as for bl_snic_qp_express(); NULL: no longer
 *
 * Return: 0; -EOPNOTSUPP: the NIC reads its ring alone; -EINVAL, -EACCES.
 */
int bl_qp_express(struct doca_verbs_qp *key, const uint64_t *line);

/* Have a NIC that may sleep look at its queues; for who rings a doorbell for a GPU. */
void bl_qp_kick(struct doca_verbs_qp *key);

#endif
