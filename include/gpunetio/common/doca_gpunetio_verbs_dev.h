/* SPDX-License-Identifier: MIT */
/*
 * doca_gpunetio_verbs_dev.h - objects that host code fills and device code uses
 *
 * Offsets are the original's (version 2.0); what it reserves has names here where this library uses it. Programs read
 * fields of these objects, so offsets do not change. Indices are 64-bit counts that never wrap; the NIC sees their low
 * 16 (send, receive queue) or 24 bits (completion queue). "BE": network byte order.
 */
#ifndef DOCA_GPUNETIO_VERBS_DEV_H
#define DOCA_GPUNETIO_VERBS_DEV_H

#include <stdint.h>

#include "doca_gpunetio_verbs_def.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a wait says. Zero or negative, as everything of the device API; EBUSY is the one positive value, "not yet". */
#define DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT (-110) /* the deadline is over */
#define DOCA_GPUNETIO_VERBS_WAIT_STOPPED (-125) /* the stop flag is set */
#define DOCA_GPUNETIO_VERBS_WAIT_ERROR	 (-5)	/* the queue pair failed; the cause is in the CQ's error word */

/* Words by which each slot of a WQE is given whole to a NIC that is a CPU, and its slots at most. */
#define BL_GPUNETIO_EXPRESS_WORDS 16
#define BL_GPUNETIO_EXPRESS_SLOTS 2

/*
 * A WQE that brings the bytes of its one data segment along, to a NIC that is a CPU: they lie in its slot behind the last
 * segment, and bytes 9 and 10 of the control segment, which are reserved, are this mark and how many they are.
 */
#define BL_GPUNETIO_BROUGHT 0xb1

/* Regions in the table of what threads may bring; a region's place is the high bits of its key. */
#define BL_GPUNETIO_REGIONS_SHIFT 11
#define BL_GPUNETIO_REGIONS	  (1 << BL_GPUNETIO_REGIONS_SHIFT)

/** An error word: 0, or this bit | vendor syndrome << 8 | syndrome. */
#define DOCA_GPUNETIO_VERBS_ERROR_SET 0x80000000U

/**
 * struct doca_gpu_dev_verbs_cq - a completion queue
 * @cqe_daddr:	CQEs
 * @cq_num:	number
 * @cqe_num:	CQEs, power of two
 * @dbrec:	consumer index record
 * @cqe_ci:	completions below are known to be done
 * @cqe_mask:	@cqe_num - 1
 * @cqe_size:	64
 * @cq_type:	enum doca_gpu_dev_verbs_cq_type
 * @qp_distance: bytes from the start of the queue pair that this is a part of, divided by 8, so that waits find its stop
 *		flag: 20 in cq_sq, 28 in cq_rq. 0: no part of one
 * @cqe_rsvd:	added to an index to find its CQE; keeps the owner bit's phase over a reset: CQEs written before it
 * @mem_type:	enum doca_gpu_dev_verbs_mem_type
 * @error:	error word of the first failed completion that was not only flushed, and stays
 * @error_wqe:	its WQE counter | DOCA_GPUNETIO_VERBS_ERROR_SET; written before @error is
 * @timeout_ms:	longest wait of the functions that take no deadline; 0: for ever
 */
struct __attribute__((__packed__)) __attribute__((aligned(8))) doca_gpu_dev_verbs_cq {
	uint8_t *cqe_daddr;
	uint32_t cq_num;
	uint32_t cqe_num;
	uint32_t *dbrec;
	uint64_t cqe_ci;
	uint32_t cqe_mask;
	uint8_t cqe_size;
	uint8_t cq_type;
	uint8_t qp_distance;
	uint8_t reserved1;
	uint64_t cqe_rsvd;
	uint32_t mem_type;
	uint32_t error;
	uint32_t error_wqe;
	uint32_t timeout_ms;
};

/**
 * struct bl_gpu_dev_region - registered memory of a GPU, which its threads may read in place of the NIC
 * @key:  lkey, BE; 0: none. Written after the others, and cleared before the region goes
 * @addr: its first byte, by which WQEs name it too
 * @len:  bytes
 */
struct bl_gpu_dev_region {
	uint64_t key;
	uint64_t addr;
	uint64_t len;
	uint64_t reserved;
};

/**
 * struct doca_gpu_dev_verbs_qp - a queue pair
 * @sq_rsvd_index:  slots below are reserved by some thread
 * @sq_ready_index: slots below hold complete WQEs
 * @sq_wqe_pi:	    slots below were given to the NIC
 * @sq_num:	    number; then shifted by 8, the same BE, and BE with 1 to 5 segments
 * @sq_lock:	    held while a doorbell is rung
 * @sq_wqe_num:	    slots, power of two, at most 32768
 * @sq_wqe_mask:    @sq_wqe_num - 1
 * @sq_wqe_daddr:   slots of 64 bytes
 * @sq_dbrec:	    send record
 * @sq_db:	    doorbell register, or the word that a CPU serves; of CPU_PROXY_FREE_FLOW a word for each slot, which is
 *		    the index of the WQE there plus one when that is complete
 * @rq_rsvd_index, @rq_ready_index, @rq_wqe_pi: as for the send queue
 * @rq_wqe_daddr:   lists of data segments
 * @rq_dbrec:	    receive record
 * @rq_wqe_num:	    lists, power of two, at most 32768; 0: no receive queue
 * @rq_wqe_mask:    @rq_wqe_num - 1
 * @rq_wqe_shift:   log2 of the bytes of a list
 * @polled:	    1: the NIC is a CPU that polls the records, and doorbells are nothing to it
 * @regions:	    BL_GPUNETIO_REGIONS regions whose bytes WQEs may bring along; NULL: the NIC reads them all
 * @stop_flag:	    word that ends every wait when it is not 0; may be NULL
 * @sq_express:	    BL_GPUNETIO_EXPRESS_WORDS words for each of BL_GPUNETIO_EXPRESS_SLOTS slots of a WQE that is given whole to a
 *		    NIC that is a CPU: of each the low half is four bytes of the slot, the high half the low half of its index
 *		    plus one; NULL: there are none
 * @cq_sq:	    completions of the send queue
 * @cq_rq:	    completions of the receive queue
 * @nic_handler:    enum doca_gpu_dev_verbs_nic_handler, never AUTO
 * @mem_type:	    enum doca_gpu_dev_verbs_mem_type; AUTO: memory of a GPU that a CPU polls
 */
struct __attribute__((__packed__)) __attribute__((aligned(8))) doca_gpu_dev_verbs_qp {
	uint64_t sq_rsvd_index;
	uint64_t sq_ready_index;
	uint64_t sq_wqe_pi;
	uint32_t sq_num;
	uint32_t sq_num_shift8;
	uint32_t sq_num_shift8_be;
	uint32_t sq_num_shift8_be_1ds;
	uint32_t sq_num_shift8_be_2ds;
	uint32_t sq_num_shift8_be_3ds;
	uint32_t sq_num_shift8_be_4ds;
	uint32_t sq_num_shift8_be_5ds;
	int32_t sq_lock;
	uint16_t sq_wqe_num;
	uint16_t sq_wqe_mask;
	uint8_t *sq_wqe_daddr;
	uint32_t *sq_dbrec;
	uint64_t *sq_db;
	uint64_t rq_rsvd_index;
	uint64_t rq_ready_index;
	uint64_t rq_wqe_pi;
	uint8_t *rq_wqe_daddr;
	uint32_t *rq_dbrec;
	uint16_t rq_wqe_num;
	uint16_t rq_wqe_mask;
	uint8_t rq_wqe_shift;
	uint8_t polled;
	uint16_t reserved0;
	const struct bl_gpu_dev_region *regions;
	uint32_t *stop_flag;
	uint64_t *sq_express;
	struct doca_gpu_dev_verbs_cq cq_sq;
	struct doca_gpu_dev_verbs_cq cq_rq;
	uint32_t nic_handler;
	uint32_t mem_type;
};

/** struct doca_gpu_dev_verbs_addr - registered memory; @key is BE */
struct doca_gpu_dev_verbs_addr {
	uint64_t addr;
	uint32_t key;
};

/** doca_gpu_dev_verbs_ticket_t - index of a WQE, to wait for */
typedef uint64_t doca_gpu_dev_verbs_ticket_t;

#ifdef __cplusplus
}
#endif

#endif
