/* SPDX-License-Identifier: MIT */
/* high_level.h - a queue pair with all that belongs to it */
#ifndef BL_NET_HIGH_LEVEL_H
#define BL_NET_HIGH_LEVEL_H

#include "net/export.h"

/**
 * struct bl_hl_queue - memory that the NIC reaches, and the GPU
 * @block: memory
 * @umem:  the same as the NIC knows it
 */
struct bl_hl_queue {
	struct bl_gpu_block *block;
	struct doca_verbs_umem *umem;
};

/**
 * struct bl_hl - what belongs to a queue pair beside what the program sees of it
 * @pub:   what the program sees
 * @cq_rq: completion queue of the receive queue, NULL: none
 * @uar:   doorbell page, NULL: that of another queue pair
 * @probe: its register, shown to the GPU while AUTO is being resolved and as long as the queue pair lives
 */
struct bl_hl {
	struct doca_gpu_verbs_qp_hl *pub;
	struct bl_hl_queue cq_ring;
	struct bl_hl_queue cq_dbr;
	struct bl_hl_queue rcq_ring;
	struct bl_hl_queue rcq_dbr;
	struct bl_hl_queue qp_ring;
	struct bl_hl_queue qp_dbr;
	struct doca_verbs_cq *cq_rq;
	struct doca_verbs_uar *uar;
	struct bl_gpu_uar *probe;
};

/**
 * struct bl_hl_want - what to make
 * @gpu:	 used GPU
 * @pd:		 used protection domain
 * @handler, @mode, @reg_type, @collapsed: as asked for
 * @sq_nr:	 blocks of the send queue, power of two
 * @rq_nr:	 receive requests, power of two; 0: no receive queue
 * @rq_sges:	 their segments, power of two
 * @uc:		 unreliable connection
 * @folded:	 a CPU counts the completions of the send queue
 * @core_direct: it may wait for completions of others
 * @uar:	 doorbell page to use, NULL: one of its own
 * @cpu:	 the NIC is a CPU
 * @proxy:	 a CPU writes the send record
 */
struct bl_hl_want {
	struct doca_gpu *gpu;
	struct bl_pd *pd;
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum doca_gpu_verbs_send_dbr_mode_ext mode;
	enum doca_gpu_verbs_mem_reg_type reg_type;
	bool collapsed;
	uint32_t sq_nr;
	uint32_t rq_nr;
	uint32_t rq_sges;
	bool uc;
	bool folded;
	bool core_direct;
	struct doca_verbs_uar *uar;
	bool cpu;
	bool proxy;
};

/**
 * bl_hl_make() - Make a queue pair, and export it
 * @want: what
 * @hl:	  @pub is set, the rest zero; receives the parts, also those of @pub
 *
 * Return: 0, or DOCA_ERROR_* with nothing left behind.
 */
doca_error_t bl_hl_make(struct bl_hl_want *want, struct bl_hl *hl);

/* Give all parts back; on an error those that somebody else uses are left, and the caller may come again. */
doca_error_t bl_hl_drop(struct bl_hl *hl);

/**
 * bl_hl_queue_make() - Memory for a queue
 * @want:  what the queue pair is
 * @len:   bytes
 * @type:  kind of memory
 * @queue: receives the memory
 */
doca_error_t bl_hl_queue_make(const struct bl_hl_want *want, size_t len, enum doca_gpu_mem_type type,
			      struct bl_hl_queue *queue);
doca_error_t bl_hl_queue_drop(struct doca_gpu *gpu, struct bl_hl_queue *queue);

/**
 * bl_hl_cq_make() - A completion queue with its memory
 * @want: what the queue pair is
 * @nr:	  entries
 * @collapsed: all go to one
 * @type: kind of memory of the ring
 * @ring, @dbr: receive the memory
 * @cq_p: receives the queue
 *
 * On an error the memory made so far is left to bl_hl_drop().
 */
doca_error_t bl_hl_cq_make(const struct bl_hl_want *want, uint32_t nr, bool collapsed, enum doca_gpu_mem_type type,
			   struct bl_hl_queue *ring, struct bl_hl_queue *dbr, struct doca_verbs_cq **cq_p);

/* The queue pair itself, on memory and completion queues that are there; then exported. */
doca_error_t bl_hl_qp_make(const struct bl_hl_want *want, struct bl_hl *hl);

/**
 * bl_hl_check() - What a program asks for, checked
 * @attr: what the original can be told; @sq_nwqe is rounded up
 * @more: what it cannot, or NULL
 * @want: receives it; the GPU and the domain are in use until bl_hl_unwant()
 */
doca_error_t bl_hl_check(struct doca_gpu_verbs_qp_init_attr_hl *attr, const struct bl_net_qp_hl_attr *more,
			 struct bl_hl_want *want);
void bl_hl_unwant(struct bl_hl_want *want);

#endif
