/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - what the programs of the network lane and their kernels share
 *
 * Each kernel takes one struct by value. Addresses are the GPU's, keys are in network byte order.
 */
#ifndef BL_NET_KERNELS_H
#define BL_NET_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu_dev_verbs_qp;

/**
 * struct bl_net_span - one operation
 * @start_ns: of the GPU's clock
 * @end_ns:   the same; 0: it did not end
 */
struct bl_net_span {
	uint64_t start_ns;
	uint64_t end_ns;
};

/**
 * struct bl_net_state - what CPU and kernel tell each other while it runs; in memory that both reach
 * @stop:   not 0: the CPU wants the kernel to end
 * @error:  0, or the positive errno value of the first thread that failed
 * @thread: that thread
 * @round:  what it was at
 * @done:   operations that were done, of kernels that count; at their end
 */
struct bl_net_state {
	uint32_t stop;
	uint32_t error;
	uint32_t thread;
	uint32_t reserved;
	uint64_t round;
	uint64_t done;
};

/* Queue pairs of one kernel. */
#define BL_NET_MAX_QPS 64

/**
 * struct bl_net_bw - bl_put_bw_*, bl_get_bw_*, bl_write_bw*: each thread writes its part of a buffer again and again, or
 *		      reads it
 * @qps:    queue pairs: bl_put_bw_*, bl_get_bw_*: warps take them in turn; bl_write_bw*: one for each block
 * @nr_qps: how many
 * @from:   this side's buffer, with @size bytes for each thread
 * @to:     the peer's
 * @from_key: key of @from
 * @to_key:   of @to
 * @size:   bytes of one write
 * @rounds: writes of each thread
 * @spans:  one for each write, those of a round side by side; bl_write_bw*: one for each round, those of a block side by
 *	    side
 * @state:  see there
 */
struct bl_net_bw {
	struct doca_gpu_dev_verbs_qp *qps[BL_NET_MAX_QPS];
	uint64_t nr_qps;
	uint64_t from;
	uint64_t to;
	uint32_t from_key;
	uint32_t to_key;
	uint64_t size;
	uint64_t rounds;
	struct bl_net_span *spans;
	struct bl_net_state *state;
};

/**
 * struct bl_net_counter - bl_put_counter_bw: a block puts, and goes on when its counter says that all puts are done
 * @bw:	        as for bl_write_bw
 * @companions: queue pairs that count: one for each block
 * @counters:   of this side: for each block a counter of 8 bytes and room for its old value
 * @key:        of @counters
 * @reserved:   0
 * @limit_ns:   longest wait for a round
 */
struct bl_net_counter {
	struct bl_net_bw bw;
	struct doca_gpu_dev_verbs_qp *companions[BL_NET_MAX_QPS];
	uint64_t counters;
	uint32_t key;
	uint32_t reserved;
	uint64_t limit_ns;
};

/**
 * struct bl_net_lat - bl_write_lat_db, bl_write_lat_bf, bl_put_signal_lat: one thread plays ping-pong with the peer's
 * @qp:	      queue pair
 * @from:     message of this side, @size bytes
 * @to:	      where the peer expects it
 * @seen:     where the peer's comes to
 * @from_key: key of @from
 * @to_key:   of @to
 * @signal:   bl_put_signal_lat: count of messages that came, 8 bytes
 * @to_signal: the peer's, under @to_key
 * @old:      where its old value comes to, under @from_key
 * @size:     bytes of a message
 * @rounds:   messages of each side
 * @limit_ns: longest wait for one message
 * @first:    1: this side begins
 * @inlined:  1: messages that fit travel inside of the request
 * @spans:    one for each round; NULL: none
 * @state:    see there
 */
struct bl_net_lat {
	struct doca_gpu_dev_verbs_qp *qp;
	uint64_t from;
	uint64_t to;
	uint64_t seen;
	uint32_t from_key;
	uint32_t to_key;
	uint64_t signal;
	uint64_t to_signal;
	uint64_t old;
	uint64_t size;
	uint64_t rounds;
	uint64_t limit_ns;
	uint32_t first;
	uint32_t inlined;
	struct bl_net_span *spans;
	struct bl_net_state *state;
};

/**
 * struct bl_net_forward - bl_forward_prepare, then bl_forward: what comes into the receive queue goes back
 * @qp:	       queue pair, whose receive queue has @slots slots
 * @pages:     one for each slot
 * @key:       of them
 * @imm:       0: messages are received into the page of their slot; 1: the peer writes into pages and says into which one
 *	       by the low 12 bits of an immediate
 * @page_size: bytes
 * @slots:     pages; a multiple of @workers
 * @workers:   threads that forward, spread over the block, whose threads are a multiple of them
 * @limit_ns:  longest wait for one message
 * @state:     see there; @done counts what went back
 */
struct bl_net_forward {
	struct doca_gpu_dev_verbs_qp *qp;
	uint64_t pages;
	uint32_t key;
	uint32_t imm;
	uint64_t page_size;
	uint64_t slots;
	uint64_t workers;
	uint64_t limit_ns;
	struct bl_net_state *state;
};

#ifdef __cplusplus
}
#endif

#endif
