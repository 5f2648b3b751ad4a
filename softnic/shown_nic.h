/* SPDX-License-Identifier: MIT */
/*
 * shown_nic.h - what a NIC shows of itself, util/shown.h: the layout, for the NIC and for who looks
 *
 * Numbers are in the machine's byte order, but for WQEs and CQEs, which are as mlx5 hardware has them. Sequence numbers
 * are those of packets, of 24 bits. Nothing here may be believed: the process writes what it likes.
 */
#ifndef SOFTNIC_SHOWN_NIC_H
#define SOFTNIC_SHOWN_NIC_H

#include "util/shown.h"

#define BL_SHOWN_NIC_VERSION 2
#define BL_SHOWN_COUNTERS    96
#define BL_SHOWN_QPS	     1024
#define BL_SHOWN_CQS	     1024
#define BL_SHOWN_MRS	     4096
#define BL_SHOWN_SRQS	     256
#define BL_SHOWN_BLOCKS	     8
#define BL_SHOWN_BLOCK	     64

/* BL_SHOWN_UP: also of devices, which are not asked */
enum bl_shown_nic_flags { BL_SHOWN_UP = 1, BL_SHOWN_WIRE = 2, BL_SHOWN_MANUAL = 4, BL_SHOWN_FAULTS = 8 };

/**
 * struct bl_shown_port - the NIC
 * @now_ns:	CLOCK_MONOTONIC when this was written
 * @nr_qps, @nr_cqs, @nr_mrs, @nr_pds, @nr_srqs: objects that there are; no more than the tables have are shown
 * @first_*:	entries of the tables that are valid
 * @name, @provider, @transport: texts
 * @names, @values: counters
 */
struct bl_shown_port {
	bl_shown_seq seq;
	uint32_t flags;
	uint64_t now_ns;
	char name[32];
	char provider[16];
	char transport[16];
	uint8_t gid[16];
	uint32_t mtu;
	uint32_t max_payload;
	uint32_t window;
	uint32_t nr_counters;
	uint32_t nr_qps, nr_cqs, nr_mrs, nr_pds, nr_srqs;
	uint32_t first_qps, first_cqs, first_mrs, first_srqs, reserved;
	uint64_t values[BL_SHOWN_COUNTERS];
	char names[BL_SHOWN_COUNTERS][24];
};

enum bl_shown_qp_flags {
	BL_SHOWN_NO_RECORD = 1, /* the doorbell register is looked at, not the record */
	BL_SHOWN_WATCHED = 2,	/* and a count of 64 bits */
	BL_SHOWN_SIGNAL_ALL = 4,
	BL_SHOWN_LOOP = 8, /* the peer is a queue pair of this NIC */
	BL_SHOWN_CARRIED = 16, /* by a device: sequence numbers and retries are its */
	BL_SHOWN_RESPONDER = 32, /* the first cause is a request of the peer */
	BL_SHOWN_ERROR_BLOCK = 64,
};

/**
 * struct bl_shown_qp - a queue pair
 * @num:	  0: none
 * @type, @state: enum bl_snic_qp_type, enum bl_snic_qp_state
 * @sq_posted, @sq_fetched, @sq_taken, @sq_done: blocks of 64 bytes, counted since it left RST
 * @wr_taken, @wr_launched, @wr_done: requests
 * @doorbell:	  record or register as it was last read; @watched: the count
 * @rq_posted, @rq_done: receive lists; with @srq, those that it took of the shared queue of that number, 0: none
 * @psn_next, @psn_sent, @psn_acked, @psn_expected: first that was never given to the wire, to be sent next, first that
 *		  is not acknowledged, expected of the peer
 * @timer_ns, @rnr_ns: until what is under way counts as lost, until the peer may be ready; 0: no such wait
 * @error_*, @text: first cause in state ERR, @error_block: its WQE's first block
 * @block, @nr_blocks, @blocks: blocks of the ring from number @block on, as they were fetched
 */
struct bl_shown_qp {
	bl_shown_seq seq;
	uint32_t num;
	uint8_t type;
	uint8_t state;
	uint8_t ack_timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t error_syndrome;
	uint8_t error_vendor;
	uint8_t error_opcode;
	uint8_t sgid_index;
	uint16_t error_wqe;
	uint32_t flags;
	uint32_t pd, send_cq, recv_cq;
	uint32_t dest_qpn;
	uint8_t dest_gid[16];
	uint32_t mtu, access;
	uint32_t sq_nr, rq_nr, rq_sges;
	uint32_t retries, rnr_retries;
	uint32_t nr_fetches, nr_replies, nr_placed, nr_jobs;
	uint32_t psn_next, psn_sent, psn_acked, psn_expected, msn;
	uint64_t sq_posted, sq_fetched, sq_taken, sq_done;
	uint64_t wr_taken, wr_launched, wr_done;
	uint64_t doorbell, watched;
	uint64_t rq_posted, rq_done;
	uint64_t timer_ns, rnr_ns;
	uint64_t block;
	uint32_t nr_blocks, srq;
	char text[160];
	uint8_t error_block[BL_SHOWN_BLOCK];
	uint8_t blocks[BL_SHOWN_BLOCKS][BL_SHOWN_BLOCK];
};

enum bl_shown_cq_flags { BL_SHOWN_OVERRUN_IGNORED = 1, BL_SHOWN_COLLAPSED = 2, BL_SHOWN_HAS_CONSUMER = 4 };

/**
 * struct bl_shown_cq - a completion queue
 * @written:  CQEs since it was made
 * @consumer: index record, 24 bits, with BL_SHOWN_HAS_CONSUMER
 * @overruns: completions that were lost
 * @users:    queues that write to it
 * @last:     last CQE
 */
struct bl_shown_cq {
	bl_shown_seq seq;
	uint32_t num;
	uint32_t nr;
	uint32_t flags;
	uint32_t consumer;
	uint32_t users;
	uint64_t written;
	uint64_t overruns;
	uint8_t last[BL_SHOWN_BLOCK];
};

enum bl_shown_mr_kind { BL_SHOWN_HOST, BL_SHOWN_FUNCTIONS, BL_SHOWN_DEVICE };

/**
 * struct bl_shown_mr - a memory region
 * @access: BL_SNIC_*
 * @kind:   enum bl_shown_mr_kind: ordinary memory; behind functions; the same, of a GPU or another device
 * @jobs:   of movers at work on it; @moved: it has a mover
 */
struct bl_shown_mr {
	bl_shown_seq seq;
	uint32_t key;
	uint32_t pd;
	uint32_t access;
	uint64_t iova;
	uint64_t len;
	uint32_t kind;
	uint32_t jobs;
	uint32_t moved;
	uint32_t reserved;
};

/**
 * struct bl_shown_srq - a shared receive queue
 * @type:   enum bl_snic_srq_type
 * @nr, @sges: WQEs, and segments of one
 * @users:  queue pairs
 * @broken: a list has no next one
 * @posted, @taken, @done: WQEs since it was made
 */
struct bl_shown_srq {
	bl_shown_seq seq;
	uint32_t num;
	uint32_t pd;
	uint32_t type;
	uint32_t nr, sges;
	uint32_t users;
	uint32_t broken;
	uint64_t posted, taken, done;
};

struct bl_shown_nic {
	struct bl_shown_head head;
	struct bl_shown_port port;
	struct bl_shown_qp qps[BL_SHOWN_QPS];
	struct bl_shown_cq cqs[BL_SHOWN_CQS];
	struct bl_shown_mr mrs[BL_SHOWN_MRS];
	struct bl_shown_srq srqs[BL_SHOWN_SRQS];
};

_Static_assert(sizeof(struct bl_shown_qp) % 8 == 0 && sizeof(struct bl_shown_cq) % 8 == 0, "no holes at the ends");

#endif
