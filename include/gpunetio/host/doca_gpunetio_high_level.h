/* SPDX-License-Identifier: MIT */
/**
 * DOC: doca_gpunetio_high_level.h - queue pairs for a GPU, with all that belongs to them, in one call
 *
 * Names, values and fields are those of NVIDIA's open GPUNetIO 2.0. Memory of the queues: with the software NIC the
 * send queue and the doorbell records are host memory that the GPU reaches, and the completion queue is GPU memory that
 * the CPU reaches (host memory where it cannot); with others both rings are GPU memory, and the doorbell record of the
 * send queue is host memory when a CPU writes it.
 */
#ifndef DOCA_GPUNETIO_HIGH_LEVEL_H
#define DOCA_GPUNETIO_HIGH_LEVEL_H

#include "doca_gpunetio.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * struct doca_gpu_verbs_qp_init_attr_hl - what a queue pair is made with
 * @gpu_dev:	       GPU that uses it
 * @ibpd:	       protection domain; its context is the NIC
 * @sq_nwqe:	       blocks of its send queue, 1 to 32768; rounded up to a power of two, here too
 * @reserved0:	       not looked at
 * @nic_handler:       AUTO, CPU_PROXY, CPU_PROXY_FREE_FLOW, GPU_SM_DB or GPU_SM_BF
 * @mreg_type:	       how the NIC is told of GPU memory
 * @send_dbr_mode_ext: who writes the send doorbell record
 * @cq_collapsed:      all completions go to one entry; every request must be signalled
 * @reserved1:	       not looked at
 */
struct __attribute__((__packed__)) __attribute__((aligned(8))) doca_gpu_verbs_qp_init_attr_hl {
	struct doca_gpu *gpu_dev;
	struct ibv_pd *ibpd;
	uint16_t sq_nwqe;
	uint8_t reserved0[2];
	enum doca_gpu_dev_verbs_nic_handler nic_handler;
	enum doca_gpu_verbs_mem_reg_type mreg_type;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	bool cq_collapsed;
	uint8_t reserved1[19];
};

/**
 * struct doca_gpu_verbs_qp_hl - a queue pair and what belongs to it
 * @gpu_dev:		    GPU that uses it
 * @cq_sq:		    completion queue of the send queue
 * @cq_sq_umem_gpu_ptr:	    its ring, GPU's address
 * @cq_sq_umem:		    the ring as the NIC knows it
 * @cq_sq_umem_dbr_gpu_ptr: its consumer index record, GPU's address
 * @cq_sq_umem_dbr:	    the record as the NIC knows it
 * @qp:			    queue pair
 * @qp_umem_gpu_ptr:	    its rings, GPU's address
 * @qp_umem:		    the rings as the NIC knows them
 * @qp_umem_dbr_gpu_ptr:    its doorbell records, GPU's address
 * @qp_umem_dbr:	    the records as the NIC knows them
 * @external_uar:	    its doorbell page; that of a group belongs to the main queue pair
 * @nic_handler:	    who rings, never AUTO
 * @send_dbr_mode_ext:	    who writes the send doorbell record
 * @qp_gverbs:		    the queue pair as it was exported
 *
 * Fields are for reading.
 */
struct doca_gpu_verbs_qp_hl {
	struct doca_gpu *gpu_dev;
	struct doca_verbs_cq *cq_sq;
	void *cq_sq_umem_gpu_ptr;
	struct doca_verbs_umem *cq_sq_umem;
	void *cq_sq_umem_dbr_gpu_ptr;
	struct doca_verbs_umem *cq_sq_umem_dbr;
	struct doca_verbs_qp *qp;
	void *qp_umem_gpu_ptr;
	struct doca_verbs_umem *qp_umem;
	void *qp_umem_dbr_gpu_ptr;
	struct doca_verbs_umem *qp_umem_dbr;
	struct doca_verbs_uar *external_uar;
	enum doca_gpu_dev_verbs_nic_handler nic_handler;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	struct doca_gpu_verbs_qp *qp_gverbs;
};

/**
 * struct doca_gpu_verbs_qp_group_hl - two queue pairs that share a doorbell page
 * @qp_main:	  for the data
 * @qp_companion: may wait for completions of @qp_main
 */
struct doca_gpu_verbs_qp_group_hl {
	struct doca_gpu_verbs_qp_hl qp_main;
	struct doca_gpu_verbs_qp_hl qp_companion;
};

/**
 * doca_gpu_verbs_create_qp_hl() - Make a queue pair for a GPU
 * @qp_init_attr: what to make; @sq_nwqe is rounded up in place
 * @qp:		  receives the queue pair, in state RST, exported; to be given to doca_gpu_verbs_destroy_qp_hl()
 *
 * On an error nothing is left behind.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_DRIVER, or
 * what the NIC gives.
 */
doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					 struct doca_gpu_verbs_qp_hl **qp);

/**
 * doca_gpu_verbs_destroy_qp_hl() - Destroy a queue pair and what belongs to it
 * @qp: from doca_gpu_verbs_create_qp_hl()
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no such queue pair, or not any more), DOCA_ERROR_IN_USE (the caller
 * exported it once more, or used its completion queue, memory or page for something else that is still there: what
 * could be destroyed is, and the call may be made again).
 */
doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp);

/**
 * doca_gpu_verbs_create_qp_group_hl() - Make two queue pairs, the second of which can wait for the first
 * @qp_init_attr: for both. GPU_SM_BF is refused
 * @qpg:	  receives them, to be given to doca_gpu_verbs_destroy_qp_group_hl()
 *
 * Return: as doca_gpu_verbs_create_qp_hl().
 */
doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					       struct doca_gpu_verbs_qp_group_hl **qpg);

/**
 * doca_gpu_verbs_destroy_qp_group_hl() - Destroy both
 * @qpg: from doca_gpu_verbs_create_qp_group_hl()
 *
 * Return: as doca_gpu_verbs_destroy_qp_hl().
 */
doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg);

/**
 * doca_gpu_verbs_qp_flat_list_create_hl() - The GPU's objects of several queue pairs as one array
 * @qp_list: @num_elems queue pairs, none NULL
 * @num_elems: entries, > 0
 * @qp_gpu:  receives the array's address on the GPU, to be given to doca_gpu_verbs_qp_flat_list_destroy_hl()
 *
 * The array has copies as of the export: use either it or doca_gpu_verbs_get_qp_dev() for a queue pair, not both.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER, DOCA_ERROR_NOT_SUPPORTED (of
 * a queue pair with SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED the CPU reads the object: doca_gpu_verbs_get_qp_dev()).
 */
doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list, uint32_t num_elems,
						   struct doca_gpu_dev_verbs_qp **qp_gpu);

/**
 * doca_gpu_verbs_qp_flat_list_destroy_hl() - Free the array
 * @qp_gpu: from doca_gpu_verbs_qp_flat_list_create_hl()
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (no such array).
 */
doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
